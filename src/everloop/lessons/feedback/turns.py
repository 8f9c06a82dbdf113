"""The input of feedback detection: the user's turn, the turns before, and the shown lessons."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import Literal

import msgspec


class CandidateLesson(msgspec.Struct, frozen=True):
    """A lesson that the host's model was shown. `keywords` refer to it and to no other."""

    lesson_id: str
    description: str
    keywords: tuple[str, ...] = ()


class EarlierTurn(msgspec.Struct, frozen=True):
    """A turn before this one. `lesson_ids` are the lessons that an assistant's turn acted on."""

    role: Literal["user", "assistant"]
    text: str
    at: datetime | None = None
    lesson_ids: tuple[str, ...] = ()


class UserTurn(msgspec.Struct, frozen=True):
    """The user's newest turn. The host gives its id; the same turn is evaluated once.

    `because` is the fact of the message, if it was recorded: retracting it retracts the feedback.
    """

    turn_id: str
    text: str
    at: datetime | None = None
    shown: tuple[CandidateLesson, ...] = ()
    before: tuple[EarlierTurn, ...] = ()  # oldest first
    host_version: str = ""
    because: tuple[int, ...] = ()

    @property
    def last_answer(self) -> EarlierTurn | None:
        """The last turn of the assistant before this one."""
        return next((turn for turn in reversed(self.before) if turn.role == "assistant"), None)

    def only_shown(self, lesson_ids: Iterable[str]) -> tuple[str, ...]:
        """Those of these lessons that the model was shown, without duplicates."""
        shown = {each.lesson_id for each in self.shown}
        return tuple(name for name in dict.fromkeys(lesson_ids) if name in shown)

    @property
    def digest(self) -> str:
        """A digest of the text, to tell a repeated turn from another one with the same id."""
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
