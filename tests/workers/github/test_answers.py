"""Plans on GitHub: posted once for each version, and answered by a comment only as switched on."""

import hashlib
import hmac
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.workers.github.fake_github import FakeGitHub, fake_github
from tests.workers.github.flow import SteppedFlow, github_settings

from everloop.app import ENGINE, USER
from everloop.workers import Grants, TaskSpec, Workspace
from everloop.workers.github.model.commands import LinkIssue
from everloop.workers.model import commands as w

SECRET = "a secret of sixteen"  # noqa: S105 - of a test
OWNER: dict[str, Any] = {"owner": "octo-owner", "comment_answers": True}


@pytest.fixture
def fake() -> Generator[FakeGitHub]:
    """A fake GitHub."""
    with fake_github() as one:
        yield one


def planned(tmp_path: Path, fake: FakeGitHub, **chosen: Any) -> SteppedFlow:
    """A flow whose one task has written a plan; no process runs."""
    flow = SteppedFlow(tmp_path / "home", fake, github_settings(fake, tmp_path, **chosen))
    do = flow.engine.do
    do(LinkIssue("octo/shop", 12, "t1", "Fix", "Broken.", "reporter", "u"), by=ENGINE)
    place = Workspace("worktree", str(tmp_path))
    spec = TaskSpec("Fix", "Fix it.", "claude", plan_first=True, workspace=place, grants=Grants())
    do(w.ProposeTask("t1", spec, start=True), by=USER)
    write_plan(flow, 1, "1. Look.")
    look(flow)
    return flow


def write_plan(flow: SteppedFlow, attempt: int, plan: str) -> None:
    """The agent writes a plan."""
    flow.engine.do(w.BeginAttempt("t1", attempt, "here"), by=ENGINE)
    flow.engine.do(w.EndAttempt("t1", attempt, "succeeded", plan=plan), by=ENGINE)


def look(flow: SteppedFlow) -> None:
    """Let time pass, and look at GitHub and at what is due."""
    for _ in range(2):
        flow.stage.clock.tick(seconds=61)
        flow.task.tick()


def test_each_version_of_a_plan_is_posted_once(tmp_path: Path, fake: FakeGitHub) -> None:
    flow = planned(tmp_path, fake)
    look(flow)
    (comment,) = fake.comments[12]
    assert "1. Look." in comment["body"]
    assert "/everloop" not in comment["body"]
    flow.answer("plan_review", "revise", "Smaller.")
    write_plan(flow, 2, "1. Look closely.")
    look(flow)
    assert [("closely" in one["body"]) for one in fake.comments[12]] == [False, True]
    flow.engine.close()


@pytest.mark.promise("P-GITHUB-5")
def test_a_comment_of_the_owner_approves_once_switched_on_and_is_the_receipts_source(
    tmp_path: Path, fake: FakeGitHub
) -> None:
    flow = planned(tmp_path, fake, **OWNER)
    said = fake.add_comment(12, "/everloop approve")
    look(flow)
    assert flow.worker().plan_approved
    (request,) = [one for one in flow.engine.inbox.overview().history if one.closing]
    assert request.closing is not None
    assert (request.closing.actor, request.closing.choice) == ("engine", "approve")
    assert request.closing.device == f"GitHub comment {said['id']} of octo-owner"
    records = {record.position: record for record in flow.engine.log.records()}
    (receipt,) = [one for one in records.values() if one.kind == "inbox.request_answered"]
    sources = [records[position].kind for position in json.loads(receipt.because or "[]")]
    assert sources == ["inbox.request_raised", "github.comment_answered"]
    look(flow)
    assert flow.kinds().count("github.comment_answered") == 1
    flow.engine.close()


@pytest.mark.promise("P-GITHUB-5")
@pytest.mark.parametrize("switched_on", [False, True])
def test_a_comment_of_somebody_else_and_one_that_is_not_switched_on_approve_nothing(
    tmp_path: Path, fake: FakeGitHub, switched_on: bool
) -> None:
    flow = planned(tmp_path, fake, owner="octo-owner", comment_answers=switched_on)
    fake.add_comment(12, "/everloop approve", "stranger", "NONE")
    if not switched_on:
        fake.add_comment(12, "/everloop approve")
    fake.add_comment(12, "/everloop approve", updated_at="2026-01-02T00:00:00Z")
    look(flow)
    assert flow.worker().state == "planned"
    assert "github.comment_recorded" in flow.kinds()
    assert [one.kind for one in flow.waiting()] == ["plan_review"]
    flow.engine.close()


@pytest.mark.promise("P-GITHUB-5")
def test_a_plan_that_was_edited_on_github_is_not_approved_there(
    tmp_path: Path, fake: FakeGitHub
) -> None:
    flow = planned(tmp_path, fake, **OWNER)
    fake.comments[12][0] |= {"updated_at": "2026-01-02T00:00:00Z"}
    fake.add_comment(12, "/everloop approve")
    look(flow)
    assert flow.worker().state == "planned"
    flow.engine.close()


def test_the_first_answer_counts_also_if_a_comment_comes_later(
    tmp_path: Path, fake: FakeGitHub
) -> None:
    flow = planned(tmp_path, fake, **OWNER)
    flow.answer("plan_review", "cancel")
    fake.add_comment(12, "/everloop approve")
    look(flow)
    assert flow.worker().state == "cancelled"
    flow.engine.close()


@pytest.mark.promise("P-GITHUB-7")
def test_a_comment_that_a_delivery_announced_is_seen_at_once_and_acts_once(
    tmp_path: Path, fake: FakeGitHub
) -> None:
    flow = planned(tmp_path, fake, **OWNER, webhook_key=SECRET)
    fake.add_comment(12, "/everloop approve")
    flow.task.tick()
    assert flow.worker().state == "planned"  # it is not time to look yet
    body = json.dumps({"repository": {"full_name": "octo/shop"}, "issue": {"number": 12}}).encode()
    signature = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    for _ in range(2):
        flow.engine.github.receive(
            body, signature=signature, delivery_id="delivery-1", event="issue_comment"
        )
    flow.task.tick()
    assert flow.worker().plan_approved
    look(flow)
    kinds = flow.kinds()
    assert kinds.count("github.delivery_received") == 1
    assert kinds.count("github.comment_answered") == 1
    flow.engine.close()


def test_a_post_that_is_refused_is_told_and_sent_again_on_the_users_word(
    tmp_path: Path, fake: FakeGitHub
) -> None:
    path = "POST /repos/octo/shop/issues/12/comments"
    fake.refusals[path] = (403, "Resource not accessible by personal access token")
    flow = planned(tmp_path, fake)
    (told,) = [one for one in flow.waiting() if one.kind == "failure"]
    assert "not accessible" in told.body
    look(flow)
    assert len(fake.posted()) == 1
    fake.refusals.clear()
    flow.answer("failure", "again")
    look(flow)
    assert len(fake.comments[12]) == 1
    flow.engine.close()


def test_a_rate_limit_is_waited_for_and_the_post_is_sent_once(
    tmp_path: Path, fake: FakeGitHub
) -> None:
    fake.limited = {"retry-after": "600"}
    flow = planned(tmp_path, fake)
    look(flow)
    assert len(fake.requests) == 1
    assert "rate limit" in flow.task.health().problem
    fake.limited = {}
    flow.stage.clock.tick(minutes=11)
    look(flow)
    assert len(fake.comments[12]) == 1
    flow.engine.close()
