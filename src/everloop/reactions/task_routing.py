"""Messages of a thread that belong to a running task: suggested, never sent by themselves.

Threads and workers do not know each other; this is where they meet.
"""

from everloop.domain import Domain, Policy
from everloop.log import Fact, Reader
from everloop.thread.model.events import MessageSent
from everloop.workers import SuggestRouting, running_tasks


def when_message_sent_suggest_its_task(reader: Reader, fact: Fact) -> list[SuggestRouting]:
    """Look for the task of a message, if any task runs."""
    sent = fact.event
    assert isinstance(sent, MessageSent)
    if fact.actor != "user" or not running_tasks(reader):
        return []
    return [SuggestRouting(sent.thread_id, sent.message_id, sent.text, (fact.position,))]


MESSAGE_ROUTING = Domain(
    "message_routing",
    policies=(
        Policy(
            "suggest-routing",
            MessageSent,
            SuggestRouting,
            when_message_sent_suggest_its_task,
            elsewhere=True,
        ),
    ),
)
