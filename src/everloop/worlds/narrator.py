"""The scripted narrator: writes a plain line where no language model is connected, and says so.

State, presence, time, props and events work without a model; only the prose is missing then. The
line is marked as outside the story, so that no character is ever told of it.
"""

import re
from collections.abc import Iterator
from typing import Final

from everloop.memory.token_counts import estimate_tokens
from everloop.ports import Chunk, Delta, Finish, Params, Prompt, Stream, Text, Usage

NARRATOR_MODEL: Final = "narrator"
NOTICE: Final = (
    "((No language model is connected, so this line is scripted. Connect one in Settings, or write"
    " the reply yourself with Edit.))"
)
_NAME = re.compile(r"^You are (.+?)\.$", re.MULTILINE)


class ScriptedNarrator:
    """A renderer that needs no model: the speaker waits, and a note says why."""

    name = NARRATOR_MODEL

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """One line for the speaker of the prompt."""
        del params
        named = _NAME.search(prompt.system)
        text = f"*{named[1] if named else 'Nobody'} listens, and waits.* {NOTICE}"
        read = sum(
            estimate_tokens(part.text)
            for message in prompt.messages
            for part in message.parts
            if isinstance(part, Text)
        )
        return _Chunks(
            [
                Delta(text),
                Usage(NARRATOR_MODEL, read, estimate_tokens(text), 0.0),
                Finish("stop"),
            ]
        )


class _Chunks:
    def __init__(self, chunks: list[Chunk]) -> None:
        self._left = iter(chunks)

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        return next(self._left)

    def close(self) -> None:
        self._left = iter(())
