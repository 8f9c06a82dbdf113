"""Which running task a message belongs to, and what is decided from that."""

import pytest

from everloop.errors import Forbidden, Invalid, NotFound
from everloop.log import Context, DecisionContext, Event
from everloop.testing.deterministic import NEW_YEAR, given
from everloop.workers.routing.commands import SettleRouting, SuggestRouting
from everloop.workers.routing.decide import settle_routing, suggest_routing
from everloop.workers.routing.events import RoutingSettled, RoutingSuggested, TaskMatch
from everloop.workers.routing.match import RunningTask, match_task, matching_tasks
from everloop.workers.routing.state import ROUTING, RoutingState, Suggestion

SHOP = RunningTask("t1", "Fix the flaky login test", "It fails at night. See #12.", "/c/shop")
SITE = RunningTask("t2", "Redesign the start page", "Make it lighter.", "/c/example.org")
MATCH = TaskMatch("t1", 0.8, ("names shop",))
SUGGESTED = RoutingSuggested("home", "m1", "The login test in shop", (MATCH,))


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("shop", 0.4),
        ("flaky login test", 0.4),
        ("flaky login test in shop", 0.7),
        ("#12", 0.3),
        ("bookshop", 0.0),
        ("What is the weather like?", 0.0),
    ],
)
def test_folder_words_and_number_add_up(text: str, score: float) -> None:
    assert match_task(text, SHOP).score == pytest.approx(score)


def test_a_folder_that_is_named_like_a_domain_counts_by_its_first_part() -> None:
    assert match_task("example", SITE).score == pytest.approx(0.2)
    assert match_task("example.org", SITE).score == pytest.approx(0.4)


def test_one_sure_match_is_suggested_and_one_that_is_only_likely_is_not() -> None:
    assert [one.task_id for one in matching_tasks("flaky login test in shop", [SHOP, SITE])] == [
        "t1"
    ]
    assert matching_tasks("shop", [SHOP, SITE]) == ()
    assert matching_tasks("Good morning!", [SHOP, SITE]) == ()


def test_of_several_likely_matches_at_most_three_are_suggested_the_best_first() -> None:
    tasks = [RunningTask(f"t{n}", "Fix login", "", f"/{n}/shop") for n in range(5)]
    best = RunningTask("t9", "Fix login twice", "", "/9/shop")
    found = matching_tasks("shop login twice", [*tasks, best])
    assert [one.task_id for one in found] == ["t9", "t0", "t1"]


def suggest(known: RoutingState | None, text: str) -> list[tuple[Event, tuple[int, ...]]]:
    """What is decided about a message while the task runs."""
    asking = DecisionContext(Context(actor="engine"), NEW_YEAR, [SHOP])
    drafts = suggest_routing(known, SuggestRouting("home", "m1", text, (7,)), asking)
    return [(one.event, tuple(one.because)) for one in drafts]


def test_a_suggestion_names_its_message_and_is_made_once() -> None:
    ((made, because),) = suggest(None, "The flaky login test in shop")
    assert isinstance(made, RoutingSuggested)
    assert (made.message_id, made.matches[0].task_id, because) == ("m1", "t1", (7,))
    known = RoutingState({"m1": Suggestion("m1", "x", (MATCH,), 9)})
    assert suggest(known, "The flaky login test in shop") == []
    assert suggest(None, "Good morning!") == []
    assert suggest(None, "flaky login test in shop " * 2_000) == []  # too long for a message


def test_only_the_user_sends_a_message_to_a_task_that_was_suggested_once() -> None:
    command = SettleRouting("home", "m1", "t1")
    settled = RoutingSettled("home", "m1", "t1")
    assert given(ROUTING, SUGGESTED).when(settle_routing, command) == [settled]
    with pytest.raises(Forbidden):
        given(ROUTING, SUGGESTED).when(settle_routing, command, actor="agent:x")
    with pytest.raises(NotFound):
        given(ROUTING, SUGGESTED, settled).when(settle_routing, command)
    with pytest.raises(Invalid):
        given(ROUTING, SUGGESTED).when(settle_routing, SettleRouting("home", "m1", "t2"))
    none = SettleRouting("home", "m1", "")
    assert given(ROUTING, SUGGESTED).when(settle_routing, none) == [
        RoutingSettled("home", "m1", "")
    ]
