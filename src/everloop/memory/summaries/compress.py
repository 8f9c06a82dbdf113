"""Compression: a window of items becomes one item that says the same in fewer words.

The summary is for the same audience as its sources, stands on their present versions, and names
them. Nothing is deleted: after the summary was found by the title of each source, those that nobody
protects step back and stay one zoom away. Retract a source, or the summary, and all of that is as
if it had not happened.

Who writes the summary is a port, `Summarise`: a model, or `extract.py`. It may refuse; a refusal is
recorded, and the window is not tried again, within as many tokens, until one of its items changes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from everloop.errors import Conflict, EverloopError, Invalid, ModelFailed, NotFound
from everloop.log import Command, Context, Draft, Log, Reader, Receipt, visible
from everloop.memory.model.commands import DemoteItem, KeepSummary
from everloop.memory.model.decide import DURABLE, ENGINE, principal_of
from everloop.memory.model.events import (
    SUMMARY,
    CompressionRefused,
    ConsolidationAsked,
    Origin,
)
from everloop.memory.model.scopes import OWNER, Asker, written_by_user
from everloop.memory.projections.citations import user_citers
from everloop.memory.projections.queries import Filter, Item, Sieve, asker, find
from everloop.memory.summaries.jobs import (
    Unsettled,
    ask,
    brought_back,
    let_step_back,
    settle,
)
from everloop.memory.summaries.staleness import StaleWindow, summary_of, taken_back_by
from everloop.memory.summaries.successors import (
    SUMMARY_TOKENS,
    Successors,
    refused,
    window_stream,
)
from everloop.memory.summaries.zoom import DEPTH_MAX, RETIRED, depth
from everloop.memory.tokens import ESTIMATE, Tokens

T = TypeVar("T")

SOURCES_MAX = 64
TITLE_MAX = 200
TEXT_MAX = 4_000
BUDGET = SUMMARY_TOKENS


class Gist(msgspec.Struct, frozen=True):
    """What a writer made of a window."""

    title: str
    text: str


class Refusal(msgspec.Struct, frozen=True):
    """A writer would not do it, and says why."""

    reason: str


Summarise = Callable[[Sequence[Item], int], Gist | Refusal]
Find = Callable[[str, int], Sequence[str]]


class Do(Protocol):
    """Carries out a command: an engine's `do`."""

    def __call__(self, command: Command, *, by: Context) -> Receipt:
        """Return when what it led to is durable."""
        ...


class Compressed(msgspec.Struct, frozen=True):
    """The summary of a window. `new` is False if it had this one already."""

    summary_id: str
    position: int
    sources: tuple[str, ...]
    new: bool


class Consolidated(msgspec.Struct, frozen=True):
    """What became of a window: its summary, who stepped back for it, and who did not.

    `missed` names the sources whose titles did not find the summary; then nobody stepped back.
    """

    summary_id: str
    verified: bool
    demoted: tuple[str, ...]
    kept_immune: tuple[str, ...]
    missed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compressor:
    """The operator, with what it needs: a log, a way to write to it, and a writer.

    When `stopped` says so, it checks no more summaries.
    """

    log: Log
    do: Do
    summarise: Summarise
    tokens: Tokens = ESTIMATE
    stopped: Callable[[], bool] = bool

    def compress(
        self,
        item_ids: Sequence[str],
        *,
        principal: str = OWNER,
        budget: int = BUDGET,
        instead: Sequence[int] = (),
    ) -> Compressed | Refusal:
        """Make one item of a window, or find the one it has.

        `instead` names what took an earlier summary away: undo one of these, and the new one goes.

        Raises:
            NotFound: the principal sees no such item.
            Invalid: the window cannot be one item.
            Conflict: one of the items changed while the summary was written.
            ModelFailed: the writer gave something that is no summary.
        """
        with self.log.reading() as reader:
            who = asker(reader, principal)
            sources = window(reader, who, item_ids)
            known = summary_of(reader, who, item_ids)
        if known is not None:
            return _known(known, sources)
        gist = self.summarise(sources, budget)
        if isinstance(gist, Refusal):
            self._refuse(sources, gist, budget)
            return gist
        check_gist(gist, budget, self.tokens)
        command = summary(self.log.ids.new("mem-c"), sources, gist, *instead)
        try:
            receipt = self.do(command, by=Context(actor=ENGINE))
        except Conflict:
            with self.log.reading() as reader:
                known = summary_of(reader, who, item_ids)
            if known is None:
                raise
            return _known(known, sources)  # somebody else wrote one meanwhile
        return Compressed(command.item_id, receipt.position, command.derived_from, new=True)

    def consolidate(
        self,
        item_ids: Sequence[str],
        recalled: Find,
        *,
        by: Context,
        budget: int = BUDGET,
        recall_k: int = 5,
    ) -> Consolidated | Refusal:
        """Compress, check that the summary is found in place of its sources, let those step back.

        `recalled` is a search: a text and a number in, item ids out. If it fails, or misses once,
        nothing steps back. Raises what `compress` raises.
        """
        names = tuple(dict.fromkeys(item_ids))
        with self.log.reading() as reader:
            sources = window(reader, asker(reader, principal_of(by.actor)), names)
        wanted = ConsolidationAsked(names, (by.actor,) * len(names), budget, recall_k)
        asked = ask(self.log, wanted, actor=by.actor, because=[one.version for one in sources])
        return self._carry_out(asked, dict.fromkeys(names, by), recalled)

    def finish(self, asked: Unsettled, recalled: Find) -> None:
        """Do what somebody asked for and could not see to the end, as far as it is still wanted.

        Raises what `compress` raises; then it is settled as well.
        """
        with self.log.reading() as reader:
            successors = Successors(reader, asker(reader, OWNER))
            if successors.is_declined(asked.wanted.item_ids, asked.position):
                return settle(self.log, asked)
            stayed = brought_back(reader, asked)
        actors = asked.actors()
        by = {name: Context(actor=actors[name]) for name in actors if name not in stayed}
        self._carry_out(asked, by, recalled)
        return None

    def renew(
        self, stale: StaleWindow, recalled: Find, *, budget: int = BUDGET, recall_k: int = 5
    ) -> Consolidated | Compressed | Refusal:
        """Give a window a summary again. One that is out of date goes, unless it is immune.

        Sources step back for it if some had stepped back for the one before, each in the name of
        who let it; one that was brought back stays. If what took the one before away is undone, it
        is there again and the new one is not. If this is stopped before sources could step back,
        the new one is taken back, so that the window is found again.
        """
        with self.log.reading() as reader:
            goes = stale.why == "revised" and not is_protected(reader, stale.summary_id)
            before = let_step_back(reader, stale.item_ids, (*stale.earlier, stale.position))
        if goes:
            self.log.retract([stale.position], reason="a source was revised", actor=ENGINE)
        with self.log.reading() as reader:
            instead = taken_back_by(reader, stale.position)
            sources = window(reader, asker(reader, OWNER), stale.item_ids)
        if not any(before.values()):
            return self.compress(stale.item_ids, budget=budget, instead=instead)
        actors = tuple(before.get(name, ENGINE) for name in stale.item_ids)
        wanted = ConsolidationAsked(stale.item_ids, actors, budget, recall_k)
        asked = ask(self.log, wanted, actor=ENGINE, because=[one.version for one in sources])
        by = {name: Context(actor=actor) for name, actor in asked.actors().items()}
        return self._carry_out(asked, by, recalled, instead=instead)

    def _carry_out(
        self,
        asked: Unsettled,
        by: Mapping[str, Context],
        recalled: Find,
        *,
        instead: Sequence[int] = (),
    ) -> Consolidated | Refusal:
        """Compress, let the sources step back, and say that this is done, whatever came of it."""
        names, principal = asked.wanted.item_ids, principal_of(asked.actor)
        try:
            made = self.compress(
                names, principal=principal, budget=asked.wanted.budget, instead=instead
            )
            if isinstance(made, Refusal):
                settle(self.log, asked)
                return made
            done = self._step_back(made, by, recalled, asked.wanted.recall_k)
        except EverloopError:
            settle(self.log, asked)
            raise
        if not self.stopped() or done.verified:
            settle(self.log, asked, made.summary_id, verified=done.verified)
        elif made.new:
            self.log.retract([made.position], reason="it was not checked", actor=ENGINE)
        return done

    def _step_back(
        self, made: Compressed, by: Mapping[str, Context], recalled: Find, recall_k: int
    ) -> Consolidated:
        """Let the sources step back, each in somebody's name, if the summary is found for them."""
        missed = self._missed(made, recalled, recall_k)
        if not missed:
            for item_id, context in by.items():
                self.do(DemoteItem(item_id, made.summary_id, (made.position,)), by=context)
        with self.log.reading() as reader:
            who = asker(reader, OWNER)
            stayed = [name for name in made.sources if not find(reader, who, name).retired]
        return Consolidated(
            summary_id=made.summary_id,
            verified=not missed,
            demoted=tuple(name for name in made.sources if name not in stayed),
            kept_immune=() if missed else tuple(stayed),
            missed=missed,
        )

    def _missed(self, made: Compressed, recalled: Find, recall_k: int) -> tuple[str, ...]:
        """The sources by whose title a search does not find the summary."""
        if recall_k < 1:
            return made.sources
        with self.log.reading() as reader:
            who = asker(reader, OWNER)
            titles = {name: find(reader, who, name).title for name in made.sources}
        try:
            return tuple(
                name
                for name, title in titles.items()
                if self.stopped() or made.summary_id not in recalled(title, recall_k)[:recall_k]
            )
        except EverloopError:
            return made.sources  # a search that fails proves nothing

    def _refuse(self, sources: Sequence[Item], refusal: Refusal, budget: int) -> None:
        """Record it, once for as long as the sources are the same."""
        names = tuple(source.item_id for source in sources)
        with self.log.reading() as reader:
            stream = window_stream(reader, names, budget)
            if refused(reader, names, budget):
                return
        said = CompressionRefused(names, refusal.reason[:TITLE_MAX])
        because = tuple(source.version for source in sources)
        self.log.append(stream, [Draft(said, because)], actor=ENGINE)


def window(reader: Reader, who: Asker, item_ids: Sequence[str]) -> list[Item]:
    """The items to compress, oldest first, each once.

    Raises:
        NotFound: the asker sees no such item.
        Invalid: they are none, too many, too deep, retired, or not all for the same audience.
    """
    names = list(dict.fromkeys(item_ids))
    if not 1 <= len(names) <= SOURCES_MAX:
        raise Invalid(
            f"a summary has 1 to {SOURCES_MAX} sources, not {len(names)}",
            hint="Choose fewer, or summarise summaries.",
        )
    sources = [find(reader, who, name) for name in names]
    _check_alike(sources)
    if depth(reader, names) >= DEPTH_MAX:
        raise Invalid(
            f"a summary is at most {DEPTH_MAX} compressions deep", hint="Start from the sources."
        )
    everything = Sieve(who, Filter(retired=True))
    for source in sources:
        if everything.rows(reader, "1", f"i.position = :at AND {RETIRED}", at=source.position):
            raise Invalid(f"{source.item_id!r} was retired", hint="Leave it out.")
    return sorted(sources, key=lambda source: (source.happened_at, source.position))


def summary(item_id: str, sources: Sequence[Item], gist: Gist, *because: int) -> KeepSummary:
    """The summary as an item: what its sources have in common, it has too."""
    last = max(source.happened_at for source in sources)
    return KeepSummary(
        item_id=item_id,
        text=gist.text,
        title=gist.title,
        kind=SUMMARY,
        scope=sources[0].scope,
        witnesses=sources[0].witnesses,
        origin=_shared([source.origin for source in sources], Origin()),
        learned_via=_shared([source.learned_via for source in sources], "inferred"),
        durability=_durability(sources),
        happened_at=last.isoformat(),
        derived_from=tuple(source.item_id for source in sources),
        because=(*(source.version for source in sources), *because),
    )


def check_gist(gist: Gist, budget: int, tokens: Tokens) -> None:
    """Pass what is a summary.

    Raises:
        ModelFailed: it is empty or too long.
    """
    if not 1 <= len(gist.title.strip()) <= TITLE_MAX:
        raise ModelFailed(f"the summary's title has {len(gist.title)} characters, not 1 to 200")
    if not 1 <= len(gist.text.strip()) <= TEXT_MAX:
        raise ModelFailed(f"the summary has {len(gist.text)} characters, not 1 to 4,000")
    if (used := tokens(gist.text)) > budget:
        raise ModelFailed(f"the summary has {used} tokens, and {budget} were asked for")


def is_protected(reader: Reader, item_id: str) -> bool:
    """Whether a user wrote in a summary or stands on it, or it is gone already."""
    try:
        item = find(reader, asker(reader, OWNER), item_id)
    except NotFound:
        return True
    writers = (row[0] for row in reader.rows(_WRITERS, (item.position,)))
    return any(map(written_by_user, writers)) or bool(user_citers(reader, item_id))


def _known(summary: Item, sources: Sequence[Item]) -> Compressed:
    names = tuple(source.item_id for source in sources)
    return Compressed(summary.item_id, summary.position, names, new=False)


def _check_alike(sources: Sequence[Item]) -> None:
    """Pass items of one audience: a summary must not tell anyone what they may not know."""
    audiences = {(source.scope, source.witnesses) for source in sources}
    if len(audiences) > 1:
        raise Invalid(
            "these items are not all for the same audience",
            hint="Compress those of each scope, and of each set of witnesses, by themselves.",
        )


def _shared(values: Sequence[T], otherwise: T) -> T:
    return values[0] if all(value == values[0] for value in values) else otherwise


def _durability(sources: Sequence[Item]) -> str:
    """As long as the longest of them: what still holds is not lost with what does not."""
    ends = [source.holds_until for source in sources]
    known = [end for end in ends if end is not None]
    return max(known).isoformat() if len(known) == len(ends) else DURABLE


_WRITERS = f"""
SELECT l.actor FROM memory_versions v JOIN log l ON l.position = v.position
WHERE v.item = ? AND {visible("v")}
"""  # noqa: S608 - our own condition
