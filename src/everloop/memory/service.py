"""The keeper of a memory: what the doors call to remember and to recall.

It notices repetitions before they are stored, answers questions and says why, and finds the work
that the background has to do. Everything it changes, it changes by commands.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import msgspec

from everloop.errors import NotFound, Unavailable
from everloop.log import Context, Fact, Log, Reader, Receipt, Sight
from everloop.log.model.record import fact_of, moment
from everloop.log.sql_rows import one
from everloop.memory.model.commands import RememberCompared, RememberItem, RepeatItem
from everloop.memory.model.decide import principal_of
from everloop.memory.model.events import Related, Remembered, Repeated
from everloop.memory.model.scopes import Asker
from everloop.memory.model.stale_comparison import SaidMeanwhile
from everloop.memory.near_duplicates.detect import Alike, NewItem
from everloop.memory.projections.fts_index import passage_texts
from everloop.memory.projections.queries import Filter, Item, asker, find, passes, stepped_back
from everloop.memory.projections.status_notes import passing
from everloop.memory.retrieval.results import Answer, Asked, Why
from everloop.memory.settings import MemorySettings
from everloop.memory.time_query.format import told
from everloop.ports import Clock, Ids, Progress

if TYPE_CHECKING:
    from everloop.memory.index.vector_index import VectorSpace
    from everloop.memory.retrieval.search import Memory

Do = Callable[..., Receipt]
DoMany = Callable[..., Sequence[Receipt]]

COMPARE_TRIES = 8  # times that one item is compared while other processes write

Reason = Literal["unknown", "branch", "retracted", "retired", "filter", "rank", "not found", "here"]


class Kept(msgspec.Struct, frozen=True):
    """What became of something to remember: a new item, or one that said it before.

    `position` is the fact that says so: retracting it takes it back.
    """

    item_id: str
    new: bool
    position: int
    similarity: float = 0.0
    contradicts: tuple[str, ...] = ()
    varies: str = ""  # the item that says nearly the same, if one does
    passes: str = ""  # until when it holds, as a status note of which nobody said that it lasts


class WhyNot(msgspec.Struct, frozen=True):
    """What kept an item out of an answer, in a word and in a sentence."""

    reason: Reason
    sentence: str
    why: Why | None = None


class Keeper:
    """Memory over one log."""

    def __init__(  # noqa: PLR0913 - what a memory needs of its surroundings
        self,
        log: Log,
        do: Do,
        do_many: DoMany,
        clock: Clock,
        ids: Ids,
        space: "VectorSpace | None" = None,
        *,
        limits: MemorySettings = MemorySettings(),  # noqa: B008 - it is frozen
    ) -> None:
        self.log = log
        self._space = space
        self._do, self._do_many = do, do_many
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._taking = threading.Lock()

    @cached_property
    def memory(self) -> "Memory":
        """Recall over this log. Loaded when it is first used, for numpy comes with it."""
        made: Memory = import_module("everloop.memory.retrieval.search").Memory(self._space)
        return made

    def remember(
        self,
        new: RememberItem,
        *,
        by: Context,
        request_id: str | None = None,
        seen_by: str = "",
        lasting: bool = False,
    ) -> Kept:
        """Take something in, or link it to what says the same already.

        An empty `item_id` gets one. Only items of the same scope and audience are compared, and
        only those that the one who speaks may see, or whoever the receipt is for (`seen_by`): it
        must not tell what is out of bounds. `lasting` keeps what looks like a status note for good.
        """
        return self._taken([new], by, request_id, seen_by, lasting=lasting)[0]

    def remember_many(self, new: Sequence[RememberItem], *, by: Context) -> list[Kept]:
        """As `remember`, for many at once: one look at what there is, and shared transactions.

        Items of the batch are compared with each other as well.
        """
        return self._taken(new, by)

    def _taken(
        self,
        new: Sequence[RememberItem],
        by: Context,
        request_id: str | None = None,
        seen_by: str = "",
        *,
        lasting: bool = False,
    ) -> list[Kept]:
        now, days = self._now(), self._limits.status_days
        commands = [
            msgspec.structs.replace(
                each if lasting else passing(each, now, days),
                item_id=each.item_id or self._ids.new("mem"),
            )
            for each in new
        ]
        with self._taking:  # of two at once that say the same, the second is noticed
            if request_id and (before := self._answered(new[0], request_id)):
                return [before]
            told, receipts = self._recorded(commands, by, request_id, seen_by or by.actor)
            if len(receipts) == 1:  # of many, all terms are read at once when they are needed
                self.memory.sharing.take_in(receipts[0].facts)
        return [
            _kept(each, receipt.facts) or Kept(one.item_id, True, 0)  # it was there, word for word
            for each, one, receipt in zip(new, told, receipts, strict=True)
        ]

    def _recorded(
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
            alike, head = self._compared(new, by.actor, seen_by)
            told = [_telling(*pair) for pair in zip(commands, alike, strict=True)]
            if len(told) > 1:
                return told, list(self._do_many(told, by=by))
            tries -= 1
            if tries and isinstance(one := told[0], RememberItem):
                told[0] = RememberCompared(**msgspec.structs.asdict(one), upto=head)
            with suppress(SaidMeanwhile):
                return told, [self._do(told[0], by=by, request_id=request_id)]

    def _answered(self, new: RememberItem, request_id: str) -> Kept | None:
        """What came of a request when it was made before, if it was."""
        with self.log.reading() as reader:
            facts = [fact_of(record) for record in reader.requested(request_id)]
        return _kept(new, facts)

    def said_before(self, new: RememberItem, *, by: Context) -> str | None:
        """The id of an item that says the same already, if `by` may see one. Records nothing."""
        ((alike,), _) = self._compared([NewItem.of(new)], by.actor, by.actor)
        return next((item_id for item_id, how, _ in alike if how == "repeats"), None)

    def recall(
        self,
        principal: str,
        asked: Asked,
        *,
        now: datetime | None = None,
        branch: str | None = None,
        as_of: int | datetime | None = None,
    ) -> Answer:
        """Answer a principal's question, as things stand or as they stood."""
        with self.log.reading(branch=branch, as_of=as_of) as reader:
            sight = self.log.sight(reader, branch=branch, as_of=as_of)
            who = self.memory.asker(reader, sight, principal)
            return self.memory.recall(reader, sight, who, asked, now or self._then(reader, as_of))

    def find(self, principal: str, item_id: str) -> Item:
        """One item that a principal may see."""
        with self.log.reading() as reader:
            return find(reader, asker(reader, principal), item_id)

    def why_not(
        self,
        principal: str,
        item_id: str,
        asked: Asked,
        *,
        branch: str | None = None,
        as_of: int | datetime | None = None,
    ) -> WhyNot:
        """What kept an item out of the answer to a question, as things stand or as they stood.

        To whom it is out of bounds, it is as if it did not exist.
        """
        with self.log.reading(branch=branch, as_of=as_of) as reader:
            who = asker(reader, principal)
            sight = self.log.sight(reader, branch=branch, as_of=as_of)
            try:
                item = find(reader, who, item_id)
            except NotFound:
                return _gone(reader, sight, who, item_id)
            now = self._then(reader, as_of)
            narrowed = self.memory.narrowed(reader, sight, who, asked, now)
            if item.retired and not passes(reader, who, item, narrowed):
                return WhyNot("retired", _passed_over(reader, item))
            if out := _filtered(item, asked.only) or _untimely(item, narrowed):
                return WhyNot("filter", out)
            why = self.memory.rank_of(reader, sight, who, asked, now, item.position)
        if why is None:
            return WhyNot("not found", "Neither its words nor its meaning fit the question.")
        if why.rank > asked.limit:
            sentence = f"It came in at rank {why.rank}; {asked.limit} were asked for."
            return WhyNot("rank", sentence, why)
        return WhyNot("here", f"It is in the answer, at rank {why.rank}.", why)

    def embed_briefly(self, progress: Progress | None = None) -> int:
        """Make some of the vectors that items lack, while somebody waits who will search meaning.

        It takes as long as is set, and the next time it goes on. If it fails, recall meets the same
        failure, and says so.
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
        """Make the vectors that items lack, as long as `going`; returns how many were made.

        `hasty` says that somebody waits for it: a slow endpoint is given less time.
        """
        space = self.memory.space
        if space is None:
            return 0
        with self.log.reading() as reader:
            lacking, head = space.lacking(reader), reader.head()
            texts = passage_texts(reader, list(lacking))
        space.settle(passage for passage in lacking if passage not in texts)
        try:
            made = space.embed_missing(lacking, texts, progress, going, hasty=hasty)
        finally:
            if texts and self.log.head > head:  # perhaps some were purged meanwhile
                self._forget_purged(space, texts)
        if self.memory.register.due(space.embedder.name, made):
            with self.log.reading() as reader:
                self.memory.keep(reader)
        return made

    def _forget_purged(self, space: "VectorSpace", passages: Iterable[int]) -> None:
        """Throw away the vectors of passages that are no more."""
        with self.log.reading() as reader:
            there = passage_texts(reader, list(passages))
        if gone := [passage for passage in passages if passage not in there]:
            space.cache.drop(space.embedder.name, gone)

    def _compared(
        self, new: Sequence[NewItem], author: str, seen_by: str
    ) -> tuple[list[Alike], int]:
        """What each is like: items of the same scope and audience, nearest first; and up to where.

        Those that come earlier among them count as if they were there already.
        """
        with self.log.reading() as reader:
            who = asker(reader, principal_of(seen_by))
            alike = self.memory.sharing.compared(reader, who, new, author, self._now())
            return alike, reader.head()

    def _then(self, reader: Reader, as_of: int | datetime | None) -> datetime:
        """What time it is for whoever looks at memory as it stood."""
        if isinstance(as_of, int):
            as_of = moment(reader.record(as_of).recorded_us) if 0 < as_of <= reader.head() else None
        return self._now() if as_of is None else min(as_of.astimezone(), self._now())

    def _now(self) -> datetime:
        return self._clock.now().astimezone()


def _telling(new: RememberItem, alike: Alike) -> RememberItem | RepeatItem:
    """What to record of something new: itself and what it relates to, or that it was said again."""
    for item_id, relation, similarity in alike:
        if relation == "repeats":
            return RepeatItem(item_id, new.text, similarity, new.origin, new.because)
    against = [(item_id, how) for item_id, how, _ in alike if how == "contradicts"]
    nearest = [(item_id, "repeats") for item_id, how, _ in alike if how == "varies"][:1]
    return msgspec.structs.replace(new, related=(*against, *nearest))


def _kept(new: RememberItem, facts: Sequence[Fact]) -> Kept | None:
    """What became of something new, by what was recorded of it."""
    happened = facts[0].event if facts else None
    if isinstance(happened, Repeated):
        return Kept(happened.item_id, False, facts[0].position, happened.similarity)
    if not isinstance(happened, Remembered):
        return None
    related = [fact.event for fact in facts if isinstance(fact.event, Related)]
    against = tuple(each.other_id for each in related if each.relation == "contradicts")
    varies = next((each.other_id for each in related if each.relation == "repeats"), "")
    passes = "" if happened.durability == new.durability else happened.durability
    return Kept(happened.item_id, True, facts[0].position, 0.0, against, varies, passes)


def _gone(reader: Reader, sight: Sight, who: Asker, item_id: str) -> WhyNot:
    """Why an item is not to be seen. Only the owner learns that it ever was."""
    nothing = WhyNot("unknown", f"There is no item {item_id!r}.")
    if not who.owner:
        return nothing
    row = one(reader.db, "SELECT position, branch FROM memory_items WHERE item_id = ?", (item_id,))
    if row is None:
        return nothing
    position, branch = row
    if position > sight.upto:
        return WhyNot("branch", "It was taken in later than that.")
    if not sight.sees(branch, position):
        return WhyNot("branch", f"It was taken in on the branch {branch!r}, which is out of sight.")
    return WhyNot("retracted", "It, or something it came from, was retracted or is out of sight.")


def _passed_over(reader: Reader, item: Item) -> str:
    """Why recall passes over an item: somebody let it go, or it stepped back."""
    if stepped_back(reader, [item.position]):
        return "It stepped back for its summary, which recall finds in its place."
    return "It was retired; recall passes over it."


def _filtered(item: Item, only: Filter) -> str:
    """Which condition of a filter an item fails, as a sentence; empty if it fails none."""
    if only.scopes and item.scope not in only.scopes:
        return f"Its scope is {item.scope}, which was not asked for."
    if only.scope_kinds and item.scope.partition(":")[0] not in only.scope_kinds:
        return f"Its scope is {item.scope}, which was not asked for."
    if only.kinds and item.kind not in only.kinds:
        return f"It is a {item.kind}, which was not asked for."
    early = only.since is not None and item.happened_at < only.since
    late = only.before is not None and item.happened_at >= only.before
    return "It happened outside the time that was asked for." if early or late else ""


def _untimely(item: Item, narrowed: Filter) -> str:
    """That an item did not happen when the question says, as a sentence; empty if it did."""
    if not _filtered(item, narrowed):
        return ""
    stretch = told(narrowed.since, narrowed.before)
    return f"The question asks for what happened {stretch}, and this did not."
