"""Conversations to measure recall on, read from files of the LoCoMo or the BEAM shape.

LoCoMo: two people talk, in short turns, over many sessions. BEAM: one person talks with an
assistant, in long messages, over a few sittings. The data belongs to others: it is read by path and
never copied.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec

from everloop.memory.model.commands import RememberItem

Shape = Literal["locomo", "beam"]


class Turn(msgspec.Struct, frozen=True):
    """One thing that somebody said."""

    name: str
    session: int
    said: str
    at: datetime
    learned_via: Literal["imported", "told", "saw"] = "imported"


class Question(msgspec.Struct, frozen=True):
    """What is asked, and the turns that hold the answer."""

    text: str
    evidence: frozenset[str]
    sort: str = ""


class Conversation(msgspec.Struct, frozen=True):
    """Turns in order, and what is asked about them."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    shape: Shape

    @property
    def ends_at(self) -> datetime:
        """When the last turn was said: that is when the questions are asked."""
        return max(turn.at for turn in self.turns)

    def commands(self) -> Iterable[RememberItem]:
        """The commands that remember it, each turn following the one before in its session."""
        before: Turn | None = None
        for turn in self.turns:
            yield RememberItem(
                item_id=turn.name,
                text=turn.said,
                kind="message",
                learned_via=turn.learned_via,
                happened_at=turn.at.isoformat(),
                follows=before.name if before and before.session == turn.session else "",
            )
            before = turn


def conversations(path: Path) -> list[Conversation]:
    """The conversations of a file of either shape. Evidence that names no turn is ignored."""
    samples = msgspec.json.decode(path.read_bytes())
    return [_beam(each) if "messages" in each else _locomo(each) for each in samples]


def _asked(questions: Iterable[Question], turns: Iterable[Turn]) -> tuple[Question, ...]:
    """The questions whose evidence is there."""
    names = {turn.name for turn in turns}
    known = (msgspec.structs.replace(one, evidence=one.evidence & names) for one in questions)
    return tuple(one for one in known if one.evidence)


# -- LoCoMo ----------------------------------------------------------------------------------------


def _locomo(sample: Mapping[str, Any]) -> Conversation:
    talk = sample["conversation"]
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    turns = tuple(turn for number in numbers for turn in _locomo_turns(talk, number))
    asked = (
        Question(one["question"], frozenset(_ids(one.get("evidence") or ())), str(one["category"]))
        for one in sample["qa"]
    )
    return Conversation(sample["sample_id"], turns, _asked(asked, turns), "locomo")


def _locomo_turns(talk: Mapping[str, Any], number: int) -> Iterable[Turn]:
    written = talk.get(f"session_{number}_date_time", "")
    try:
        at = datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        at = datetime.fromtimestamp(0, UTC)
    for turn in talk[f"session_{number}"]:
        caption = turn.get("blip_caption")  # what the shared picture shows
        text = f"{turn['text']} [{caption}]" if caption else turn["text"]
        yield Turn(turn["dia_id"], number, f"{turn['speaker']}: {text}", at)


def _ids(entries: Iterable[str]) -> Iterable[str]:
    """Some entries hold several ids."""
    return (name for entry in entries for name in re.split(r"[;,\s]+", entry))


# -- BEAM ------------------------------------------------------------------------------------------


def _beam(sample: Mapping[str, Any]) -> Conversation:
    turns = tuple(_beam_turns(sample["messages"]))
    asked = (
        Question(one["question"], frozenset(map(str, one["evidence"])), one["category"])
        for one in sample["questions"]
    )
    return Conversation(f"beam-{sample['id']}", turns, _asked(asked, turns), "beam")


def _beam_turns(messages: Iterable[Mapping[str, Any]]) -> Iterable[Turn]:
    """A date is that of several messages: each comes a minute after the one before."""
    at = datetime.fromtimestamp(0, UTC)
    for message in messages:
        try:
            day = datetime.strptime(message["at"], "%B-%d-%Y").replace(tzinfo=UTC)
        except (TypeError, ValueError):
            day = at
        at = max(day, at + timedelta(minutes=1))
        by = "told" if message["role"] == "user" else "saw"
        yield Turn(str(message["id"]), message["batch"], message["text"], at, by)
