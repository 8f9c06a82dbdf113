"""Decisions of the GitHub flow: given facts, when a command, then facts."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from everloop.errors import Conflict, Forbidden, NotFound
from everloop.log import Context, Event, Fact
from everloop.log.decider import DecisionContext
from everloop.workers.github.model import commands as c
from everloop.workers.github.model import decide as d
from everloop.workers.github.model import events as e
from everloop.workers.github.model.state import IssueLink, evolve
from everloop.workers.github.settings import GitHubSettings

ENGINE = Context(actor="engine")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ASKING = DecisionContext(ENGINE, NOW)
ISSUE = ("octo/shop", 12)
LINKED = e.IssueLinked(*ISSUE, "t1", "Fix it", "Broken.", "reporter", "https://x", "label")
PLAN = e.PostPlanned(*ISSUE, "t1.plan.1", "plan", "", "A plan.", True)
POSTED = (PLAN, e.PostBegun(*ISSUE, "t1.plan.1", 1), e.PostDone(*ISSUE, "t1.plan.1", 50, "u"))
PUBLISHED = (
    e.PostPlanned(*ISSUE, "t1.review.1.push", "push", "", "", True),
    e.BranchPushed(*ISSUE, "t1.review.1.push", "everloop/fix", "c1"),
    e.PostPlanned(*ISSUE, "t1.review.1.pull-request", "pull_request", "Fix", "text", True),
    e.PullRequestOpened(*ISSUE, "t1.review.1.pull-request", 7, "https://x/7"),
)
FAILED = (e.FailedCheck("tests", "2 failed"),)
SAID = e.Comment("issue", 60, "Owner", "OWNER", "/everloop approve", "https://x/60")
ON = GitHubSettings(owner="owner", comment_answers=True)


def given(*events: Event) -> IssueLink:
    """The link after facts."""
    link: IssueLink | None = None
    for position, happened in enumerate((LINKED, *events), start=1):
        fact = Fact(happened, position, "s", "main", position, "engine", (), "r", position)
        link = evolve(link, fact)
    assert link is not None
    return link


def kinds(drafts: Any) -> list[str]:
    """The kinds of what was decided."""
    return [getattr(one, "event", one).wire for one in drafts]


def test_an_issue_is_linked_once_and_again_only_when_somebody_names_it() -> None:
    again = c.LinkIssue(*ISSUE, "t2", "Fix it", "Broken.", "reporter", "u")
    assert d.link_issue(given(), again, ASKING) == []
    named = given(e.IssueNamed(*ISSUE))
    assert kinds(d.link_issue(named, again, ASKING)) == ["github.issue_linked"]


def test_an_issue_whose_task_is_open_cannot_be_named_again() -> None:
    busy = DecisionContext(Context(), NOW, True)
    with pytest.raises(Conflict, match="t1"):
        d.name_issue(given(), c.NameIssue(*ISSUE), busy)
    free = DecisionContext(Context(), NOW, False)
    assert kinds(d.name_issue(given(), c.NameIssue(*ISSUE), free)) == ["github.issue_named"]


def test_only_the_engine_records_what_github_says() -> None:
    rules = d.CommentRules(ON)
    for actor in ("user", "agent:x", "worker:t1", "github:octo/shop"):
        asking = DecisionContext(Context(actor=actor), NOW)
        with pytest.raises(Forbidden):
            rules.record_comment(given(*POSTED), c.RecordComment(*ISSUE, SAID), asking)
    with pytest.raises(NotFound):
        rules.record_comment(None, c.RecordComment(*ISSUE, SAID), ASKING)


@pytest.mark.promise("P-GITHUB-5")
@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("/everloop approve", "approve"),
        (" /everloop cancel\n", "cancel"),
        ("/everloop revise\n\nUse tabs.", "revise"),
    ],
)
def test_an_exact_command_of_the_owner_answers_the_plan_it_follows(text: str, choice: str) -> None:
    said = msgspec.structs.replace(SAID, text=text)
    command = c.RecordComment(*ISSUE, said, plan_unchanged=True)
    seen, answered = d.CommentRules(ON).record_comment(given(*POSTED), command, ASKING)
    assert isinstance(seen.event, e.CommentRecorded)
    assert isinstance(answered.event, e.CommentAnswered)
    assert (answered.event.request_id, answered.event.choice) == ("t1.plan.1", choice)


@pytest.mark.promise("P-GITHUB-5")
@pytest.mark.parametrize(
    ("change", "settings"),
    [
        ({}, GitHubSettings(owner="owner")),
        ({}, GitHubSettings(comment_answers=True)),
        ({"author": "stranger"}, ON),
        ({"author": "ownеr"}, ON),  # noqa: RUF001 - a Cyrillic letter
        ({"bot": True}, ON),
        ({"edited": True}, ON),
        ({"comment_id": 40}, ON),
        ({"kind": "pull_request"}, ON),
        ({"text": "LGTM"}, ON),
        ({"text": "approve"}, ON),
        ({"text": "/everloop approve please"}, ON),
        ({"text": "> /everloop approve"}, ON),
        ({"text": "Not yet.\n/everloop approve"}, ON),
        ({"text": "/everloop revise"}, ON),
    ],
    ids=str,
)
def test_no_other_comment_is_an_answer(change: dict[str, Any], settings: GitHubSettings) -> None:
    said = msgspec.structs.replace(SAID, **change)
    command = c.RecordComment(*ISSUE, said, plan_unchanged=True)
    decided = d.CommentRules(settings).record_comment(given(*POSTED), command, ASKING)
    assert kinds(decided) == ["github.comment_recorded"]


@pytest.mark.promise("P-GITHUB-5")
def test_a_plan_that_was_edited_cut_or_is_being_replaced_cannot_be_answered() -> None:
    rules, known = d.CommentRules(ON), given(*POSTED)
    edited = c.RecordComment(*ISSUE, SAID, plan_unchanged=False)
    assert kinds(rules.record_comment(known, edited, ASKING)) == ["github.comment_recorded"]
    whole = c.RecordComment(*ISSUE, SAID, plan_unchanged=True)
    newer = msgspec.structs.replace(PLAN, post_id="t1.plan.2")
    cut = msgspec.structs.replace(PLAN, whole=False)
    for link in (given(*POSTED, newer), given(cut, *POSTED[1:]), given()):
        assert kinds(rules.record_comment(link, whole, ASKING)) == ["github.comment_recorded"]


def test_a_comment_is_recorded_once() -> None:
    seen = e.CommentRecorded(*ISSUE, SAID, False)
    command = c.RecordComment(*ISSUE, SAID, plan_unchanged=True)
    assert d.CommentRules(ON).record_comment(given(*POSTED, seen), command, ASKING) == []


@pytest.mark.promise("P-GITHUB-3")
def test_failed_checks_are_sent_once_for_a_publication_and_stop_at_the_limit() -> None:
    rules, send = d.CommentRules(GitHubSettings(iterations_max=1)), c.SendFollowUp(*ISSUE)
    known = given(*PUBLISHED, e.ChecksConcluded(*ISSUE, "c1", FAILED))
    (sent,) = rules.send_follow_up(known, send, ASKING)
    assert isinstance(sent.event, e.FollowUpSent)
    assert (sent.event.reason, sent.event.iteration) == ("checks", 1)
    assert "> 2 failed" in sent.event.text
    again = given(*PUBLISHED, e.ChecksConcluded(*ISSUE, "c1", FAILED), sent.event)
    assert rules.send_follow_up(again, send, ASKING) == []
    pushed = e.BranchPushed(*ISSUE, "t1.review.2.push", "everloop/fix", "c2")
    newer = e.ChecksConcluded(*ISSUE, "c2", FAILED)
    full = given(*PUBLISHED, e.ChecksConcluded(*ISSUE, "c1", FAILED), sent.event, pushed, newer)
    assert kinds(rules.send_follow_up(full, send, ASKING)) == ["github.iteration_limit_reached"]


def test_checks_of_another_commit_do_not_count() -> None:
    stale = c.RecordChecks(*ISSUE, "c0", FAILED)
    assert d.record_checks(given(*PUBLISHED), stale, ASKING) == []
    assert d.record_checks(given(), c.RecordChecks(*ISSUE, "c1", FAILED), ASKING) == []


def test_more_iterations_need_an_answer_of_the_user() -> None:
    reached = e.IterationLimitReached(*ISSUE, "t1", "t1.review.1", "t1.github.limit.1", 5, "x")
    known = given(*PUBLISHED, reached)
    assert d.grant_iterations(known, c.GrantIterations(*ISSUE), ASKING) == []
    granted = d.grant_iterations(known, c.GrantIterations(*ISSUE, (9,)), ASKING)
    assert kinds(granted) == ["github.iterations_granted"]


@pytest.mark.promise("P-GITHUB-6")
def test_a_post_is_claimed_by_one_and_ends_once() -> None:
    first = c.BeginPost(*ISSUE, "t1.plan.1", 1)
    assert kinds(d.begin_post(given(PLAN), first, ASKING)) == ["github.post_begun"]
    begun = given(PLAN, e.PostBegun(*ISSUE, "t1.plan.1", 1))
    assert d.begin_post(begun, first, ASKING) == []
    done = c.FinishPost(*ISSUE, "t1.plan.1", 50, "u")
    assert kinds(d.finish_post(begun, done, ASKING)) == ["github.post_done"]
    assert d.finish_post(given(*POSTED), done, ASKING) == []
    assert d.fail_post(given(*POSTED), c.FailPost(*ISSUE, "t1.plan.1", "x"), ASKING) == []


def test_a_refusal_that_may_pass_is_tried_again_later_and_not_for_ever() -> None:
    fail = c.FailPost(*ISSUE, "t1.plan.1", "503", passing=True)
    (failed,) = d.fail_post(given(PLAN, e.PostBegun(*ISSUE, "t1.plan.1", 1)), fail, ASKING)
    assert isinstance(failed.event, e.PostFailed)
    assert failed.event.retry_at_us == int(NOW.timestamp() + 15) * 1_000_000
    last = given(PLAN, e.PostBegun(*ISSUE, "t1.plan.1", d.TRIES_MAX))
    (ended,) = d.fail_post(last, fail, ASKING)
    assert isinstance(ended.event, e.PostFailed)
    assert ended.event.retry_at_us == 0


def test_a_merge_is_final_and_a_closed_pull_request_can_be_opened_again() -> None:
    merged = given(*PUBLISHED, e.PullRequestMerged(*ISSUE, 7))
    assert (
        d.record_pull_request_state(merged, c.RecordPullRequestState(*ISSUE, 7, "closed"), ASKING)
        == []
    )
    closed = given(*PUBLISHED, e.PullRequestClosed(*ISSUE, 7, "t1", "r"))
    opened = c.RecordPullRequestState(*ISSUE, 7, "open")
    decided = d.record_pull_request_state(closed, opened, ASKING)
    assert kinds(decided) == ["github.pull_request_reopened"]
