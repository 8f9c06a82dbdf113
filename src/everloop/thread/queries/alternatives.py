"""Alternative answers (swipes) to the same question, across all branches."""

from collections.abc import Iterator

import msgspec

from everloop.errors import NotFound
from everloop.log import Log
from everloop.thread.model.state import thread_stream
from everloop.thread.queries import threads


class AnswerVersion(msgspec.Struct, frozen=True):
    """One of several answers. `standing`: it is on the current branch."""

    message_id: str
    branch: str
    position: int
    standing: bool
    model: str
    state: str


def answer_versions(log: Log, message_id: str) -> list[AnswerVersion]:
    """Every answer to the question that a message asks or answers, the oldest first.

    Raises:
        NotFound: there is no such message on any branch.
    """
    with log.file.reading() as reader:
        rows = reader.rows(_QUESTION, (message_id,))
        if not rows:
            raise NotFound(f"no message {message_id!r}", hint="It may have been deleted.")
        found = reader.rows(_ANSWERS, rows[0])
    return list(_visible_versions(log, rows[0][0], found))


def _visible_versions(
    log: Log, thread_id: str, found: list[tuple[int, str, str]]
) -> Iterator[AnswerVersion]:
    """The answers that were not deleted."""
    sight = log.branches.sight([log.branches.current[thread_stream(thread_id)]])
    for position, branch, message_id in found:
        try:
            with log.reading(branch=branch) as reader:
                said = threads.find_message(reader, message_id)
        except NotFound:
            continue
        standing = sight.sees(branch, position)
        yield AnswerVersion(message_id, branch, position, standing, said.model, said.state)


_QUESTION = """
SELECT m.thread_id, coalesce((SELECT t.message_id FROM thread_turns t
    WHERE t.turn_id = m.turn_id AND t.message_id <> '' AND m.role <> 'user' LIMIT 1), m.message_id)
FROM thread_messages m WHERE m.message_id = ? LIMIT 1
"""
_ANSWERS = """
SELECT m.position, m.branch, m.message_id FROM thread_turns t
JOIN thread_messages m ON m.message_id = (SELECT s.answer_id FROM thread_turns s
    WHERE s.turn_id = t.turn_id AND s.answer_id <> '' LIMIT 1)
WHERE t.thread_id = ? AND t.message_id = ? AND t.phase = 'recorded' ORDER BY m.position
"""
