"""Props of finished events stay out of prompts: no basket on the table after the picnic.

A sentence that names such a prop is left out of memories, summaries and all else that is told of
the past. Two things stay: what was said in the open scene, and what the newest messages ask about
by name.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from everloop.worlds.message_parsing import told_text
from everloop.worlds.prompt.point_of_view import PointOfView
from everloop.worlds.prompt.segments import Segment

ASKED_IN: Final = 2  # newest messages that may name a prop
KEPT_WHOLE: Final = ("style", "identity", "instructions", "voice", "dialogue", "note", "direction")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+")


def forget_props(segments: Sequence[Segment], view: PointOfView) -> Iterator[Segment]:
    """The segments without sentences about props of finished events."""
    asked = " ".join(told_text(one.passages) for one in view.messages[-ASKED_IN:]).casefold()
    gone = [name.casefold() for name in view.gone_props if name.casefold() not in asked]
    for segment in segments:
        if not gone or segment.kind in KEPT_WHOLE:
            yield segment
            continue
        text = without_sentences(segment.text, gone)
        if text:
            yield segment if text == segment.text else msgspec.structs.replace(segment, text=text)


def without_sentences(text: str, names: Sequence[str]) -> str:
    """A text without its sentences that have one of these names."""
    if not any(name in text.casefold() for name in names):
        return text
    lines = (
        " ".join(
            sentence
            for sentence in _SENTENCE.split(line)
            if not any(name in sentence.casefold() for name in names)
        )
        for line in text.split("\n")
    )
    return "\n".join(line for line in lines if line.strip())
