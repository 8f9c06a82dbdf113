"""What is due for an issue: a pure function of its link and its task.

It is asked again and again. Each command it gives is recorded once and has no effect a second time.
"""

from everloop.log import Command
from everloop.workers.github.model import commands as c
from everloop.workers.github.model.state import PULL_REQUEST, PUSH, IssueLink, Post
from everloop.workers.github.model.texts import plan_comment, pull_request_text
from everloop.workers.model.commands import AcceptMerge
from everloop.workers.model.decide import review_request
from everloop.workers.model.state import Task


def due_commands(link: IssueLink, task: Task, *, answers: bool = False) -> list[Command]:
    """The commands that are due now. `answers`: comments of the owner can answer."""
    if task.ended or task.cancelling:
        return []
    return [*_plan(link, task, answers=answers), *_review(link, task)]


def due_posts(link: IssueLink, now_us: int) -> list[Post]:
    """The posts to be sent now, or that were begun and have no end, in their order."""
    waiting = [one for one in link.posts.values() if one.state in ("planned", "begun")]
    return [one for one in waiting if one.retry_at_us <= now_us]


def _plan(link: IssueLink, task: Task, *, answers: bool) -> list[Command]:
    """The plan as a comment, each version of it once."""
    waiting = [name for name, one in task.requests.items() if one.kind == "plan"]
    if task.state != "planned" or not waiting or waiting[0] in link.posts:
        return []
    text, whole = plan_comment(task, waiting[0], answers=answers)
    because = (task.requests[waiting[0]].position,)
    place = (link.repository, link.number, waiting[0])
    return [c.PlanPost(*place, "plan", text=text, whole=whole, because=because)]


def _review(link: IssueLink, task: Task) -> list[Command]:
    """Push what is in review, show it, and deal with what comes back."""
    review = review_request(task)
    if not review or task.disposition or task.spec.workspace.kind != "worktree":
        return []
    state = link.pull_request.state if link.pull_request else "open"
    because = (task.requests[review].position,)
    place = (link.repository, link.number)
    if state == "merged":
        merged = link.pull_request.position if link.pull_request else 0
        return [AcceptMerge(task.task_id, (merged,))] if link.pushed == review else []
    if state == "closed":
        return []
    if link.pushed != review:
        return [c.PlanPost(*place, f"{review}{PUSH}", "push", because=because)]
    shown = f"{review}{PULL_REQUEST}"
    if shown not in link.posts:
        text = pull_request_text(link, task, shown)
        title = task.spec.title
        return [c.PlanPost(*place, shown, "pull_request", title, text, because=because)]
    return [c.SendFollowUp(*place)] if _came_back(link, shown) else []


def _came_back(link: IssueLink, shown: str) -> bool:
    """Whether comments or failed checks wait for the worker, now that its work is on GitHub."""
    if link.posts[shown].state != "done":
        return False
    checks = link.checks
    failed = checks is not None and checks.commit == link.commit and bool(checks.failed)
    followed = link.followed.get(link.commit) == link.pushed
    return bool(link.feedback) or (failed and not followed and link.limited != link.pushed)
