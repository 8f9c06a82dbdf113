"""Shared context of the MCP tools: engine, callers, limits and background embedding."""

import threading
from typing import Annotated, Final

from pydantic import Field

from everloop.app import Engine
from everloop.errors import Invalid
from everloop.interfaces.mcp.callers import CallerResolver
from everloop.log import Context, Draft, NoteWritten
from everloop.memory import EmbeddingTask
from everloop.settings import DoorSettings

RELAYED_WORDS_STREAM: Final = "said"  # the stream of the user's words as hosts relay them

Scope = Annotated[
    str,
    Field(
        description="The scope: `user` (about the user), `project:NAME`, `team:NAME`,"
        " `skill:NAME` or `global`. There is no default.",
        examples=["project:everloop", "user"],
    ),
]


class ToolContext:
    """One engine, its callers and its limits, for all tools of a server."""

    def __init__(
        self, engine: Engine, callers: CallerResolver, doors: DoorSettings, *, embeds: bool = True
    ) -> None:
        self.engine = engine
        self.callers = callers
        self.doors = doors
        self._embeds = embeds  # False if another service of this process embeds
        self._embedding: EmbeddingTask | None = None
        self._lock = threading.Lock()

    def start_embedding(self) -> None:
        """Start embedding items in the background when semantic search is first used.

        The first caller waits for it, up to the time limit in the settings.
        """
        with self._lock:
            if self._embeds and self._embedding is None:
                self.engine.memory.embed_briefly()
                self._embedding = self.engine.embed_in_background()

    def check_length(self, *texts: str) -> None:
        """Check texts against the length limit.

        Raises:
            Invalid: one is too long.
        """
        longest, most = max(len(text) for text in texts), self.doors.text_characters_max
        if longest > most:
            raise Invalid(
                f"the text has {longest:,} characters; the limit is {most:,}",
                hint="Shorten or summarise it.",
            )

    def record_words(self, by: Context, words: str, *, request_id: str | None = None) -> int:
        """Record the user's words as a host relays them, and return the log position."""
        drafts = [Draft(NoteWritten(text=words))]
        log = self.engine.log
        return log.append(
            RELAYED_WORDS_STREAM, drafts, actor=by.actor, request_id=request_id
        ).position

    def clamp_limit(self, wanted: int) -> int:
        """The number of results to return, within the limit."""
        return max(1, min(wanted, self.doors.results_max))

    def close(self) -> None:
        """Stop background embedding, then close the engine."""
        with self._lock:
            if self._embedding is not None:
                self._embedding.stop()
        self.engine.close()
