"""“Call me when it is done”, said on the telephone: the user is called about their newest task.

It is recognised by its words, not by a model: only the user decides when to be called.
"""

import re

from everloop.app import USER
from everloop.interfaces.voice.speakable_text import speakable_whole
from everloop.services import Services

NOTHING_RUNS = "There is no task that I could call you about."
_PHRASE = re.compile(
    r"(please |can you |could you |then )*call me( back)?,? (when|once|as soon as) "
    r"(it|that|this|the task|everything)( is|['\u2019]s| has)? (all )?(done|finished|ready)"
    r"(,? please)?",
    re.IGNORECASE,
)


def asks_for_callback(text: str) -> bool:
    """Whether somebody asks to be called when it is done, and says nothing else."""
    return _PHRASE.fullmatch(text.strip().rstrip(".!?").strip()) is not None


def request_callback(running: Services) -> str:
    """Note that the user wants to be called about their newest open task; what to say to that."""
    board = running.engine.workers.board(ended_limit=0)
    tasks = (*board.active, *board.waiting, *board.review, *board.proposed)
    if not tasks:
        return NOTHING_RUNS
    newest = max(tasks, key=lambda one: one.proposed_at).task
    running.voice.request_callback(f"task:{newest.task_id}", USER)
    return f"I will call you when it is done: {speakable_whole(newest.spec.title)}."
