"""Attribution of a message to a lesson: each rule, and none if it is unclear."""

import pytest

from everloop.lessons.feedback.attribution import (
    Attribution,
    attribute_turn,
    candidate_lessons,
    unique_keywords,
)
from everloop.lessons.feedback.turns import CandidateLesson, EarlierTurn, UserTurn

PNPM = CandidateLesson("les-1", "Use `pnpm` in this repository")
CHANGELOG = CandidateLesson("les-2", "Update CHANGELOG.md with every change", ("changelog",))
TESTS = CandidateLesson("les-3", "Run the tests first")
SHOWN = (PNPM, CHANGELOG, TESTS)


def heard(text: str, *turns: tuple[str, ...]) -> UserTurn:
    before = tuple(EarlierTurn("assistant", "done", lesson_ids=ids) for ids in turns)
    return UserTurn("t", text, shown=SHOWN, before=before)


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
    assert attribute_turn(heard(text, ("les-3",))) == Attribution(expected, 0.95, "mention")


def test_a_part_of_an_id_is_no_mention() -> None:
    assert attribute_turn(heard("les-11 is wrong")) is None


def test_two_named_lessons_are_left_to_a_judge() -> None:
    said = heard("pnpm and the changelog are wrong", ("les-3",))
    assert attribute_turn(said) is None
    assert candidate_lessons(said) == ("les-1", "les-2")


@pytest.mark.parametrize("text", ["that's wrong", "This is great", "“it” works", "thats bad"])
def test_a_pronoun_means_the_only_lesson_of_the_last_turn(text: str) -> None:
    said = heard(text, ("les-1", "les-2"), ("les-3",))
    assert attribute_turn(said) == Attribution("les-3", 0.80, "pronoun")


def test_a_pronoun_after_a_turn_with_two_lessons_is_not_attributed() -> None:
    assert attribute_turn(heard("that's wrong", ("les-1", "les-2"))) is None


def test_the_only_lesson_of_recent_turns_is_meant_with_low_confidence() -> None:
    assert attribute_turn(heard("wrong again", ("les-3",), (), ("les-3",))) == Attribution(
        "les-3", 0.65, "only"
    )


def test_lessons_that_were_not_shown_are_never_picked() -> None:
    assert attribute_turn(heard("that's wrong", ("les-9",))) is None


def test_without_any_hint_nothing_is_attributed() -> None:
    said = heard("wrong")
    assert attribute_turn(said) is None
    assert candidate_lessons(said) == ("les-1", "les-2", "les-3")


def test_candidates_are_those_of_recent_turns_newest_first() -> None:
    assert candidate_lessons(heard("wrong", ("les-1",), ("les-2", "les-1"))) == ("les-2", "les-1")


def test_a_user_turn_is_not_the_last_answer() -> None:
    before = (EarlierTurn("assistant", "x", lesson_ids=("les-1",)), EarlierTurn("user", "hm"))
    assert attribute_turn(UserTurn("t", "that's wrong", shown=SHOWN, before=before)) == Attribution(
        "les-1", 0.80, "pronoun"
    )


def test_a_keyword_that_two_lessons_share_names_neither() -> None:
    both = (CandidateLesson("a", "Use `uv` to install"), CandidateLesson("b", "Use `uv` to run"))
    assert unique_keywords(both) == {"a": (), "b": ()}
