"""Copies among hits: the query itself, as it was asked before, and what is there twice.

Pure. What somebody says is a message; if a model then keeps it with a tool, the same words are a
memory as well. A reader wants them once: the memory, which can be corrected and rated.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from everloop.memory.projections.queries import Item
from everloop.memory.retrieval.intent import is_copy
from everloop.memory.retrieval.results import SearchHit, SearchQuery
from everloop.memory.text.similarity import plain_words

MESSAGE: Final = "message"
KEPT_WITHIN: Final = timedelta(hours=1)  # after it was said; later, the same words are said again


def without_copies(hits: Sequence[SearchHit], asked: SearchQuery) -> list[SearchHit]:
    """The hits but for earlier copies of the query, and messages whose words are another hit."""
    if asked.weak or not any(hit.item.kind == MESSAGE for hit in hits):
        return list(hits)
    return without_kept([hit for hit in hits if not _repeats_query(hit.item, asked)])


def without_kept(hits: Sequence[SearchHit]) -> list[SearchHit]:
    """The hits but for messages that were kept as a memory which is among them."""
    memories = [hit.item for hit in hits if hit.item.kind != MESSAGE]
    if not memories:
        return list(hits)
    return [hit for hit in hits if hit.item.kind != MESSAGE or not was_kept(hit.item, memories)]


def _repeats_query(item: Item, asked: SearchQuery) -> bool:
    return item.kind == MESSAGE and is_copy(item.text, asked.text)


def was_kept(message: Item, memories: Iterable[Item]) -> bool:
    """Whether a message was kept as one of these memories, word for word."""
    return any(
        abs(message.happened_at - memory.happened_at) <= KEPT_WITHIN
        and plain_words(message.text) == plain_words(memory.text)
        for memory in memories
    )
