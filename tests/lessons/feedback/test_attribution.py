"""Attribution of a message to a lesson: each rule, and none if it is unclear."""

import pytest

from everloop.lessons.feedback.attribution import Pick, candidates, keywords, pick
from everloop.lessons.feedback.turns import Heard, Shown, Turn

PNPM = Shown("les-1", "Use `pnpm` in this repository")
CHANGELOG = Shown("les-2", "Update CHANGELOG.md with every change", ("changelog",))
TESTS = Shown("les-3", "Run the tests first")
SHOWN = (PNPM, CHANGELOG, TESTS)


def heard(text: str, *turns: tuple[str, ...]) -> Heard:
    before = tuple(Turn("assistant", "done", lesson_ids=ids) for ids in turns)
    return Heard("t", text, shown=SHOWN, before=before)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("les-1 is wrong", "les-1"),
        ("the PNPM rule is wrong", "les-1"),
        ("great, the changelog is there", "les-2"),
        ("good that CHANGELOG.md is there", "les-2"),
    ],
)
def test_a_lesson_that_is_named_is_meant(text: str, expected: str) -> None:
    assert pick(heard(text, ("les-3",))) == Pick(expected, 0.95, "mention")


def test_a_part_of_an_id_is_no_mention() -> None:
    assert pick(heard("les-11 is wrong")) is None


def test_two_named_lessons_are_left_to_a_judge() -> None:
    said = heard("pnpm and the changelog are wrong", ("les-3",))
    assert pick(said) is None
    assert candidates(said) == ("les-1", "les-2")


@pytest.mark.parametrize("text", ["that's wrong", "This is great", "“it” works", "thats bad"])
def test_a_pronoun_means_the_only_lesson_of_the_last_turn(text: str) -> None:
    said = heard(text, ("les-1", "les-2"), ("les-3",))
    assert pick(said) == Pick("les-3", 0.80, "pronoun")


def test_a_pronoun_after_a_turn_with_two_lessons_is_not_attributed() -> None:
    assert pick(heard("that's wrong", ("les-1", "les-2"))) is None


def test_the_only_lesson_of_recent_turns_is_meant_with_low_confidence() -> None:
    assert pick(heard("wrong again", ("les-3",), (), ("les-3",))) == Pick("les-3", 0.65, "only")


def test_lessons_that_were_not_shown_are_never_picked() -> None:
    assert pick(heard("that's wrong", ("les-9",))) is None


def test_without_any_hint_nothing_is_attributed() -> None:
    said = heard("wrong")
    assert pick(said) is None
    assert candidates(said) == ("les-1", "les-2", "les-3")


def test_candidates_are_those_of_recent_turns_newest_first() -> None:
    assert candidates(heard("wrong", ("les-1",), ("les-2", "les-1"))) == ("les-2", "les-1")


def test_a_user_turn_is_not_the_last_answer() -> None:
    before = (Turn("assistant", "x", lesson_ids=("les-1",)), Turn("user", "hm"))
    assert pick(Heard("t", "that's wrong", shown=SHOWN, before=before)) == Pick(
        "les-1", 0.80, "pronoun"
    )


def test_a_keyword_that_two_lessons_share_names_neither() -> None:
    both = (Shown("a", "Use `uv` to install"), Shown("b", "Use `uv` to run"))
    assert keywords(both) == {"a": (), "b": ()}
