"""Models of a service, over real HTTP on the loopback: what is asked, what is read, what fails."""

import subprocess
import sys
import traceback
from typing import Any

import pytest
from tests.adapters.models.fake_services import KEY, FakeService, Reply, fake_service

from everloop.adapters.models.errors import TransientModelError
from everloop.adapters.models.provider import ModelService, ProviderModel
from everloop.completion import read_completion, text_message
from everloop.errors import ModelFailed
from everloop.ports import (
    Delta,
    Finish,
    Image,
    Message,
    Params,
    Prompt,
    Reasoning,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)

ASK = Prompt((text_message("user", "Who is Rex?"),), system="Be short.")
RECALL = Tool("recall", "Find a memory.", {"type": "object", "properties": {"q": {}}})
SERVICES = ("anthropic", "openai", "ollama")
BAD = '{"q": '


@pytest.fixture(params=SERVICES)
def name(request: pytest.FixtureRequest) -> str:
    """Each service in turn."""
    return str(request.param)


def model_of(name: str, service: FakeService) -> ProviderModel:
    """A model of this service."""
    if name == "anthropic":
        return ProviderModel(ModelService(name, service.url, KEY), "claude-haiku-5-5")
    key, free = ("", True) if name == "ollama" else (KEY, False)
    return ProviderModel(ModelService(name, f"{service.url}/v1", key, free=free), "gpt-5")


def failure(name: str, reply: Reply, prompt: Prompt = ASK, timeout_s: float = 20) -> ModelFailed:
    """How a call fails."""
    with fake_service(reply) as service, pytest.raises(ModelFailed) as caught:
        read_completion(model_of(name, service).generate(prompt, Params(timeout_s=timeout_s)))
    return caught.value


def body_of(name: str, prompt: Prompt, params: Params) -> dict[str, Any]:
    """What is sent."""
    with fake_service() as service:
        read_completion(model_of(name, service).generate(prompt, params))
        return service.asked[0].body


def test_tokens_are_those_the_service_counted(name: str) -> None:
    with fake_service() as service:
        usage = read_completion(model_of(name, service).generate(ASK, Params())).usage
    assert (usage.tokens_in, usage.tokens_out) == (11, 7)


def test_tokens_that_the_service_had_in_its_cache_are_counted(name: str) -> None:
    with fake_service(Reply(cached=4)) as service:
        usage = read_completion(model_of(name, service).generate(ASK, Params())).usage
    assert (usage.tokens_in, usage.tokens_cached) == (11, 4)


def test_a_call_has_its_list_price_and_local_calls_are_free(name: str) -> None:
    with fake_service() as service:
        cost = read_completion(model_of(name, service).generate(ASK, Params())).usage.cost_usd
    assert cost == 0 if name == "ollama" else 0 < (cost or 0) < 0.001


def test_a_model_that_the_list_does_not_know_has_no_price() -> None:
    with fake_service() as service:
        model = ProviderModel(ModelService("endpoint", f"{service.url}/v1"), "something-new")
        assert read_completion(model.generate(ASK, Params())).usage.cost_usd is None


def test_tokens_are_estimated_if_the_service_reports_none() -> None:
    with fake_service(Reply(counted=False)) as service:
        usage = read_completion(model_of("openai", service).generate(ASK, Params())).usage
    assert usage.tokens_in > 5
    assert usage.tokens_out > 1


def test_a_tool_call_is_assembled_and_ends_the_answer(name: str) -> None:
    two = (("t1", "recall", '{"q": "Rex"}'), ("t2", "recall", ""))
    with fake_service(Reply(calls=two)) as service:
        answer = read_completion(model_of(name, service).generate(ASK, Params()))
    calls = (ToolCall("t1", "recall", {"q": "Rex"}), ToolCall("t2", "recall", {}))
    assert (answer.text, answer.calls) == ("Hello there.", calls)
    assert answer.finish == Finish("tools")


def test_tools_pictures_and_results_reach_the_service(name: str) -> None:
    talk = (
        Message("user", (Text("Look."), Image("image/png", b"\x89PNG"))),
        Message("assistant", (Text("Hm."), ToolCall("t1", "recall", {"q": "Rex"}))),
        Message("user", (ToolResult("t1", "A dog.", failed=True), Text("And?"))),
    )
    body = body_of(name, Prompt(talk, tools=(RECALL,)), Params(tokens_max=99, temperature=0.5))
    sent = str(body)
    for wanted in (
        "iVBORw",
        "image/png",
        "t1",
        "The tool failed: A dog.",
        "And?",
        "Find a memory.",
    ):
        assert wanted in sent
    limits = {body.get("max_tokens"), body.get("max_completion_tokens")}
    assert 99 in limits
    assert body["temperature"] == 0.5


def test_without_a_temperature_none_is_sent(name: str) -> None:
    assert "temperature" not in body_of(name, ASK, Params())


def test_a_schema_is_sent_to_services_that_support_it() -> None:
    shape = {"type": "object", "properties": {"mood": {"type": "string"}}}
    prompt = Prompt(ASK.messages, schema=shape)
    body = body_of("openai", prompt, Params())
    assert body["response_format"]["json_schema"]["schema"] == shape
    assert "output_config" not in body_of("anthropic", prompt, Params())


def test_a_model_that_takes_no_temperature_is_asked_without_one() -> None:
    refused = Reply(status=400, error="Unsupported value: 'temperature' does not support 0.2")
    cool = Params(temperature=0.2)
    with fake_service(refused, Reply(), Reply()) as service:
        model = model_of("openai", service)
        for _ in range(2):
            assert read_completion(model.generate(ASK, cool)).text == "Hello there."
        assert ["temperature" in asked.body for asked in service.asked] == [True, False, False]


def test_a_prompt_that_is_too_long_says_which_setting_decides(name: str) -> None:
    words = "request (9000 tokens) exceeds the available context size (8192 tokens)"
    problem = failure(name, Reply(status=400, error=words))
    assert "9000 tokens" in str(problem)
    assert "thread.context.hard" in problem.hint


def test_anthropic_is_told_what_to_cache_and_others_are_not() -> None:
    before = (text_message("user", "Hi."), text_message("assistant", "Hello."))
    prompt = Prompt((*before, text_message("user", "And now?")), system="Be brief.")
    body = body_of("anthropic", prompt, Params())
    mark = {"type": "ephemeral"}
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": mark}]
    assert [said["content"] for said in body["messages"]] == [
        "Hi.",
        [{"type": "text", "text": "Hello.", "cache_control": mark}],
        [{"type": "text", "text": "And now?", "cache_control": mark}],
    ]
    assert "cache_control" not in str(body_of("openai", prompt, Params()))


@pytest.mark.parametrize(
    ("native", "other", "reason"),
    [
        ("end_turn", "stop", "stop"),
        ("max_tokens", "length", "length"),
        ("refusal", "content_filter", "refused"),
    ],
)
def test_finish_reasons_are_translated(name: str, native: str, other: str, reason: str) -> None:
    with fake_service(Reply(finish=native if name == "anthropic" else other)) as service:
        answer = read_completion(model_of(name, service).generate(ASK, Params()))
    assert answer.finish.reason == reason


def test_reasoning_comes_apart_from_the_answer(name: str) -> None:
    with fake_service(Reply(thoughts=("Let me ", "see."))) as service:
        chunks = list(model_of(name, service).generate(ASK, Params()))
    assert [one.text for one in chunks if isinstance(one, Reasoning)] == ["Let me ", "see."]
    assert "".join(one.text for one in chunks if isinstance(one, Delta)) == "Hello there."


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_transient_errors_are_distinguished(name: str, status: int) -> None:
    assert isinstance(failure(name, Reply(status=status)), TransientModelError)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_permanent_errors_have_a_hint(name: str, status: int) -> None:
    problem = failure(name, Reply(status=status))
    assert not isinstance(problem, TransientModelError)
    assert f"answered {status}: no: your key was …" in str(problem)
    assert problem.hint


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_an_error_is_what_the_service_said_without_markup(name: str, status: int) -> None:
    problem = failure(name, Reply(status=status))
    words = f"{problem} {problem.hint}"
    assert "no: your key was" in words
    for noise in ("`", "{", "some_error", "Error code"):
        assert noise not in words
    assert ("key" in problem.hint) == (status == 401)


def test_the_sentence_of_a_service_has_no_backticks(name: str) -> None:
    problem = failure(name, Reply(status=404, error="The model `gpt-9` does not exist"))
    assert "The model gpt-9 does not exist" in str(problem)


def test_retry_after_is_respected(name: str) -> None:
    problem = failure(name, Reply(status=429, headers=(("Retry-After", "7"),)))
    assert isinstance(problem, TransientModelError)
    assert problem.after_s == 7
    dated = failure(
        name, Reply(status=429, headers=(("Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"),))
    )
    assert isinstance(dated, TransientModelError)
    assert dated.after_s is None


@pytest.mark.parametrize("then", ["cut", "fade", "garbage"])
@pytest.mark.parametrize("pieces", [(), ("Hello ",)])
def test_a_truncated_answer_is_a_failure(name: str, then: str, pieces: tuple[str, ...]) -> None:
    with fake_service(Reply(pieces=pieces, then=then)) as service:
        stream = model_of(name, service).generate(ASK, Params())
        assert [next(stream) for _ in pieces] == [Delta(piece) for piece in pieces]
        with pytest.raises(ModelFailed):
            next(stream)
        assert list(stream) == []


def test_a_timeout_is_a_transient_failure(name: str) -> None:
    problem = failure(name, Reply(then="stall"), timeout_s=0.2)
    assert isinstance(problem, TransientModelError)
    assert "nothing for 0.2 s" in str(problem)


def test_arguments_that_cannot_be_read_are_a_failure(name: str) -> None:
    assert "recall" in str(failure(name, Reply(calls=(("t1", "recall", BAD),))))


def test_a_refused_connection_is_a_transient_failure() -> None:
    model = ProviderModel(ModelService("ollama", "http://127.0.0.1:9/v1", free=True), "llama3.2")
    with pytest.raises(TransientModelError, match=r"llama3\.2 cannot be reached at http"):
        read_completion(model.generate(ASK, Params()))


def test_a_service_that_the_library_does_not_know_is_a_failure() -> None:
    with pytest.raises(ModelFailed, match="nowhere"):
        read_completion(ProviderModel(ModelService("nowhere"), "x").generate(ASK, Params()))


def test_a_key_is_in_no_error_and_no_representation(name: str) -> None:
    with fake_service(Reply(status=401)) as service:
        model = model_of(name, service)
        with pytest.raises(ModelFailed) as caught:
            read_completion(model.generate(ASK, Params()))
        assert service.asked
    told = "".join(traceback.format_exception(caught.value)) + caught.value.hint
    assert KEY not in told + repr(model) + repr(vars(model))


def test_only_our_own_key_is_sent_whatever_the_environment_holds() -> None:
    """The libraries read variables of their own; what is set here wins over all of them."""
    with fake_service() as service:
        programme = (
            "from everloop.adapters.models.provider import ProviderModel, ModelService\n"
            "from everloop.completion import text_message, read_completion\n"
            "from everloop.ports import Params, Prompt\n"
            f"service = ModelService('anthropic', {service.url!r}, {KEY!r})\n"
            "model = ProviderModel(service, 'claude')\n"
            "read_completion(model.generate(Prompt((text_message('user', 'Hi'),)), Params()))\n"
        )
        other = {"ANTHROPIC_AUTH_TOKEN": "other", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
        child = [sys.executable, "-c", programme]
        subprocess.run(child, env=other, check=True)  # noqa: S603 - our own interpreter
        headers = service.asked[0].headers
    assert headers["x-api-key"] == KEY
    assert "other" not in str(headers)


def test_a_forked_process_can_call_models() -> None:
    with fake_service() as service:
        programme = (
            "import os\n"
            "from everloop.adapters.models.provider import ProviderModel, ModelService\n"
            "from everloop.completion import text_message, read_completion\n"
            "from everloop.ports import Params, Prompt\n"
            "def ask():\n"
            f"    model = ProviderModel(ModelService('ollama', '{service.url}/v1'), 'llama3.2')\n"
            "    prompt = Prompt((text_message('user', 'Hi'),))\n"
            "    read_completion(model.generate(prompt, Params(timeout_s=30)))\n"
            "ask()\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    ask()\n"
            "    os._exit(0)\n"
            "assert os.waitpid(child, 0)[1] == 0\n"
        )
        command = [sys.executable, "-c", programme]
        subprocess.run(command, check=True, timeout=90)  # noqa: S603 - our own interpreter
        assert len(service.asked) == 2


def test_model_libraries_are_imported_only_by_a_call() -> None:
    programme = (
        "import sys, everloop, everloop.app, everloop.adapters.models.discovery\n"
        "heavy = {'any_llm', 'openai', 'anthropic', 'pydantic', 'claude_agent_sdk', 'xllamacpp'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    child = [sys.executable, "-c", programme]
    done = subprocess.run(child, check=True, capture_output=True)  # noqa: S603 - our own interpreter
    assert done.stdout == b"[]\n"
