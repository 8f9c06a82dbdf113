"""Speech acts: what sort of thing somebody said."""

import pytest

from everloop.memory.text.speech_acts import SpeechAct, classify


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Anna is allergic to nuts.", "statement"),
        ("I'm 40 and my knee hurts, can I run?", "statement"),
        ("Will plays in The Who", "statement"),
        ("what can't Anna eat?", "question"),
        ("Hi! Who has our spare key?", "question"),
        ("Was darf Karin nicht trinken?", "question"),
        ("Où est-ce que je travaille ?", "question"),
        ("heyyy", "small talk"),
        ("thank you so much!", "small talk"),
        ("🎉", "small talk"),
        ("Okay, I've noted that down.", "small talk"),
        ("I'll keep that in mind. Good luck!", "small talk"),
        ("Alles klar, ich merke es mir.", "small talk"),
        ("D'accord, c'est noté.", "small talk"),
        ("Noted: the key hangs in the shed.", "statement"),
        ("I'll remember the key tomorrow.", "statement"),
        ("Always answer in German.", "instruction"),
        ("Antworte mir immer auf Deutsch.", "instruction"),
        ("I prefer trains over planes.", "preference"),
        ("We hated the curry. Never again.", "statement"),
    ],
)
def test_a_text_is_sorted_by_what_it_does(text: str, act: SpeechAct) -> None:
    assert classify(text) == act


def test_what_the_built_in_model_says_is_boilerplate() -> None:
    assert classify("I found nothing about that.", boilerplate=True) == "boilerplate"
