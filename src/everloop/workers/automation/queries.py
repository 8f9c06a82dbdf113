"""Queries on schedules, watches and their runs, and on start rules."""

from posixpath import normpath

from everloop.log import Reader, visible
from everloop.workers.model.spec import Grants, TaskSpec

DONE, FAILED = "workers.task_done", "workers.task_failed"


def active_schedule_ids(reader: Reader) -> list[str]:
    """The schedules that hold, the oldest first."""
    return [row[0] for row in reader.rows(_ACTIVE)]


def watch_of_task(reader: Reader, task_id: str) -> str:
    """The watch that started a task; empty if none did."""
    rows = reader.rows(_WATCH, (task_id,))
    return str(rows[0][0]) if rows else ""


def last_end_of_watch(reader: Reader, schedule_id: str, task_id: str) -> str:
    """How the run before a task's ended: the kind of the fact; empty if there was none."""
    rows = reader.rows(_BEFORE, (schedule_id, task_id))
    return str(rows[0][0]) if rows else ""


def is_news(reader: Reader, task_id: str, kind: str) -> bool:
    """Whether the end of a task is told: of a watch, only when it begins or ceases to fail."""
    watch = watch_of_task(reader, task_id)
    if not watch:
        return True
    before = last_end_of_watch(reader, watch, task_id)
    return before != FAILED if kind == FAILED else before == FAILED and kind == DONE


def matching_start_rule(reader: Reader, proposer: str, spec: TaskSpec) -> str:
    """The rule by which a proposal starts without asking; empty if there is none.

    What wants more than an isolated folder never matches, nor an agent's task with a check of the
    proposer's: a check runs without an approval. That of a repository on GitHub is the user's own.
    """
    checks = bool(spec.check) and spec.runner != "command" and not proposer.startswith("github:")
    if spec.grants != Grants() or checks:
        return ""
    for rule_id, path in reader.rows(_RULES, (proposer, spec.runner)):
        if _is_below(spec.workspace.path, str(path)):
            return str(rule_id)
    return ""


def _is_below(path: str, folder: str) -> bool:
    if not path or not folder:
        return path == folder
    inner, outer = normpath(path), normpath(folder)
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


_RULES = f"""
SELECT r.rule_id, r.path FROM worker_start_rules r
WHERE r.proposer = ? AND r.runner = ? AND {visible("r")} AND NOT EXISTS (
    SELECT 1 FROM worker_start_rule_removals x WHERE x.rule_id = r.rule_id AND {visible("x")})
ORDER BY r.position
"""  # noqa: S608 - our own conditions
_ACTIVE = f"""
SELECT s.schedule_id FROM worker_schedules s WHERE {visible("s")} AND NOT EXISTS (
    SELECT 1 FROM worker_schedule_removals r
    WHERE r.schedule_id = s.schedule_id AND {visible("r")})
ORDER BY s.position
"""  # noqa: S608 - our own conditions
_WATCH = f"""
SELECT s.schedule_id FROM worker_schedule_runs r
JOIN worker_schedules s ON s.schedule_id = r.schedule_id
WHERE r.task_id = ? AND s.watch = 1 AND {visible("r")} AND {visible("s")}
"""  # noqa: S608 - our own conditions
_BEFORE = f"""
SELECT l.kind FROM worker_schedule_runs r
JOIN worker_ends n ON n.task_id = r.task_id JOIN log l ON l.position = n.position
WHERE r.schedule_id = ? AND r.task_id <> ? AND n.open = 0
AND {visible("r")} AND {visible("n")} ORDER BY n.position DESC LIMIT 1
"""  # noqa: S608 - our own conditions
