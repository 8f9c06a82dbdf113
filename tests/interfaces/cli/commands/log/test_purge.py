"""Permanent erasure: purge and scrub."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

SECRET = "4711-is-the-door-code"  # noqa: S105 - a made-up one


def _occurrences(folder: Path) -> int:
    """How often the secret occurs in the log files, without earlier backups."""
    files = [path for path in folder.iterdir() if path.is_file()]
    return sum(path.read_bytes().count(SECRET.encode()) for path in files)


@pytest.mark.promise("P-LOG-13")
def test_purged_text_is_in_no_file_of_the_log(everloop: CommandLine) -> None:
    everloop("log", "note", SECRET)
    everloop("log", "note", f"derived: {SECRET}", "--because", "1")
    answer = everloop("log", "purge", "1", "--yes", "--json")
    assert [touched["position"] for touched in answer.document["impact"]["hides"]] == [1, 2]
    assert _occurrences(everloop.home) == 0
    assert everloop("verify").code == 0


def test_backups_that_still_contain_the_text_are_listed(everloop: CommandLine) -> None:
    everloop("log", "note", SECRET)
    answer = everloop("log", "purge", "1", "--yes")
    names = [path.name for path in (everloop.home / "backups").iterdir()]
    assert names
    assert all(name in answer.out for name in names)


def test_a_backup_that_ends_before_the_text_is_not_listed(everloop: CommandLine) -> None:
    everloop("log", "note", "harmless")
    (before,) = [path.name for path in (everloop.home / "backups").iterdir()]
    everloop("log", "note", SECRET)
    (holding,) = everloop("log", "purge", "2", "--yes", "--json").document["backups_holding_it"]
    assert holding != before


def test_nothing_is_asked_when_there_is_nothing_to_erase(everloop: CommandLine) -> None:
    everloop("log", "note", SECRET)
    everloop("log", "purge", "1", "--yes")
    again = everloop.typed("log", "purge", "1")
    assert (again.code, "[y/N]" in again.err) == (0, False)
    assert "already erased" in again.out


def test_purging_twice_reports_nothing_to_erase(everloop: CommandLine) -> None:
    everloop("log", "note", SECRET)
    everloop("log", "purge", "1", "--yes")
    assert "already erased" in everloop("log", "purge", "1", "--preview").out
    again = everloop("log", "purge", "1", "--yes")
    assert again.code == 0
    assert "already erased" in again.out


def test_the_logs_own_facts_cannot_be_purged(everloop: CommandLine) -> None:
    everloop("log", "fork", "x")
    answer = everloop("log", "purge", "1", "--yes")
    assert answer.code == 2
    assert "hint:" in answer.err


def test_scrubbing_reports_the_file_size(everloop: CommandLine) -> None:
    everloop("log", "note", "words")
    assert everloop("log", "scrub", "--json").document["bytes_after"] > 0
    assert "Scrubbed" in everloop("log", "scrub").out


def test_all_facts_to_be_erased_are_shown_before_the_question(everloop: CommandLine) -> None:
    for number in range(1, 31):
        everloop.typed("log", "note", f"note {number}", *(("--because", "1") * (number > 1)))
    asked = everloop.typed("log", "purge", "1", answers="n\n").err
    assert all(f"note {number}" in asked for number in range(1, 31))
    assert "more" not in asked
