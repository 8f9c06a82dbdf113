"""What a message to the built-in model is, and what of it is kept."""

import pytest

from everloop.adapters.models.message_intent import message_intent, statement_to_keep


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("The spare key hangs behind the blue door.", "statement"),
        ("When I am in Lyon I stay with Ida.", "statement"),
        ("Will is my brother.", "statement"),
        ("Mein Hund heißt Rex.", "statement"),
        ("Remember that the bins go out on Tuesday", "statement"),
        ("Where does the spare key hang?", "question"),
        ("where is the spare key", "question"),
        ("do I take milk", "question"),
        ("The boiler is old. Is it safe?", "question"),
        ("wie heißt mein Hund", "question"),
        ("Tell me about Rex.", "request"),
        ("Help me plan the week: I will tell you what is on my mind.", "request"),
        ("Good morning!", "greeting"),
        ("Thank you so much!", "thanks"),
        ("ok", "reply"),
        ("", "question"),
    ],
)
def test_a_message_is_a_statement_a_question_a_request_or_small_talk(
    text: str, intent: str
) -> None:
    assert message_intent(text) == intent


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I prefer tea. Remember that.", "I prefer tea."),
        ("Please remember that the bins go out on Tuesday.", "The bins go out on Tuesday."),
        ("We moved. Keep that in mind, please!", "We moved."),
        ("note to self: buy milk", "Buy milk"),
        ("don't forget it", ""),
        ("Remember this.", ""),
    ],
)
def test_the_request_to_remember_is_not_part_of_what_is_kept(text: str, kept: str) -> None:
    assert statement_to_keep(text) == kept
