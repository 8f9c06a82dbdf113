"""Several models as one: patience before the first piece, and never after it."""

import threading
from collections.abc import Sequence

import pytest

from everloop.adapters.models.errors import TransientModelError
from everloop.adapters.models.fallback import FallbackModel, RetryPolicy
from everloop.completion import read_completion, text_message
from everloop.errors import ModelFailed
from everloop.ports import Delta, Params, Prompt
from everloop.testing.model import Script, ScriptedModel

ASK = Prompt((text_message("user", "Who is Rex?"),))
BUSY = TransientModelError("too many calls")
QUICK = RetryPolicy(tries=3, backoff_s=0, backoff_max_s=20)


def model(*answers: Script, name: str = "first") -> ScriptedModel:
    """A model with a script."""
    return ScriptedModel(answers, name=name)


def answer(models: Sequence[ScriptedModel], patience: RetryPolicy = QUICK) -> tuple[str, str]:
    """What the slot says, and who said it."""
    given = read_completion(FallbackModel(models, patience).generate(ASK, Params()))
    return given.text, given.usage.model


def test_a_transient_failure_is_retried() -> None:
    first = model(BUSY, BUSY, "A dog.")
    assert answer([first]) == ("A dog.", "first")
    assert len(first.calls) == 3


def test_after_all_retries_the_next_model_is_called() -> None:
    first, second = model(BUSY, BUSY, BUSY, "late"), model("A dog.", name="second")
    assert answer([first, second]) == ("A dog.", "second")
    assert len(first.calls) == 3


def test_a_permanent_failure_falls_back_at_once() -> None:
    first, second = model(ModelFailed("no key")), model("A dog.", name="second")
    assert answer([first, second]) == ("A dog.", "second")
    assert len(first.calls) == 1


def test_nothing_is_retried_after_the_first_chunk() -> None:
    first, second = model(["A ", BUSY], "A dog."), model("A dog.", name="second")
    stream = FallbackModel([first, second], QUICK).generate(ASK, Params())
    assert next(stream) == Delta("A ")
    with pytest.raises(TransientModelError):
        next(stream)
    assert (len(first.calls), len(second.calls)) == (1, 0)


def test_a_single_failing_model_raises_its_own_error() -> None:
    with pytest.raises(ModelFailed, match=r"^no key$"):
        answer([model(ModelFailed("no key"))])


def test_if_all_models_fail_every_error_is_reported_with_the_last_hint() -> None:
    models = [model(ModelFailed("no key")), model(ModelFailed("gone", hint="Look."), name="second")]
    with pytest.raises(ModelFailed, match=r"first: no key; second: gone") as caught:
        answer(models)
    assert caught.value.hint == "Look."


def test_backoff_doubles_with_jitter_up_to_a_limit() -> None:
    patience = RetryPolicy(tries=9, backoff_s=1, backoff_max_s=5, chance=lambda: 1.0)
    assert [patience.backoff_before_retry(tried, BUSY) for tried in (1, 2, 3, 4, 9)] == [
        1,
        2,
        4,
        5,
        None,
    ]
    assert patience._replace(chance=lambda: 0.0).backoff_before_retry(1, BUSY) == 0.5


def test_a_short_retry_after_is_waited_for_and_a_long_one_is_not() -> None:
    patience = RetryPolicy(tries=3, backoff_s=1, backoff_max_s=5, chance=lambda: 1.0)
    assert patience.backoff_before_retry(1, TransientModelError("busy", after_s=3)) == 3
    assert patience.backoff_before_retry(1, TransientModelError("busy", after_s=60)) is None


def test_stopping_ends_the_backoff() -> None:
    patience = RetryPolicy(tries=3, backoff_s=1_000, backoff_max_s=1_000)
    first = model(BUSY, "A dog.")
    stream = FallbackModel([first], patience).generate(ASK, Params())
    reader = threading.Thread(target=lambda: list(stream))
    reader.start()
    stream.close()
    reader.join(60)
    assert not reader.is_alive()
    assert len(first.calls) == 1


def test_a_slot_has_the_name_of_its_first_model_and_lists_all() -> None:
    slot = FallbackModel([model(), model(name="second")])
    assert (slot.name, slot.names) == ("first", ("first", "second"))
