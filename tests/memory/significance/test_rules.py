"""Significance by rules, and by a model that may fail."""

import pytest

from everloop.errors import ModelFailed
from everloop.memory.significance.classifier import Ratings, rate_turn
from everloop.memory.significance.rules import rate_by_rules
from everloop.testing.model import Script, ScriptedModel

RATED = {
    0: ["Hi!", "What is the capital of Mongolia?", "Thanks, bye.", "The sky is blue.", "", "???"],
    1: ["My sister is a nurse in Oslo.", "I live in Bonn.", "Ich bin Anna.", "I'll call tomorrow."],
    2: ["We decided to use Postgres.", "Always answer in German.", "Anna is allergic to nuts."],
    3: ["My father died on Sunday.", "We are getting married in May!", "I was diagnosed today."],
}


@pytest.mark.parametrize(
    ("text", "rated"), [(text, rated) for rated, texts in RATED.items() for text in texts]
)
def test_a_text_is_rated_by_what_it_says_of_a_life(text: str, rated: int) -> None:
    assert rate_by_rules(text) == rated


def test_what_happened_to_strangers_is_not_pivotal() -> None:
    assert rate_by_rules("Goethe died in 1832.") == 0


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (['{"message": 2, "answer": 3}'], Ratings(2, 2, "model")),
        (['{"message": 9, "answer": 0}', '{"message": 1, "answer": 0}'], Ratings(1, 0, "model")),
        (["no", "no"], Ratings(3, 0, "rules")),
        ([ModelFailed("gone")], Ratings(3, 0, "rules")),
        (['{"error": "I would rather not."}'], Ratings(3, 0, "rules")),
    ],
)
def test_a_model_rates_and_rules_stand_in_for_it(answers: list[Script], expected: Ratings) -> None:
    model = ScriptedModel(answers)
    assert rate_turn(model, "My father died on Sunday.", "I am sorry.") == expected


def test_without_a_language_model_rules_rate() -> None:
    assert rate_turn(None, "I live in Bonn.", "I see.") == Ratings(1, 0, "rules")
    offline = ScriptedModel(name="offline")
    assert rate_turn(offline, "I live in Bonn.", "I see.") == Ratings(1, 0, "rules")
    assert offline.calls == []
