"""Byte-level BPE tokenizer of RoBERTa: text to token ids, from a `tokenizer.json`.

Guarantees the same ids as Hugging Face's `tokenizers` for the models we ship (a test compares them
where that package is installed), without its 16 dependencies. Knows nothing about models,
padding or files, and reads only the fields of the JSON that byte-level BPE needs.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

# GPT-2's pattern. `re` has no \p{L}: a letter is a word character that is neither digit nor "_".
_WORD = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:_|[^\w\s])+|\s+(?!\S)|\s+")


def _byte_letters() -> tuple[str, ...]:
    """GPT-2's printable stand-in for each byte."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(spare)) for byte in range(256))


_BYTE_LETTERS = _byte_letters()


class BpeTokenizer:
    """A tokenizer that turns a text into ids, with begin and end tokens."""

    def __init__(self, tokenizer: Mapping[str, Any]) -> None:
        model = tokenizer["model"]
        self._ids: dict[str, int] = model["vocab"]
        self._order = {_rule(merge): order for order, merge in enumerate(model["merges"])}
        self._begin, self._end = self._ids["<s>"], self._ids["</s>"]
        self._unknown = self._ids["<unk>"]
        self._word = lru_cache(maxsize=50_000)(self._merge)

    def encode(self, text: str, *, tokens_max: int) -> list[int]:
        """The ids of `text`, truncated to `tokens_max` with begin and end tokens kept."""
        room = tokens_max - 2
        found: list[int] = []
        for word in _WORD.findall(text):
            found.extend(self._word(word))
            if len(found) >= room:
                break
        return [self._begin, *found[:room], self._end]

    def _merge(self, word: str) -> tuple[int, ...]:
        pieces = [_BYTE_LETTERS[byte] for byte in word.encode("utf-8", "replace")]
        while len(pieces) > 1:
            at = min(range(len(pieces) - 1), key=lambda i: self._rank(pieces, i))
            if self._rank(pieces, at) == len(self._order):
                break
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return tuple(self._ids.get(piece, self._unknown) for piece in pieces)

    def _rank(self, pieces: Sequence[str], at: int) -> int:
        return self._order.get(f"{pieces[at]} {pieces[at + 1]}", len(self._order))


def _rule(merge: str | Sequence[str]) -> str:
    """A merge rule as "a b"; the format also writes it as ["a", "b"]."""
    return merge if isinstance(merge, str) else " ".join(merge)
