"""What the player writes is told apart: said, done, outside the story; and to whom."""

import pytest

from everloop.worlds.message_parsing import directions, find_addressee, parse_message, told_text

CAST = {"ada": "Ada", "ben": "Ben Miller"}


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("Hello there.", [("speech", "Hello there.")]),
        ("*waves* Hello.", [("action", "waves"), ("speech", "Hello.")]),
        ("_waves_ Hello.", [("action", "waves"), ("speech", "Hello.")]),
        ('I wave. "Hi," I say.', [("action", "I wave."), ("speech", "Hi,"), ("action", "I say.")]),
        ("„Guten Tag“, sage ich.", [("speech", "Guten Tag"), ("action", "sage ich.")]),
        ("Hi. ((make it rain))", [("speech", "Hi."), ("outside", "make it rain")]),
        ("((only this))", [("outside", "only this")]),
        ("Hi. ((make it rain", [("speech", "Hi."), ("outside", "make it rain")]),
        ("((a)) Hi ((b) Ho.", [("outside", "a"), ("speech", "Hi"), ("outside", "b) Ho.")]),
        ("f((x) is odd", [("speech", "f((x) is odd")]),
        ("It costs snake_case_name dollars.", [("speech", "It costs snake_case_name dollars.")]),
        ("**", []),
        ("2 * 3 = 6", [("speech", "2 * 3 = 6")]),
    ],
)  # fmt: skip
def test_a_message_is_taken_apart(text: str, passages: list[tuple[str, str]]) -> None:
    assert [(one.kind, one.text) for one in parse_message(text)] == passages


@pytest.mark.parametrize("text", ["x" + "(" * 90_000, "*" * 90_000, "x ((" * 20_000 + "))"])
def test_a_message_of_marks_alone_takes_no_time(text: str) -> None:
    parse_message(text)  # it would take minutes


def test_words_outside_the_story_never_reach_a_character() -> None:
    passages = parse_message("*sits* Lovely day. ((Ada is lying))")
    assert told_text(passages) == "*sits* Lovely day."
    assert directions(passages) == "Ada is lying"


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Ada, look!", "ada"),
        ("What does ben think?", "ben"),
        ("Adamant.", "ada-default"),
        ("Ada and Ben, come here.", "ada-default"),
        ("Well?", "ada-default"),
    ],
)
def test_who_is_named_is_addressed_and_the_default_otherwise(text: str, who: str) -> None:
    assert find_addressee(text, CAST, "ada-default") == who
