"""What happens to lessons when something else happens. Pure questions to the views.

What is asked is what the log lacks: a promotion that stands on a memory which was let go, and no
demotion yet. So asking again is harmless, and makes up for a crash in between.
"""

from everloop.lessons.model.commands import DemoteLesson
from everloop.lessons.model.lifecycle import Status
from everloop.log import Fact, Reader, visible

MEMORY_RETIRED = "a memory that it cited was retired"


def when_memory_retired_demote_lessons(reader: Reader, fact: Fact) -> list[DemoteLesson]:
    """Put what was promoted on a memory that somebody let go on trial again.

    Also what is on trial for another reason by now: that one may be taken back.
    """
    rows = reader.rows(_STOOD_ON, (fact.because[0], fact.position))
    return [DemoteLesson(lesson_id, MEMORY_RETIRED, (fact.position,)) for (lesson_id,) in rows]


_LATER = f"""
SELECT 1 FROM lesson_statuses n WHERE n.lesson = s.lesson AND n.position > s.position
AND {visible("n")}
"""  # noqa: S608 - our own condition
_STOOD_ON = f"""
SELECT l.lesson_id FROM log_because b
CROSS JOIN lesson_statuses s ON s.position = b.dependant
CROSS JOIN lessons l ON l.position = s.lesson
WHERE b.source = ?1 AND s.status = '{Status.PROMOTED}' AND {visible("s")}
AND NOT EXISTS ({_LATER} AND n.status NOT IN ('{Status.PENDING}', '{Status.ACTIVE}'))
AND NOT EXISTS ({_LATER} AND n.position IN (SELECT dependant FROM log_because WHERE source = ?2))
ORDER BY l.lesson_id
"""  # noqa: S608 - our own conditions
