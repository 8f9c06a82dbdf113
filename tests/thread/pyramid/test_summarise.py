"""The pyramid: closed stretches of the past in fewer words, made from below, stale from below."""

from collections.abc import Generator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from tests.thread.fixtures import PLAIN, Parlour, gate, parlour

from everloop.adapters.models.offline import OfflineModel
from everloop.app import USER
from everloop.completion import Declined
from everloop.errors import ModelFailed
from everloop.log import Command, Context, Receipt
from everloop.memory.model.commands import CiteItem, RateItem, ReviseItem
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Filter, list_items, load_viewer
from everloop.memory.summaries.compress import Compressor, SummaryText
from everloop.memory.summaries.extractive import extractive_summariser
from everloop.memory.summaries.zoom import zoom
from everloop.memory.token_counts import ESTIMATE
from everloop.ports import Delta, Finish, ToolCall, Usage
from everloop.testing.bus import FunctionBus
from everloop.testing.model import ScriptedModel, Step
from everloop.thread.background import local_today, summarise_due_windows
from everloop.thread.model.calendar_windows import CalendarWindow, parse_window
from everloop.thread.model.commands import (
    HOME,
    BeginImport,
    HideMessage,
    ImportMessages,
    MarkDay,
    NoteDecision,
    NoteSummary,
    SetZone,
    UnhideMessage,
)
from everloop.thread.model.events import MessageImported
from everloop.thread.pyramid.summarise import SummaryPyramid, model_summariser
from everloop.thread.pyramid.summary_queries import window_summaries
from everloop.thread.pyramid.timeline import timeline_windows, zoom_window
from everloop.turns.tools import TurnRef

Asked = list[tuple[str, int, list[str]]]


class Writer:
    """Sums up by counting what it was given, and remembers it; fails where it is told to."""

    def __init__(self) -> None:
        self.asked: Asked = []
        self.fails: dict[str, str] = {}
        self.declines: set[str] = set()

    def __call__(
        self, window: CalendarWindow, lines: Sequence[str], budget: int
    ) -> SummaryText | Declined:
        self.asked.append((window.key, budget, list(lines)))
        if window.key in self.fails:
            raise ModelFailed(self.fails[window.key])
        if window.key in self.declines:
            return Declined("too private")
        return SummaryText(f"{len(lines)} lines", f"{window.key} said: {' / '.join(lines)}"[:2_000])

    @property
    def keys(self) -> list[str]:
        return [key for key, _, _ in self.asked]


class Diary:
    """A thread with messages of chosen days, and the pyramid over it."""

    def __init__(self, talking: Parlour) -> None:
        self.talking = talking
        self.engine = talking.engine
        self.clock = talking.stage.clock
        self.writer = Writer()
        self.pyramid = SummaryPyramid(
            self.engine.log, self.engine, self.engine.log.ids, self.writer
        )
        self._count = 0

    def said(self, *times: str, text: str = "words of") -> None:
        """Take in a message at each of these times."""
        self.engine.do(BeginImport(HOME, "imp", "jsonl", "old"))
        new = [self._message(time, text) for time in times]
        self.engine.do(ImportMessages(HOME, "imp", tuple(new)))

    def now(self, time: str) -> None:
        self.clock.time = datetime.fromisoformat(time).replace(tzinfo=UTC)

    def sum_up(self) -> list[str]:
        """Sum up what is due; the windows that were tried."""
        before = len(self.writer.asked)
        self.talking.remembered()
        summarise_due_windows(self.engine.log, self.pyramid, self.clock)
        return self.writer.keys[before:]

    def kept(self) -> list[str]:
        """The summaries that memory lists, newest window first."""
        with self.engine.reading() as reader:
            found = list_items(
                reader, load_viewer(reader, OWNER), Filter(kinds=("summary",)), limit=100
            )
        return [item.item_id for item in found]

    def text(self, key: str) -> str:
        with self.engine.reading() as reader:
            return zoom_window(
                reader, HOME, local_today(self.engine.log, self.clock), key
            ).band.text

    def state(self, key: str) -> str:
        with self.engine.reading() as reader:
            return zoom_window(
                reader, HOME, local_today(self.engine.log, self.clock), key
            ).band.state

    def _message(self, time: str, text: str) -> MessageImported:
        self._count += 1
        at = datetime.fromisoformat(time).replace(tzinfo=UTC).isoformat()
        return MessageImported(
            HOME, f"msg-{self._count}", "user", f"{text} {time}", at, "me", str(self._count), ()
        )


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    with parlour(tmp_path) as talking:
        yield Diary(talking)


def test_a_day_is_summarised_only_after_it_has_ended(diary: Diary) -> None:
    diary.said("2026-05-13T10:00")
    diary.now("2026-05-13T23:59")
    assert diary.sum_up() == []
    diary.now("2026-05-14T00:01")
    assert diary.sum_up() == ["day:2026-05-13"]


def test_each_tier_is_summarised_from_the_one_below(diary: Diary) -> None:
    diary.said("2026-05-12T10:00", "2026-05-13T10:00", "2026-05-20T10:00")
    diary.now("2026-06-02T00:00")
    assert diary.sum_up() == [
        "day:2026-05-12", "day:2026-05-13", "day:2026-05-20",
        "week:2026-05-11", "week:2026-05-18", "month:2026-05",
    ]  # fmt: skip
    week = next(lines for key, _, lines in diary.writer.asked if key == "week:2026-05-11")
    assert [line.partition(":")[0] for line in week] == ["2026-05-12", "2026-05-13"]
    assert "week:2026-05-18 said" in diary.text("month:2026-05")


def test_nothing_is_summarised_twice(diary: Diary) -> None:
    diary.said("2026-05-12T10:00")
    diary.now("2026-06-02T00:00")
    assert diary.sum_up()
    assert diary.sum_up() == []


def test_a_late_message_makes_only_its_own_windows_stale_in_all_tiers(
    diary: Diary,
) -> None:
    diary.said("2026-05-12T10:00", "2026-05-20T10:00")
    diary.now("2026-06-02T00:00")
    diary.sum_up()
    diary.said("2026-05-13T10:00", text="late")
    assert diary.state("week:2026-05-11") == "stale"
    assert diary.sum_up() == ["day:2026-05-13", "week:2026-05-11", "month:2026-05"]
    assert "late" in diary.text("month:2026-05")


def test_deleting_a_message_deletes_its_summaries_and_they_are_regenerated(diary: Diary) -> None:
    diary.said("2026-05-12T10:00", text="keep")
    diary.said("2026-05-12T11:00", text="regret")
    diary.now("2026-06-02T00:00")
    diary.sum_up()
    diary.talking.talk.retract("msg-2", "a slip", USER)
    assert diary.text("day:2026-05-12") == ""
    assert diary.text("month:2026-05") == ""
    assert diary.sum_up() == ["day:2026-05-12", "week:2026-05-11", "month:2026-05"]
    assert "regret" not in diary.text("month:2026-05")


def test_undoing_a_deletion_restores_the_old_summaries_and_removes_the_newer_ones(
    diary: Diary,
) -> None:
    diary.said("2026-05-12T10:00", "2026-05-12T11:00")
    diary.now("2026-06-02T00:00")
    diary.sum_up()
    before = diary.kept()
    taken_back = diary.talking.talk.retract("msg-2", "a slip", USER).position
    assert len(diary.sum_up()) == 3
    diary.engine.log.retract([taken_back], reason="no slip", actor="user")
    assert diary.sum_up() == []
    assert diary.kept() == before


def test_a_failed_summary_is_recorded_and_retried_later_without_blocking_others(
    diary: Diary,
) -> None:
    diary.said("2026-05-12T10:00", "2026-05-13T10:00")
    diary.now("2026-05-18T00:00")
    diary.writer.fails = {"day:2026-05-12": "the model is away"}
    assert diary.sum_up() == ["day:2026-05-12", "day:2026-05-13", "week:2026-05-11"]
    assert diary.state("day:2026-05-12") == "failed"
    assert diary.sum_up() == []
    diary.writer.fails = {}
    diary.now("2026-05-18T02:00")
    assert diary.sum_up()[0] == "day:2026-05-12"
    assert diary.state("day:2026-05-12") == "fresh"


def test_a_summary_that_is_declined_says_why(diary: Diary) -> None:
    diary.said("2026-05-12T10:00")
    diary.now("2026-05-13T01:00")
    diary.writer.declines = {"day:2026-05-12"}
    diary.sum_up()
    with diary.engine.reading() as reader:
        assert window_summaries(reader, HOME)["day:2026-05-12"].reason == "too private"


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "decided"])
def test_an_important_day_gets_a_longer_summary(diary: Diary, marked: bool) -> None:
    diary.said("2026-05-12T10:00", "2026-05-13T10:00")
    if marked:
        diary.engine.do(MarkDay(HOME, "2026-05-12"))
    else:
        with diary.engine.reading() as reader:
            at = reader.rows("SELECT position FROM thread_messages ORDER BY position")[0][0]
        diary.engine.do(NoteDecision(HOME, "dec-1", "We move to Oslo.", because=(at,)))
    diary.now("2026-05-14T01:00")
    diary.sum_up()
    budgets = {key: budget for key, budget, _ in diary.writer.asked}
    assert budgets["day:2026-05-12"] == 2 * budgets["day:2026-05-13"]


def test_days_end_at_local_midnight(diary: Diary) -> None:
    diary.engine.do(SetZone("Pacific/Auckland"))
    diary.said("2026-05-12T11:00", "2026-05-12T13:00")
    diary.now("2026-05-12T12:30")
    assert diary.sum_up() == ["day:2026-05-12"]
    diary.now("2026-05-13T12:30")
    assert diary.sum_up() == ["day:2026-05-13"]


def test_from_any_summary_one_can_zoom_to_the_messages(diary: Diary) -> None:
    diary.said("2025-03-04T10:00", "2026-05-12T10:00")
    diary.now("2026-06-02T00:00")
    diary.sum_up()
    with diary.engine.reading() as reader:
        year = window_summaries(reader, HOME)["year:2025"]
        met = zoom(reader, load_viewer(reader, OWNER), year.item_id)
    assert [one.item.text for one in met if one.is_source] == ["words of 2025-03-04T10:00"]


def test_a_prompt_holds_each_day_once_and_the_newest_word_for_word(diary: Diary) -> None:
    first = date(2026, 1, 1)
    days = [first + timedelta(days=number) for number in range(150)]
    diary.said(*(f"{day}T10:00" for day in days), text="canary")
    diary.now("2026-05-30T12:00")
    diary.sum_up()
    with diary.engine.reading() as reader:
        shown = [
            band
            for band in timeline_windows(reader, HOME, date(2026, 5, 30), ("month", "week", "day"))
            if band.shown
        ]
    covered = [day for band in shown for day in days if band.first <= day < band.until]
    assert sorted(covered) == days
    assert len(covered) == len(set(covered))


def test_long_windows_are_summarised_in_portions(diary: Diary) -> None:
    diary.said(*(f"2026-05-12T{n // 60:02}:{n % 60:02}" for n in range(120)), text="word " * 900)
    diary.now("2026-05-13T01:00")
    assert diary.sum_up().count("day:2026-05-12") > 1
    assert diary.text("day:2026-05-12")


def test_the_offline_model_summarises_by_extraction(diary: Diary) -> None:
    diary.pyramid = SummaryPyramid(
        diary.engine.log,
        diary.engine,
        diary.engine.log.ids,
        model_summariser(OfflineModel),
        PLAIN.thread.detail,
    )
    diary.said("2026-05-12T10:00", text="We decided that Anna leads the Oslo office from June.")
    diary.now("2026-05-13T01:00")
    diary.sum_up()
    assert "Anna leads the Oslo office" in diary.text("day:2026-05-12")


def test_a_failed_day_is_included_in_its_week_once_it_succeeds(diary: Diary) -> None:
    diary.said("2026-05-12T10:00", text="first")
    diary.said("2026-05-13T10:00", text="second")
    diary.now("2026-06-02T00:00")
    diary.writer.fails = {"day:2026-05-12": "the model is away"}
    diary.sum_up()
    assert "first" not in diary.text("month:2026-05")
    diary.writer.fails = {}
    diary.now("2026-06-02T02:00")
    assert diary.sum_up() == ["day:2026-05-12", "week:2026-05-11", "month:2026-05"]
    assert "first" in diary.text("month:2026-05")


def test_repeated_failures_are_retried_with_growing_delays(diary: Diary) -> None:
    diary.said("2026-05-12T10:00")
    diary.writer.fails = {"day:2026-05-12": "never"}
    diary.now("2026-05-13T00:00")
    tried = 0
    for _ in range(24 * 14):
        tried += len(diary.sum_up())
        diary.clock.tick(hours=1)
    assert 8 <= tried <= 10


def test_an_empty_summary_is_a_failure_and_does_not_block_others(diary: Diary) -> None:
    diary.said("2026-05-12T10:00")
    diary.now("2026-05-13T01:00")
    blank = model_summariser(lambda: ScriptedModel(['{"title": "T", "text": " "}']))
    pyramid = SummaryPyramid(diary.engine.log, diary.engine, diary.engine.log.ids, blank)
    summarise_due_windows(diary.engine.log, pyramid, diary.clock)
    assert diary.state("day:2026-05-12") == "failed"


def test_an_empty_day_calls_no_model(diary: Diary) -> None:
    diary.said("2026-05-12T10:00")
    diary.engine.do(HideMessage(HOME, "msg-1"))
    diary.now("2026-06-02T00:00")
    assert diary.sum_up() == []
    assert (diary.state("day:2026-05-12"), diary.text("day:2026-05-12")) == ("fresh", "")


def test_hiding_and_showing_a_message_regenerates_its_summaries(diary: Diary) -> None:
    diary.said("2026-05-12T10:00", text="secret")
    diary.said("2026-05-12T11:00", text="plain")
    diary.now("2026-06-02T00:00")
    diary.sum_up()
    hidden = diary.engine.do(HideMessage(HOME, "msg-1"))
    assert diary.sum_up() == ["day:2026-05-12", "week:2026-05-11", "month:2026-05"]
    assert "secret" not in diary.text("month:2026-05")
    diary.engine.log.retract([hidden.position], reason="undo", actor="user")
    diary.sum_up()
    assert "secret" in diary.text("month:2026-05")


def test_a_regenerated_summary_replaces_the_old_one(diary: Diary) -> None:
    diary.said("2026-05-12T10:00", text="secret")
    diary.said("2026-05-12T11:00", text="plain")
    diary.now("2026-06-02T00:00")
    diary.sum_up()
    before = diary.kept()
    for command in (HideMessage(HOME, "msg-1"), UnhideMessage(HOME, "msg-1")):
        diary.engine.do(command)
        assert len(diary.sum_up()) == 3
        assert len(diary.kept()) == 3
        assert not set(diary.kept()) & set(before)
        before = diary.kept()
    head = diary.engine.log.head
    assert diary.sum_up() == []
    assert diary.engine.log.head == head


class Killed(BaseException):
    """What `kill -9` is to a process."""


def kill_before(diary: Diary, kind: type[Command]) -> None:
    """Sum up in a process that dies when it is to do the first of a kind."""

    def do(
        command: Command,
        *,
        by: Context,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        if isinstance(command, kind):
            raise Killed
        return diary.engine.do(command, by=by, branch=branch, request_id=request_id)

    log = diary.engine.log
    diary.talking.remembered()
    with pytest.raises(Killed):
        summarise_due_windows(
            log, SummaryPyramid(log, FunctionBus(do), log.ids, diary.writer), diary.clock
        )


@pytest.mark.parametrize("kind", [RateItem, NoteSummary])
def test_a_summary_left_by_a_crash_is_reused_without_another_model_call(
    diary: Diary, kind: type[Command]
) -> None:
    diary.said("2026-05-12T10:00")
    diary.engine.do(MarkDay(HOME, "2026-05-12", important=True))
    diary.now("2026-05-13T00:00")
    kill_before(diary, kind)
    (kept,) = diary.kept()
    assert diary.sum_up() == []
    assert diary.kept() == [kept]
    assert diary.engine.memory.find(OWNER, kept).significance == 2
    assert diary.state("day:2026-05-12") == "fresh"


def test_a_summary_left_by_a_crash_is_retracted_if_its_sources_changed(diary: Diary) -> None:
    diary.said("2026-05-12T10:00")
    diary.now("2026-05-13T00:00")
    kill_before(diary, NoteSummary)
    (kept,) = diary.kept()
    diary.said("2026-05-12T11:00")
    assert diary.sum_up() == ["day:2026-05-12"]
    (now,) = diary.kept()
    assert now != kept


@pytest.mark.parametrize("how", ["cited", "reworded", "used"])
def test_an_older_summary_stays_while_something_derives_from_it(diary: Diary, how: str) -> None:
    diary.said("2026-05-12T10:00", "2026-05-12T11:00")
    diary.now("2026-05-13T01:00")
    diary.sum_up()
    (day,) = diary.kept()
    if how == "cited":
        diary.engine.do(CiteItem(day, "lesson:1", by_user=True))
    elif how == "reworded":
        diary.engine.do(ReviseItem(day, text="A day of mine."))
    else:
        Compressor(diary.engine.log, diary.engine, extractive_summariser()).compress([day])
    diary.engine.do(HideMessage(HOME, "msg-1"))
    assert diary.sum_up() == ["day:2026-05-12"]
    assert day in diary.kept()


def test_older_summaries_stay_until_all_higher_tiers_are_regenerated(diary: Diary) -> None:
    diary.said("2026-05-12T10:00", "2026-05-12T11:00")
    diary.now("2026-06-02T00:00")
    diary.sum_up()
    before = diary.kept()
    diary.engine.do(HideMessage(HOME, "msg-1"))
    diary.writer.fails["month:2026-05"] = "away"
    diary.sum_up()
    assert set(before) < set(diary.kept())
    diary.writer.fails.clear()
    diary.now("2026-06-02T02:00")
    assert diary.sum_up() == ["month:2026-05"]
    assert len(diary.kept()) == 3


def test_a_deleted_summary_is_not_regenerated_until_its_window_changes(
    diary: Diary,
) -> None:
    diary.said("2026-05-12T10:00", "2026-05-13T10:00")
    diary.now("2026-05-14T01:00")
    diary.sum_up()
    taken_back = diary.engine.memory.find(OWNER, diary.kept()[1])
    diary.engine.log.retract([taken_back.position], reason="no", actor="user")
    assert diary.sum_up() == []
    assert len(diary.kept()) == 1
    diary.said("2026-05-12T12:00", text="late")
    assert diary.sum_up() == ["day:2026-05-12"]


def test_marking_a_day_as_important_regenerates_a_longer_summary(diary: Diary) -> None:
    diary.said("2026-05-12T10:00")
    diary.now("2026-05-13T01:00")
    diary.sum_up()
    diary.engine.do(MarkDay(HOME, "2026-05-12"))
    assert diary.sum_up() == ["day:2026-05-12"]
    assert diary.writer.asked[-1][1] == 2 * diary.writer.asked[0][1]
    diary.engine.do(MarkDay(HOME, "2026-05-12", important=False))
    assert diary.sum_up() == ["day:2026-05-12"]
    assert diary.writer.asked[-1][1] == diary.writer.asked[0][1]


def test_a_decision_that_the_model_noted_makes_its_day_important(tmp_path: Path) -> None:
    call = ToolCall("c", "remember", {"kind": "decision", "text": "We move to Oslo."})
    with parlour(tmp_path, [[call], "Noted."]) as talking:
        diary = Diary(talking)
        talking.ask("We move to Oslo, decided.")
        diary.now("2026-01-02T01:00")
        diary.sum_up()
        assert diary.writer.asked[0][:2] == ("day:2026-01-01", 1_000)


def test_a_rewind_loses_only_the_summaries_of_abandoned_messages(diary: Diary) -> None:
    diary.said("2026-05-12T10:00", text="old")
    diary.said("2026-05-13T10:00", text="left")
    diary.now("2026-06-02T00:00")
    diary.sum_up()
    back = diary.talking.talk.rewind("msg-1", USER)
    assert diary.text("day:2026-05-12")
    assert diary.text("month:2026-05") == ""
    assert diary.sum_up() == ["week:2026-05-11", "month:2026-05"]
    assert "left" not in diary.text("month:2026-05")
    for _ in range(2):  # to and fro costs nothing
        diary.talking.talk.switch_branch(HOME, back.before, USER)
        assert diary.sum_up() == []
        assert "left" in diary.text("month:2026-05")
        diary.talking.talk.switch_branch(HOME, back.branch, USER)
        assert diary.sum_up() == []


def test_flying_west_after_a_day_was_summarised_extends_the_day(diary: Diary) -> None:
    diary.engine.do(SetZone("Asia/Tokyo"))
    diary.said("2026-05-12T02:00", text="tokyo")
    diary.now("2026-05-12T16:00")
    assert diary.sum_up() == ["day:2026-05-12"]
    diary.engine.do(SetZone("America/Los_Angeles"))
    diary.said("2026-05-13T03:00", text="angeles")
    diary.now("2026-05-13T04:00")
    assert diary.sum_up() == []
    diary.now("2026-05-13T08:00")
    assert diary.sum_up() == ["day:2026-05-12"]
    assert "tokyo" in diary.text("day:2026-05-12")
    assert "angeles" in diary.text("day:2026-05-12")


def test_days_without_messages_have_no_windows(diary: Diary) -> None:
    diary.said("2026-05-12T10:00", "2026-05-15T10:00")
    diary.now("2026-05-18T00:00")
    assert diary.sum_up() == ["day:2026-05-12", "day:2026-05-15", "week:2026-05-11"]


def test_a_model_summary_reports_its_usage_and_stays_within_its_budget() -> None:
    long = msgspec.json.encode(SummaryText("Long", "A sentence of words. " * 900)).decode()
    spent: list[Usage] = []
    made = model_summariser(lambda: ScriptedModel([long]), spent.append)(
        parse_window("day:2026-05-12"), ["2026-05-12 user: x"], 500
    )
    assert isinstance(made, SummaryText)
    assert 400 < ESTIMATE(made.text) <= 500
    assert len(spent) == 1


def test_a_refused_summary_is_retried_later(diary: Diary) -> None:
    refusal: list[Step] = [Delta("I would rather not."), Finish("refused")]
    model = ScriptedModel([refusal, '{"title": "T", "text": "Words."}'])
    pyramid = SummaryPyramid(
        diary.engine.log, diary.engine, diary.engine.log.ids, model_summariser(lambda: model)
    )
    diary.said("2026-05-12T10:00")
    diary.now("2026-05-13T01:00")
    summarise_due_windows(diary.engine.log, pyramid, diary.clock)
    assert diary.state("day:2026-05-12") == "failed"
    diary.now("2026-05-13T02:00")
    summarise_due_windows(diary.engine.log, pyramid, diary.clock)
    assert diary.text("day:2026-05-12") == "Words."


def test_the_model_can_zoom_from_a_year_to_the_messages(diary: Diary) -> None:
    diary.said("2024-03-04T10:00", text="canary")
    diary.now("2026-06-02T00:00")
    diary.sum_up()
    key, place = "decade:2020", TurnRef(HOME, "thread:home", 1)
    for _ in range(4):
        told = diary.talking.running.tools.run(ToolCall("c", "zoom", {"what": key}), place, gate())
        key = told.splitlines()[1].partition("]")[0].removeprefix("[")
    told = diary.talking.running.tools.run(ToolCall("c", "zoom", {"what": key}), place, gate())
    assert key == "day:2024-03-04"
    assert "user (msg-1): canary" in told


@pytest.mark.parametrize("title", ["SummaryText", "Title", "Summary", ""])
def test_a_title_of_the_schema_never_becomes_that_of_a_summary(title: str) -> None:
    answer = msgspec.json.encode({"title": title, "text": "Ada bought a red kite."}).decode()
    model = ScriptedModel([answer])
    made = model_summariser(lambda: model)(parse_window("day:2026-01-01"), ["a line"], 100)
    assert made == SummaryText("Ada bought a red kite.", "Ada bought a red kite.")
    _, params = model.calls[0]
    assert params.temperature is not None
    assert params.temperature <= 0.3
