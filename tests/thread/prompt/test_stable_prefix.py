"""Two consecutive prompts begin alike, so that a model service can reuse its cache."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from tests.thread.fixtures import PLAIN, Parlour, parlour

from everloop.lessons.model.commands import ActivateLesson, ProposeLesson
from everloop.memory.model.commands import RememberItem
from everloop.ports import Prompt, Text
from everloop.testing.shared_prefix import prompt_text, shared_share
from everloop.thread.background import summarise_due_windows
from everloop.thread.model.commands import HOME, BeginImport, ImportMessages
from everloop.thread.model.events import MessageImported
from everloop.thread.settings import ContextLimits, ThreadSettings

ENOUGH = 0.9


@pytest.mark.promise("P-THREAD-2")
@pytest.mark.parametrize("dialogue", [16_000, 6_000])
def test_consecutive_prompts_share_nine_tenths_of_their_tokens(
    tmp_path: Path, dialogue: int
) -> None:
    limits = ContextLimits(dialogue=dialogue)
    settings = msgspec.structs.replace(PLAIN, thread=ThreadSettings(context=limits))
    with parlour(
        tmp_path, ["An answer of some words about the orchard."] * 30, settings=settings
    ) as talking:
        _lived(talking)
        prompts = [_asked(talking, f"Question {number} on plums?") for number in range(14)]
    shares = [shared_share(*pair) for pair in pairwise(prompts[1:])]
    assert sum(share >= ENOUGH for share in shares) >= len(shares) - 1  # one more step is cut off
    assert sum(shares) / len(shares) >= ENOUGH


def test_what_changes_comes_after_all_that_stays(tmp_path: Path) -> None:
    with parlour(tmp_path, ["Yes."] * 4) as talking:
        _lived(talking)
        _asked(talking, "First?")
        prompt = _asked(talking, "Are the plums ripe?")
    order = ["Rules the person", "day by day", "First?", "## Now", "What memory has", "plums ripe?"]
    text = prompt_text(prompt)
    assert sorted(order, key=text.index) == order


def test_the_first_message_of_a_day_carries_its_date(tmp_path: Path) -> None:
    with parlour(tmp_path, ["Yes."] * 4) as talking:
        _asked(talking, "Monday?")
        _asked(talking, "Still Monday?")
        talking.stage.clock.time += timedelta(days=1)
        prompt = _asked(talking, "Tuesday?")
    texts = [part.text for said in prompt.messages for part in said.parts if isinstance(part, Text)]
    assert texts[:3] == ["[2026-01-01]", "Monday?", "Yes."]
    assert texts.count("[2026-01-01]") == 1
    assert texts[-3] == "[2026-01-02]"


def _asked(talking: Parlour, text: str) -> Prompt:
    talking.stage.clock.time += timedelta(minutes=3)
    talking.ask(text)
    talking.remembered()
    return talking.model.calls[-1][0]


def _lived(talking: Parlour) -> None:
    """Twelve days of talk with their summaries, a rule, memories, and a morning."""
    engine, now = talking.engine, talking.stage.clock.time + timedelta(hours=9)
    talking.stage.clock.time = now
    talking.engine.do(BeginImport(HOME, "imp", "jsonl", "old"))
    said = [
        MessageImported(
            HOME,
            f"msg-{number}",
            "user" if number % 2 else "assistant",
            f"On the {number}th we talked about the orchard, the plums and what to plant. " * 3,
            (now - timedelta(minutes=30 * (576 - number) + 9)).isoformat(),
            "me",
            str(number),
            (),
        )
        for number in range(576)
    ]
    engine.do(ImportMessages(HOME, "imp", tuple(said)))
    engine.do(ProposeLesson("les-1", "Ask first", "Ask before you plant."))
    engine.do(ActivateLesson("les-1"))
    for number in range(6):
        engine.do(RememberItem(f"mem-{number}", f"Plum tree {number} bears fruit in August."))
    talking.remembered()
    summarise_due_windows(engine.log, talking.plain_pyramid(), talking.stage.clock)
