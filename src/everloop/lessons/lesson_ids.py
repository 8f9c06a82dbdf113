"""Ids of lessons that are made from their content, so that proposing one again is idempotent.

They are keyed with a secret of the log: who sees an id can test no guess of the text behind it. An
id whose lesson the actor may not see gives way to the next one, so that nobody can tell whether
there is such a lesson.
"""

import hashlib
import hmac
from itertools import count

import msgspec

from everloop.lessons.model.decision_context import may_see
from everloop.lessons.model.state import LESSON, lesson_stream
from everloop.log import Log
from everloop.memory.model.decide import principal_of
from everloop.memory.projections.queries import load_viewer

ID_CHARACTERS = 24


def content_lesson_id(log: Log, actor: str, parts: tuple[str, ...], *, plain: str) -> str:
    """The id for content, for an actor: of the lesson that it sees there, else a free one.

    `plain` is the id that versions without keys gave; it counts if the actor sees its lesson.
    """
    for lesson_id in (plain, _keyed_id(b"", parts, 0)):  # the latter was made in an empty log
        if _is_seen(log, actor, lesson_id):
            return lesson_id
    key = log.secret
    for number in count():
        lesson_id = _keyed_id(key, parts, number)
        if _is_seen(log, actor, lesson_id) is not False:
            return lesson_id
    raise AssertionError("there are as many ids as needed")


def _keyed_id(key: bytes, parts: tuple[str, ...], number: int) -> str:
    content = msgspec.json.encode((number, *parts))
    return f"les-{hmac.new(key, content, hashlib.sha256).hexdigest()[:ID_CHARACTERS]}"


def _is_seen(log: Log, actor: str, lesson_id: str) -> bool | None:
    """Whether the actor may see the lesson of this id; None if there is none."""
    lesson = log.state(LESSON, lesson_stream(lesson_id))
    if lesson is None:
        return None
    with log.reading() as reader:
        return may_see(load_viewer(reader, principal_of(actor)), lesson.scope, lesson.writer)
