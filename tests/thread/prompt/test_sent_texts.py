"""The prompt inspector shows the system prompt and the tools word for word, as they were sent."""

from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from tests.thread.fixtures import PLAIN, Parlour, parlour

from everloop.app import USER
from everloop.lessons.model.commands import ActivateLesson, ProposeLesson
from everloop.log import Context, Fact
from everloop.log.decider import DecisionContext
from everloop.log.model.event import decode
from everloop.log.model.limits import Limits
from everloop.memory.model.commands import KeepPromptTexts, PromptText, RememberItem, ReviseItem
from everloop.memory.model.decide import keep_prompt_texts
from everloop.memory.model.events import ContextAssembled, PromptTextKept
from everloop.memory.model.state import evolve_prompt_texts, prompt_texts_stream
from everloop.ports import Text
from everloop.testing.deterministic import NEW_YEAR
from everloop.thread.model.commands import HOME
from everloop.thread.prompt.inspector import inspect_prompt
from everloop.thread.service import SentMessage

ASKING = DecisionContext(Context(actor="engine"), NEW_YEAR)


@pytest.fixture
def talking(tmp_path: Path) -> Generator[Parlour]:
    with parlour(tmp_path, [f"Answer {number}." for number in range(9)]) as opened:
        yield opened


def asked(talking: Parlour, text: str) -> SentMessage:
    sent = talking.say(text)
    talking.until_ended(sent.turn_id)
    return sent


def shown(talking: Parlour, sent: SentMessage) -> dict[str, str | None]:
    """The texts that the inspector shows of the prompt of a turn."""
    with talking.engine.reading() as reader:
        prompt = inspect_prompt(reader, talking.turn(sent).context_id)
    return {one.name: one.text for one in prompt.texts}


def kept_texts(talking: Parlour) -> list[PromptTextKept]:
    facts = talking.engine.log.read(prompt_texts_stream(HOME))
    return [fact.event for fact in facts if isinstance(fact.event, PromptTextKept)]


@pytest.mark.promise("P-THREAD-5")
def test_the_system_prompt_and_the_tools_are_shown_as_they_were_sent(talking: Parlour) -> None:
    talking.engine.do(RememberItem("mem-1", "The plum is ripe.", kind="fact"))
    sent = asked(talking, "Is the plum ripe?")
    prompt, _ = talking.model.calls[-1]
    texts = shown(talking, sent)
    assert texts["system"] == prompt.system
    tools = msgspec.json.decode(texts["tools"] or "")
    assert tools == [
        {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        for tool in prompt.tools
    ]
    assert Text(texts["before_message"] or "") in prompt.messages[-1].parts
    assert "The plum is ripe." in (texts["before_message"] or "")


def test_a_text_that_stays_the_same_is_kept_once(talking: Parlour) -> None:
    first, second = asked(talking, "Hello."), asked(talking, "Hello again.")
    names = [one.name for one in kept_texts(talking)]
    assert names.count("system") == 1
    assert names.count("tools") == 1
    assert shown(talking, first)["system"] == shown(talking, second)["system"]


def test_a_past_prompt_keeps_its_text_when_the_rules_change(talking: Parlour) -> None:
    first = asked(talking, "Hello.")
    talking.engine.do(ProposeLesson("les-1", "Ask first", "Ask before you plant."))
    talking.engine.do(ActivateLesson("les-1"))
    second = asked(talking, "Hello again.")
    assert "Ask before you plant." not in (shown(talking, first)["system"] or "")
    assert "Ask before you plant." in (shown(talking, second)["system"] or "")


def test_a_reworded_memory_leaves_the_text_of_a_past_prompt(talking: Parlour) -> None:
    talking.engine.do(RememberItem("mem-1", "The plum is ripe.", kind="fact"))
    sent = asked(talking, "Is the plum ripe?")
    talking.engine.do(ReviseItem("mem-1", text="The plum is sweet."))
    assert "The plum is ripe." in (shown(talking, sent)["before_message"] or "")


def test_a_deleted_memory_takes_the_texts_that_quote_it_along(talking: Parlour) -> None:
    log = talking.engine.log
    at = talking.engine.do(RememberItem("mem-1", "The locker is 4711.", kind="fact")).position
    sent = asked(talking, "What is the locker?")
    log.retract([at], reason="a slip", actor="user")
    texts = shown(talking, sent)
    assert texts["before_message"] is None
    assert texts["system"]
    assert talking.turn(sent).phase == "done"


@pytest.mark.promise("P-THREAD-5")
def test_a_purge_erases_the_texts_that_quote_a_memory(talking: Parlour) -> None:
    log = talking.engine.log
    at = talking.engine.do(RememberItem("mem-1", "The locker is 4711.", kind="fact")).position
    sent = asked(talking, "What is the locker?")
    log.purge([at], reason="private", actor="user")
    assert shown(talking, sent)["before_message"] is None
    assert not any("4711" in (record.data or "") for record in log.records())


def test_deleting_a_message_leaves_the_system_prompt_of_other_answers(talking: Parlour) -> None:
    first, second = asked(talking, "Hello."), asked(talking, "Hello again.")
    talking.talk.retract(first.message_id, "a slip", USER)
    assert shown(talking, second)["system"]


def test_a_text_that_is_too_long_for_a_fact_is_not_kept(tmp_path: Path) -> None:
    most = 3_000
    small = msgspec.structs.replace(PLAIN, log=Limits(event_bytes_max=most))
    with parlour(tmp_path, ["Yes."], settings=small) as talking:
        for number in range(4):
            plum = f"Plum {number}. " + "It is ripe and sweet. " * 50
            talking.engine.do(RememberItem(f"mem-{number}", plum, kind="fact"))
        sent = asked(talking, "Is the plum ripe?")
        texts = shown(talking, sent)
        assert "before_message" not in texts
        assert texts["system"]
        assert talking.turn(sent).phase == "done"


def test_a_ledger_of_the_version_before_has_no_texts() -> None:
    old = (
        '{"context_id":"c1","ledger":{"principal":"user","tokens":1,"soft":2,"hard":3,'
        '"counted_by":"estimate","exact":false,"sections":[]}}'
    )
    event = decode("memory.context_assembled", 1, old)
    assert isinstance(event, ContextAssembled)
    assert event.texts == {}


def test_only_texts_that_differ_are_recorded() -> None:
    command = KeepPromptTexts("home", (PromptText("system", "A."), PromptText("tools", "B.", (3,))))
    drafts = keep_prompt_texts(None, command, ASKING)
    assert [(one.event, one.because) for one in drafts] == [
        (PromptTextKept("home", "system", "A."), ()),
        (PromptTextKept("home", "tools", "B."), (3,)),
    ]
    kept = evolve_prompt_texts(None, Fact(drafts[0].event, 1, "s", "main", 1, "engine", (), "r", 0))
    assert keep_prompt_texts(kept, command, ASKING) == drafts[1:]
