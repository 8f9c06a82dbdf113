"""One suite for every model: scripted, offline, services over HTTP, and several as one.

Claude Code keeps to the same rules in `test_model_claude.py`, the local model in
`test_model_local.py`: each needs a surrounding of its own.
"""

import itertools
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack

import pytest
from tests.adapters.models.contract import RULES, Rule, stopping_wakes_the_reader
from tests.adapters.models.fake_services import KEY, FakeService, Reply, fake_service

from everloop.adapters.models.fallback import FallbackModel
from everloop.adapters.models.offline import OfflineModel
from everloop.adapters.models.provider import ModelService, ProviderModel
from everloop.ports import Model
from everloop.testing.model import ScriptedModel

Make = Callable[[ExitStack], Model]


def anthropic(service: FakeService) -> ProviderModel:
    """A model of the Messages API."""
    return ProviderModel(ModelService("anthropic", service.url, KEY), "claude-haiku-5-5")


def openai(service: FakeService) -> ProviderModel:
    """A model of chat completions."""
    return ProviderModel(ModelService("openai", f"{service.url}/v1", KEY), "gpt-5")


MODELS: dict[str, Make] = {
    "scripted": lambda _: ScriptedModel(itertools.repeat("Rex is a dog.")),
    "offline": lambda _: OfflineModel(),
    "anthropic": lambda stack: anthropic(stack.enter_context(fake_service())),
    "openai": lambda stack: openai(stack.enter_context(fake_service())),
    "slot": lambda stack: FallbackModel([openai(stack.enter_context(fake_service()))]),
}


@pytest.fixture(params=sorted(MODELS))
def model(request: pytest.FixtureRequest) -> Generator[Model]:
    """Each model in turn."""
    with ExitStack() as stack:
        yield MODELS[request.param](stack)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_model_fulfils_the_contract(model: Model, rule: Rule) -> None:
    rule(model)


def slot(service: FakeService) -> FallbackModel:
    """A slot with one model in it."""
    return FallbackModel([openai(service)])


@pytest.mark.parametrize("make", [anthropic, openai, slot])
def test_stopping_a_service_wakes_the_reader_and_ends_the_connection(
    make: Callable[[FakeService], Model],
) -> None:
    with fake_service(Reply(then="stall")) as service:
        stopping_wakes_the_reader(make(service), service.stalled)
        assert service.gone.wait(60)


def test_stopping_a_scripted_model_wakes_the_reader() -> None:
    never = threading.Event()
    stopping_wakes_the_reader(ScriptedModel([["Rex ", never]]), _set())


def _set() -> threading.Event:
    event = threading.Event()
    event.set()
    return event
