"""The time query parser: dates, intervals, orders and event anchors in questions."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from dateutil import tz
from tests.memory.time_query.parse_cases import (
    NO_EVENTS,
    ON_MONDAY,
    PLAIN,
    STRETCHES,
    TO_COME,
    UNSURE,
)

from everloop.memory.time_query.parse import TimeHint, parse_time_hints

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 15, 19, tzinfo=BERLIN)
MONDAY = datetime(2026, 11, 16, 10, tzinfo=BERLIN)


def only_hint(text: str, now: datetime = NOW) -> TimeHint:
    (hint,) = parse_time_hints(text, now)
    return hint


def parse_moment(written: str) -> datetime | None:
    return datetime.fromisoformat(written).replace(tzinfo=BERLIN) if written else None


def interval(meant: str) -> tuple[datetime | None, datetime | None]:
    first, slash, last = meant.partition("/")
    start = parse_moment(first)
    return start, parse_moment(last) if slash else (start + timedelta(days=1) if start else None)


@pytest.mark.parametrize(("text", "meant"), STRETCHES.items())
def test_an_expression_is_parsed_to_its_interval(text: str, meant: str) -> None:
    assert (only_hint(text).start, only_hint(text).end) == interval(meant)


@pytest.mark.parametrize(("text", "meant"), ON_MONDAY.items())
def test_on_a_monday_an_expression_means_the_latest_date_in_the_past(text: str, meant: str) -> None:
    hint = only_hint(text, MONDAY)
    assert (hint.start, hint.end) == interval(meant)


@pytest.mark.parametrize("text", TO_COME)
def test_a_future_time_gives_no_interval(text: str) -> None:
    assert parse_time_hints(f"what did I say about it {text}", MONDAY) == []
    assert parse_time_hints(text, MONDAY) == []


@pytest.mark.parametrize("text", ["tomorrow", "next week", "on Tuesday next week", "this evening"])
def test_a_question_about_what_was_said_ignores_future_times(text: str) -> None:
    assert parse_time_hints(f"what did I say {text}", MONDAY) == []
    assert only_hint(f"what is {text}", MONDAY).kind == "boost"


def test_in_the_middle_of_the_week_this_weekend_means_the_next_one() -> None:
    assert parse_time_hints("this weekend", MONDAY + timedelta(days=3)) == []


@pytest.mark.parametrize("text", UNSURE)
def test_an_uncertain_time_does_not_filter(text: str) -> None:
    assert {hint.kind for hint in parse_time_hints(text, NOW)} == {"boost"}


@pytest.mark.parametrize("text", [*STRETCHES, *ON_MONDAY])
def test_no_interval_is_empty_on_any_day(text: str) -> None:
    for days in range(0, 1500, 17):
        found = parse_time_hints(
            f"what did I say {text}", NOW + timedelta(days=days, hours=5 * days)
        )
        assert all(hint.start < hint.end for hint in found if hint.start and hint.end)


@pytest.mark.parametrize("text", PLAIN)
def test_text_without_a_time_has_no_hints(text: str) -> None:
    assert parse_time_hints(text, NOW) == []


def test_the_span_covers_the_expression_and_its_bounding_word() -> None:
    text = "what changed since last Tuesday, and why"
    first, last = only_hint(text).span
    assert text[first:last] == "since last Tuesday"


@pytest.mark.parametrize(
    "text",
    [
        "What did I tell you yesterday?",
        "what did I tell you in May about hiking",
        "what did I write to Anna in May",
        "What did we decide on Monday?",
        "what did I say about the garden in May",
    ],
)
def test_a_question_about_what_was_said_then_filters(text: str) -> None:
    assert only_hint(text).kind == "filter"


@pytest.mark.parametrize("text", ["Was habe ich gestern gesagt?", "Qu'est-ce que j'ai dit hier ?"])
def test_a_question_about_what_was_said_then_filters_in_german_and_french(text: str) -> None:
    assert only_hint(text).kind == "filter"


@pytest.mark.parametrize(
    "text",
    [
        "what did we talk about last Tuesday",
        "What were we talking about yesterday?",
        "which restaurant did I ask about on Friday",
        "the film that we spoke about last week",
        "What was the book you chatted about in May?",
    ],
)
def test_a_time_after_talk_about_is_not_the_topic(text: str) -> None:
    assert only_hint(text).kind == "filter"


def test_a_question_about_what_happened_then_only_boosts() -> None:
    assert only_hint("Where was John on 8 May 2023?").kind == "boost"


def test_asking_for_the_first_time_orders_oldest_first() -> None:
    hint = only_hint("What did I first say about the budget?")
    assert (hint.kind, hint.order) == ("order", "oldest")


@pytest.mark.parametrize("text", ["the first thing I said about it", "our very first chat"])
def test_the_first_thing_is_the_oldest(text: str) -> None:
    assert only_hint(text).order == "oldest"


@pytest.mark.parametrize(
    "text",
    [
        "the latest word on the budget",
        "my last message",
        "the most recent thing",
        "what was the last thing we said about it",
    ],
)
def test_asking_for_the_latest_orders_newest_first(text: str) -> None:
    assert only_hint(text).order == "newest"


def test_an_event_without_a_date_is_returned_as_an_anchor() -> None:
    hint = only_hint("what did we decide before the release?")
    assert (hint.anchor, hint.kind, hint.start) == ('"the release"', "filter", None)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("what happened before the release", '"the release"'),
        ("What was going on during our move?", '"our move"'),
        ("what's new since the last release?", '"the last release"'),
        ("what changed since our last conversation", '"our last conversation"'),
        ("what else has changed after she left", '"she left"'),
    ],
)
def test_a_question_about_only_an_event_filters_by_it(text: str, event: str) -> None:
    assert (only_hint(text).kind, only_hint(text).anchor) == ("filter", event)


def test_an_event_in_a_question_about_something_else_does_not_filter() -> None:
    assert only_hint("where did Anna live before the release").kind == "boost"


@pytest.mark.parametrize(
    "text",
    [
        "Did I say that we moved after the release?",
        "What did I say we do before the release?",
        "What did we decide has to be done after the launch?",
    ],
)
def test_an_event_in_a_reported_statement_does_not_filter(text: str) -> None:
    assert only_hint(text).kind == "boost"


@pytest.mark.parametrize(
    "text",
    [
        "What did I say before the release and after it?",
        "Was habe ich vor dem Umzug und danach gesagt?",
        "Was habe ich vor dem Umzug oder nach der Hochzeit gesagt?",
        "Qu'ai-je dit avant la réunion et pendant la pause ?",
        "Qu'ai-je dit avant la réunion, ou après ?",
    ],
)
def test_an_event_that_bounds_one_of_two_times_does_not_filter(text: str) -> None:
    assert only_hint(text).kind == "boost"


@pytest.mark.parametrize(
    ("text", "side", "event"),
    [
        ("Was habe ich vor dem Umzug über Anna und Paul gesagt?", "before", "Umzug"),
        ("Was habe ich vor dem großen Umzug nach Berlin gesagt?", "before", "großen Umzug"),
        ("Was hast du mir nach der Hochzeit meiner Tante erzählt?", "after", "Hochzeit Tante"),
        ("Sag mir, was ich seit dem Urlaub notiert habe", "since", "Urlaub"),
        ("Was habe ich vor den Abschlussprüfungen gesagt?", "before", "Abschlussprüfungen"),
        ("was hab ich dir vor der op erzählt", "before", "op"),
        ("Was habe ich bis zum Ende des Projekts gesagt?", "until", "Ende Projekts"),
        ("Was haben wir während der Konferenz besprochen?", "during", "Konferenz"),
        ("Was hat sich seit dem Umzug verändert?", "since", "Umzug"),
        ("Qu'est-ce que j'ai dit à Anna avant l'examen ?", "before", "examen"),
        ("Qu'ai-je noté après la réunion à propos du budget ?", "after", "réunion"),
        ("Qu'est-ce que j'ai écrit depuis mon mariage ?", "since", "mariage"),
        ("Qu'avons-nous décidé pendant les vacances ?", "during", "vacances"),
        ("Qu'est-ce que j'ai noté jusqu'à la fin du projet ?", "until", "fin projet"),
        ("Qu'est-ce que j'ai noté jusqu\u2019au mariage d\u2019Anna ?", "until", "mariage Anna"),
        ("Que s'est-il passé depuis le déménagement ?", "since", "déménagement"),
    ],
)
def test_an_event_is_found_in_german_and_french(text: str, side: str, event: str) -> None:
    hint = only_hint(text)
    assert (hint.kind, hint.side, hint.anchor) == ("filter", side, event)


@pytest.mark.parametrize("text", NO_EVENTS)
def test_places_people_and_reported_statements_are_no_events(text: str) -> None:
    assert parse_time_hints(text, NOW) == []


@pytest.mark.parametrize("text", ["vor dem 5. Mai 2026", "seit dem Sommer", "vor drei Wochen"])
def test_a_date_is_no_event(text: str) -> None:
    hint = only_hint(f"Was habe ich {text} gesagt?")
    assert hint.anchor is None
    assert hint.start or hint.end


def test_a_day_with_a_clock_change_has_the_length_it_had_in_the_users_zone() -> None:
    hint = only_hint("on 25 October 2026")  # clocks went back
    assert hint.start is not None
    assert hint.end is not None
    assert hint.end.timestamp() - hint.start.timestamp() == 25 * 3600


def test_today_follows_the_users_zone() -> None:
    late = datetime(2026, 11, 15, 23, tzinfo=BERLIN).astimezone(ZoneInfo("Asia/Tokyo"))
    (hint,) = parse_time_hints("today", late)
    assert hint.start is not None
    assert hint.start.date().isoformat() == "2026-11-16"


@pytest.mark.usefixtures("berlin")
def test_a_clock_with_only_an_offset_uses_the_machines_zone() -> None:
    (hint,) = parse_time_hints("what did I say in May", NOW.astimezone(UTC).astimezone())
    assert (hint.start, hint.end) == interval("2026-05-01/2026-06-01")


@pytest.mark.usefixtures("berlin")
def test_a_clock_with_another_offset_than_the_machines_keeps_it() -> None:
    tokyo = timezone(timedelta(hours=9))
    (hint,) = parse_time_hints("what did I say in May", NOW.astimezone(tokyo))
    assert hint.start == datetime(2026, 5, 1, tzinfo=tokyo)


@pytest.mark.parametrize("fold", [0, 1])
def test_minutes_ago_are_right_while_the_clocks_go_back(fold: int) -> None:
    now = datetime(2026, 10, 25, 2, 30, fold=fold, tzinfo=BERLIN)
    (hint,) = parse_time_hints("what did I say 20 minutes ago", now)
    assert hint.start is not None
    assert hint.end is not None
    assert hint.end.timestamp() == now.timestamp()
    assert now.timestamp() - hint.start.timestamp() == 40 * 60


def test_minutes_ago_are_right_after_the_clocks_went_forward() -> None:
    now = datetime(2026, 3, 29, 3, 5, tzinfo=BERLIN)
    (hint,) = parse_time_hints("what did I say 10 minutes ago", now)
    assert hint.start is not None
    assert now.timestamp() - hint.start.timestamp() == 20 * 60


@pytest.mark.parametrize("zone", [ZoneInfo("Africa/Cairo"), tz.gettz("Africa/Cairo")])
def test_a_day_that_begins_at_one_oclock_does_not_overlap_the_day_before(zone: tzinfo) -> None:
    (hint,) = parse_time_hints("what did I say today", datetime(2026, 4, 24, 20, tzinfo=zone))
    assert hint.start is not None
    assert hint.start.astimezone(UTC) == datetime(2026, 4, 23, 22, tzinfo=UTC)


def test_an_ambiguous_date_boosts_both_readings() -> None:
    found = parse_time_hints("what did I say on 3/4/2026", NOW)
    days = {(hint.kind, f"{hint.start:%m-%d}") for hint in found}
    assert days == {("boost", "03-04"), ("boost", "04-03")}


def test_a_week_ago_on_a_weekday_still_to_come_covers_both_weeks() -> None:
    hint = only_hint(
        "what did I say two weeks ago on Friday", datetime(2026, 11, 17, 9, tzinfo=BERLIN)
    )
    assert (hint.start, hint.end) == interval("2026-10-30/2026-11-07")


def test_the_date_of_an_event_does_not_filter() -> None:
    event, time_of_it = parse_time_hints("what did we discuss before the release in May?", NOW)
    assert (event.kind, event.anchor) == ("filter", '"the release"')
    assert time_of_it.kind == "boost"


@pytest.mark.parametrize("day", ["am 5. Mai", "im Mai", "letzten Sommer"])
def test_the_date_of_an_event_does_not_filter_in_german(day: str) -> None:
    event, time_of_it = parse_time_hints(f"Was haben wir vor dem Umzug {day} besprochen?", NOW)
    assert (event.kind, event.anchor) == ("filter", "Umzug")
    assert time_of_it.kind == "boost"


def test_two_expressions_are_returned_in_reading_order() -> None:
    found = parse_time_hints("Was it on 8 May 2023 or last week?", NOW)
    assert [hint.span[0] for hint in found] == [10, 24]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Was habe ich am 2. März gesagt?", "2026-03-02"),
        ("Was haben wir zwischen dem 3. und 5. März besprochen?", "2026-03-03/2026-03-06"),
        ("Was habe ich vom 3. bis zum 5. März notiert?", "2026-03-03/2026-03-06"),
    ],
)
def test_a_german_ordinal_does_not_end_the_sentence(text: str, meant: str) -> None:
    hint = only_hint(text)
    assert hint.kind == "filter"
    assert (hint.start, hint.end) == interval(meant)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("was habe ich zuerst über den Garten gesagt", "oldest"),
        ("Wann waren wir zuletzt am Meer?", "newest"),
        ("was habe ich als erstes über das Boot gesagt", "oldest"),
        ("quand avons-nous vu Anna pour la première fois", "oldest"),
        ("qu'ai-je dit la dernière fois", "newest"),
    ],
)
def test_german_and_french_ask_for_the_first_and_the_last(text: str, order: str) -> None:
    assert only_hint(text).order == order


@pytest.mark.timeout(20)
@pytest.mark.parametrize("words", ["ich ", "ich vor dem Umzug über ", "was ist seit dem x "])
def test_a_very_long_german_question_is_parsed_quickly(words: str) -> None:
    assert parse_time_hints(words * (100_000 // len(words)), NOW) == []


@pytest.mark.timeout(20)
def test_only_the_beginning_of_a_very_long_question_is_parsed() -> None:
    assert parse_time_hints(
        "what did I say in May? " + "On 3 April 2026 it was in June. " * 30_000, NOW
    )
