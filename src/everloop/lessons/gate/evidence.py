"""Evidence: parses references, and finds the memory that contains a quote.

A quote counts only if a memory contains it verbatim.
"""

from collections.abc import Iterable

from everloop.lessons.model.events import Evidence, MemoryEvidence, QuoteEvidence
from everloop.log import Reader
from everloop.memory.model.scopes import Asker
from everloop.memory.projections.fts_index import passages_holding
from everloop.memory.projections.queries import Filter, Sieve
from everloop.memory.text.analysis import analyse
from everloop.memory.text.passages import PASSAGES_MAX

WORDS_MAX = 24  # of a quote, when searching for passages that may contain it
PASSAGES_TRIED = 64
MEMORY_PREFIX = "mem-"  # evidence with this prefix is a memory, anything else a quote


def evidence_of(written: Iterable[str]) -> tuple[Evidence, ...]:
    """Parse evidence as packs and hosts write it: ids of memories, and quotes."""
    return tuple(
        MemoryEvidence(each) if each.startswith(MEMORY_PREFIX) else QuoteEvidence(each)
        for each in written
    )


def locate(reader: Reader, who: Asker, evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """The evidence, each quote with the item that contains it, if the asker may see that."""
    return tuple(
        QuoteEvidence(each.text, holder_of(reader, who, each.text))
        if isinstance(each, QuoteEvidence)
        else each
        for each in evidence
    )


def holder_of(reader: Reader, who: Asker, quote: str) -> str:
    """The oldest item that contains a quote verbatim; empty if the asker sees none."""
    stripped = quote.strip()
    words = analyse(stripped).words[:WORDS_MAX]
    if not words:
        return ""
    found = passages_holding(reader, words, PASSAGES_TRIED)
    for version in dict.fromkeys(passage // PASSAGES_MAX for passage in found):
        sieve = Sieve(who, Filter(retired=True))
        for item_id, text in sieve.rows(
            reader, "i.item_id, v.text", "v.position = :at", at=version
        ):
            if stripped in text:
                return str(item_id)
    return ""
