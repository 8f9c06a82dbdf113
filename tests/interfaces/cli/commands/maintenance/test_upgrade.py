"""`everloop upgrade`: what would change, the backup before it, and the change."""

import shutil
import tarfile
from pathlib import Path

import apsw
import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.app import PROJECTIONS
from everloop.log.schema import MIGRATIONS

GOLDEN = Path(__file__).parents[4] / "golden"
VIEW = PROJECTIONS[0].name


@pytest.fixture
def old(everloop: CommandLine) -> CommandLine:
    """A data home as an earlier format and an earlier version of a view left it."""
    everloop.typed("log", "note", "one")
    _change(
        everloop.home / "everloop.db",
        "DROP INDEX log_request",
        "CREATE INDEX log_request ON log (request_id)",
        "PRAGMA user_version = 1",
        f"UPDATE views SET version = 0 WHERE name = '{VIEW}'",  # noqa: S608 - our own name
    )
    shutil.rmtree(everloop.home / "backups", ignore_errors=True)
    return everloop


def _change(path: Path, *statements: str) -> None:
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement)
    db.close()


def _format(path: Path) -> int:
    db = apsw.Connection(str(path))
    try:
        return int(db.pragma("user_version"))
    finally:
        db.close()


@pytest.mark.promise("P-REACH-3")
def test_a_check_says_what_would_change_and_changes_nothing(old: CommandLine) -> None:
    said = old("upgrade", "--check", "--json").document
    assert (said["format"], said["current_format"]) == (1, len(MIGRATIONS))
    assert [view["name"] for view in said["views"]] == [VIEW]
    assert _format(old.home / "everloop.db") == 1
    assert "folded again" in old.typed("upgrade", "--check").out
    assert not (old.home / "backups").exists()


@pytest.mark.promise("P-REACH-3")
def test_an_upgrade_makes_a_backup_of_the_log_as_it_was(old: CommandLine) -> None:
    assert old.typed("upgrade", answers="n\n").code == 1
    assert _format(old.home / "everloop.db") == 1
    done = old.typed("upgrade", "--yes", "--json").document
    assert _format(Path(done["backup"])) == 1
    assert _format(old.home / "everloop.db") == len(MIGRATIONS)
    again = old.typed("upgrade", "--json").document
    assert (again["views"], again["backup"]) == ([], "")
    assert old.typed("verify").code == 0


@pytest.mark.promise("P-REACH-3")
def test_opening_an_older_format_makes_a_backup_first(old: CommandLine) -> None:
    assert old.typed("log", "tail").code == 0
    (copy,) = (old.home / "backups").glob("everloop-*.db")
    assert _format(copy) == 1
    assert old.typed("log", "tail").code == 0
    assert len(list((old.home / "backups").iterdir())) == 1


def test_a_log_of_a_newer_version_is_told_and_left_alone(everloop: CommandLine) -> None:
    everloop.typed("log", "note", "one")
    _change(everloop.home / "everloop.db", "PRAGMA user_version = 99")
    assert everloop("upgrade", "--check", "--json").document["newer"] is True
    refused = everloop.typed("upgrade", "--yes")
    assert refused.code == 4
    assert "newer version" in refused.err


def test_a_setting_that_this_version_does_not_know_is_named(everloop: CommandLine) -> None:
    everloop.typed("log", "note", "one")
    (everloop.home / "settings.toml").write_text("[serve]\nmagic = 1\n")
    said = everloop("upgrade", "--check", "--json").document
    assert "magic" in said["settings_problem"]


def test_a_script_may_check_but_not_upgrade(old: CommandLine) -> None:
    assert old("upgrade", "--check").code == 0
    assert old("upgrade", "--yes").code == 5
    assert _format(old.home / "everloop.db") == 1


@pytest.mark.parametrize("home", sorted(GOLDEN.glob("home-*.tar.xz")), ids=lambda one: one.name)
def test_a_home_of_every_release_is_checked_and_upgraded(home: Path, tmp_path: Path) -> None:
    with tarfile.open(home) as archive:
        archive.extractall(tmp_path / "home")  # noqa: S202 - our own file
    cli = CommandLine(tmp_path / "home")
    assert cli("upgrade", "--check", "--json").document["unknown"] == []
    assert cli.typed("upgrade", "--yes").code == 0
    assert cli.typed("upgrade", "--check", "--json").document["views"] == []
