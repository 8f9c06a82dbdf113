"""Several models as one: patience before the first piece, and never after it."""

import threading
from collections.abc import Sequence

import pytest

from everloop.adapters.models.errors import Transient
from everloop.adapters.models.fallback import ModelSlot, Patience
from everloop.completion import says, whole
from everloop.errors import ModelFailed
from everloop.ports import Delta, Params, Prompt
from everloop.testing.model import Script, ScriptedModel

ASK = Prompt((says("user", "Who is Rex?"),))
BUSY = Transient("too many calls")
QUICK = Patience(tries=3, backoff_s=0, backoff_max_s=20)


def model(*answers: Script, name: str = "first") -> ScriptedModel:
    """A model with a script."""
    return ScriptedModel(answers, name=name)


def answer(models: Sequence[ScriptedModel], patience: Patience = QUICK) -> tuple[str, str]:
    """What the slot says, and who said it."""
    given = whole(ModelSlot(models, patience).generate(ASK, Params()))
    return given.text, given.usage.model


def test_a_failure_that_may_pass_is_tried_again() -> None:
    first = model(BUSY, BUSY, "A dog.")
    assert answer([first]) == ("A dog.", "first")
    assert len(first.asked) == 3


def test_after_all_tries_the_next_model_is_asked() -> None:
    first, second = model(BUSY, BUSY, BUSY, "late"), model("A dog.", name="second")
    assert answer([first, second]) == ("A dog.", "second")
    assert len(first.asked) == 3


def test_a_failure_that_will_not_pass_goes_to_the_next_model_at_once() -> None:
    first, second = model(ModelFailed("no key")), model("A dog.", name="second")
    assert answer([first, second]) == ("A dog.", "second")
    assert len(first.asked) == 1


def test_nothing_is_tried_again_once_a_piece_was_given() -> None:
    first, second = model(["A ", BUSY], "A dog."), model("A dog.", name="second")
    stream = ModelSlot([first, second], QUICK).generate(ASK, Params())
    assert next(stream) == Delta("A ")
    with pytest.raises(Transient):
        next(stream)
    assert (len(first.asked), len(second.asked)) == (1, 0)


def test_if_one_model_fails_its_own_problem_is_told() -> None:
    with pytest.raises(ModelFailed, match=r"^no key$"):
        answer([model(ModelFailed("no key"))])


def test_if_all_fail_each_problem_is_told_with_the_last_hint() -> None:
    models = [model(ModelFailed("no key")), model(ModelFailed("gone", hint="Look."), name="second")]
    with pytest.raises(ModelFailed, match=r"first: no key; second: gone") as caught:
        answer(models)
    assert caught.value.hint == "Look."


def test_pauses_double_vary_and_are_bounded() -> None:
    patience = Patience(tries=9, backoff_s=1, backoff_max_s=5, chance=lambda: 1.0)
    assert [patience.pause(tried, BUSY) for tried in (1, 2, 3, 4, 9)] == [1, 2, 4, 5, None]
    assert patience._replace(chance=lambda: 0.0).pause(1, BUSY) == 0.5


def test_a_service_that_asks_for_a_short_wait_gets_it_and_for_a_long_one_does_not() -> None:
    patience = Patience(tries=3, backoff_s=1, backoff_max_s=5, chance=lambda: 1.0)
    assert patience.pause(1, Transient("busy", after_s=3)) == 3
    assert patience.pause(1, Transient("busy", after_s=60)) is None


def test_stopping_ends_the_wait_between_two_tries() -> None:
    patience = Patience(tries=3, backoff_s=1_000, backoff_max_s=1_000)
    first = model(BUSY, "A dog.")
    stream = ModelSlot([first], patience).generate(ASK, Params())
    reader = threading.Thread(target=lambda: list(stream))
    reader.start()
    stream.close()
    reader.join(60)
    assert not reader.is_alive()
    assert len(first.asked) == 1


def test_a_slot_is_called_after_its_first_model_and_names_all() -> None:
    slot = ModelSlot([model(), model(name="second")])
    assert (slot.name, slot.names) == ("first", ("first", "second"))
