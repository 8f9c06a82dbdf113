"""Doctor and settings."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import Answer, CommandLine


def _verdicts(answer: Answer) -> dict[str, str]:
    return {one["topic"]: one["verdict"] for one in answer.document["findings"]}


def test_a_missing_data_home_is_fine_and_is_not_created(everloop: CommandLine) -> None:
    answer = everloop("doctor", "--json")
    assert answer.code == 0
    assert answer.document["usable"]
    assert _verdicts(answer)["data home"] == "fine"
    assert not everloop.home.exists()


def test_doctor_verifies_an_intact_data_home(everloop: CommandLine) -> None:
    everloop("log", "note", "one")
    everloop("backup")
    answer = everloop("doctor", "--json")
    verdicts = _verdicts(answer)
    assert answer.code == 0
    assert {verdicts[topic] for topic in ("SQLite", "log", "views", "backup")} == {"fine"}
    drawn = everloop("doctor").out
    assert "all verified" in drawn
    assert "Everloop is ready." in drawn


def test_a_data_home_readable_by_others_needs_attention(everloop: CommandLine) -> None:
    everloop.home.mkdir(mode=0o755)
    answer = everloop("doctor", "--json")
    assert (answer.code, _verdicts(answer)["data home"]) == (0, "attention")
    assert "chmod 700" in everloop("doctor").out


@pytest.mark.parametrize("ruin", ["not a database", "a damaged record", "a home that is a file"])
def test_a_broken_data_home_is_reported(everloop: CommandLine, ruin: str) -> None:
    _ruin(everloop, ruin)
    answer = everloop("doctor", "--json")
    assert answer.code == 69
    assert not answer.document["usable"]
    assert "broken" in _verdicts(answer).values()
    assert "cannot run here" in everloop("doctor").out


def _ruin(everloop: CommandLine, how: str) -> None:
    path = everloop.home / "everloop.db"
    if how == "a home that is a file":
        everloop.home.write_text("")
    elif how == "not a database":
        everloop.home.mkdir(mode=0o700)
        path.write_text("no database" * 100)
    else:
        everloop("log", "note", "number one")
        everloop("log", "scrub")
        stored = bytearray(path.read_bytes())
        stored[stored.index(b"number one")] ^= 1
        path.write_bytes(stored)


def test_an_unreachable_postgresql_is_broken_and_its_password_not_shown(
    everloop: CommandLine,
) -> None:
    everloop.environment["EVERLOOP_STORE"] = "postgresql://me:hush@127.0.0.1:1/none"
    answer = everloop("doctor", "--json")
    assert answer.code == 69
    assert _verdicts(answer)["PostgreSQL"] == "broken"
    assert "hush" not in answer.out
    assert "hush" not in everloop("settings").out


def test_every_setting_is_listed_with_its_value(everloop: CommandLine) -> None:
    everloop.environment["EVERLOOP_BACKUPS_KEPT"] = "3"
    rows = {row["name"]: row for row in everloop("settings", "--json").document}
    assert (rows["backups.kept"]["value"], rows["backups.kept"]["default"]) == (3, 7)
    assert rows["home"]["value"] == str(everloop.home)
    assert list(rows.values())[-1]["variable"] in everloop("settings").out


def test_a_wrong_setting_is_an_error_with_a_hint(everloop: CommandLine) -> None:
    everloop.environment["EVERLOOP_BACKUPS_KEPT"] = "none"
    answer = everloop("settings")
    assert answer.code == 2
    assert "hint:" in answer.err


def test_the_option_wins_over_the_environment(everloop: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "by option"
    everloop("log", "note", "there", "--home", str(other))
    assert (other / "everloop.db").exists()
    assert not everloop.home.exists()


def test_a_tenant_has_a_log_of_its_own(everloop: CommandLine) -> None:
    everloop("log", "note", "mine", "--tenant", "anna")
    assert everloop.typed("log", "tail", "--json").document == []
    assert len(everloop.typed("--tenant", "anna", "log", "tail", "--json").document) == 1
    assert everloop.typed("log", "tail", "--tenant", "../up").code == 2
