"""Queries on issues: those without a task, those at work, the issue of a task, new deliveries."""

from typing import NamedTuple

from everloop.log import Reader, visible


class IssueRef(NamedTuple):
    """An issue, by its repository (in lower case) and number."""

    repository: str
    number: int


class WebhookDelivery(NamedTuple):
    """What a delivery was about; number 0: nothing that has one."""

    position: int
    repository: str
    number: int


def named_issues(reader: Reader) -> list[IssueRef]:
    """The issues that were named and not linked since."""
    return [IssueRef(*row) for row in reader.rows(_NAMED)]


def open_issues(reader: Reader) -> list[IssueRef]:
    """The issues whose task has not ended, or was not proposed yet; the oldest first."""
    return [IssueRef(*row) for row in reader.rows(_OPEN)]


def issue_of_task(reader: Reader, task_id: str) -> IssueRef | None:
    """The issue that became a task; None if none did."""
    rows = reader.rows(_OF_TASK, (task_id,))
    return IssueRef(*rows[0]) if rows else None


def has_open_task(reader: Reader, repository: str, number: int) -> bool:
    """Whether the newest task of an issue has not ended."""
    rows = reader.rows(_TASK_OPEN, (repository.lower(), number))
    return bool(rows and rows[0][0])


def issue_of_pull_request(reader: Reader, repository: str, number: int) -> IssueRef | None:
    """The issue whose task opened a pull request; None if it is not one of ours."""
    rows = reader.rows(_OF_PULL_REQUEST, (repository.lower(), number))
    return IssueRef(*rows[0]) if rows else None


def deliveries_after(reader: Reader, position: int) -> list[WebhookDelivery]:
    """What was delivered after a position, in order."""
    return [WebhookDelivery(*row) for row in reader.rows(_DELIVERIES, (position,))]


_NAMED = f"""
SELECT DISTINCT n.repository, n.number FROM github_named n WHERE {visible("n")} AND NOT EXISTS (
    SELECT 1 FROM github_links l WHERE l.repository = n.repository AND l.number = n.number
    AND l.position > n.position AND {visible("l")})
ORDER BY n.position
"""  # noqa: S608 - our own conditions
_NEWEST = f"""
NOT EXISTS (SELECT 1 FROM github_links o WHERE o.repository = l.repository
    AND o.number = l.number AND o.position > l.position AND {visible("o")})
"""  # noqa: S608 - our own condition
_OPEN = f"""
SELECT l.repository, l.number FROM github_links l
LEFT JOIN worker_tasks t ON t.task_id = l.task_id
WHERE {visible("l")} AND ifnull(t.open, 1) = 1 AND {_NEWEST} ORDER BY l.position
"""  # noqa: S608 - our own conditions
_TASK_OPEN = f"""
SELECT ifnull(t.open, 1) FROM github_links l LEFT JOIN worker_tasks t ON t.task_id = l.task_id
WHERE l.repository = ? AND l.number = ? AND {visible("l")} ORDER BY l.position DESC LIMIT 1
"""  # noqa: S608 - our own conditions
_OF_TASK = f"""
SELECT l.repository, l.number FROM github_links l WHERE l.task_id = ? AND {visible("l")}
"""  # noqa: S608 - our own condition
_OF_PULL_REQUEST = f"""
SELECT p.repository, p.number FROM github_pull_requests p
WHERE p.repository = ? AND p.pull_request = ? AND {visible("p")} ORDER BY p.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
_DELIVERIES = f"""
SELECT d.position, d.repository, d.number FROM github_deliveries d
WHERE d.position > ? AND {visible("d")} ORDER BY d.position
"""  # noqa: S608 - our own condition
