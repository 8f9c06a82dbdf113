"""The demo: a year that was loaded by the commands that everybody uses."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from everloop.adapters.system import system_ports
from everloop.app import USER, Engine
from everloop.demo.load import DemoCounts, load_demo, summarise_without_model
from everloop.demo.story import exchanges, load_content
from everloop.errors import Conflict
from everloop.lessons.model.events import QuoteEvidence
from everloop.log.integrity.verify import verify_log
from everloop.log.model.record import to_microseconds
from everloop.memory.browse import queries as memories
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Filter, load_viewer
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.deterministic import ManualClock
from everloop.thread.model.calendar_windows import parse_window
from everloop.thread.queries import branches, threads

LOCK_WAIT_S = 10
NOW = system_ports(LOCK_WAIT_S).clock.now()
SETTINGS = Settings(memory=MemorySettings(embedder="none"))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, DemoCounts]]:
    """An engine with the year in it; nobody writes to it."""
    home: Path = tmp_path_factory.mktemp("demo") / "home"
    at_import = system_ports(LOCK_WAIT_S)._replace(clock=ManualClock(NOW))  # also at midnight
    done = load_demo(home, SETTINGS, at_import)
    with Engine.open(home, settings=SETTINGS) as engine:
        yield engine, done


def test_the_year_is_in_order_and_every_question_has_an_answer() -> None:
    said = list(exchanges(NOW))
    assert [one.at for one in said] == sorted(one.at for one in said)
    assert all(one.question and one.answer for one in said)
    assert (said[-1].at - said[0].at).days > 350


def test_there_are_recent_messages_and_none_in_the_future() -> None:
    last = list(exchanges(NOW))[-1].at
    assert timedelta(0) < NOW - last < timedelta(days=3)


@pytest.mark.parametrize(
    "now",
    [
        datetime(2024, 2, 29, tzinfo=UTC),
        datetime(2025, 6, 1, 23, 59, tzinfo=UTC),
        datetime(2031, 1, 10, 4, tzinfo=timezone(timedelta(hours=14))),
    ],
)
def test_the_year_ends_now_whenever_and_wherever_the_demo_is_loaded(now: datetime) -> None:
    said = [one.at for one in exchanges(now)]
    assert said == sorted(said)
    assert len(said) == len(list(exchanges(NOW)))
    assert timedelta() < now - said[-1] < timedelta(days=2)
    assert now - said[0] < timedelta(days=366)


def test_nothing_in_the_demo_is_dated_after_now(loaded: tuple[Engine, DemoCounts]) -> None:
    engine, _ = loaded
    with engine.reading() as reader:
        (newest,) = reader.rows("SELECT max(recorded_at) FROM log")[0]
        (called,) = reader.rows("SELECT max(at) FROM thread_calls")[0]
    assert max(newest, called) <= to_microseconds(system_ports(LOCK_WAIT_S).clock.now())


def test_lessons_have_an_age_and_their_quotes_were_found(
    loaded: tuple[Engine, DemoCounts],
) -> None:
    engine, _ = loaded
    for lesson in engine.lessons.page(OWNER, (), limit=50, offset=0).lessons:
        assert NOW - lesson.written_at > timedelta(days=10)
        assert all(each.found_in for each in lesson.evidence if isinstance(each, QuoteEvidence))


def test_the_progress_bar_moves_and_never_goes_back(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    load_demo(
        tmp_path / "home",
        SETTINGS,
        system_ports(LOCK_WAIT_S),
        lambda done, total: seen.append((done, total)),
    )
    done = [each for each, _ in seen]
    assert done == sorted(done)
    assert len(set(done)) > 100
    assert len({total for _, total in seen}) == 1
    assert all(each <= total for each, total in seen)


def test_quotes_of_lessons_occur_in_messages() -> None:
    words = "\n".join(one.question for one in exchanges(NOW))
    assert all(quote in words for lesson in load_content().lesson for quote in lesson.quotes)


def test_messages_keep_their_original_days(loaded: tuple[Engine, DemoCounts]) -> None:
    engine, done = loaded
    with engine.reading() as reader:
        first_day = next(iter(exchanges(NOW))).at.date()
        after = first_day + timedelta(days=1)
        first = threads.messages_of_days(reader, "home", f"{first_day}", f"{after}")
        titles = {thread.title for thread in threads.list_threads(reader)}
    assert first[0].text.startswith("A fresh page.")
    assert {"Spanish", "The new kitchen"} <= titles
    assert done.messages == 2 * len(list(exchanges(NOW)))


def test_contradicting_memories_coexist(loaded: tuple[Engine, DemoCounts]) -> None:
    engine, _ = loaded
    with engine.reading() as reader:
        who = load_viewer(reader, OWNER)
        items, _ = memories.page_by_time(
            reader, who, Filter(kinds=("fact",)), pinned=False, limit=100
        )
        target = next(item for item in items if "is 16,500 euros" in item.text)
        life = memories.item_history(reader, who, target.item_id)
    assert [item.text for item in life.contradictions] == [
        "The budget for the kitchen is 14,000 euros."
    ]


def test_some_lessons_are_on_trial_and_some_are_promoted(loaded: tuple[Engine, DemoCounts]) -> None:
    engine, _ = loaded
    lessons = engine.lessons.page(OWNER, (), limit=50, offset=0).lessons
    assert {"pending", "active", "promoted"} == {lesson.status for lesson in lessons}
    assert all(lesson.evidence for lesson in lessons if lesson.author == "user")


def test_a_log_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    with Engine.open(tmp_path, settings=SETTINGS) as engine:
        engine.memory.remember(RememberItem("mem-mine", "Mine."), by=USER)
        head = engine.log.head
    with pytest.raises(Conflict):
        load_demo(tmp_path, SETTINGS, system_ports(LOCK_WAIT_S))
    with Engine.open(tmp_path, settings=SETTINGS) as engine:
        assert engine.log.head == head


def test_the_demo_log_verifies(tmp_path: Path) -> None:
    load_demo(tmp_path / "home", SETTINGS, system_ports(LOCK_WAIT_S))
    with Engine.open(tmp_path / "home", settings=SETTINGS) as engine:
        assert verify_log(engine.log).ok


def test_a_summary_keeps_questions_and_decisions() -> None:
    lines = [
        "2025-03-09 11:20 user: Heating yes. Door 94 cm. I take it.",
        "2025-03-09 11:21 assistant: **Decided: it moves.** It passes.\n> Next: give notice.",
    ]
    gist = summarise_without_model(parse_window("day:2025-03-09"), lines, 100)
    assert gist.text == "Heating yes. Door 94 cm. Decided: it moves."
    assert gist.title == "Heating yes"


def test_a_log_with_a_year_in_it_verifies_while_it_is_open(
    loaded: tuple[Engine, DemoCounts],
) -> None:
    assert verify_log(loaded[0].log).ok


def test_model_usage_is_spread_over_the_year(loaded: tuple[Engine, DemoCounts]) -> None:
    engine, _ = loaded
    with engine.reading() as reader:
        rows = reader.rows("SELECT at, purpose FROM thread_calls")
    months = {at // (30 * 24 * 3600 * 1_000_000) for at, _ in rows}
    assert len(months) >= 12
    assert {purpose for _, purpose in rows} == {"answer", "summary"}


def test_the_home_thread_has_an_alternative_branch_and_stays_on_the_first(
    loaded: tuple[Engine, DemoCounts],
) -> None:
    engine, _ = loaded
    lines = branches.thread_branches(engine.log, "home")
    assert [line.standing for line in lines] == [True, False]
    assert lines[1].own == 2


def test_there_is_a_crew_and_a_host_that_is_trusted(loaded: tuple[Engine, DemoCounts]) -> None:
    engine, _ = loaded
    assert all(engine.crew.entry_summaries(OWNER, sort) for sort in ("skill", "persona", "team"))
    assert [host.host for host in engine.lessons.hosts() if host.trusted] == ["claude-code"]
