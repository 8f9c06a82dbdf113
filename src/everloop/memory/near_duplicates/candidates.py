"""Near-duplicate candidates: finds the items that share many words with a new item.

Only items for exactly the same audience are compared, and each audience has an index of its own:
what others see never counts. Access control (`VisibilityQuery`) decides about the candidates before
any of their text is read.
"""

import threading
from array import array
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from math import log1p

import msgspec
import numpy as np

from everloop.log import Fact, Reader
from everloop.log.model.record import from_microseconds
from everloop.log.read.reader import FileState
from everloop.memory.index.log_identity import LogIdentity
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.events import Remembered, Revised
from everloop.memory.model.scopes import Viewer
from everloop.memory.near_duplicates.detect import (
    COMPARED_MAX,
    AudienceKey,
    ComparedItem,
    NewItem,
    Relations,
    find_relations,
    shared_terms_min,
)
from everloop.memory.near_duplicates.signatures import TermSignatures
from everloop.memory.projections.fts_index import analysed_passages
from everloop.memory.projections.queries import Filter, VisibilityQuery
from everloop.memory.text.passages import PASSAGES_MAX

TOGETHER = 32  # candidate passages checked at once, then twice as many
AUDIENCES_MAX = 256  # for which term signatures are cached

_NEW = """
SELECT p.passage, p.terms FROM memory_passages p
JOIN memory_versions v ON v.position = p.position JOIN memory_items i ON i.position = v.item
WHERE p.passage >= ?1 AND v.scope = ?2 AND i.kind = ?3 AND v.restricted = (?4 <> '[]')
AND (?4 = '[]' OR ?4 = (SELECT json_group_array(w.principal ORDER BY w.principal)
                        FROM memory_witnesses w WHERE w.position = v.position))
ORDER BY p.passage
"""
_TERMS = """
SELECT p.passage, p.terms FROM json_each(?) j JOIN memory_passages p ON p.passage = j.value
"""
_COMPARED_COLUMNS = "v.position, i.item_id, v.title, v.text, i.author, i.happened_at, i.holds_until"
_IN_VERSIONS = "v.position IN (SELECT value FROM json_each(:wanted))"


class NearDuplicateIndex:
    """Near-duplicate index: term signatures of all passages, by audience. A cache."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._log = LogIdentity()
        self._seen: FileState | None = None  # the state read last
        self._by_audience = OrderedDict[AudienceKey, _AudienceIndex]()

    def find_near_duplicates(
        self,
        reader: Reader,
        who: Viewer,
        new: Sequence[NewItem],
        author: str,
        now: datetime,
    ) -> list[Relations]:
        """The near duplicates of each new item among items for the same audience, nearest first.

        Earlier ones of the same batch count as if they were recorded already. An item that was
        derived from others resembles them by design, and is compared with nothing.
        """
        found, batch = list[Relations](), BatchIndex(author, now)
        for each, terms in new:
            if each.derived_from:
                found.append([])
                continue
            near = [*self._near(reader, who, each, terms), *batch.near(each, terms)]
            found.append(alike := find_relations(each, author, near, now))
            if len(found) < len(new) and all(how != "repeats" for _, how, _ in alike):
                batch.add(each, terms)
        return found

    def add_facts(self, facts: Iterable[Fact]) -> None:
        """Add facts that were recorded just now, so that they need not be read."""
        with self._lock:
            for fact in facts:
                for audience, index in self._by_audience.items():
                    index.take_in(fact, audience)

    def _near(
        self, reader: Reader, who: Viewer, new: RememberItem, terms: Sequence[str]
    ) -> list[ComparedItem]:
        """The items for the same audience that share most words with a new item."""
        if not terms:
            return []
        least = shared_terms_min(terms)
        with self._lock:
            passages = self._audience_index(reader, AudienceKey.of_item(new)).holding(terms, least)
        found = list[ComparedItem]()
        start, count = 0, TOGETHER
        while start < len(passages) and len(found) < COMPARED_MAX:
            some = passages[start : start + count]
            found += _visible(reader, who, _confirm(reader, some, terms, least))
            start, count = start + count, 2 * count
        return found[:COMPARED_MAX]

    def _audience_index(self, reader: Reader, audience: AudienceKey) -> "_AudienceIndex":
        """The index of an audience, with everything that a reader sees."""
        head = self._head(reader)
        index = self._by_audience.pop(audience, None) or _AudienceIndex()
        index.load(reader, audience, head)
        self._by_audience[audience] = index  # only after a complete load
        if len(self._by_audience) > AUDIENCES_MAX:
            self._by_audience.popitem(last=False)
        return index

    def _head(self, reader: Reader) -> int:
        """The newest position of a reader. If it sees another log, drop the old one's index."""
        state = reader.state
        if state is not None and state is self._seen:
            return state.head
        head, same = self._log.newest_position(reader)
        if not same:
            self._by_audience.clear()
        if head > self._log.head:
            self._log.record_read(reader, head)
        self._seen = state
        return head


class _AudienceIndex:
    """The passages of one audience with their term signatures."""

    def __init__(self) -> None:
        self._head = 0  # all passages up to this position are in
        self._passages = array("q")
        self._sketches = TermSignatures()

    def load(self, reader: Reader, audience: AudienceKey, head: int) -> None:
        """Load the passages recorded since, up to `head`."""
        if head <= self._head:
            return
        witnesses = msgspec.json.encode(audience.witnesses).decode()
        bindings = ((self._head + 1) * PASSAGES_MAX, audience.scope, audience.kind, witnesses)
        new = reader.rows(_NEW, bindings)
        self._sketches.extend(terms.split(" ") for _, terms in new)
        self._passages.extend(passage for passage, _ in new)
        self._head = head

    def take_in(self, fact: Fact, audience: AudienceKey) -> None:
        """Add a fact, if it is the next one."""
        if fact.position != self._head + 1:
            return
        new = fact.event
        if isinstance(new, Revised):  # its audience is only in the projections
            return
        if isinstance(new, Remembered) and (new.scope, new.kind, new.witnesses) == audience:
            texts = analysed_passages(new.title, new.text)
            self._sketches.extend(terms.split(" ") for _, terms in texts)
            first = fact.position * PASSAGES_MAX
            self._passages.extend(range(first, first + len(texts)))
        self._head = fact.position

    def holding(self, terms: Sequence[str], least: int) -> list[int]:
        """The passages that may contain `least` of the terms: most terms first, then the newest."""
        shared = self._sketches.shared_counts(terms)[::-1]
        places = (shared >= least).nonzero()[0]
        if not len(places):
            return []
        most_first = np.argsort(-shared.take(places).astype(np.int32), kind="stable")
        return [self._passages[-1 - place] for place in places.take(most_first).tolist()]


def _confirm(
    reader: Reader, passages: Sequence[int], terms: Sequence[str], least: int
) -> list[int]:
    """The versions of those passages that do contain `least` terms; rarest shared terms first."""
    wanted = msgspec.json.encode(passages).decode()
    own = ((passage, set(held.split(" "))) for passage, held in reader.rows(_TERMS, (wanted,)))
    shared = {passage: [term for term in terms if term in held] for passage, held in own}
    held = Counter(term for some in shared.values() for term in some)
    worth = {
        passage: sum(log1p(len(shared) / held[term]) for term in some)
        for passage, some in shared.items()
        if len(some) >= least
    }
    best = sorted(worth, key=lambda passage: (-worth[passage], -passage))
    return list(dict.fromkeys(passage // PASSAGES_MAX for passage in best))


def _visible(reader: Reader, who: Viewer, versions: Sequence[int]) -> Iterator[ComparedItem]:
    """Those of some versions that the asker may see and that are not retired."""
    if not versions:
        return
    rows = VisibilityQuery(who, Filter()).rows(
        reader, _COMPARED_COLUMNS, _IN_VERSIONS, wanted=msgspec.json.encode(versions).decode()
    )
    known = {row[0]: row for row in rows}
    for version in versions:
        if version in known:
            _, item_id, title, text, author, happened, holds = known[version]
            until = from_microseconds(holds) if holds else None
            yield ComparedItem(item_id, title, text, author, from_microseconds(happened), until)


class BatchIndex:
    """Near-duplicate index of the earlier items of one batch, which are not recorded yet."""

    def __init__(self, author: str, now: datetime) -> None:
        self._author, self._now = author, now
        self._sketches = defaultdict[AudienceKey, TermSignatures](TermSignatures)
        self._items = defaultdict[AudienceKey, list[tuple[RememberItem, frozenset[str]]]](list)

    def add(self, new: RememberItem, terms: Sequence[str]) -> None:
        """Add a new item with these terms."""
        audience = AudienceKey.of_item(new)
        self._sketches[audience].extend([terms])
        self._items[audience].append((new, frozenset(terms)))

    def near(self, new: RememberItem, terms: Sequence[str]) -> list[ComparedItem]:
        """The earlier items for the same audience that share most words."""
        said = self._items.get(audience := AudienceKey.of_item(new))
        if not said or not terms:
            return []
        least = shared_terms_min(terms)
        places = (self._sketches[audience].shared_counts(terms) >= least).nonzero()[0].tolist()
        shared = [(-len(said[place][1].intersection(terms)), place) for place in places]
        best = sorted(pair for pair in shared if -pair[0] >= least)[:COMPARED_MAX]
        return [
            ComparedItem.from_batch(said[place][0], self._author, self._now) for _, place in best
        ]
