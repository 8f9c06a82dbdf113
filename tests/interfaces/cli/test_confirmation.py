"""Confirmation: risky commands ask first, and are refused without a terminal."""

import pytest
from tests.interfaces.cli.commandline import CommandLine

ASKING = (
    ("log", "retract", "1"),
    ("log", "purge", "1"),
    ("log", "rewind", "0"),
)
OF_THE_USER = (  # only the user runs these at all; see test_user_only.py
    ("log", "import", __file__),  # any file that is there: it is not looked into before
    ("restore",),
)


@pytest.fixture
def prepared(everloop: CommandLine) -> CommandLine:
    """A data home with one fact and one backup."""
    everloop("log", "note", "the only fact")
    everloop("backup")
    return everloop


def _named(words: tuple[str, ...]) -> str:
    return " ".join(words)


@pytest.mark.promise("P-CLI-2")
@pytest.mark.parametrize("words", ASKING, ids=_named)
def test_a_command_that_asks_is_refused_without_a_terminal_and_without_yes(
    prepared: CommandLine, words: tuple[str, ...]
) -> None:
    before = prepared.typed("log", "tail", "--json").out
    answer = prepared(*words)
    assert answer.code == 2
    assert "--yes" in answer.err
    assert prepared.typed("log", "tail", "--json").out == before


@pytest.mark.parametrize("words", ASKING + OF_THE_USER, ids=_named)
def test_json_output_never_asks_even_at_a_terminal(
    prepared: CommandLine, words: tuple[str, ...]
) -> None:
    answer = prepared.typed(*words, "--json", answers="y\n")
    assert answer.code == 2
    assert answer.document["error"]["kind"] == "Rejected"


@pytest.mark.promise("P-CLI-2")
@pytest.mark.parametrize("reply", ["n\n", "\n", "", "maybe\n"], ids=repr)
def test_only_a_clear_yes_confirms(prepared: CommandLine, reply: str) -> None:
    answer = prepared.typed("log", "purge", "1", answers=reply)
    assert answer.code == 1
    assert "No changes made." in answer.err
    kept = prepared.typed("log", "show", "1", "--json").document["data"]
    assert kept == {"text": "the only fact"}


@pytest.mark.parametrize("words", ASKING + OF_THE_USER, ids=_named)
def test_declining_after_the_preview_changes_nothing(
    prepared: CommandLine, words: tuple[str, ...]
) -> None:
    before = prepared.typed("log", "tail", "--json").out
    answer = prepared.typed(*words, answers="n\n")
    assert answer.code == 1
    assert "[y/N]" in answer.err
    assert prepared.typed("log", "tail", "--json").out == before


def test_the_preview_of_an_undo_shows_restored_facts(prepared: CommandLine) -> None:
    prepared("log", "retract", "1", "--yes")
    assert "1 fact would be restored" in prepared("log", "retract", "2", "--preview").out


def test_the_preview_is_printed_before_the_question(prepared: CommandLine) -> None:
    answer = prepared.typed("log", "purge", "1", answers="y\n")
    assert answer.code == 0
    assert answer.err.index("notes.note_written") < answer.err.index(
        "Erase them permanently? [y/N]"
    )
    assert "cannot be undone" in answer.err
    assert prepared.typed("log", "show", "1", "--json").document["data"] is None


def test_an_existing_archive_is_not_overwritten_without_confirmation(prepared: CommandLine) -> None:
    archive = prepared.home.parent / "kept.jsonl"
    archive.write_text("precious")
    assert prepared.typed("log", "export", str(archive), "--json").code == 2
    assert archive.read_text() == "precious"
    assert prepared.typed("log", "export", str(archive), "--yes").code == 0
