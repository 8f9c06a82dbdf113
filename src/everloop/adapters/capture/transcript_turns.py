"""Turns of a transcript for feedback detection: each user turn with the turns before it.

A host writes an assistant's turn as several lines; they are joined here.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from everloop.adapters.capture.tail import last_lines
from everloop.adapters.capture.transcript import Spoken, spoken
from everloop.errors import Invalid
from everloop.lessons.feedback.listener import Listener, Outcome
from everloop.lessons.feedback.projection import shown_in
from everloop.lessons.feedback.settings import SentimentSettings
from everloop.lessons.feedback.turns import Heard, Shown, Turn
from everloop.log import Context, Log


def hear_transcript(
    listener: Listener, log: Log, path: Path, *, by: Context, limits: SentimentSettings
) -> list[Outcome]:
    """Detect feedback in the newest turns of a transcript, if its session was shown lessons.

    Raises:
        OSError: the file cannot be read.
    """
    with log.reading() as reader:
        shown = shown_in(reader, by, limit=limits.items_max)
    turns = heard_in(path, shown, limits) if shown else []
    return [listener.hear(turn, by=by) for turn in turns if turn.turn_id]


def heard_in(path: Path, shown: Sequence[Shown], limits: SentimentSettings) -> list[Heard]:
    """The newest user turns of a transcript, oldest first; earlier ones were processed before.

    Raises:
        OSError: the file cannot be read.
    """
    said: list[Spoken] = []
    for line in last_lines(path, limits.tail_bytes):
        try:
            one = spoken(line.content)
        except Invalid:  # capture reports it
            continue
        if one is not None:
            said.append(one)
    return turns_of(said, shown, turns_max=limits.turns_max)[-limits.newest_turns :]


def turns_of(said: Iterable[Spoken], shown: Sequence[Shown], *, turns_max: int) -> list[Heard]:
    """Each user turn with the turns before it."""
    before: list[Turn] = []
    found: list[Heard] = []
    for each in said:
        if each.kind == "assistant":
            _add(before, each)
            continue
        recent = tuple(before[-turns_max:])
        heard = Heard(each.turn_id, each.text, _moment(each.at), tuple(shown), recent, each.version)
        found.append(heard)
        before.append(Turn("user", each.text, heard.at))
    return found


def _add(turns: list[Turn], said: Spoken) -> None:
    """Append an assistant's line to its turn. A turn has the time of its newest line."""
    if not turns or turns[-1].role == "user":
        turns.append(Turn("assistant", said.text, _moment(said.at), said.lesson_ids))
        return
    last = turns[-1]
    turns[-1] = msgspec.structs.replace(
        last,
        text="\n".join(filter(None, (last.text, said.text))),
        at=_moment(said.at) or last.at,
        lesson_ids=tuple(dict.fromkeys((*last.lesson_ids, *said.lesson_ids))),
    )


def _moment(at: str) -> datetime | None:
    return datetime.fromisoformat(at) if at else None
