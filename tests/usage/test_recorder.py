"""The usage recorder: every call of a model becomes one fact."""

from pathlib import Path

from everloop.app import Engine
from everloop.log import Context, DecisionContext, Draft
from everloop.log.model.record import from_microseconds
from everloop.ports import Params, Prompt, Usage
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.model import ScriptedModel
from everloop.usage.commands import RecordModelCall
from everloop.usage.decide import record_model_call
from everloop.usage.events import ModelCalled


def test_a_call_is_recorded_as_it_was_given() -> None:
    call = RecordModelCall("answer", "m", 5, 7, 0.01, 1.5, "n", 4, (3,))
    (draft,) = record_model_call(None, call, DecisionContext(Context(), from_microseconds(0)))
    assert draft == Draft(ModelCalled("answer", "m", 5, 7, 0.01, 1.5, "n", 4), (3,))


def test_every_call_of_a_metered_model_is_recorded_under_its_purpose(tmp_path: Path) -> None:
    with Engine.open(tmp_path, ports=DeterministicPorts().ports) as engine:
        model = engine.usage.metered(ScriptedModel([["Hi.", Usage("m", 3, 1, 0.5, 2)]]), "lesson")
        assert model.name == "scripted"
        list(model.generate(Prompt(()), Params()))
        (fact,) = list(engine.log.read("models"))
    assert fact.event == ModelCalled("lesson", "m", 3, 1, 0.5, 0.0, "", 2)
    assert fact.actor == "engine"


def test_an_unknown_cost_is_recorded_as_unknown(tmp_path: Path) -> None:
    with Engine.open(tmp_path, ports=DeterministicPorts().ports) as engine:
        engine.usage.record("summary", Usage("m", 3, 1), duration_s=1.23456)
        (fact,) = list(engine.log.read("models"))
    assert fact.event == ModelCalled("summary", "m", 3, 1, -1.0, 1.235, "", 0)
