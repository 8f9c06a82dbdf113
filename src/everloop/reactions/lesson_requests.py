"""What the gate decided, as requests in the inbox, for those who were not there.

Lessons do not know the inbox's reader; here the decisions that the user did not make themselves are
told to them.
"""

from everloop.domain import Domain, Policy
from everloop.inbox import Choice, RaiseRequest
from everloop.lessons.model.events import LessonDemoted, LessonPromoted, PromotionRefused
from everloop.log import Event, Fact, Reader

OK = (Choice("ok", "OK"),)
DECISIONS: dict[type[Event], str] = {
    LessonPromoted: "A lesson was promoted",
    PromotionRefused: "The gate refused a lesson",
    LessonDemoted: "A lesson is no longer promoted",
}
_DESCRIPTION = """
SELECT json_extract(data, '$.description') FROM log
WHERE stream = ? AND kind = 'lessons.lesson_proposed' ORDER BY position DESC LIMIT 1
"""


def when_gate_decided_tell_the_user(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Tell the user what the gate decided, unless they asked it themselves."""
    decided = fact.event
    assert isinstance(decided, LessonPromoted | PromotionRefused | LessonDemoted)
    if fact.actor == "user":
        return []
    rows = reader.rows(_DESCRIPTION, (fact.stream,))
    title = f"{DECISIONS[type(decided)]}: {rows[0][0] if rows else decided.lesson_id}"
    body = ""
    if isinstance(decided, PromotionRefused):
        body = "\n".join(f"- {one}" for one in decided.reasons)
    elif isinstance(decided, LessonDemoted):
        body = decided.reason
    name, subject = f"gate.{fact.position}", f"lesson:{decided.lesson_id}"
    return [
        RaiseRequest(
            name, "gate_decision", title[:200], body, OK, subject=subject, because=(fact.position,)
        )
    ]


LESSON_REQUESTS = Domain(
    "lesson_requests",
    policies=tuple(
        Policy(f"tell-{kind.__name__}", kind, RaiseRequest, when_gate_decided_tell_the_user)
        for kind in DECISIONS
    ),
)
