"""What reading time promises, one sentence each."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from tests.memory.cases_when import PLAIN, STRETCHES

from everloop.memory.when import TimeHint, hints

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 15, 19, tzinfo=BERLIN)


def only(text: str) -> TimeHint:
    (hint,) = hints(text, NOW)
    return hint


def moment(written: str) -> datetime | None:
    return datetime.fromisoformat(written).replace(tzinfo=BERLIN) if written else None


@pytest.mark.parametrize(("text", "meant"), STRETCHES.items())
def test_an_expression_means_its_stretch(text: str, meant: str) -> None:
    first, slash, last = meant.partition("/")
    start = moment(first)
    end = moment(last) if slash else (start + timedelta(days=1) if start else None)
    assert (only(text).start, only(text).end) == (start, end)


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_not_a_time_is_left_alone(text: str) -> None:
    assert hints(text, NOW) == []


def test_the_span_covers_the_expression_and_the_word_that_bounds_it() -> None:
    text = "what changed since last Tuesday, and why"
    first, last = only(text).span
    assert text[first:last] == "since last Tuesday"


def test_a_question_about_what_was_said_then_filters() -> None:
    assert only("What did I tell you yesterday?").kind == "filter"


def test_a_question_about_what_happened_then_only_boosts() -> None:
    assert only("Where was John on 8 May 2023?").kind == "boost"


def test_asking_for_the_first_time_orders_oldest_first() -> None:
    hint = only("What did I first say about the budget?")
    assert (hint.kind, hint.order) == ("order", "oldest")


def test_asking_for_the_latest_orders_newest_first() -> None:
    assert only("the latest word on the budget").order == "newest"


def test_an_event_without_a_date_is_named_for_the_caller() -> None:
    hint = only("what did we decide before the release?")
    assert (hint.anchor, hint.kind, hint.start) == ("before the release", "filter", None)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("what happened before the release", "before the release"),
        ("What was going on during our move?", "during our move"),
        ("what's new since the last release?", "since the last release"),
        ("what else has changed after she left", "after she left"),
    ],
)
def test_a_question_about_nothing_but_an_event_filters_by_it(text: str, event: str) -> None:
    assert (only(text).kind, only(text).anchor) == ("filter", event)


def test_an_event_in_a_question_about_something_else_does_not_filter() -> None:
    assert only("where did Anna live before the release").kind == "boost"


def test_a_day_is_as_long_as_it_was_where_the_user_lives() -> None:
    hint = only("on 25 October 2026")  # clocks went back
    assert hint.start is not None
    assert hint.end is not None
    assert hint.end.timestamp() - hint.start.timestamp() == 25 * 3600


def test_today_follows_the_users_zone() -> None:
    late = datetime(2026, 11, 15, 23, tzinfo=BERLIN).astimezone(ZoneInfo("Asia/Tokyo"))
    (hint,) = hints("today", late)
    assert hint.start is not None
    assert hint.start.date().isoformat() == "2026-11-16"


def test_two_expressions_come_in_reading_order() -> None:
    found = hints("Was it on 8 May 2023 or last week?", NOW)
    assert [hint.span[0] for hint in found] == [10, 24]
