"""Verify and rebuild."""

import pytest
from tests.interfaces.cli.commandline import CommandLine


def _flip(everloop: CommandLine, old: bytes) -> None:
    """Flip one bit at the first occurrence of `old` in the file."""
    everloop("log", "scrub")  # brings everything into the main file
    path = everloop.home / "everloop.db"
    stored = bytearray(path.read_bytes())
    stored[stored.index(old)] ^= 1
    path.write_bytes(stored)


def test_an_intact_log_verifies(everloop: CommandLine) -> None:
    everloop("log", "note", "one")
    everloop("log", "note", "two", "--stream", "notes:other")
    assert everloop("verify", "--json").document == {
        "ok": True,
        "records": 2,
        "streams": 2,
        "damage": [],
    }
    assert "all digests match" in everloop("verify").out


@pytest.mark.promise("P-LOG-14")
def test_a_flipped_bit_is_found_with_its_position(everloop: CommandLine) -> None:
    for text in ("one", "two", "three"):
        everloop("log", "note", f"number {text}")
    _flip(everloop, b"number two")
    answer = everloop("verify", "--json")
    assert answer.code == 70
    assert answer.document["damage"][0]["first"] == 2
    drawn = everloop("verify")
    assert "does not match its digest" in drawn.out
    assert "everloop restore" in drawn.out


def test_a_progress_bar_is_shown_on_a_terminal_and_then_removed(
    everloop: CommandLine,
) -> None:
    everloop("log", "note", "one")
    answer = everloop.typed("verify")
    assert answer.code == 0
    assert "verifying" in answer.err
    assert "verifying" not in answer.out
    assert "verifying" not in everloop("verify").err


def test_views_are_rebuilt_by_name(everloop: CommandLine) -> None:
    everloop("log", "note", "one")
    assert "lineage" in everloop("rebuild", "--json").document["views"]
    assert everloop("rebuild", "lineage", "--json").document["views"] == ["lineage"]
    missing = everloop("rebuild", "nothing")
    assert missing.code == 3
    assert "lineage" in missing.err
