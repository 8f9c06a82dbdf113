"""Quoting and truncating stored text for a prompt.

Quoting guards against prompt injection: stored text cannot look like a heading or an instruction.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from everloop.memory.token_counts import ESTIMATE

# Most of a prompt repeats the one before it, so token counts are cached.
TOKENS = replace(ESTIMATE, count=lru_cache(maxsize=8_192)(ESTIMATE.count))

_SENTENCES = re.compile(r"[^\n]*?[.!?]+(?:\s+|$)|[^\n]*\n+|[^\n]+$")
_WORDS = re.compile(r"\s*\S{1,40}")


def quote(text: str) -> str:
    """Quote stored text: every line but the first begins with `>`.

    The caller puts a prefix before the first line, so no line of the text can pass for a heading
    or an instruction of ours.
    """
    return "\n> ".join(text.splitlines())


def collapse_whitespace(text: str) -> str:
    """Collapse whitespace, so that a name or a title is on one line."""
    return " ".join(text.split())


@lru_cache(maxsize=512)
def truncate_to_tokens(text: str, tokens: int) -> str:
    """Truncate to a token budget: whole sentences, or whole words if no sentence fits."""
    if TOKENS(text) <= tokens:
        return text
    return _leading_parts(_SENTENCES.findall(text), tokens) or _leading_parts(
        _WORDS.findall(text), tokens
    )


def fair_share(costs: Sequence[int], most: int) -> int:
    """The limit per item with which all items together stay within a budget (max-min fairness).

    Items below the limit leave their unused share to the others.
    """
    left = most
    for done, cost in enumerate(sorted(costs)):
        share = left // (len(costs) - done)
        if cost > share:
            return share
        left -= cost
    return most


def _leading_parts(parts: Sequence[str], tokens: int) -> str:
    """The leading parts that fit. Counted one by one, parts never cost less than together."""
    left = tokens
    for number, part in enumerate(parts):
        left -= ESTIMATE(part)
        if left < 0:
            return "".join(parts[:number]).rstrip()
    return "".join(parts).rstrip()
