"""Decisions about deliveries, given earlier facts."""

from datetime import timedelta

import pytest

from everloop.log import Event, to_microseconds
from everloop.notifications.model.commands import RecordDelivery
from everloop.notifications.model.decide import record_delivery
from everloop.notifications.model.events import DeliveryPostponed, DeliveryRecorded
from everloop.notifications.model.state import NOTIFICATION_STATE
from everloop.testing.deterministic import NEW_YEAR, given


def limited(retry_after_s: int = 0) -> RecordDelivery:
    """A service that asks to wait."""
    return RecordDelivery(
        "phone", "r1", "approval", "limited", 429, retry_after_s=retry_after_s, attempts_max=3
    )


TRIED = DeliveryRecorded("phone", "r1", "approval", "limited", 429, "")


def postponed(seconds: int) -> DeliveryPostponed:
    """What follows from an attempt, `seconds` after it."""
    until = NEW_YEAR + timedelta(seconds=seconds)
    return DeliveryPostponed("phone", "r1", to_microseconds(until))


@pytest.mark.parametrize(
    ("before", "retry_after_s", "then"),
    [
        ([], 0, [TRIED, postponed(5)]),
        ([], 60, [TRIED, postponed(60)]),
        ([TRIED], 0, [TRIED, postponed(10)]),
        ([TRIED, TRIED], 60, [TRIED]),
    ],
    ids=["first", "as the service asks", "longer each time", "not for ever"],
)
def test_a_message_that_was_not_taken_is_postponed_a_few_times(
    before: list[Event], retry_after_s: int, then: list[Event]
) -> None:
    told = given(NOTIFICATION_STATE, *before).when(
        record_delivery, limited(retry_after_s), actor="engine"
    )
    assert told == then


@pytest.mark.parametrize("outcome", ["delivered", "gone", "refused"])
def test_a_message_that_was_taken_or_refused_is_not_sent_again(outcome: str) -> None:
    command = RecordDelivery("phone", "r1", "approval", outcome, 0, attempts_max=3)
    told = given(NOTIFICATION_STATE, TRIED).when(record_delivery, command, actor="engine")
    assert told == [DeliveryRecorded("phone", "r1", "approval", outcome, 0, "")]
