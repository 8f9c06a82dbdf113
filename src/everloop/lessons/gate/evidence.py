"""Evidence: parses references, and finds the memory that contains a quote.

A quote counts only if a memory contains it verbatim.
"""

from collections.abc import Iterable

from everloop.lessons.model.events import Evidence, MemoryEvidence, QuoteEvidence
from everloop.log import Reader
from everloop.memory.model.scopes import Viewer
from everloop.memory.projections.fts_index import passages_with_phrase
from everloop.memory.projections.queries import Filter, VisibilityQuery
from everloop.memory.text.analysis import analyse
from everloop.memory.text.passages import PASSAGES_MAX

QUOTE_WORDS_MAX = 24  # of a quote, when searching for passages that may contain it
PASSAGES_MAX_CHECKED = 64
MEMORY_PREFIX = "mem-"  # evidence with this prefix is a memory, anything else a quote


def parse_evidence(written: Iterable[str]) -> tuple[Evidence, ...]:
    """Parse evidence as packs and hosts write it: ids of memories, and quotes."""
    return tuple(
        MemoryEvidence(each) if each.startswith(MEMORY_PREFIX) else QuoteEvidence(each)
        for each in written
    )


def locate_quotes(
    reader: Reader, who: Viewer, evidence: tuple[Evidence, ...]
) -> tuple[Evidence, ...]:
    """The evidence, each quote with the item that contains it, if the asker may see that."""
    return tuple(
        QuoteEvidence(each.text, find_quoted_item(reader, who, each.text))
        if isinstance(each, QuoteEvidence)
        else each
        for each in evidence
    )


def find_quoted_item(reader: Reader, who: Viewer, quote: str) -> str:
    """The oldest item that contains a quote verbatim; empty if the asker sees none."""
    stripped = quote.strip()
    words = analyse(stripped).words[:QUOTE_WORDS_MAX]
    if not words:
        return ""
    found = passages_with_phrase(reader, words, PASSAGES_MAX_CHECKED)
    for version in dict.fromkeys(passage // PASSAGES_MAX for passage in found):
        sieve = VisibilityQuery(who, Filter(retired=True))
        for item_id, text in sieve.rows(
            reader, "i.item_id, v.text", "v.position = :at", at=version
        ):
            if stripped in text:
                return str(item_id)
    return ""
