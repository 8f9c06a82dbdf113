"""Turns of a transcript for feedback detection: each user turn with the turns before it.

A host writes an assistant's turn as several lines; they are joined here.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from everloop.adapters.capture.tail import last_lines
from everloop.adapters.capture.transcript import TranscriptMessage, parse_transcript_line
from everloop.errors import Invalid
from everloop.lessons.feedback.listener import DetectionResult, FeedbackDetector
from everloop.lessons.feedback.projection import shown_lessons
from everloop.lessons.feedback.settings import FeedbackSettings
from everloop.lessons.feedback.turns import CandidateLesson, EarlierTurn, UserTurn
from everloop.log import Context, Log


def detect_transcript_feedback(
    listener: FeedbackDetector, log: Log, path: Path, *, by: Context, limits: FeedbackSettings
) -> list[DetectionResult]:
    """Detect feedback in the newest turns of a transcript, if its session was shown lessons.

    Raises:
        OSError: the file cannot be read.
    """
    with log.reading() as reader:
        shown = shown_lessons(reader, by, limit=limits.items_max)
    turns = newest_user_turns(path, shown, limits) if shown else []
    return [listener.detect(turn, by=by) for turn in turns if turn.turn_id]


def newest_user_turns(
    path: Path, shown: Sequence[CandidateLesson], limits: FeedbackSettings
) -> list[UserTurn]:
    """The newest user turns of a transcript, oldest first; earlier ones were processed before.

    Raises:
        OSError: the file cannot be read.
    """
    said: list[TranscriptMessage] = []
    for line in last_lines(path, limits.tail_bytes):
        try:
            one = parse_transcript_line(line.content)
        except Invalid:  # capture reports it
            continue
        if one is not None:
            said.append(one)
    return user_turns(said, shown, turns_max=limits.turns_max)[-limits.newest_turns :]


def user_turns(
    said: Iterable[TranscriptMessage], shown: Sequence[CandidateLesson], *, turns_max: int
) -> list[UserTurn]:
    """Each user turn with the turns before it."""
    before: list[EarlierTurn] = []
    found: list[UserTurn] = []
    for each in said:
        if each.kind == "assistant":
            _add(before, each)
            continue
        recent = tuple(before[-turns_max:])
        heard = UserTurn(
            each.turn_id, each.text, _moment(each.at), tuple(shown), recent, each.version
        )
        found.append(heard)
        before.append(EarlierTurn("user", each.text, heard.at))
    return found


def _add(turns: list[EarlierTurn], said: TranscriptMessage) -> None:
    """Append an assistant's line to its turn. A turn has the time of its newest line."""
    if not turns or turns[-1].role == "user":
        turns.append(EarlierTurn("assistant", said.text, _moment(said.at), said.lesson_ids))
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
