"""How well a message fits a running task: its folder's name, words of its brief, a number in it.

A pure score. It only suggests: the user sends the message to the task, or does not.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

import msgspec

from everloop.workers.routing.events import TaskMatch

NAMED, LIKE_A_DOMAIN, WORDS, NUMBER = 0.4, 0.2, 0.4, 0.3
KEPT = 0.3
SURE = 0.7  # a single match this good is suggested
LIKELY = 0.4  # of several, the best must be this good
SHOWN = 3
WORD_MIN = 3
STOP_WORDS = frozenset(
    """the and for with that this from what when where which who how are was were has have had
    can could would should please you your our its not but all any also just now then there here
    der die das und ist mit für von den dem ein eine nicht auch noch bitte
    les des une est pour avec dans pas que qui""".split()  # noqa: SIM905 - shorter to read
)
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_NUMBER = re.compile(r"#\d+")


class RunningTask(msgspec.Struct, frozen=True):
    """What is compared of a task."""

    task_id: str
    title: str
    brief: str
    path: str


def matching_tasks(text: str, tasks: Iterable[RunningTask]) -> tuple[TaskMatch, ...]:
    """The tasks to suggest for a message, the best first; none if none is likely."""
    found = [one for task in tasks if (one := match_task(text, task)).score >= KEPT]
    found.sort(key=lambda one: (-one.score, one.task_id))
    if not found:
        return ()
    if len(found) == 1:
        return tuple(found) if found[0].score >= SURE else ()
    return tuple(found[:SHOWN]) if found[0].score >= LIKELY else ()


def match_task(text: str, task: RunningTask) -> TaskMatch:
    """The score of a task for a message, with its reasons."""
    said, known = keywords(text), keywords(f"{task.title} {task.brief}")
    score, reasons = 0.0, list[str]()
    name = PurePath(task.path).name.lower()
    if name and _mentions(text, name):
        score += NAMED
        reasons.append(f"names {name}")
    stem, dot, _ = name.partition(".")
    if dot and stem and _mentions(text, stem):
        score += LIKE_A_DOMAIN
    shared = [word for word in said if word in known]
    if shared:
        score += WORDS * len(shared) / len(said)
        reasons.append(f"shares {', '.join(shared[:SHOWN])}")
    numbers = set(_NUMBER.findall(text)) & set(_NUMBER.findall(f"{task.title} {task.brief}"))
    if numbers:
        score += NUMBER
        reasons.append(f"names {min(numbers)}")
    return TaskMatch(task.task_id, round(min(score, 1.0), 3), tuple(reasons))


def keywords(text: str) -> list[str]:
    """The words of a text that say what it is about, each once."""
    words = (word.lower() for word in _WORD.findall(text))
    kept = (word for word in words if len(word) >= WORD_MIN and word not in STOP_WORDS)
    return list(dict.fromkeys(kept))


def _mentions(text: str, name: str) -> bool:
    words: Sequence[str] = re.findall(r"[\w.-]+", text.lower())
    return any(word.strip(".-") == name for word in words)
