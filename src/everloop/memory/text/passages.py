"""Passage splitting (chunking): cuts long texts into passages short enough to be found."""

import re
from collections.abc import Iterator

PASSAGE_CHARACTERS = 1_200
PASSAGES_MAX = 1_000

_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n")  # noqa: RUF001 - full-width marks are meant


def split_passages(text: str) -> list[str]:
    """Split a text into passages, in order; only white space between them is dropped."""
    if len(text) <= PASSAGE_CHARACTERS:
        return [text]
    found: list[str] = []
    for piece in _pieces(text):
        if found and len(found[-1]) + len(piece) < PASSAGE_CHARACTERS:
            found[-1] = f"{found[-1]}\n{piece}"
        else:
            found.append(piece)
    return found[: PASSAGES_MAX - 1] + (
        ["\n".join(found[PASSAGES_MAX - 1 :])] if len(found) >= PASSAGES_MAX else []
    )


def _pieces(text: str) -> Iterator[str]:
    """Paragraphs; of a too long one its sentences; too long sentences are cut at a space."""
    for paragraph in filter(str.strip, _PARAGRAPH.split(text)):
        if len(paragraph) <= PASSAGE_CHARACTERS:
            yield paragraph
            continue
        for sentence in filter(str.strip, _SENTENCE.split(paragraph)):
            yield from _cut(sentence)


def _cut(sentence: str) -> Iterator[str]:
    while len(sentence) > PASSAGE_CHARACTERS:
        at = sentence.rfind(" ", 1, PASSAGE_CHARACTERS)
        at = PASSAGE_CHARACTERS if at < 1 else at
        yield sentence[:at]
        sentence = sentence[at:].lstrip()
    if sentence:
        yield sentence
