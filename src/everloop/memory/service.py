"""The memory service: what the doors call to remember and to recall.

It detects near duplicates before they are stored, searches and explains the results, and computes
missing vectors. It changes the log only through commands.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec

from everloop.errors import NotFound, Unavailable
from everloop.log import CommandBus, Context, Fact, Log, Reader, Receipt, Sight
from everloop.log.model.record import fact_of, from_microseconds
from everloop.log.sql_rows import query_one
from everloop.memory.model.commands import RememberCompared, RememberItem, RepeatItem
from everloop.memory.model.decide import principal_of
from everloop.memory.model.events import Related, Remembered, Repeated
from everloop.memory.model.scopes import Viewer
from everloop.memory.near_duplicates.detect import NewItem, Relations
from everloop.memory.projections.fts_index import passage_texts
from everloop.memory.projections.items import StaleComparison
from everloop.memory.projections.queries import (
    Filter,
    Item,
    demoted_items,
    find_item,
    includes_retired_item,
    load_viewer,
)
from everloop.memory.projections.status_notes import expire_status_note
from everloop.memory.retrieval.results import RankExplanation, SearchQuery, SearchResult
from everloop.memory.settings import MemorySettings
from everloop.memory.time_query.format import format_interval
from everloop.ports import Clock, Ids, Progress
from everloop.tracing import span

if TYPE_CHECKING:
    from everloop.memory.index.vector_index import VectorIndex
    from everloop.memory.retrieval.search import MemorySearch


TOO_WEAK = (
    "It matches, but does not fit the question well enough to be an answer. To find more, lower the"
    " setting memory.fit_min."
)
COPY = "Its words are those of the question, or of a memory that is shown in its place."
COMPARE_TRIES = 8  # times that one item is compared while other processes write

WhyNotReason = Literal[
    "unknown",
    "branch",
    "retracted",
    "retired",
    "filter",
    "rank",
    "not found",
    "weak",
    "copy",
    "here",
]


class RememberResult(msgspec.Struct, frozen=True):
    """The result of remembering: a new item, or the existing one that it repeats.

    `position` is the recorded fact: retracting it undoes the call.
    """

    item_id: str
    new: bool
    position: int
    similarity: float = 0.0
    contradicts: tuple[str, ...] = ()
    varies: str = ""  # the nearest item with almost the same text, if there is one
    passes: str = ""  # the expiry that it was given as a status note


class WhyNot(msgspec.Struct, frozen=True):
    """Why an item is not among the results, as a code and as a sentence."""

    reason: WhyNotReason
    sentence: str
    why: RankExplanation | None = None


class MemoryService:
    """Remembers, recalls and explains, over one log."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        clock: Clock,
        ids: Ids,
        space: "VectorIndex | None" = None,
        *,
        limits: MemorySettings = MemorySettings(),  # noqa: B008 - it is frozen
    ) -> None:
        self.log = log
        self._space = space
        self._bus = bus
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._remembering = threading.Lock()

    @cached_property
    def memory(self) -> "MemorySearch":
        """The search over this log. Loaded on first use, because it imports numpy."""
        from everloop.memory.retrieval.search import MemorySearch  # noqa: PLC0415 - it loads numpy

        return MemorySearch(self._space, self._limits.fit_min)

    def remember(
        self,
        new: RememberItem,
        *,
        by: Context,
        request_id: str | None = None,
        seen_by: str = "",
        lasting: bool = False,
    ) -> RememberResult:
        """Store an item, or record it as a repetition of an item with the same text.

        An empty `item_id` is generated. The item is compared only with items of the same scope and
        witnesses that the actor may see, or the recipient of the result (`seen_by`): the result
        must not reveal hidden items. `lasting` exempts it from the expiry of status notes.
        """
        return self._remember([new], by, request_id, seen_by, lasting=lasting)[0]

    def remember_many(self, new: Sequence[RememberItem], *, by: Context) -> list[RememberResult]:
        """As `remember`, for a batch: one snapshot to compare with, and shared transactions.

        Items of the batch are compared with each other as well.
        """
        return self._remember(new, by)

    def _remember(
        self,
        new: Sequence[RememberItem],
        by: Context,
        request_id: str | None = None,
        seen_by: str = "",
        *,
        lasting: bool = False,
    ) -> list[RememberResult]:
        now, days = self._now(), self._limits.status_days
        commands = [
            msgspec.structs.replace(
                each if lasting else expire_status_note(each, now, days),
                item_id=each.item_id or self._ids.new("mem"),
            )
            for each in new
        ]
        with self._remembering:  # of two threads with the same text, the second is a repetition
            if request_id and (before := self._previous_result(new[0], request_id)):
                return [before]
            recorded, receipts = self._record(commands, by, request_id, seen_by or by.actor)
            if len(receipts) == 1:  # the terms of a batch are read together when they are needed
                self.memory.near_duplicates.add_facts(receipts[0].facts)
        return [
            _result(each, receipt.facts)
            or RememberResult(one.item_id, True, 0)  # it existed already
            for each, one, receipt in zip(new, recorded, receipts, strict=True)
        ]

    def _record(
        self, commands: Sequence[RememberItem], by: Context, request_id: str | None, seen_by: str
    ) -> tuple[list[RememberItem | RepeatItem], list[Receipt]]:
        """Compare new items with what there is and record each as new or as a repetition.

        Finding near duplicates is too slow for the write transaction, and decides which stream is
        written. So it happens before, on a snapshot, and the transaction only checks that no item
        of the same scope and kind came after that snapshot (`RememberCompared`). If one did, from
        another process or another command, a single item is compared again, without analysing its
        text again: an optimistic retry. The last try is recorded unchecked, so that a busy log
        cannot keep an item out; then, and in a batch, which is never checked, a duplicate of
        something that was recorded at the same moment becomes an item of its own.
        """
        new = [NewItem.of(each) for each in commands]
        tries = COMPARE_TRIES
        while True:
            alike, head = self._compare(new, by.actor, seen_by)
            decided = [_choose_command(*pair) for pair in zip(commands, alike, strict=True)]
            if len(decided) > 1:
                return decided, list(self._bus.do_many(decided, by=by))
            tries -= 1
            if tries and isinstance(one := decided[0], RememberItem):
                decided[0] = RememberCompared(**msgspec.structs.asdict(one), upto=head)
            with suppress(StaleComparison):
                return decided, [self._bus.do(decided[0], by=by, request_id=request_id)]

    def _previous_result(self, new: RememberItem, request_id: str) -> RememberResult | None:
        """The result of an earlier call with the same request id, if there was one."""
        with self.log.reading() as reader:
            facts = [fact_of(record) for record in reader.records_of_request(request_id)]
        return _result(new, facts)

    def find_repeated(self, new: RememberItem, *, by: Context) -> str | None:
        """The id of an item visible to `by` that has the same text, if any. Records nothing."""
        ((alike,), _) = self._compare([NewItem.of(new)], by.actor, by.actor)
        return next((item_id for item_id, how, _ in alike if how == "repeats"), None)

    def recall(
        self,
        principal: str,
        asked: SearchQuery,
        *,
        now: datetime | None = None,
        branch: str | None = None,
        as_of: int | datetime | None = None,
    ) -> SearchResult:
        """Search memory for a principal, now or as of an earlier state."""
        with (
            span("memory.recall") as watched,
            self.log.reading(branch=branch, as_of=as_of) as reader,
        ):
            sight = self.log.sight(reader, branch=branch, as_of=as_of)
            who = self.memory.asker(reader, sight, principal)
            found = self.memory.recall(reader, sight, who, asked, now or self._then(reader, as_of))
            watched.set(hits=len(found.hits))
            return found

    def recall_as(
        self, who: Viewer, asked: SearchQuery, *, now: datetime, branch: str | None = None
    ) -> SearchResult:
        """Search memory for a viewer that a domain made, such as a character of a story."""
        with span("memory.recall"), self.log.reading(branch=branch) as reader:
            sight = self.log.sight(reader, branch=branch)
            return self.memory.recall(reader, sight, who, asked, now)

    def find(self, principal: str, item_id: str) -> Item:
        """Find an item that a principal may see."""
        with self.log.reading() as reader:
            return find_item(reader, load_viewer(reader, principal), item_id)

    def why_not(
        self,
        principal: str,
        item_id: str,
        asked: SearchQuery,
        *,
        branch: str | None = None,
        as_of: int | datetime | None = None,
    ) -> WhyNot:
        """Explain why an item is not among the results, now or as of an earlier state.

        For a principal who may not see the item, it does not exist.
        """
        with self.log.reading(branch=branch, as_of=as_of) as reader:
            who = load_viewer(reader, principal)
            sight = self.log.sight(reader, branch=branch, as_of=as_of)
            try:
                item = find_item(reader, who, item_id)
            except NotFound:
                return _explain_missing(reader, sight, who, item_id)
            now = self._then(reader, as_of)
            narrowed = self.memory.effective_filter(reader, sight, who, asked, now)
            if item.retired and not includes_retired_item(reader, who, item, narrowed):
                return WhyNot("retired", _explain_retired(reader, item))
            if out := _failed_condition(item, asked.only) or _failed_time(item, narrowed):
                return WhyNot("filter", out)
            found = self.memory.explain_rank(reader, sight, who, asked, now, item.position)
            place = _explain_place(found, asked.limit)
            hits = self.memory.recall(reader, sight, who, asked, now).hits
        if place.reason == "here" and all(hit.item.item_id != item_id for hit in hits):
            return WhyNot("copy", COPY, place.why)
        return place

    def embed_briefly(self, progress: Progress | None = None) -> int:
        """Compute missing vectors for at most `embed_wait_s`, before a semantic search.

        The next call continues. A failure is ignored here: the search meets the same one and
        reports it.
        """
        until = self._clock.now() + timedelta(seconds=self._limits.embed_wait_s)
        with suppress(Unavailable):
            return self.embed_missing(progress, lambda: self._clock.now() < until, hasty=True)
        return 0

    def embed_missing(
        self,
        progress: Progress | None = None,
        going: Callable[[], bool] = lambda: True,
        *,
        hasty: bool = False,
    ) -> int:
        """Compute missing vectors while `going` is true; returns how many were computed.

        `hasty` means that a caller is waiting: a slow endpoint gets less time.
        """
        space = self.memory.vector_index
        if space is None:
            return 0
        with self.log.reading() as reader:
            lacking, head = space.missing_vectors(reader), reader.head()
            texts = passage_texts(reader, list(lacking))
        space.give_up(passage for passage in lacking if passage not in texts)
        try:
            made = space.embed_missing(lacking, texts, progress, going, hasty=hasty)
        finally:
            if texts and self.log.head > head:  # some may have been purged since
                self._forget_purged(space, texts)
        if self.memory.passage_index.snapshot_due(space.embedder.name, made):
            with self.log.reading() as reader:
                self.memory.save_snapshot(reader)
        return made

    def _forget_purged(self, space: "VectorIndex", passages: Iterable[int]) -> None:
        """Drop the vectors of purged passages."""
        with self.log.reading() as reader:
            existing = passage_texts(reader, list(passages))
        if gone := [passage for passage in passages if passage not in existing]:
            space.cache.delete(space.embedder.name, gone)

    def _compare(
        self, new: Sequence[NewItem], author: str, seen_by: str
    ) -> tuple[list[Relations], int]:
        """Near duplicates and contradictions of each new item, nearest first, and the head.

        Earlier items of the batch are compared as if they were stored already.
        """
        with self.log.reading() as reader:
            who = load_viewer(reader, principal_of(seen_by))
            alike = self.memory.near_duplicates.find_near_duplicates(
                reader, who, new, author, self._now()
            )
            return alike, reader.head()

    def _then(self, reader: Reader, as_of: int | datetime | None) -> datetime:
        """The current time in the state that is read: now, or the time of `as_of`."""
        if isinstance(as_of, int):
            as_of = (
                from_microseconds(reader.record(as_of).recorded_us)
                if 0 < as_of <= reader.head()
                else None
            )
        return self._now() if as_of is None else min(as_of.astimezone(), self._now())

    def _now(self) -> datetime:
        return self._clock.now().astimezone()


def _choose_command(new: RememberItem, alike: Relations) -> RememberItem | RepeatItem:
    """Choose what to record: the new item with its relations, or a repetition."""
    for item_id, relation, similarity in alike:
        if relation == "repeats":
            return RepeatItem(item_id, new.text, similarity, new.origin, new.because)
    against = [(item_id, how) for item_id, how, _ in alike if how == "contradicts"]
    nearest = [(item_id, "repeats") for item_id, how, _ in alike if how == "varies"][:1]
    return msgspec.structs.replace(new, related=(*against, *nearest))


def _result(new: RememberItem, facts: Sequence[Fact]) -> RememberResult | None:
    """The result of remembering an item, from the recorded facts."""
    event = facts[0].event if facts else None
    if isinstance(event, Repeated):
        return RememberResult(event.item_id, False, facts[0].position, event.similarity)
    if not isinstance(event, Remembered):
        return None
    related = [fact.event for fact in facts if isinstance(fact.event, Related)]
    against = tuple(each.other_id for each in related if each.relation == "contradicts")
    varies = next((each.other_id for each in related if each.relation == "repeats"), "")
    passes = "" if event.durability == new.durability else event.durability
    return RememberResult(event.item_id, True, facts[0].position, 0.0, against, varies, passes)


def _explain_place(found: tuple[RankExplanation, bool] | None, limit: int) -> WhyNot:
    """Why an item is or is not among the results, by its rank and by whether it fits."""
    if found is None:
        return WhyNot("not found", "It matches the question neither by words nor by meaning.")
    why, fits = found
    if not fits:
        return WhyNot("weak", TOO_WEAK, why)
    if why.rank > limit:
        sentence = f"It is at rank {why.rank}; only {limit} results were requested."
        return WhyNot("rank", sentence, why)
    return WhyNot("here", f"It is in the results, at rank {why.rank}.", why)


def _explain_missing(reader: Reader, sight: Sight, who: Viewer, item_id: str) -> WhyNot:
    """Why an item cannot be found. Only the owner learns that it ever existed."""
    nothing = WhyNot("unknown", f"There is no item {item_id!r}.")
    if not who.is_owner:
        return nothing
    row = query_one(
        reader.db, "SELECT position, branch FROM memory_items WHERE item_id = ?", (item_id,)
    )
    if row is None:
        return nothing
    position, branch = row
    if position > sight.upto:
        return WhyNot("branch", "It was stored after that time.")
    if not sight.sees(branch, position):
        return WhyNot("branch", f"It is on branch {branch!r}, which is not visible from here.")
    return WhyNot("retracted", "It, or one of its sources, was retracted or is on another branch.")


def _explain_retired(reader: Reader, item: Item) -> str:
    """Why search skips an item: it was retired, or demoted in favour of a summary."""
    if demoted_items(reader, [item.position]):
        return "It was replaced by its summary, which is found instead."
    return "It was retired, and search skips retired items."


def _failed_condition(item: Item, only: Filter) -> str:
    """Which condition of a filter an item fails, as a sentence; empty if it fails none."""
    if only.scopes and item.scope not in only.scopes:
        return f"Its scope is {item.scope}, which the filter excludes."
    if only.scope_kinds and item.scope.partition(":")[0] not in only.scope_kinds:
        return f"Its scope is {item.scope}, which the filter excludes."
    if only.kinds and item.kind not in only.kinds:
        return f"Its kind is {item.kind}, which the filter excludes."
    early = only.since is not None and item.happened_at < only.since
    late = only.before is not None and item.happened_at >= only.before
    return "It happened outside the requested time." if early or late else ""


def _failed_time(item: Item, narrowed: Filter) -> str:
    """A sentence if an item is outside the time that the question names; empty if it is not."""
    if not _failed_condition(item, narrowed):
        return ""
    stretch = format_interval(narrowed.since, narrowed.before)
    return f"The question asks for what happened {stretch}, and this did not."
