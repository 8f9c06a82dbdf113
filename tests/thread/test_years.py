"""Years of talk: the past stays bounded, every day is told once, and every word can be found."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thread.parlour import Parlour, parlour

from everloop.adapters.model_offline import OfflineModel
from everloop.log import Reader
from everloop.memory.context import Budget, Piece, Section, assemble
from everloop.memory.scopes import OWNER
from everloop.thread.brief import TOKENS
from everloop.thread.commands import HOME, BeginImport, ImportMessages
from everloop.thread.events import MessageImported
from everloop.thread.limits import ContextLimits, Detail
from everloop.thread.past import tier_section
from everloop.thread.policies import sum_up
from everloop.thread.pyramid import Pyramid, by_model
from everloop.thread.timeline import bands, closer
from everloop.thread.windows import TIERS, in_full_since, pyramid

DECADE = timedelta(days=3_652)
END = datetime(2026, 6, 15, 12, tzinfo=UTC)
LIMITS, DETAIL = ContextLimits(), Detail()


@settings(max_examples=20)
@given(today=st.dates(date(2000, 1, 1), date(2120, 12, 31)))
def test_a_century_of_the_longest_summaries_fits_into_a_prompt_and_no_window_is_left_out(
    today: date,
) -> None:
    said = [
        (window, 1, "These are five words more. " * (int(getattr(DETAIL, window.tier)) // 6))
        for window in reversed(list(pyramid(today, today - timedelta(days=36_525))))
    ]
    past = [tier_section(tier, said, int(getattr(LIMITS.past, tier))) for tier in TIERS]
    full = [
        Section("you", "must", (Piece("you", "word " * 150),)),
        *(_full(name) for name in ("dialogue", "recalled", "lessons", "notes")),
        *past,
    ]
    made = assemble(full, Budget(LIMITS.soft, LIMITS.hard), principal=OWNER, tokens=TOKENS)
    told = [entry for section in made.ledger.sections for entry in section.entries]
    assert made.ledger.tokens <= 50_000
    assert sum(entry.key.count(":") for entry in told) == len(said)
    assert not any(entry.left_out for entry in told if ":" in entry.key)


def _full(name: str) -> Section:
    """A section that has more to say than it may."""
    most = int(getattr(LIMITS, name))
    pieces = tuple(Piece(f"{name}-{number}", "word " * 100) for number in range(most // 90))
    return Section(name, "should", pieces, tokens_max=most, stays=100)


def test_ten_years_of_talk_stay_bounded_and_any_day_can_be_found(
    tmp_path: Path, soaking: bool
) -> None:
    count = 100_000 if soaking else 60
    with parlour(tmp_path, ["Yes."]) as talking:
        days = _talked(talking, count)
        engine = talking.engine
        offline = by_model(OfflineModel)
        summing = Pyramid(engine.log, engine.do, engine.log.ids, offline)
        sum_up(engine.log, summing, talking.stage.clock)
        assert summing.due(HOME, END.date(), END) == []
        with engine.reading() as reader:
            _each_day_is_told_once(reader, days)
            for day in days[:: max(1, len(days) // 20)]:
                assert f"canary of {day}" in _found_from_above(reader, day)
        talking.ask("What was it all about?")
        prompt, _ = talking.model.asked[-1]
        assert TOKENS(prompt.system) + TOKENS(str(prompt.messages)) <= LIMITS.hard


def _talked(talking: Parlour, count: int) -> list[date]:
    """Take in so many messages over ten years; the days that they were said on."""
    talking.stage.clock.time = END
    talking.engine.do(BeginImport(HOME, "imp", "jsonl", "old"))
    times = [END - DECADE * (count - number) / count for number in range(count)]
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
            )
            for at in times[first : first + 1_000]
        ]


def _each_day_is_told_once(reader: Reader, days: list[date]) -> None:
    shown = [band for band in bands(reader, HOME, END.date(), TIERS) if band.shown]
    for day in days:
        assert sum(band.first <= day < band.until for band in shown) == 1
    summed = [band for band in shown if band.until <= in_full_since(END.date())]
    assert all(band.text and band.state in ("fresh", "open") for band in summed)


def _found_from_above(reader: Reader, day: date) -> str:
    """What one reads who zooms from what a prompt shows of a day down to its messages."""
    shown = [band for band in bands(reader, HOME, END.date(), TIERS) if band.shown]
    key = next(band.key for band in shown if band.first <= day < band.until)
    seen = closer(reader, HOME, END.date(), key)
    while not seen.messages:
        below = next(band for band in seen.below if band.first <= day < band.until)
        seen = closer(reader, HOME, END.date(), below.key)
    return " ".join(one.text for one in seen.messages)
