"""Branches of a thread: list them as a tree, and compare two of them."""

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import Log, Reader, visible
from everloop.log.model.branches import Branch
from everloop.thread.model.state import thread_stream
from everloop.thread.queries import threads

SAMPLE = 500


class ThreadBranch(msgspec.Struct, frozen=True):
    """A branch: its parent, where it forked, its newest message, and how many are its own."""

    branch: str
    parent: str
    at: int
    standing: bool
    left_after: str  # the message after which it forked from its parent
    newest: threads.ThreadMessage | None
    own: int


class BranchComparison(msgspec.Struct, frozen=True):
    """Two branches: the last message they share, and what each has after it."""

    shared: threads.ThreadMessage | None
    first: tuple[threads.ThreadMessage, ...]
    second: tuple[threads.ThreadMessage, ...]


def thread_branches(log: Log, thread_id: str) -> list[ThreadBranch]:
    """Every branch of a thread, the main branch first."""
    tree = thread_stream(thread_id)
    if tree not in log.branches:
        raise NotFound(f"no thread {thread_id!r}", hint="`everloop threads` lists them.")
    standing = log.branches.current[tree]
    own = [branch for branch in log.branches.by_name.values() if branch.root == tree]
    with log.file.reading() as reader:
        return [_load_branch(reader, log, thread_id, branch, standing) for branch in own]


def compare_branches(log: Log, thread_id: str, first: str, second: str) -> BranchComparison:
    """Compare two branches of a thread.

    Raises:
        Invalid: one of them is not a branch of this thread.
    """
    one, two = (_messages(log, thread_id, branch) for branch in (first, second))
    shared = 0
    while shared < min(len(one), len(two)) and one[shared].position == two[shared].position:
        shared += 1
    last = one[shared - 1] if shared else None
    return BranchComparison(last, one[shared:], two[shared:])


def _load_branch(
    reader: Reader, log: Log, thread_id: str, branch: Branch, standing: str
) -> ThreadBranch:
    reader.use_sight(log.branches.sight_from(branch.name))
    newest = threads.newest_messages(reader, thread_id, 1).messages
    own = reader.rows(_OWN_COUNT, (thread_id, branch.name))[0][0]
    left = reader.rows(_FORKED_AFTER, (thread_id, branch.at)) if branch.parent else []
    return ThreadBranch(
        branch.name,
        branch.parent.name if branch.parent else "",
        branch.at,
        branch.name == standing,
        left[0][0] if left else "",
        newest[0] if newest else None,
        own,
    )


def _messages(log: Log, thread_id: str, branch: str) -> tuple[threads.ThreadMessage, ...]:
    if log.branches[branch].root != thread_stream(thread_id):
        raise Invalid(
            f"{branch!r} is not a branch of thread {thread_id!r}",
            hint="Choose one of its branches.",
        )
    with log.reading(branch=branch) as reader:
        return threads.newest_messages(reader, thread_id, SAMPLE).messages


_OWN_COUNT = f"""
SELECT count(*) FROM thread_messages m WHERE m.thread_id = ? AND m.branch = ? AND {visible("m")}
"""  # noqa: S608 - our own condition
_FORKED_AFTER = f"""
SELECT m.message_id FROM thread_messages m
WHERE m.thread_id = ? AND m.position <= ? AND {visible("m")} ORDER BY m.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
