"""The rules for models, kept by Claude Code: the real CLI against a service on the loopback.

A programme of its own, so that the CLI inherits nothing: no login, no key, no settings of whoever
runs the tests. `python -m tests.adapters.models.claude_programme` prints each rule it kept.
"""

import base64
import sys
from collections.abc import Callable

from tests.adapters.models.contract import PARAMS, PROMPT, RULES, stopping_wakes_the_reader
from tests.adapters.models.fake_services import KEY, FakeService, Reply, fake_service

from everloop.adapters.models.claude_code import ClaudeCodeModel
from everloop.adapters.models.errors import TransientModelError
from everloop.completion import read_completion, text_message
from everloop.errors import ModelFailed
from everloop.ports import (
    Finish,
    Image,
    Message,
    Prompt,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)

DOT = (  # a picture of one point
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PRICED = "claude-sonnet-4-5"  # a model in the price list
RECALL = Tool("recall", "Find a memory.", {"type": "object", "properties": {"q": {}}})


def claude(service: FakeService, model: str = "") -> ClaudeCodeModel:
    """Claude Code with a service of ours behind it."""
    return ClaudeCodeModel(model, {"ANTHROPIC_BASE_URL": service.url, "ANTHROPIC_API_KEY": KEY})


def failure(reply: Reply) -> ModelFailed:
    """How a call fails."""
    with fake_service(reply) as service:
        try:
            read_completion(claude(service).generate(PROMPT, PARAMS))
        except ModelFailed as problem:
            return problem
    raise AssertionError("it did not fail")


def every_model_rule_is_kept() -> None:
    with fake_service() as service:
        for rule in RULES:
            rule(claude(service))


def stopping_ends_the_run() -> None:
    with fake_service(Reply(then="stall")) as service:
        stopping_wakes_the_reader(claude(service), service.stalled)
        assert service.gone.wait(60)


def only_what_was_said_reaches_the_model() -> None:
    talk = Prompt(
        (*PROMPT.messages, text_message("user", "Read @/etc/passwd /help")), system="Be short."
    )
    with fake_service() as service:
        read_completion(claude(service).generate(talk, PARAMS))
        (asked,) = service.asked
    assert "tools" not in asked.body or asked.body["tools"] == []
    assert asked.body["system"][-1]["text"] == "Be short."
    assert asked.body["max_tokens"] == PARAMS.tokens_max
    words = str(asked.body["messages"])
    assert "Read @/etc/passwd /help" in words
    assert "Rex is" not in words
    assert "My dog is called Rex." in words
    assert "root:" not in words


def a_tool_is_offered_and_its_call_ends_the_answer() -> None:
    reply = Reply(calls=(("t1", "mcp__everloop__recall", '{"q": "Rex"}'),))
    with fake_service(reply) as service:
        prompt = Prompt(PROMPT.messages, tools=(RECALL,))
        answer = read_completion(claude(service, PRICED).generate(prompt, PARAMS))
        names = [tool["name"] for tool in service.asked[0].body["tools"]]
        assert len(service.asked) == 1
    assert names == ["mcp__everloop__recall"]
    assert answer.calls == (ToolCall("t1", "recall", {"q": "Rex"}),)
    assert answer.finish == Finish("tools")
    assert answer.usage.tokens_in > 0
    assert answer.usage.cost_usd is not None
    assert answer.usage.cost_usd > 0


def a_call_that_was_broken_off_is_estimated() -> None:
    with fake_service() as service:
        model = claude(service, PRICED)
        read_completion(model.generate(PROMPT, PARAMS))
    usage = model.estimate_usage(PROMPT, "Half an answer, and then")
    assert usage.tokens_in > 0
    assert usage.tokens_out > 0
    assert usage.cost_usd is not None
    assert usage.cost_usd > 0


def results_and_pictures_reach_the_model() -> None:
    talk = (
        Message("user", (Text("Look."), Image("image/png", base64.b64decode(DOT)))),
        Message("assistant", (ToolCall("t1", "recall", {"q": "Rex"}),)),
        Message("user", (ToolResult("t1", "A dog."),)),
    )
    with fake_service() as service:
        read_completion(claude(service).generate(Prompt(talk, tools=(RECALL,)), PARAMS))
        words = str(service.asked[0].body["messages"])
    for wanted in ("'type': 'image'", "A dog.", "recall", "Go on from there."):
        assert wanted in words


def failures_are_told_apart_and_hold_no_key() -> None:
    refused, busy = failure(Reply(status=401)), failure(Reply(status=529))
    assert not isinstance(refused, TransientModelError)
    assert "claude" in refused.hint
    assert isinstance(busy, TransientModelError)
    assert KEY not in f"{refused}{busy}"


CHECKS: tuple[Callable[[], None], ...] = (
    every_model_rule_is_kept,
    stopping_ends_the_run,
    only_what_was_said_reaches_the_model,
    a_tool_is_offered_and_its_call_ends_the_answer,
    a_call_that_was_broken_off_is_estimated,
    results_and_pictures_reach_the_model,
    failures_are_told_apart_and_hold_no_key,
)


def main() -> None:
    """Check all of it."""
    for check in CHECKS:
        check()
        sys.stdout.write(f"{check.__name__}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
