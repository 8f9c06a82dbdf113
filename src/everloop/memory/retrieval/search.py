"""Recall: hybrid search over memory, with an explanation for every hit.

Keyword and vector search run separately and are merged by reciprocal rank fusion, weighted by
evidence; significance, pins, times and named speakers add small boosts. If a retriever fails,
search falls back to the other one, and a note in the result says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import numpy as np

from everloop.errors import Invalid, ModelFailed, Unavailable
from everloop.log import Reader, Sight
from everloop.memory.index.passage_index import PassageIndex
from everloop.memory.index.passage_table import PassageColumns
from everloop.memory.index.postings import PostingListCache
from everloop.memory.index.search_view import TermCacheLimit, TermSource
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.index.visibility_mask import Visibility, VisibilityCache, filtered_view
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.memory.near_duplicates.candidates import NearDuplicateIndex
from everloop.memory.projections.queries import (
    ITEM_COLUMNS,
    Filter,
    Item,
    VisibilityQuery,
    has_demoted_items,
    item_from_row,
    load_details,
    load_viewer,
)
from everloop.memory.retrieval.copies import without_copies, without_kept
from everloop.memory.retrieval.grouping import group_contradictions
from everloop.memory.retrieval.intent import intent_of
from everloop.memory.retrieval.ranking import Ranking
from everloop.memory.retrieval.results import (
    NO_MATCH,
    RankExplanation,
    RetrieverScore,
    SearchHit,
    SearchQuery,
    SearchResult,
)
from everloop.memory.retrieval.retrievers import search_keywords, search_vectors
from everloop.memory.text.analysis import words_with_terms
from everloop.memory.time_query import parse
from everloop.memory.time_query.format import format_interval
from everloop.memory.time_query.topic import strip_time_words

TEXT_MAX = 10_000
READ_MAX = 1_000  # items cached with a visibility mask
FLOOR = 0.4  # how well a hit has to fit, unless the settings say otherwise
COPIES_MAX = 4  # copies that are passed over, besides one for each hit
LISTED_MAX = 10  # hits that are put in the order of events, if the query asks for that
ASKERS_MAX = 1_000  # principals whose scopes are cached


class MemorySearch:
    """Hybrid search over one log. Has only caches: passages, visibility, posting lists, vectors."""

    def __init__(self, space: VectorIndex | None = None, floor: float = FLOOR) -> None:
        self.vector_index = space
        self._floor = floor  # how well a hit has to fit
        self.passage_index = PassageIndex(space.cache.snapshot if space is not None else None)
        self._standings = VisibilityCache()
        self._askers: dict[Any, tuple[PassageColumns, int, Viewer]] = {}
        self._postings, self._term_cache_limit = PostingListCache(), TermCacheLimit()
        self.near_duplicates = NearDuplicateIndex()  # near duplicates of new items

    def asker(self, reader: Reader, sight: Sight, principal: str) -> Viewer:
        """The asker for a principal, cached until something new is recorded."""
        if principal == OWNER:
            return load_viewer(reader, OWNER)
        table, head = self.passage_index.table(reader)
        key = (principal, sight.key)
        known = self._askers.get(key)
        if known is not None and known[0] is table and known[1] == head:
            return known[2]
        if len(self._askers) >= ASKERS_MAX:
            self._askers.clear()
        self._askers[key] = (table, head, who := load_viewer(reader, principal))
        return who

    def recall(
        self, reader: Reader, sight: Sight, who: Viewer, asked: SearchQuery, now: datetime
    ) -> SearchResult:
        """The items that match a question best. `now` is the user's clock, with its zone.

        Raises:
            Invalid: the question is empty or far too long.
        """
        ranking = self._rank(reader, sight, who, asked, now)
        hits = _best_hits(reader, who, ranking, asked)
        if intent_of(asked.text).ordered:
            told = sorted(hits[:LISTED_MAX], key=lambda hit: hit.item.happened_at)
            hits = (*told, *hits[LISTED_MAX:])
        if any(hit.item.contradicts for hit in hits):
            hits = tuple(hit for group in group_contradictions(hits) for hit in group.hits)
        if hits:
            return SearchResult(hits, tuple(ranking.notes))
        closest = () if asked.min_similarity else _hits(reader, who, ranking, (0, asked.limit))
        notes = [*ranking.notes, NO_MATCH] if closest else ranking.notes
        return SearchResult((), tuple(notes), tuple(without_kept(closest)))

    def explain_rank(
        self,
        reader: Reader,
        sight: Sight,
        who: Viewer,
        asked: SearchQuery,
        now: datetime,
        item: int,
    ) -> tuple[RankExplanation, bool] | None:
        """Explains the rank of an item, and whether it fits well enough to be a hit.

        None if nothing gave it points.
        """
        ranking = self._rank(reader, sight, who, asked, now)
        items = ranking.items()
        if item not in items:
            return None
        place = items.index(item)
        return ranking.explain(place, place + 1)[0], place < ranking.passed

    def prepare(self, reader: Reader) -> None:
        """Load passages and vectors before the first search, and find the missing vectors."""
        table, _ = self.passage_index.table(reader)
        if self.vector_index is not None:
            with suppress(Unavailable):  # the next search fails in the same way, and reports it
                self.vector_index.refresh(reader, table)

    def save_snapshot(self, reader: Reader) -> None:
        """Save a snapshot for the next process, once every item has its vector."""
        table, _ = self.passage_index.table(reader)
        if self.vector_index is not None and not self.vector_index.refresh(reader, table):
            self.passage_index.save_snapshot(
                reader, self.vector_index.embedder.name, self.vector_index.arrays
            )

    def _rank(
        self, reader: Reader, sight: Sight, who: Viewer, asked: SearchQuery, now: datetime
    ) -> Ranking:
        _check(asked)
        hints = self._time_hints(reader, sight, who, asked, now)
        return self._ranking(reader, sight, who, asked, now, hints)

    def _ranking(
        self,
        reader: Reader,
        sight: Sight,
        who: Viewer,
        asked: SearchQuery,
        now: datetime,
        hints: Sequence[parse.TimeHint],
    ) -> Ranking:
        only = _narrow_filter(reader, asked.only, hints)
        standing = self._standings.get(reader, sight, who, self.passage_index, only)
        ranking = Ranking(standing, filtered_view(standing, only))
        if any(hint.kind == "filter" for hint in hints):
            interval = format_interval(only.since, only.before)
            ranking.notes.append(f"Only what happened {interval} was searched.")
        meant = asked.mode != "text" and self._add_meaning(reader, asked, ranking)
        if asked.mode != "semantic" or not meant:
            topic = intent_of(asked.text).topic
            words = strip_time_words(asked.text, hints) if topic == asked.text else topic
            self._add_words(reader, asked, words, ranking)
        ranking.rank(asked, hints, now, self._floor)
        return ranking

    def _add_words(self, reader: Reader, asked: SearchQuery, text: str, ranking: Ranking) -> None:
        standing = ranking.visibility
        known = (reader, ranking.table, standing.head)
        lookup, similar = (
            partial(self._postings.lookup, *known),
            partial(self._postings.similar_terms, *known),
        )
        source = TermSource(reader, lookup, similar, self._term_cache_limit)
        found = search_keywords(ranking.view, text, source)
        if found.guessed:
            ranking.notes.append(_correction_note(asked.text, found.guessed))
        ranking.keyword_hits = found.filter_similarity(asked.min_similarity)

    def _add_meaning(self, reader: Reader, asked: SearchQuery, ranking: Ranking) -> bool:
        """Search by meaning; False if some items can be found by their words alone."""
        if self.vector_index is None:
            ranking.notes.append("No embedder is at hand, so only words were searched.")
            return False
        try:
            query = self.vector_index.interactive_embedder.embed([asked.text])[0]
        except ModelFailed as problem:
            ranking.notes.append(f"The embedder failed, so only words were searched: {problem}")
            return False
        if not query.any():  # a zero vector is equally near to everything
            ranking.notes.append(
                "The embedder returned no vector for the question, so only words were searched."
            )
            return False
        try:
            lacking = self.vector_index.refresh(reader, ranking.table)
        except Unavailable as problem:
            ranking.notes.append(
                f"The vectors cannot be read, so only words were searched: {problem}"
            )
            return False
        if lacking:
            ranking.notes.append(
                "Some items are still being embedded; until then only keyword search finds them."
            )
        standing = [ranking.standing_rows(sort) for sort in ("instruction", "preference")]
        found = search_vectors(ranking.view, self.vector_index, query, np.concatenate(standing))
        ranking.semantic_hits = found.filter_similarity(asked.min_similarity)
        ranking.lacking = bool(lacking)
        return not lacking

    def effective_filter(
        self, reader: Reader, sight: Sight, who: Viewer, asked: SearchQuery, now: datetime
    ) -> Filter:
        """The filter of a question, narrowed to the time that its words name."""
        return _narrow_filter(reader, asked.only, self._time_hints(reader, sight, who, asked, now))

    def _time_hints(
        self, reader: Reader, sight: Sight, who: Viewer, asked: SearchQuery, now: datetime
    ) -> list[parse.TimeHint]:
        """The time hints of a question; events that they name are looked up for their dates."""
        hints: list[parse.TimeHint] = []
        for hint in parse.parse_time_hints(asked.text, now):
            if hint.anchor is None:
                hints.append(hint)
            elif hint.kind == "filter":  # else the words of the event say more than its date
                lookup = SearchQuery(hint.anchor, limit=1, mode="text", only=asked.only)
                found = self._ranking(reader, sight, who, lookup, now, ()).items(0, 1)
                if found and (dated := _fill_anchor(hint, _happened_at(reader, found[0]))):
                    hints.append(dated)
        return hints


def _check(asked: SearchQuery) -> None:
    if not asked.text.strip():
        raise Invalid("the question is empty", hint="Write at least one word.")
    if len(asked.text) > TEXT_MAX:
        raise Invalid(
            f"a question may have at most {TEXT_MAX:,} characters", hint="Shorten the question."
        )


def _correction_note(text: str, terms: Sequence[str]) -> str:
    """A note that terms were replaced by similar ones, in the words of the question."""
    meant = " and ".join(f"“{word}”" for word in words_with_terms(terms, text))
    return f"No match for {meant}; similar spellings were searched instead."


def _narrow_filter(reader: Reader, only: Filter, hints: Iterable[parse.TimeHint]) -> Filter:
    """The filter, narrowed to the time that the question requires.

    A summary has the time of its last source. So a question for a time also searches the sources
    that were demoted in favour of a summary.
    """
    for hint in hints:
        if hint.kind == "filter":
            since = max(filter(None, (only.since, hint.start)), default=None)
            before = min(filter(None, (only.before, hint.end)), default=None)
            only = msgspec.structs.replace(only, since=since, before=before)
    if (only.since or only.before) and has_demoted_items(reader):
        return msgspec.structs.replace(only, stepped_back=True)
    return only


def _fill_anchor(hint: parse.TimeHint, at: datetime | None) -> parse.TimeHint | None:
    """A hint such as "before the release", with the date of the release filled in."""
    if at is None:
        return None
    day = timedelta(days=1)
    start, end = {
        "before": (None, at),
        "until": (None, at),
        "after": (at, None),
        "since": (at, None),
    }.get(hint.side, (at - day, at + day))
    return parse.TimeHint(hint.span, hint.kind, start, end)


def _happened_at(reader: Reader, item: int) -> datetime | None:
    sql = f"SELECT {ITEM_COLUMNS} FROM memory_items i JOIN memory_versions v ON v.item = i.position"  # noqa: S608
    found = reader.rows(f"{sql} WHERE i.position = ? LIMIT 1", (item,))
    return item_from_row(found[0]).happened_at if found else None


def _best_hits(
    reader: Reader, who: Viewer, ranking: Ranking, asked: SearchQuery
) -> tuple[SearchHit, ...]:
    """The best hits without copies; in place of those that are left out, the next ones."""
    seen: list[SearchHit] = []
    hits: list[SearchHit] = []
    end = min(2 * asked.limit + COPIES_MAX, ranking.passed)
    while len(hits) < asked.limit and len(seen) < end:
        last = min(len(seen) + asked.limit - len(hits), end)
        seen += _hits(reader, who, ranking, (len(seen), last))
        hits = without_copies(seen, asked)
    return tuple(hits)


def _hits(reader: Reader, who: Viewer, ranking: Ranking, ranks: tuple[int, int]) -> list[SearchHit]:
    items = ranking.items(*ranks)
    known = _load_items(reader, who, ranking.visibility, items)
    both = zip(items, ranking.explain(ranks[0], ranks[0] + len(items)), strict=True)
    return [SearchHit(known[item], *_similarity_and_source(why.legs), why) for item, why in both]


def _similarity_and_source(found: Sequence[RetrieverScore]) -> tuple[float, str]:
    """How similar an item is to the question, and which retriever found it."""
    if not found:
        return 0.0, "context"
    first, last = found[0], found[-1]
    similarity = max(first.similarity, last.similarity)
    if first is last:
        return similarity, first.leg
    one = (first.points > 0) != (last.points > 0)  # only one retriever gave points
    return similarity, (first if first.points > 0 else last).leg if one else "both"


def _load_items(
    reader: Reader, who: Viewer, standing: Visibility, items: Sequence[int]
) -> Mapping[int, Item]:
    """The items at these positions, from the cache of this visibility as far as they are there."""
    known = {item: kept for item in items if (kept := standing.item_cache.get(item)) is not None}
    if len(known) < len(items):
        where = "i.position IN (SELECT value FROM json_each(:wanted))"
        wanted = msgspec.json.encode([item for item in items if item not in known]).decode()
        rows = VisibilityQuery(who, Filter(retired=True)).rows(
            reader, ITEM_COLUMNS, where, wanted=wanted
        )
        found = load_details(reader, who, [item_from_row(row) for row in rows])
        known |= {item.position: item for item in found}
        if len(standing.item_cache) + len(found) > READ_MAX:
            standing.item_cache.clear()
        standing.item_cache.update(known)
    return known
