"""What a door hands over: the turn a user took, what was said before, and what was in play."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import Literal

import msgspec


class Shown(msgspec.Struct, frozen=True):
    """A lesson that the host's model was shown. `keywords` are words that mean it and no other."""

    lesson_id: str
    description: str
    keywords: tuple[str, ...] = ()


class Turn(msgspec.Struct, frozen=True):
    """A turn before this one. `lesson_ids` are the lessons that an assistant's turn acted on."""

    role: Literal["user", "assistant"]
    text: str
    at: datetime | None = None
    lesson_ids: tuple[str, ...] = ()


class Heard(msgspec.Struct, frozen=True):
    """What the user just said. The host names the turn; the same name is weighed once.

    `because` is where the words were recorded, if they were: without them, nothing was heard.
    """

    turn_id: str
    text: str
    at: datetime | None = None
    shown: tuple[Shown, ...] = ()
    before: tuple[Turn, ...] = ()  # oldest first
    host_version: str = ""
    because: tuple[int, ...] = ()

    @property
    def answer(self) -> Turn | None:
        """The last turn of the assistant before this one."""
        return next((turn for turn in reversed(self.before) if turn.role == "assistant"), None)

    def among_shown(self, lesson_ids: Iterable[str]) -> tuple[str, ...]:
        """Those of these lessons that the model was shown, each once."""
        shown = {each.lesson_id for each in self.shown}
        return tuple(name for name in dict.fromkeys(lesson_ids) if name in shown)

    @property
    def digest(self) -> str:
        """A digest of the words, to tell a repeated turn from another of the same name."""
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
