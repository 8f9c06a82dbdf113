"""What each call took is a fact, whoever asked."""

import pytest

from everloop.adapters.models.metered import Metered
from everloop.completion import says, whole
from everloop.errors import ModelFailed
from everloop.ports import Params, Prompt, Usage
from everloop.testing.deterministic import StillClock
from everloop.testing.model import ScriptedModel
from everloop.thread.model.commands import RecordModelCall

PROMPT = Prompt((says("user", "Hi."),))


def test_each_call_is_recorded_once_with_what_it_took() -> None:
    noted: list[RecordModelCall] = []
    model = ScriptedModel([["Yes.", Usage("m", 3, 2, 0.5)], "No.", ModelFailed("gone")])
    metered = Metered(model, "lesson", StillClock(), noted.append)
    assert metered.name == "scripted"
    assert [whole(metered.generate(PROMPT, Params())).text for _ in range(2)] == ["Yes.", "No."]
    with pytest.raises(ModelFailed):
        whole(metered.generate(PROMPT, Params()))
    assert [(one.purpose, one.model, one.cost_usd) for one in noted] == [
        ("lesson", "m", 0.5),
        ("lesson", "scripted", -1.0),
    ]
