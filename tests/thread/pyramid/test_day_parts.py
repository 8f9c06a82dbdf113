"""A day that is too long for the dialogue: each message is told, summarised or one zoom away."""

from collections.abc import Generator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from tests.thread.fixtures import Parlour, gate, parlour

from everloop.app import USER
from everloop.completion import Declined
from everloop.memory.summaries.compress import SummaryText
from everloop.ports import Prompt, ToolCall
from everloop.testing.shared_prefix import prompt_text, shared_share
from everloop.thread.background import local_today
from everloop.thread.model.commands import HOME, BeginImport, HideMessage, ImportMessages
from everloop.thread.model.events import MessageImported
from everloop.thread.prompt.inspector import inspect_prompt
from everloop.thread.pyramid.day_parts import DayPart, DayParts, day_parts
from everloop.thread.quoting import TOKENS
from everloop.turns.tools import TurnRef

DIALOGUE = 16_000
MESSAGES = 600  # of a hundred tokens each


@pytest.fixture
def talking(tmp_path: Path) -> Generator[Parlour]:
    with parlour(tmp_path, ["Yes."] * 5) as opened:
        yield opened


def parts_of(talking: Parlour) -> list[DayPart]:
    today = talking.stage.clock.now().date()
    with talking.engine.reading() as reader:
        return day_parts(reader, HOME, today - timedelta(days=1), today + timedelta(days=1))


def sum_up(talking: Parlour, *, declines: bool = False) -> int:
    def summarise(window: object, lines: Sequence[str], budget: int) -> SummaryText | Declined:
        del window, budget
        return Declined("no") if declines else SummaryText("Talk", f"{len(lines)} messages.")

    engine = talking.engine
    parts = DayParts(engine.log, engine, engine.log.ids, summarise, 250)
    today = local_today(engine.log, talking.stage.clock)
    return parts.summarise_excess(HOME, today, DIALOGUE)


def a_long_day(talking: Parlour, messages: int = MESSAGES) -> list[str]:
    """So many messages of one day; their ids."""
    talking.stage.clock.time += timedelta(hours=20)
    now = talking.stage.clock.now()
    talking.engine.do(BeginImport(HOME, "imp", "jsonl", "today"))
    said = [
        MessageImported(
            HOME,
            f"msg-{number:03}",
            "assistant" if number % 2 else "user",
            f"Canary {number:03}: " + "some more plain words here " * 19,
            (now - timedelta(minutes=2 * (messages - number))).isoformat(),
            "me",
            str(number),
            (),
        )
        for number in range(messages)
    ]
    talking.engine.do(ImportMessages(HOME, "imp", tuple(said)))
    talking.remembered()
    return [one.message_id for one in said]


def asked(talking: Parlour, text: str) -> Prompt:
    talking.ask(text)
    talking.remembered()
    return talking.model.calls[-1][0]


@pytest.mark.promise("P-THREAD-4")
def test_of_a_day_of_60000_tokens_each_message_is_in_the_prompt_a_summary_or_a_zoom(
    talking: Parlour,
) -> None:
    ids = a_long_day(talking)
    assert sum_up(talking) > 5
    prompt = prompt_text(asked(talking, "What now?"))
    assert TOKENS(prompt) < 30_000
    parts = parts_of(talking)
    covered = {one for part in parts for one in part.message_ids}
    verbatim = {one for one in ids if f"Canary {one[4:]}:" in prompt}
    assert covered | verbatim == set(ids)
    assert not covered & verbatim
    assert all(f"[{part.key}]" in prompt for part in parts)
    assert len(verbatim) > 80
    tools, place = talking.running.tools, TurnRef(HOME, "thread:home", 1)
    seen = "".join(
        tools.run(ToolCall("c", "zoom", {"what": part.key}), place, gate())[:20_000]
        for part in parts
    )
    assert all(f"Canary {one[4:]}:" in seen for one in covered)


def test_parts_are_marked_in_the_inspector(talking: Parlour) -> None:
    a_long_day(talking)
    sum_up(talking)
    sent = talking.say("What now?")
    talking.until_ended(sent.turn_id)
    with talking.engine.reading() as reader:
        opened = inspect_prompt(reader, talking.turn(sent).context_id)
    (section,) = [one for one in opened.sections if one.name == "parts"]
    assert [piece.key for piece in section.pieces] == [part.key for part in parts_of(talking)]
    assert all(piece.text.endswith("messages.") for piece in section.pieces)


def test_a_dialogue_that_fits_needs_no_parts_and_parts_are_made_once(talking: Parlour) -> None:
    a_long_day(talking, 100)
    assert sum_up(talking) == 0
    a_long_day(talking)
    assert sum_up(talking) > 0
    assert sum_up(talking) == 0


def test_prompts_share_their_beginning_while_parts_stand(talking: Parlour) -> None:
    a_long_day(talking)
    sum_up(talking)
    first, second = asked(talking, "One?"), asked(talking, "Two?")
    assert shared_share(first, second) >= 0.9


def test_a_part_goes_with_a_deleted_message_and_is_made_again(talking: Parlour) -> None:
    a_long_day(talking)
    sum_up(talking)
    before = parts_of(talking)
    talking.talk.retract("msg-003", "a slip", USER)
    assert len(parts_of(talking)) == len(before) - 1
    talking.engine.do(HideMessage(HOME, before[1].message_ids[0]))
    assert len(parts_of(talking)) == len(before) - 2
    sum_up(talking)
    told = {one for part in parts_of(talking) for one in part.message_ids}
    assert not {"msg-003", before[1].message_ids[0]} & told
    assert "msg-004" in told


def test_a_model_that_declines_leaves_the_messages_searchable(talking: Parlour) -> None:
    a_long_day(talking)
    assert sum_up(talking, declines=True) == 0
    prompt = prompt_text(asked(talking, "What was canary 003?"))
    assert TOKENS(prompt) < 30_000
