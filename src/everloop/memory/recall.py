"""Recall: a question in, items out, best first, each saying why it is there.

Words and meaning are searched apart and fused by reciprocal rank, weighed by evidence; then what
matters, what is pinned, what the question says about time and who is named count a little. A leg
that fails is left out, and the answer says so.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from everloop.errors import Invalid, ModelFailed
from everloop.log import Reader, Sight
from everloop.memory import when
from everloop.memory.abreast import side_by_side
from everloop.memory.answers import Answer, Asked, LegWhy, Recalled, Why
from everloop.memory.fusion import Hit
from everloop.memory.legs import by_meaning, by_words
from everloop.memory.postings import Posting, Postings
from everloop.memory.ranking import Ranking
from everloop.memory.roster import Roster
from everloop.memory.scopes import Asker
from everloop.memory.shelf import COLUMNS, Filter, Sieve, complete, item_of
from everloop.memory.standing import Standings, narrowed
from everloop.memory.vectors import VectorSpace
from everloop.memory.words import question

TEXT_MAX = 10_000


class Memory:
    """Recall over one log. Holds only caches: what there is, who sees it, where terms stand."""

    def __init__(self, space: VectorSpace | None = None) -> None:
        self.space = space
        self._roster = Roster()
        self._standings = Standings()
        self._postings = Postings(self._roster)

    def recall(
        self, reader: Reader, sight: Sight, who: Asker, asked: Asked, now: datetime
    ) -> Answer:
        """The items that fit a question best. `now` is the user's clock, with its zone.

        Raises:
            Invalid: the question is empty or far too long.
        """
        ranking = self._rank(reader, sight, who, asked, now)
        found = side_by_side(list(_recalled(reader, who, ranking, asked.limit)))
        hits = tuple(hit for group in found for hit in group.hits)
        return Answer(hits, tuple(ranking.notes))

    def rank_of(
        self, reader: Reader, sight: Sight, who: Asker, asked: Asked, now: datetime, item: int
    ) -> Why | None:
        """Where an item ranks for a question, if a leg or a boost reached it at all."""
        ranking = self._rank(reader, sight, who, asked, now)
        items = ranking.items()
        if item not in items:
            return None
        place = items.index(item)
        return _why(place + 1, ranking.hit(place), ranking)

    def missing(self, reader: Reader) -> dict[int, bytes]:
        """The passages that lack a vector, with the digests of their texts."""
        if self.space is None:
            return {}
        self._roster.refresh(reader)
        self.space.refresh(reader, self._roster)
        return self.space.missing()

    def _rank(
        self, reader: Reader, sight: Sight, who: Asker, asked: Asked, now: datetime
    ) -> Ranking:
        _check(asked)
        hints = self._dated(reader, sight, who, asked, now)
        return self._ranking(reader, sight, who, asked, now, hints)

    def _ranking(
        self,
        reader: Reader,
        sight: Sight,
        who: Asker,
        asked: Asked,
        now: datetime,
        hints: Sequence[when.TimeHint],
    ) -> Ranking:
        only = _narrowed(asked.only, hints)
        roster = self._roster
        standing = self._standings.of(reader, sight, who, roster, retired=only.retired)
        ranking = Ranking(roster, standing, narrowed(roster, standing, only))
        if asked.mode != "semantic":
            self._add_words(reader, asked, ranking)
        if asked.mode != "text":
            self._add_meaning(reader, asked, ranking)
        ranking.settle(asked.text, hints, now)
        return ranking

    def _add_words(self, reader: Reader, asked: Asked, ranking: Ranking) -> None:
        standing = ranking.standing

        def lookup(term: str) -> Posting:
            return self._postings.of(reader, standing.head, term)

        wanted = question(asked.text)
        found = by_words(reader, ranking.roster, ranking.allowed, wanted, lookup, standing.items)
        ranking.words = found.above(asked.min_similarity)

    def _add_meaning(self, reader: Reader, asked: Asked, ranking: Ranking) -> None:
        if self.space is None:
            ranking.notes.append("No embedder is at hand, so only words were searched.")
            return
        try:
            query = self.space.embedder.embed([asked.text])[0]
        except ModelFailed as problem:
            ranking.notes.append(f"The embedder failed, so only words were searched: {problem}")
            return
        if self.space.refresh(reader, ranking.roster):
            ranking.notes.append(
                "Some items are still being embedded; until then words alone find them."
            )
        found = by_meaning(ranking.roster, ranking.allowed, self.space, query)
        ranking.meaning = found.above(asked.min_similarity)

    def _dated(
        self, reader: Reader, sight: Sight, who: Asker, asked: Asked, now: datetime
    ) -> list[when.TimeHint]:
        """The time hints, with the dates of the events that some of them name."""
        hints: list[when.TimeHint] = []
        for hint in when.hints(asked.text, now):
            if hint.anchor is None:
                hints.append(hint)
            elif hint.kind == "filter":  # else the event's words say more than its date
                lookup = Asked(hint.anchor, limit=1, mode="text", only=asked.only)
                found = self._ranking(reader, sight, who, lookup, now, ()).items(1)
                if found and (dated := _anchored(hint, asked.text, _when(reader, found[0]))):
                    hints.append(dated)
        return hints


def _check(asked: Asked) -> None:
    if not asked.text.strip():
        raise Invalid("there is no question", hint="Ask in at least one word.")
    if len(asked.text) > TEXT_MAX:
        raise Invalid(
            f"a question has at most {TEXT_MAX:,} characters", hint="Ask for the gist of it."
        )


def _narrowed(only: Filter, hints: Iterable[when.TimeHint]) -> Filter:
    """The filter with what the question itself says must be."""
    for hint in hints:
        if hint.kind == "filter":
            since = max(filter(None, (only.since, hint.start)), default=None)
            before = min(filter(None, (only.before, hint.end)), default=None)
            only = msgspec.structs.replace(only, since=since, before=before)
    return only


def _anchored(hint: when.TimeHint, text: str, at: datetime | None) -> when.TimeHint | None:
    """A hint such as "before the release", once the release has a date."""
    if at is None:
        return None
    word = text[slice(*hint.span)].split(" ", 1)[0].casefold()
    day = timedelta(days=1)
    start, end = {
        "before": (None, at),
        "until": (None, at),
        "after": (at, None),
        "since": (at, None),
    }.get(word, (at - day, at + day))
    return when.TimeHint(hint.span, hint.kind, start, end)


def _when(reader: Reader, item: int) -> datetime | None:
    sql = f"SELECT {COLUMNS} FROM memory_items i JOIN memory_versions v ON v.item = i.position"  # noqa: S608
    found = reader.rows(f"{sql} WHERE i.position = ? LIMIT 1", (item,))
    return item_of(found[0]).happened_at if found else None


def _recalled(reader: Reader, who: Asker, ranking: Ranking, limit: int) -> Iterable[Recalled]:
    items = ranking.items(limit)
    if not items:
        return
    sieve = Sieve(who, Filter(retired=True))
    where = "i.position IN (SELECT value FROM json_each(:wanted))"
    rows = sieve.rows(reader, COLUMNS, where, wanted=msgspec.json.encode(items).decode())
    found = {item.position: item for item in complete(reader, who, [item_of(r) for r in rows])}
    for place, position in enumerate(items):
        why = _why(place + 1, ranking.hit(place), ranking)
        legs = {leg.leg for leg in why.legs if leg.points > 0} or {leg.leg for leg in why.legs}
        yield Recalled(
            item=found[position],
            similarity=max((leg.similarity for leg in why.legs), default=0.0),
            source="both" if len(legs) > 1 else next(iter(legs), "context"),
            why=why,
        )


def _why(rank: int, hit: Hit, ranking: Ranking) -> Why:
    legs = tuple(
        LegWhy(
            found.leg,
            found.rank,
            round(ranking.similarity(found.leg, found.rank), 3),
            round(found.points, 3),
        )
        for found in hit.found
    )
    boosts = tuple((boost.reason, round(boost.points, 3)) for boost in hit.boosts)
    return Why(rank, round(hit.points, 3), legs, boosts)
