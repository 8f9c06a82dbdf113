"""Kinds of requests, their usual priority, and the group of the inbox where each is shown."""

from typing import Literal

Kind = Literal[
    "question",
    "plan_review",
    "approval",
    "proposal",
    "review",
    "paused",
    "routing",
    "failure",
    "uncertain",
    "failed_import",
    "finished",
    "gate_decision",
    "stale_lesson",
]
Priority = Literal["urgent", "high", "normal", "low"]
Group = Literal["needs_you", "failed", "finished"]

PRIORITIES: tuple[Priority, ...] = ("urgent", "high", "normal", "low")
USUAL_PRIORITY: dict[str, Priority] = {
    "question": "high",
    "plan_review": "high",
    "approval": "high",
    "proposal": "high",
    "review": "high",
    "paused": "high",
    "routing": "high",
    "failure": "urgent",
    "uncertain": "urgent",
    "failed_import": "urgent",
    "finished": "normal",
    "gate_decision": "normal",
    "stale_lesson": "low",
}
GROUP_OF_KIND: dict[str, Group] = {
    **dict.fromkeys(USUAL_PRIORITY, "needs_you"),
    **dict.fromkeys(("failure", "uncertain", "failed_import"), "failed"),
    "finished": "finished",
}
