"""Writing to the log: note, fork, stand, rewind, retract."""

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.interfaces.cli.parsing.argument_types import format_positions


def texts(everloop: CommandLine) -> list[str]:
    """The notes that count on the current branch."""
    facts = everloop.typed("log", "tail", "--json", "--counting", "--kind", "notes.*").document
    return [fact["data"]["text"] for fact in facts]


def test_at_a_terminal_the_actor_is_the_user(everloop: CommandLine) -> None:
    everloop.typed("log", "note", "mine")
    assert everloop.typed("log", "show", "1", "--json").document["actor"] == "user"


@pytest.mark.promise("P-CLI-1")
def test_without_a_terminal_the_actor_is_never_the_user(everloop: CommandLine) -> None:
    everloop("log", "note", "scripted", "--yes")
    assert everloop.typed("log", "show", "1", "--json").document["actor"] == "agent:cli"
    assert everloop("log", "note", "x", "--as", "user").code == 2


def test_a_note_is_read_from_standard_input(everloop: CommandLine) -> None:
    answer = everloop("log", "note", "-", "--json", piped="several\nlines\n")
    assert answer.document["positions"] == [1]
    assert texts(everloop) == ["several\nlines"]


def test_an_empty_note_is_refused(everloop: CommandLine) -> None:
    assert everloop("log", "note", "  ").code == 2


def test_a_repeated_request_is_recorded_once(everloop: CommandLine) -> None:
    words = ("log", "note", "once", "--request-id", "r1", "--json")
    first, second = everloop(*words), everloop(*words)
    assert first.document["positions"] == second.document["positions"] == [1]
    assert (first.document["repeated"], second.document["repeated"]) == (False, True)
    assert "Already recorded" in everloop("log", "note", "once", "--request-id", "r1").out


def test_an_outdated_version_is_a_conflict(everloop: CommandLine) -> None:
    everloop("log", "note", "first")
    answer = everloop("log", "note", "second", "--expected", "0", "--json")
    assert answer.code == 4
    assert answer.document["error"]["kind"] == "Conflict"


def test_a_fork_starts_from_the_current_branch(everloop: CommandLine) -> None:
    everloop("log", "note", "shared")
    everloop("log", "fork", "other")
    everloop("log", "stand", "other")
    forked = everloop("log", "fork", "third", "--json").document
    assert (forked["forked"], forked["parent"], forked["at"]) == ("third", "other", 3)


def test_switching_the_branch_changes_what_counts(everloop: CommandLine) -> None:
    everloop("log", "note", "shared")
    everloop("log", "fork", "other")
    everloop("log", "note", "on other", "--branch", "other")
    assert texts(everloop) == ["shared"]
    assert "Switched to branch other" in everloop("log", "stand", "other").out
    assert texts(everloop) == ["shared", "on other"]
    assert "Already on branch" in everloop("log", "stand", "other").out


def test_an_unknown_branch_is_not_found(everloop: CommandLine) -> None:
    assert everloop("log", "stand", "nowhere").code == 3
    assert everloop("log", "rewind", "0", "--tree", "nowhere", "--yes").code == 3


def test_a_rewind_previews_hidden_facts_and_keeps_the_old_branch(everloop: CommandLine) -> None:
    for text in ("one", "two", "three"):
        everloop("log", "note", text)
    preview = everloop("log", "rewind", "1", "--preview", "--json").document
    assert [touched["position"] for touched in preview["hides"]] == [2, 3]
    done = everloop("log", "rewind", "1", "--name", "again", "--yes", "--json").document
    assert (done["standing"], done["before"]) == ("again", "main")
    assert texts(everloop) == ["one"]
    everloop("log", "stand", "main")
    assert texts(everloop) == ["one", "two", "three"]


def test_a_retraction_includes_derived_facts_and_can_be_undone(everloop: CommandLine) -> None:
    everloop("log", "note", "source")
    everloop("log", "note", "derived", "--because", "1")
    everloop("log", "note", "unrelated")
    answer = everloop("log", "retract", "1", "--reason", "wrong", "--yes", "--json")
    assert answer.document["impact"]["kinds"] == {"notes.note_written": 2}
    assert texts(everloop) == ["unrelated"]
    (retraction,) = answer.document["positions"]
    undone = everloop("log", "retract", str(retraction), "--yes")
    assert "2 facts restored" in undone.out
    assert texts(everloop) == ["source", "derived", "unrelated"]


@pytest.mark.promise("P-CLI-2")
@pytest.mark.parametrize(
    "words",
    [("retract", "1"), ("purge", "1"), ("rewind", "0")],
    ids=lambda words: str(words[0]),
)
def test_a_preview_changes_nothing(everloop: CommandLine, words: tuple[str, ...]) -> None:
    everloop("log", "note", "still here")
    before = everloop.typed("log", "tail", "--json").out
    drawn = everloop("log", *words, "--preview")
    assert drawn.code == 0
    assert "notes.note_written" in drawn.out
    assert everloop.typed("log", "tail", "--json").out == before


def test_a_note_goes_only_to_streams_of_notes(everloop: CommandLine) -> None:
    refused = everloop("log", "note", "It is fine.", "--stream", "host:b")
    assert refused.code == 2
    assert "notes:NAME" in refused.err


@pytest.mark.parametrize("verb", ["retract", "purge", "rewind"])
def test_a_script_cannot_undo_what_the_user_recorded(everloop: CommandLine, verb: str) -> None:
    everloop("log", "note", "by a script")
    everloop.typed("log", "note", "by the user")
    position = "1" if verb == "rewind" else "2"
    refused = everloop("log", verb, position, "--yes")
    assert refused.code == 5
    assert "only the user can" in refused.err
    assert everloop.typed("log", verb, position, "--yes").code == 0


def test_a_script_cannot_switch_to_a_branch_that_hides_the_users_facts(
    everloop: CommandLine,
) -> None:
    everloop("log", "note", "by a script")
    everloop("log", "fork", "early")
    everloop.typed("log", "note", "by the user")
    assert everloop("log", "stand", "early").code == 5
    assert everloop.typed("log", "stand", "early").code == 0


def test_a_range_of_positions_is_retracted(everloop: CommandLine) -> None:
    for word in "abcdef":
        everloop.typed("log", "note", word)
    seen = everloop.typed("log", "retract", "2-4", "6", "--preview").out
    assert "Retracting positions 2-4, 6" in seen
    assert everloop.typed("log", "retract", "2-4", "6", "--yes").code == 0
    assert sorted(texts(everloop)) == ["a", "e"]


@pytest.mark.parametrize("typed", ["4-2", "2-", "-3", "1-1000000000", "1-2-3", "a-b"])
def test_an_invalid_range_of_positions_is_refused(everloop: CommandLine, typed: str) -> None:
    everloop.typed("log", "note", "x")
    assert everloop.typed("log", "retract", typed, "--yes").code == 2
    assert texts(everloop) == ["x"]


def test_positions_are_formatted_as_ranges() -> None:
    assert format_positions([11, 12, 13, 20, 21, 3]) == "11-13 20 21 3"
    assert format_positions([7]) == "7"
