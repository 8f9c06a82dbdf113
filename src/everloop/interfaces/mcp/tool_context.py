"""What the tools share: the engine, who is at the door, the limits, and the work beside."""

import threading
from typing import Annotated, Final

from pydantic import Field

from everloop.app import Engine
from everloop.errors import Invalid
from everloop.interfaces.mcp.callers import Callers
from everloop.log import Context, Draft
from everloop.log.model.facts import NoteWritten
from everloop.memory.background import EmbeddingTask
from everloop.settings import DoorSettings

SAID: Final = "said"  # the stream in which hosts note what they say the user said

Scope = Annotated[
    str,
    Field(
        description="Where it belongs: `user` (about the user), `project:NAME`, `team:NAME`,"
        " `skill:NAME` or `global`. Required; there is no default.",
        examples=["project:everloop", "user"],
    ),
]


class Room:
    """One engine and those who come to it."""

    def __init__(
        self, engine: Engine, callers: Callers, doors: DoorSettings, *, embeds: bool = True
    ) -> None:
        self.engine = engine
        self.callers = callers
        self.doors = doors
        self._embeds = embeds  # whether nobody else in this process does
        self._embedding: EmbeddingTask | None = None
        self._lock = threading.Lock()

    def embed(self) -> None:
        """Begin to give items their vectors, when meaning is first searched.

        Who asks first waits for them, as long as is set; then it goes on beside.
        """
        with self._lock:
            if self._embeds and self._embedding is None:
                self.engine.memory.embed_briefly()
                self._embedding = self.engine.embed_in_background()

    def check_length(self, *texts: str) -> None:
        """Make sure that nobody says too much at a time.

        Raises:
            Invalid: somebody does.
        """
        longest, most = max(len(text) for text in texts), self.doors.text_characters_max
        if longest > most:
            raise Invalid(
                f"{longest:,} characters are too many; at most {most:,} are taken",
                hint="Say the gist of it.",
            )

    def note(self, by: Context, words: str, *, request_id: str | None = None) -> int:
        """Where the user's words are recorded, as a host passed them on."""
        said = [Draft(NoteWritten(text=words))]
        log = self.engine.log
        return log.append(SAID, said, actor=by.actor, request_id=request_id).position

    def limited(self, wanted: int) -> int:
        """How many results to give."""
        return max(1, min(wanted, self.doors.results_max))

    def close(self) -> None:
        """Stop what goes on beside, then close the engine."""
        with self._lock:
            if self._embedding is not None:
                self._embedding.stop()
        self.engine.close()
