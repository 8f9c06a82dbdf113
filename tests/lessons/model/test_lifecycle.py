"""The lifecycle table is total, and repeating an operation changes nothing."""

import re
from pathlib import Path

import pytest

from everloop.errors import Conflict
from everloop.interfaces.cli.parsing.lesson_commands import SHOWN_AS
from everloop.lessons.model.lifecycle import (
    STATUS_LABELS,
    TRANSITIONS,
    Impossible,
    Operation,
    Status,
    next_status,
)

ONCE = {  # operations that can be carried out one time, and what they lead to
    Operation.ACTIVATE: Status.ACTIVE,
    Operation.SEED: Status.PROMOTED,
    Operation.PROMOTE: Status.PROMOTED,
    Operation.DEMOTE: Status.ACTIVE,
    Operation.DISCARD: Status.DISCARDED,
    Operation.SUPERSEDE: Status.SUPERSEDED,
}


def test_the_table_covers_every_status_and_operation() -> None:
    assert set(TRANSITIONS) == {(status, operation) for status in Status for operation in Operation}


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("operation", ONCE)
def test_repeating_an_operation_changes_nothing(status: Status, operation: Operation) -> None:
    if isinstance(TRANSITIONS[status, operation], Impossible):
        with pytest.raises(Conflict, match=f"cannot {operation} 'les-1'"):
            next_status(status, operation, "les-1")
        return
    reached = next_status(status, operation, "les-1")
    assert reached in (None, ONCE[operation])
    if reached is not None:
        assert next_status(reached, operation, "les-1") is None


@pytest.mark.parametrize("status", [Status.DISCARDED, Status.SUPERSEDED])
@pytest.mark.parametrize(
    "operation", [Operation.ACTIVATE, Operation.SEED, Operation.PROMOTE, Operation.EDIT]
)
def test_l120_no_operation_restores_a_discarded_or_superseded_lesson(
    status: Status, operation: Operation
) -> None:
    with pytest.raises(Conflict, match=r"discarded|superseded") as caught:
        next_status(status, operation, "les-1")
    assert caught.value.hint == "Propose it again, as a new lesson."


@pytest.mark.parametrize("operation", [Operation.EDIT, Operation.BLAME, Operation.FAIL])
def test_an_edit_blame_or_a_failure_makes_a_promoted_lesson_active_again(
    operation: Operation,
) -> None:
    assert next_status(Status.PROMOTED, operation, "les-1") is Status.ACTIVE
    assert next_status(Status.PENDING, operation, "les-1") is Status.PENDING


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("operation", [Operation.PRAISE, Operation.WITHDRAW, Operation.PASS])
def test_praise_changes_no_status(status: Status, operation: Operation) -> None:
    assert next_status(status, operation, "les-1") is status


def test_statuses_have_the_same_words_on_the_command_line_and_on_the_web() -> None:
    page = Path(__file__).parents[3] / "web" / "src" / "lib" / "lessons" / "lessons.svelte.ts"
    shown = dict(re.findall(r"(\w+): \{ label: '([^']+)'", page.read_text()))
    assert shown == {status.value: label for status, label in STATUS_LABELS.items()}
    typed = {label.lower().replace(" ", "-"): status for status, label in STATUS_LABELS.items()}
    assert {word: typed[word].value for word in SHOWN_AS} == SHOWN_AS
