"""Texts for a prompt: cut to a budget, and quoted so that stored words stay stored words."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from everloop.memory.tokens import ESTIMATE

# Most of a prompt is what the one before it held, so its tokens are counted once.
TOKENS = replace(ESTIMATE, count=lru_cache(maxsize=8_192)(ESTIMATE.count))

_SENTENCES = re.compile(r"[^\n]*?[.!?]+(?:\s+|$)|[^\n]*\n+|[^\n]+$")
_WORDS = re.compile(r"\s*\S{1,40}")


def quoted(text: str) -> str:
    """Words that somebody stored, to stand behind a mark of ours on their first line.

    Every further line begins with `>`, so nothing in them can pass for a heading or for an
    instruction of ours.
    """
    return "\n> ".join(text.splitlines())


def plain(text: str) -> str:
    """A name or a title on one line."""
    return " ".join(text.split())


@lru_cache(maxsize=512)
def shortened(text: str, tokens: int) -> str:
    """As many whole sentences as go into so many tokens; if not one does, as many words."""
    if TOKENS(text) <= tokens:
        return text
    return _first(_SENTENCES.findall(text), tokens) or _first(_WORDS.findall(text), tokens)


def shares(costs: Sequence[int], most: int) -> int:
    """The most that each may cost, so that all together cost no more than they may.

    Those that cost less leave the rest to the others.
    """
    left = most
    for done, cost in enumerate(sorted(costs)):
        share = left // (len(costs) - done)
        if cost > share:
            return share
        left -= cost
    return most


def _first(parts: Sequence[str], tokens: int) -> str:
    """As many of the first parts as fit. What parts cost one by one is never less than together."""
    left = tokens
    for number, part in enumerate(parts):
        left -= ESTIMATE(part)
        if left < 0:
            return "".join(parts[:number]).rstrip()
    return "".join(parts).rstrip()
