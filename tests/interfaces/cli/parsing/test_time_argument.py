"""Parsing of typed dates and times."""

from datetime import UTC, datetime

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.errors import Invalid
from everloop.interfaces.cli.parsing.time_argument import parse_position_or_time, parse_time

NOW = datetime(2026, 11, 17, 15, 30, tzinfo=UTC)


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("typed", "then"),
    [
        ("30 minutes ago", "2026-11-17T16:00:00+01:00"),
        ("an hour ago", "2026-11-17T15:30:00+01:00"),
        ("half an hour ago", "2026-11-17T16:00:00+01:00"),
        ("600 hours ago", "2026-10-23T17:30:00+02:00"),
        ("three days ago", "2026-11-14T00:00:00+01:00"),
        ("a week ago", "2026-11-10T00:00:00+01:00"),
        ("two weeks ago", "2026-11-03T00:00:00+01:00"),
        ("a month ago", "2026-10-17T00:00:00+02:00"),
        ("a year ago", "2025-11-17T00:00:00+01:00"),
        ("a couple of days ago", "2026-11-15T00:00:00+01:00"),
        ("vor drei Tagen", "2026-11-14T00:00:00+01:00"),
        ("il y a deux semaines", "2026-11-03T00:00:00+01:00"),
        ("last Tuesday", "2026-11-10T00:00:00+01:00"),
    ],
)
def test_a_relative_time_starts_with_its_day_and_ends_at_its_moment(typed: str, then: str) -> None:
    assert parse_time(typed, NOW).isoformat() == then


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("typed", "then"),
    [
        ("an hour ago", "2026-11-17T15:30:00+01:00"),
        ("a week ago", "2026-11-10T16:30:00+01:00"),
        ("a month ago", "2026-10-17T16:30:00+02:00"),
        ("yesterday", "2026-11-17T00:00:00+01:00"),
    ],
)
def test_as_of_a_week_ago_means_that_moment(typed: str, then: str) -> None:
    found = parse_position_or_time(typed, NOW)
    assert isinstance(found, datetime)
    assert found.isoformat() == then


def test_remember_prints_how_it_understood_the_given_times(everloop: CommandLine) -> None:
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    told = everloop.typed("remember", "x", "--happened", "2026-05-17", "--until", "2090-01-01").out
    assert "Date: 2026-05-17." in told
    assert "Expires: the end of 2090-01-01." in told
    assert "1 h ago." in everloop.typed("remember", "y", "--happened", "an hour ago").out
    assert "It h" not in everloop.typed("remember", "z").out


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "x", "--happened", "0001-01-01"),
        ("remember", "x", "--happened", "9999-12-31"),
        ("remember", "x", "--until", "9999-12-31T12:00"),
        ("recall", "x", "--as-of", "9999-12-31"),
        ("recall", "x", "--since", "0001-01-01"),
        ("recall", "x", "--before", "0001-01-01T00:00:00+14:00"),
        ("search", "x", "--before", "9999-12-31"),
    ],
)
def test_a_year_out_of_range_is_refused(everloop: CommandLine, words: tuple[str, ...]) -> None:
    answer = everloop.typed(*words)
    assert answer.code == 2
    assert "Use a year from 2 to 9998." in answer.err


def test_until_the_year_9999_means_never(everloop: CommandLine) -> None:
    answer = everloop.typed("remember", "x", "--until", "9999-12-31", "--json")
    assert answer.document["item"]["holds_until"] is None


def test_the_first_and_the_last_supported_year_are_accepted(everloop: CommandLine) -> None:
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    ends = ("--happened", "0002-01-01", "--until", "9998-12-30")
    assert everloop.typed("remember", "x", *ends).code == 0
    assert everloop.typed("recall", "x", "--as-of", "9998-12-31").code == 0
    assert (
        everloop.typed("recall", "x", "--since", "0002-01-01", "--before", "9998-12-31").code == 0
    )


@pytest.mark.parametrize("typed", ["3/4/2026", "12/11/2026"])
def test_an_ambiguous_date_is_refused(typed: str) -> None:
    with pytest.raises(Invalid, match="is ambiguous"):
        parse_time(typed, NOW)
