"""Everything that can happen between an issue and its pull request, for the golden log."""

from everloop.app import ENGINE, USER, Engine
from everloop.workers import Comment, FailedCheck, TaskSpec, Workspace
from everloop.workers.github.model import commands as g
from everloop.workers.model import commands as w

ISSUE = ("octo/shop", 12)


def fill_issues(engine: Engine) -> None:
    """An issue that becomes a pull request which is merged, and one that is closed."""
    do = engine.do
    do(g.NameIssue(*ISSUE), by=USER)
    link(engine, 12, "t9")
    work(engine, "t9")
    do(g.RecordWebhookDelivery(*ISSUE, "delivery-1", "issues"), by=ENGINE)
    do(g.PlanPost(*ISSUE, "t9.plan.1", "plan", text="A plan."), by=ENGINE)
    do(g.BeginPost(*ISSUE, "t9.plan.1", 1), by=ENGINE)
    do(g.FinishPost(*ISSUE, "t9.plan.1", 1, "https://example.org/1"), by=ENGINE)
    said = Comment("issue", 2, "octo", "OWNER", "/everloop approve", "https://example.org/2")
    do(g.RecordComment(*ISSUE, said, plan_unchanged=True), by=ENGINE)
    publish(engine, 12, "t9.review.1", "c1")
    comment = Comment("line", 5, "reviewer", "MEMBER", "Smaller.", "https://example.org/5")
    do(g.RecordComment(*ISSUE, comment), by=ENGINE)
    do(g.SendFollowUp(*ISSUE), by=ENGINE)
    failed = (FailedCheck("tests", "2 failed"),)
    do(g.RecordChecks(*ISSUE, "c1", failed), by=ENGINE)
    do(g.SendFollowUp(*ISSUE), by=ENGINE)
    push(engine, 12, "t9.review.2", "c1")
    do(g.SendFollowUp(*ISSUE), by=ENGINE)
    do(g.GrantIterations(*ISSUE, (engine.log.head,)), by=ENGINE)
    do(g.RecordPullRequestState(*ISSUE, 7, "merged"), by=ENGINE)
    fill_troubled(engine)


def fill_troubled(engine: Engine) -> None:
    """Posts that fail, and a pull request that is closed and opened again."""
    do, issue = engine.do, ("octo/shop", 13)
    link(engine, 13, "t10")
    do(g.PlanPost(*issue, "t10.plan.1", "plan", text="A plan."), by=ENGINE)
    do(g.BeginPost(*issue, "t10.plan.1", 1), by=ENGINE)
    do(g.FailPost(*issue, "t10.plan.1", "refused"), by=ENGINE)
    do(g.RetryPost(*issue, "t10.plan.1", (engine.log.head,)), by=ENGINE)
    do(g.BeginPost(*issue, "t10.plan.1", 1), by=ENGINE)
    do(g.LeavePostUncertain(*issue, "t10.plan.1", "no answer"), by=ENGINE)
    publish(engine, 13, "t10.review.1", "c2")
    do(g.RecordPullRequestState(*issue, 7, "closed"), by=ENGINE)
    do(g.RecordPullRequestState(*issue, 7, "open"), by=ENGINE)


def work(engine: Engine, task_id: str) -> None:
    """A task whose work is in review."""
    spec = TaskSpec("Work", command=("ls",), workspace=Workspace("worktree", "repository"))
    engine.do(w.ProposeTask(task_id, spec, start=True), by=USER)
    engine.do(w.BeginAttempt(task_id, 1, "here"), by=ENGINE)
    engine.do(w.EndAttempt(task_id, 1, "succeeded"), by=ENGINE)


def link(engine: Engine, number: int, task_id: str) -> None:
    """An issue that becomes a task."""
    place = ("octo/shop", number, task_id)
    engine.do(
        g.LinkIssue(*place, "Fix it", "Broken.", "reporter", "https://example.org"), by=ENGINE
    )


def push(engine: Engine, number: int, review: str, commit: str) -> None:
    """A push of a task's branch."""
    place = ("octo/shop", number, f"{review}.push")
    engine.do(g.PlanPost(*place, "push"), by=ENGINE)
    engine.do(g.BeginPost(*place, 1), by=ENGINE)
    engine.do(g.RecordPush(*place, "everloop/fix-it", commit), by=ENGINE)


def publish(engine: Engine, number: int, review: str, commit: str) -> None:
    """A push and its pull request."""
    push(engine, number, review, commit)
    place = ("octo/shop", number, f"{review}.pull-request")
    engine.do(g.PlanPost(*place, "pull_request", "Fix it", "Closes it."), by=ENGINE)
    engine.do(g.BeginPost(*place, 1), by=ENGINE)
    engine.do(g.RecordPullRequest(*place, 7, "https://example.org/7"), by=ENGINE)
