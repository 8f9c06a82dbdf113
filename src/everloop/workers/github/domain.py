"""The GitHub flow, as the engine knows it."""

from typing import Any, Protocol

from everloop.domain import Deciders, Domain
from everloop.log import Decider, Reader
from everloop.workers.github.model import commands as c
from everloop.workers.github.model import decide as d
from everloop.workers.github.model.state import (
    DELIVERIES,
    LINK,
    delivery_stream,
    link_stream,
)
from everloop.workers.github.policies import GITHUB_POLICIES
from everloop.workers.github.projection import IssueTable
from everloop.workers.github.queries import has_open_task
from everloop.workers.github.settings import GitHubSettings


class _IssueCommand(Protocol):
    @property
    def repository(self) -> str: ...

    @property
    def number(self) -> int: ...


def _stream(command: _IssueCommand) -> str:
    return link_stream(command.repository, command.number)


def _deliveries(command: c.RecordWebhookDelivery) -> str:
    return delivery_stream(command.repository)


def _task_open(reader: Reader, command: c.NameIssue) -> bool:
    return has_open_task(reader, command.repository, command.number)


GITHUB_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(c.NameIssue, _stream, LINK, d.name_issue, also=_task_open),
    Decider(c.LinkIssue, _stream, LINK, d.link_issue),
    Decider(c.RecordWebhookDelivery, _deliveries, DELIVERIES, d.record_delivery),
    Decider(c.PlanPost, _stream, LINK, d.plan_post),
    Decider(c.BeginPost, _stream, LINK, d.begin_post),
    Decider(c.FinishPost, _stream, LINK, d.finish_post),
    Decider(c.FailPost, _stream, LINK, d.fail_post),
    Decider(c.LeavePostUncertain, _stream, LINK, d.leave_post_uncertain),
    Decider(c.RetryPost, _stream, LINK, d.retry_post),
    Decider(c.RecordPush, _stream, LINK, d.record_push),
    Decider(c.RecordPullRequest, _stream, LINK, d.record_pull_request),
    Decider(c.RecordPullRequestState, _stream, LINK, d.record_pull_request_state),
    Decider(c.RecordChecks, _stream, LINK, d.record_checks),
    Decider(c.GrantIterations, _stream, LINK, d.grant_iterations),
)


def _configured(settings: GitHubSettings | None) -> Deciders:
    """The decisions that depend on the settings."""
    rules = d.CommentRules(settings or GitHubSettings())
    return (
        Decider(c.RecordComment, _stream, LINK, rules.record_comment),
        Decider(c.SendFollowUp, _stream, LINK, rules.send_follow_up),
    )


GITHUB = Domain("github", GITHUB_DECIDERS, (IssueTable,), GITHUB_POLICIES, _configured)
