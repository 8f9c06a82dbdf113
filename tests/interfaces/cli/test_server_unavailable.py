"""While PostgreSQL is unavailable, read-only commands use the local copy."""

import shutil
from collections.abc import Generator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import Answer, CommandLine

from everloop.testing.postgres import PostgresServer, postgres_server

READING = (
    "log tail",
    "log show 1",
    "log branches",
    "memories",
    "memories show {item}",
    "zoom {item}",
    "recall roof --mode text",
    "recall roof --mode text --as-of 1",
    "explain {item} roof --mode text",
    "search roof --mode text",
    "threads",
    "threads show Roofs",
    "threads imports",
    "lessons",
    "lessons recall roof",
    "lessons stale",
    "skills",
    "packs",
    "hosts",
    "devices",
    "grants list",
    "verify",
)
WRITING = (
    "log note more",
    "log note more --because 1",
    "log fork other",
    "log retract 1 --yes",
    "log purge 1 --yes",
    "log tail --follow",
    "remember more",
    "pin {item}",
    "forget {item} --yes",
    "threads open another",
    "hosts trust other",
    "rebuild",
    "manifest",
    "manifest --no-record",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[PostgresServer]:
    """A separate server, because the tests stop it."""
    with postgres_server(tmp_path_factory.mktemp("away")) as started:
        yield started


@pytest.fixture(scope="module")
def home(server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home whose log is on the server and has some data."""
    home = tmp_path_factory.mktemp("node")
    everloop = CommandLine(home, {"EVERLOOP_STORE": server.url})
    assert everloop("log", "note", "the first thing").code == 0
    assert everloop.typed("remember", "The roof was mended in May.").code == 0
    assert everloop.typed("threads", "open", "Roofs").code == 0
    return home


@pytest.fixture
def everloop(server: PostgresServer, home: Path) -> CommandLine:
    """The command line on that data home, while the server runs."""
    server.start()
    return CommandLine(home, {"EVERLOOP_STORE": server.url})


def _said(answer: Answer) -> str:
    """Standard error on one line."""
    return " ".join(answer.err.split())


def _all(everloop: CommandLine, commands: Sequence[str]) -> dict[str, Answer]:
    """The result of each command."""
    (item,) = everloop.typed("memories", "--json").document["items"]
    words = {command: command.format(item=item["item_id"]).split() for command in commands}
    return {command: everloop.typed(*words[command], "--json") for command in commands}


@pytest.mark.promise("P-PG-6")
def test_a_read_only_command_uses_the_local_copy(
    everloop: CommandLine, server: PostgresServer
) -> None:
    before = _all(everloop, READING)
    server.stop()
    after = _all(everloop, READING)
    for command in READING:
        assert (before[command].code, before[command].err) == (0, ""), command
        assert (after[command].code, after[command].out) == (0, before[command].out), command
        assert "is read-only" in _said(after[command]), command
        assert "does not answer" in _said(after[command]), command


@pytest.mark.promise("P-PG-6")
def test_a_command_that_writes_fails_and_does_not_change_the_copy(
    everloop: CommandLine, server: PostgresServer
) -> None:
    server.stop()
    tail = everloop.typed("log", "tail", "--json").document
    for command, answer in _all(everloop, WRITING).items():
        assert answer.code == 69, command
        assert "does not answer" in answer.document["error"]["message"], command
    assert everloop.typed("log", "tail", "--json").document == tail
    server.start()
    assert everloop.typed("log", "tail", "--json").document == tail
    assert everloop.typed("verify").code == 0


def test_the_age_of_the_copy_is_printed(
    everloop: CommandLine, server: PostgresServer, home: Path
) -> None:
    head = everloop.typed("log", "tail", "--json").document[-1]["position"]
    server.stop()
    (mark,) = (home / "nodes").glob("*.level")
    at, position = mark.read_text().split()
    then = datetime.fromisoformat(at) - timedelta(hours=3)
    mark.write_text(f"{then.isoformat()} {position}")
    assert f"(3 h ago), up to position {head}." in _said(everloop.typed("log", "tail"))
    assert f"with {head} records, last in sync 3 h ago" in everloop("doctor").out


def test_exports_work_from_the_copy(
    everloop: CommandLine, server: PostgresServer, tmp_path: Path
) -> None:
    def export(name: str) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        for words in (
            ("log", "export", str(folder / "log.jsonl")),
            ("memories", "export", str(folder / "memories")),
            ("threads", "export", str(folder / "threads")),
        ):
            assert everloop.typed(*words).code == 0
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    before = export("before")
    server.stop()
    assert len(before) > 2
    assert export("after") == before


def test_backups_work_from_the_copy(
    everloop: CommandLine, server: PostgresServer, tmp_path: Path
) -> None:
    server.stop()
    copy = everloop.typed("backup", "--folder", str(tmp_path), "--json").document["path"]
    alone = CommandLine(tmp_path / "alone")
    assert alone.typed("restore", copy, "--yes").code == 0
    assert "the first thing" in alone.typed("log", "tail").out


def test_without_a_complete_copy_reading_fails(
    everloop: CommandLine, server: PostgresServer, home: Path, tmp_path: Path
) -> None:
    server.stop()
    elsewhere = CommandLine(tmp_path / "other", everloop.environment)
    assert elsewhere("log", "tail").code == 69
    shutil.copytree(home, tmp_path / "copied")
    for mark in (tmp_path / "copied" / "nodes").glob("*.level"):
        mark.unlink()
    never_level = CommandLine(tmp_path / "copied", everloop.environment)
    answer = never_level("log", "tail")
    assert answer.code == 69
    assert "does not answer" in answer.err


def test_an_incomplete_copy_is_reported(
    everloop: CommandLine, server: PostgresServer, home: Path, tmp_path: Path
) -> None:
    server.stop()
    shutil.copytree(home, tmp_path / "copied")
    (mark,) = (tmp_path / "copied" / "nodes").glob("*.level")
    at, _ = mark.read_text().split()
    mark.write_text(f"{at} 5000")
    answer = CommandLine(tmp_path / "copied", everloop.environment).typed("log", "tail")
    assert "the first thing" in answer.out
    assert "a full resync was interrupted; before that it reached position 5,000" in _said(answer)


def test_a_damaged_copy_is_not_read(
    everloop: CommandLine, server: PostgresServer, home: Path, tmp_path: Path
) -> None:
    server.stop()
    shutil.copytree(home, tmp_path / "copied")
    for path in (tmp_path / "copied" / "nodes").glob("*.db*"):
        if path.suffix != ".level":
            path.write_bytes(b"garbage!" * 512)
    answer = CommandLine(tmp_path / "copied", everloop.environment)("log", "tail")
    assert answer.code == 69
    assert "does not answer" in answer.err
