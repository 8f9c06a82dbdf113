"""Commands of routing."""

from everloop.log import Command


class SuggestRouting(Command, frozen=True):
    """Look whether a message belongs to a running task."""

    thread_id: str
    message_id: str
    text: str
    because: tuple[int, ...] = ()


class SettleRouting(Command, frozen=True):
    """Record which task the user sent a message to; empty: to none."""

    thread_id: str
    message_id: str
    task_id: str
