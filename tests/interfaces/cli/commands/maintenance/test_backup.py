"""Backup and restore."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.testing.postgres import PostgresServer


def _texts(everloop: CommandLine) -> list[str]:
    return [fact["data"]["text"] for fact in everloop.typed("log", "tail", "--json").document]


def test_a_backup_is_listed_with_its_last_position(everloop: CommandLine) -> None:
    assert "No backups" in everloop("backup", "--list").out
    everloop("log", "note", "one")
    path = Path(everloop("backup", "--json").document["path"])
    assert path.is_file()
    listed = everloop("backup", "--list", "--json").document[0]  # the first note made one too
    assert (listed["path"], listed["head"]) == (str(path), 1)
    assert path.name in everloop("backup", "--list").out


def test_a_backup_may_go_to_another_folder(everloop: CommandLine, tmp_path: Path) -> None:
    everloop("log", "note", "one")
    folder = tmp_path / "elsewhere"
    assert "Backed up and verified" in everloop.typed("backup", "--folder", str(folder)).out
    assert len(list(folder.iterdir())) == 1
    assert everloop.typed("restore", "--folder", str(folder), "--yes").code == 0


@pytest.mark.promise("P-LOG-17")
def test_restoring_replaces_the_log_and_keeps_the_old_one(everloop: CommandLine) -> None:
    everloop("log", "note", "one")
    copy = everloop("backup", "--json").document["path"]
    everloop("log", "note", "two")
    done = everloop.typed("restore", copy, "--yes", "--json").document
    assert (done["head"], _texts(everloop)) == (1, ["one"])
    everloop.typed("restore", done["kept"], "--yes")
    assert _texts(everloop) == ["one", "two"]


def test_a_backup_never_overwrites_another(everloop: CommandLine) -> None:
    everloop.environment["EVERLOOP_BACKUPS_EVERY_MINUTES"] = "0"
    everloop("log", "note", "one")
    everloop("backup")
    for text in ("first try", "second try"):
        everloop("log", "note", text)
        oldest = everloop("backup", "--list", "--json").document[-1]["path"]
        everloop.typed("restore", oldest, "--yes")
    heads = [copy["head"] for copy in everloop("backup", "--list", "--json").document]
    assert heads == [2, 2, 1]


@pytest.mark.promise("P-LOG-17")
def test_a_damaged_backup_is_refused_and_changes_nothing(everloop: CommandLine) -> None:
    everloop("log", "note", "number one")
    copy = Path(everloop("backup", "--json").document["path"])
    stored = bytearray(copy.read_bytes())
    stored[stored.index(b"number one")] ^= 1
    copy.write_bytes(stored)
    answer = everloop.typed("restore", str(copy), "--yes")
    assert answer.code == 70
    assert _texts(everloop) == ["number one"]


@pytest.mark.parametrize("ruin", [b"this is no database", b""], ids=["garbage", "empty"])
def test_a_damaged_log_is_restored_and_kept_byte_for_byte(
    everloop: CommandLine, ruin: bytes
) -> None:
    everloop("log", "note", "one")
    everloop("backup")
    for suffix in ("", "-wal", "-shm"):
        Path(f"{everloop.home / 'everloop.db'}{suffix}").unlink(missing_ok=True)
    (everloop.home / "everloop.db").write_bytes(ruin * 100)
    answer = everloop.typed("restore", "--yes", "--json")
    assert answer.code == 0, answer
    assert _texts(everloop) == ["one"]
    if ruin:
        assert Path(answer.document["kept"]).read_bytes() == ruin * 100


def test_restoring_without_a_backup_is_an_error_with_a_hint(everloop: CommandLine) -> None:
    assert everloop.typed("restore", "--yes").code == 3
    assert everloop.typed("restore", "/nowhere.db", "--yes").code == 3


@pytest.fixture
def node(everloop: CommandLine, postgres_url: str) -> CommandLine:
    """The command line on a data home whose log is in PostgreSQL."""
    everloop.environment["EVERLOOP_STORE"] = postgres_url
    return everloop


@pytest.mark.promise("P-LOG-17")
def test_a_purge_in_postgresql_makes_a_restorable_backup_first(
    node: CommandLine, postgres: PostgresServer
) -> None:
    node("log", "note", "one")
    node("log", "note", "erased too early")
    before = node.typed("log", "tail", "--json").document
    purged = node("log", "purge", "2", "--yes", "--json").document
    (copy,) = node("backup", "--list", "--json").document
    assert purged["backups_holding_it"] == [Path(copy["path"]).name]
    with postgres.fresh_database() as elsewhere:
        moved = node.typed("move", copy["path"], elsewhere, "--json")
        assert (moved.document["records"], moved.document["head"]) == (2, 2)
        node.environment["EVERLOOP_STORE"] = elsewhere
        assert node.typed("log", "tail", "--json").document == before
        assert node("verify").code == 0
        assert node("log", "note", "and on").code == 0


def test_a_backup_of_a_postgresql_log_is_restored_into_a_data_home(
    node: CommandLine, tmp_path: Path
) -> None:
    node("log", "note", "one")
    copy = node("backup", "--json").document["path"]
    alone = CommandLine(tmp_path / "alone")
    assert alone.typed("restore", copy, "--yes").code == 0
    assert _texts(alone) == ["one"]


def test_a_postgresql_log_cannot_be_replaced_by_a_backup(node: CommandLine) -> None:
    node("log", "note", "one")
    node("backup")
    answer = node.typed("restore", "--yes")
    assert answer.code == 2
    assert "everloop move" in answer.err


def test_an_import_into_postgresql_makes_a_backup_first(node: CommandLine, tmp_path: Path) -> None:
    node("log", "note", "one")
    archive = str(tmp_path / "log.jsonl")
    node.typed("log", "export", archive)
    assert node("backup", "--list", "--json").document == []
    assert node.typed("log", "import", archive, "--yes").code == 0
    (copy,) = node("backup", "--list", "--json").document
    assert copy["head"] == 1


def test_backups_of_tenants_in_one_folder_are_separate(
    everloop: CommandLine, tmp_path: Path
) -> None:
    disk = str(tmp_path / "disk")
    everloop("log", "note", "Mine.")
    everloop("--tenant", "acme", "log", "note", "Theirs.")
    everloop.typed("--tenant", "acme", "backup", "--folder", disk)
    everloop.typed("backup", "--folder", disk)
    other = CommandLine(tmp_path / "other")
    other.typed("--tenant", "acme", "restore", "--folder", disk, "--yes")
    (note,) = other.typed("--tenant", "acme", "log", "tail", "--json").document
    assert note["data"]["text"] == "Theirs."
