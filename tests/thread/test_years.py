"""Years of talk: the past stays bounded, every day is told once, and every word can be found."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thread.fixtures import Parlour, parlour

from everloop.adapters.models.offline import OfflineModel
from everloop.app import Engine
from everloop.log import Reader
from everloop.memory.context import PromptPiece, PromptSection, TokenBudget, assemble_prompt
from everloop.memory.model.scopes import OWNER
from everloop.thread.background import summarise_due_windows
from everloop.thread.model.calendar_windows import TIERS, first_full_day, pyramid_windows
from everloop.thread.model.commands import (
    HOME,
    BeginImport,
    CloseTopic,
    ImportMessages,
    NoteDecision,
    OpenTopic,
    StopTurn,
)
from everloop.thread.model.events import MessageImported
from everloop.thread.prompt.builder import NOTES_MAX, PromptBuilder
from everloop.thread.prompt.history import tier_section
from everloop.thread.pyramid.summarise import SummaryPyramid, model_summariser
from everloop.thread.pyramid.timeline import timeline_windows, zoom_window
from everloop.thread.queries import threads
from everloop.thread.quoting import TOKENS
from everloop.thread.settings import ContextLimits, SummaryLimits

DECADE = timedelta(days=3_652)
END = datetime(2026, 6, 15, 12, tzinfo=UTC)
LIMITS, DETAIL = ContextLimits(), SummaryLimits()

Traced = Callable[[dict[str, Any]], None]


@settings(max_examples=20)
@given(today=st.dates(date(2000, 1, 1), date(2120, 12, 31)))
def test_a_century_of_the_longest_summaries_fits_into_a_prompt_and_no_window_is_left_out(
    today: date,
) -> None:
    said = [
        (window, 1, "These are five words more. " * (int(getattr(DETAIL, window.tier)) // 6))
        for window in reversed(list(pyramid_windows(today, today - timedelta(days=36_525))))
    ]
    past = [tier_section(tier, said, int(getattr(LIMITS.past, tier))) for tier in TIERS]
    full = [
        PromptSection("you", "must", (PromptPiece("you", "word " * 150),)),
        *(_full(name) for name in ("dialogue", "recalled", "lessons", "notes")),
        *past,
    ]
    made = assemble_prompt(
        full, TokenBudget(LIMITS.soft, LIMITS.hard), principal=OWNER, tokens=TOKENS
    )
    told = [entry for section in made.ledger.sections for entry in section.entries]
    assert made.ledger.tokens <= 50_000
    assert sum(entry.key.count(":") for entry in told) == len(said)
    assert not any(entry.left_out for entry in told if ":" in entry.key)


def _full(name: str) -> PromptSection:
    """A section that has more to say than it may."""
    most = int(getattr(LIMITS, name))
    pieces = tuple(PromptPiece(f"{name}-{number}", "word " * 100) for number in range(most // 90))
    return PromptSection(name, "should", pieces, tokens_max=most, stays=100)


def test_ten_years_of_messages_stay_within_bounds_and_any_day_can_be_found(tmp_path: Path) -> None:
    _live_through(tmp_path, 60)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_ten_years_with_100_000_messages_stay_within_bounds_and_any_day_can_be_found(
    tmp_path: Path,
) -> None:
    _live_through(tmp_path, 100_000)


def test_a_prompt_costs_the_database_no_more_after_six_years_than_after_two(
    tmp_path: Path,
) -> None:
    young = _prompt_steps(tmp_path / "young", years=2)
    old = _prompt_steps(tmp_path / "old", years=6)
    assert old <= 1.2 * young


def _prompt_steps(folder: Path, *, years: int) -> int:
    """What SQLite does for a prompt, in steps of its machine; recall apart."""
    with parlour(folder) as talking:
        talking.running.turns.stop()
        _talked(talking, 15 * years, years * DECADE / 10)
        _noted(talking, NOTES_MAX * years)
        engine, clock = talking.engine, talking.stage.clock
        summarise_due_windows(engine.log, talking.plain_pyramid(), clock)
        sent = talking.say("What was it all about?")
        steps = _counted(engine)
        limits = ContextLimits(hits=0)
        prepare = PromptBuilder(engine.log, engine.memory, clock, limits=lambda: limits)
        made = prepare(HOME, sent.turn_id, sent.branch, talking.running.tools)
    assert {"weeks", "months"} <= {one.name for one in made.ledger.sections if one.tokens}
    return sum(steps)


def test_open_notes_are_found_as_quickly_after_many_turns_as_after_few(tmp_path: Path) -> None:
    few, many = (_opening_steps(tmp_path / str(turns), turns=turns) for turns in (5, 100))
    assert many <= 1.2 * few


def _opening_steps(folder: Path, *, turns: int) -> int:
    """What SQLite does to find the one turn that waits, and where turns might wait at all."""
    with parlour(folder) as talking:
        talking.running.turns.stop()
        for number in range(turns):
            sent = talking.say(f"Number {number}.")
            talking.engine.do(StopTurn(HOME, sent.turn_id))
        waits = talking.say("And?")
        steps = _counted(talking.engine)
        (found,) = talking.talk.open_turns(HOME)
        with talking.engine.reading() as reader:
            assert threads.threads_with_turns(reader) == [HOME]
    assert found.turn_id == waits.turn_id
    return sum(steps)


def _counted(engine: Engine) -> list[int]:
    """The steps of SQLite's machine from now on, one entry for each statement."""
    steps: list[int] = []
    with ExitStack() as readers:
        for _ in range(4):  # more than are used at a time
            reader = readers.enter_context(engine.log.file.reading())
            trace = cast("Callable[[int, Traced], None]", cast("Any", reader.db).trace_v2)
            trace(apsw.SQLITE_TRACE_PROFILE, lambda told: steps.append(_steps_of(told)))
    return steps


def _steps_of(told: dict[str, Any]) -> int:
    return int(told["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])


def _noted(talking: Parlour, count: int) -> None:
    """So many decisions, as many topics that are closed, and one that is open."""
    topics = [OpenTopic(HOME, f"top-{number}", f"Topic {number}") for number in range(count)]
    closed = [CloseTopic(HOME, topic.topic_id) for topic in topics]
    decided = [NoteDecision(HOME, f"dec-{number}", f"Decision {number}") for number in range(count)]
    talking.engine.do_many([*topics, *closed, *decided, OpenTopic(HOME, "top-open", "Plums")])


def _live_through(folder: Path, count: int) -> None:
    with parlour(folder, ["Yes."]) as talking:
        days = _talked(talking, count)
        engine = talking.engine
        offline = model_summariser(OfflineModel)
        summing = SummaryPyramid(engine.log, engine, engine.log.ids, offline)
        summarise_due_windows(engine.log, summing, talking.stage.clock)
        assert summing.due_windows(HOME, END.date(), END) == []
        with engine.reading() as reader:
            _each_day_is_told_once(reader, days)
            for day in days[:: max(1, len(days) // 20)]:
                assert f"canary of {day}" in _found_from_above(reader, day)
        talking.ask("What was it all about?")
        prompt, _ = talking.model.calls[-1]
        assert TOKENS(prompt.system) + TOKENS(str(prompt.messages)) <= LIMITS.hard


def _talked(talking: Parlour, count: int, span: timedelta = DECADE) -> list[date]:
    """Take in so many messages over these years; the days that they were said on."""
    talking.stage.clock.time = END
    talking.engine.do(BeginImport(HOME, "imp", "jsonl", "old"))
    times = [END - span * (count - number) / count for number in range(count)]
    for batch in _batches(times):
        talking.engine.do(ImportMessages(HOME, "imp", tuple(batch)))
    talking.remembered()
    return sorted({time.date() for time in times})


def _batches(times: list[datetime]) -> Iterator[list[MessageImported]]:
    for first in range(0, len(times), 1_000):
        yield [
            MessageImported(
                HOME,
                f"msg-{at.isoformat()}",
                "user",
                f"This is the canary of {at.date()}.",
                at.isoformat(),
                "me",
                at.isoformat(),
                (),
            )
            for at in times[first : first + 1_000]
        ]


def _each_day_is_told_once(reader: Reader, days: list[date]) -> None:
    shown = [band for band in timeline_windows(reader, HOME, END.date(), TIERS) if band.shown]
    for day in days:
        assert sum(band.first <= day < band.until for band in shown) == 1
    summed = [band for band in shown if band.until <= first_full_day(END.date())]
    assert all(band.text and band.state in ("fresh", "open") for band in summed)


def _found_from_above(reader: Reader, day: date) -> str:
    """What one reads who zooms from what a prompt shows of a day down to its messages."""
    shown = [band for band in timeline_windows(reader, HOME, END.date(), TIERS) if band.shown]
    key = next(band.key for band in shown if band.first <= day < band.until)
    seen = zoom_window(reader, HOME, END.date(), key)
    while not seen.messages:
        below = next(band for band in seen.below if band.first <= day < band.until)
        seen = zoom_window(reader, HOME, END.date(), below.key)
    return " ".join(one.text for one in seen.messages)
