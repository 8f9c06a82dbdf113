"""Compression: summarises a window of items as one item, and demotes the items in its favour.

The summary has the audience of its sources, depends on their current versions, and lists them.
Nothing is deleted: once a search for each source's title finds the summary, the sources that are
not immune are demoted and stay reachable from it. Retracting a source or the summary undoes this.

The summary is written by a port, `Summarise`: a model, or `extractive.py`. It may refuse; a refusal
is recorded, and the window is not tried again with the same token budget until an item changes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from everloop.errors import Conflict, EverloopError, Invalid, ModelFailed, NotFound
from everloop.log import CommandBus, Context, Draft, Log, Reader, visible
from everloop.memory.model.commands import DemoteItem, KeepSummary
from everloop.memory.model.decide import DURABLE, ENGINE, principal_of
from everloop.memory.model.events import (
    SUMMARY,
    CompressionRefused,
    ConsolidationAsked,
    Origin,
)
from everloop.memory.model.scopes import OWNER, Viewer, acts_as_user
from everloop.memory.projections.citations import user_citers
from everloop.memory.projections.queries import (
    Filter,
    Item,
    VisibilityQuery,
    find_item,
    load_viewer,
)
from everloop.memory.summaries.jobs import (
    ConsolidationJob,
    items_restored_since,
    last_demoted_by,
    request_consolidation,
    settle_consolidation,
)
from everloop.memory.summaries.staleness import StaleWindow, current_summary, summary_retractions
from everloop.memory.summaries.successors import (
    SUMMARY_TOKENS,
    Successors,
    is_compression_refused,
    window_stream,
)
from everloop.memory.summaries.zoom import DEPTH_MAX, RETIRED_SQL, compression_depth
from everloop.memory.token_counts import ESTIMATE, TokenCounter

T = TypeVar("T")

SOURCES_MAX = 64
SUMMARY_TITLE_CHARACTERS_MAX = 200
SUMMARY_TEXT_CHARACTERS_MAX = 4_000
SUMMARY_BUDGET_TOKENS = SUMMARY_TOKENS


class SummaryText(msgspec.Struct, frozen=True):
    """The title and text of a summary."""

    title: str
    text: str


class Refusal(msgspec.Struct, frozen=True):
    """A summariser declined to summarise, with its reason."""

    reason: str


Summariser = Callable[[Sequence[Item], int], SummaryText | Refusal]
SearchIds = Callable[[str, int], Sequence[str]]


class CompressionResult(msgspec.Struct, frozen=True):
    """The summary of a window. `new` is False if it existed already."""

    summary_id: str
    position: int
    sources: tuple[str, ...]
    new: bool


class ConsolidationResult(msgspec.Struct, frozen=True):
    """The result of a consolidation: the summary, the demoted sources, and those that were kept.

    `missed` lists the sources whose titles did not find the summary; then none was demoted.
    """

    summary_id: str
    verified: bool
    demoted: tuple[str, ...]
    kept_immune: tuple[str, ...]
    missed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compressor:
    """Compresses and consolidates windows of items, with a summariser.

    Once `stopped` returns true, it verifies no more summaries.
    """

    log: Log
    bus: CommandBus
    summarise: Summariser
    tokens: TokenCounter = ESTIMATE
    stopped: Callable[[], bool] = bool

    def compress(
        self,
        item_ids: Sequence[str],
        *,
        principal: str = OWNER,
        budget: int = SUMMARY_BUDGET_TOKENS,
        instead: Sequence[int] = (),
    ) -> CompressionResult | Refusal:
        """Summarise a window as one item, or return its existing summary.

        `instead` lists the retractions that removed an earlier summary: undoing one of them hides
        the new summary.

        Raises:
            NotFound: the principal sees no such item.
            Invalid: the window cannot be summarised as one item.
            Conflict: one of the items changed while the summary was written.
            ModelFailed: the summariser returned an empty or too long summary.
        """
        with self.log.reading() as reader:
            who = load_viewer(reader, principal)
            sources = load_window(reader, who, item_ids)
            known = current_summary(reader, who, item_ids)
        if known is not None:
            return _existing(known, sources)
        gist = self.summarise(sources, budget)
        if isinstance(gist, Refusal):
            self._refuse(sources, gist, budget)
            return gist
        validate_summary(gist, budget, self.tokens)
        command = summary_command(self.log.ids.new("mem-c"), sources, gist, *instead)
        try:
            receipt = self.bus.do(command, by=Context(actor=ENGINE))
        except Conflict:
            with self.log.reading() as reader:
                known = current_summary(reader, who, item_ids)
            if known is None:
                raise
            return _existing(known, sources)  # another process wrote one at the same time
        return CompressionResult(command.item_id, receipt.position, command.derived_from, new=True)

    def consolidate(
        self,
        item_ids: Sequence[str],
        recalled: SearchIds,
        *,
        by: Context,
        budget: int = SUMMARY_BUDGET_TOKENS,
        recall_k: int = 5,
    ) -> ConsolidationResult | Refusal:
        """Compress, verify that a search finds the summary for each source, demote the sources.

        `recalled` is a search: a text and a number in, item ids out. If it fails, or does not find
        the summary for one source, nothing is demoted. Raises what `compress` raises.
        """
        names = tuple(dict.fromkeys(item_ids))
        with self.log.reading() as reader:
            sources = load_window(reader, load_viewer(reader, principal_of(by.actor)), names)
        wanted = ConsolidationAsked(names, (by.actor,) * len(names), budget, recall_k)
        asked = request_consolidation(
            self.log, wanted, actor=by.actor, because=[one.version for one in sources]
        )
        return self._carry_out(asked, dict.fromkeys(names, by), recalled)

    def finish(self, asked: ConsolidationJob, recalled: SearchIds) -> None:
        """Finish a consolidation that a process left open, as far as it is still wanted.

        Raises what `compress` raises; the consolidation is settled in any case.
        """
        with self.log.reading() as reader:
            successors = Successors(reader, load_viewer(reader, OWNER))
            if successors.is_declined(asked.wanted.item_ids, asked.position):
                return settle_consolidation(self.log, asked)
            stayed = items_restored_since(reader, asked)
        actors = asked.demotion_actors()
        by = {name: Context(actor=actors[name]) for name in actors if name not in stayed}
        self._carry_out(asked, by, recalled)
        return None

    def renew(
        self,
        stale: StaleWindow,
        recalled: SearchIds,
        *,
        budget: int = SUMMARY_BUDGET_TOKENS,
        recall_k: int = 5,
    ) -> ConsolidationResult | CompressionResult | Refusal:
        """Replace the lost or stale summary of a window. A stale one is retracted unless immune.

        If sources were demoted for the previous summary, they are demoted for the new one, each by
        the same actor; a source that was restored stays. Undoing the retraction of the previous
        summary brings it back and hides the new one. If this is stopped before the sources could
        be demoted, the new summary is retracted, so that the window counts as stale again.
        """
        with self.log.reading() as reader:
            goes = stale.why == "revised" and not is_protected(reader, stale.summary_id)
            before = last_demoted_by(reader, stale.item_ids, (*stale.earlier, stale.position))
        if goes:
            self.log.retract([stale.position], reason="a source was revised", actor=ENGINE)
        with self.log.reading() as reader:
            instead = summary_retractions(reader, stale.position)
            sources = load_window(reader, load_viewer(reader, OWNER), stale.item_ids)
        if not any(before.values()):
            return self.compress(stale.item_ids, budget=budget, instead=instead)
        actors = tuple(before.get(name, ENGINE) for name in stale.item_ids)
        wanted = ConsolidationAsked(stale.item_ids, actors, budget, recall_k)
        asked = request_consolidation(
            self.log, wanted, actor=ENGINE, because=[one.version for one in sources]
        )
        by = {name: Context(actor=actor) for name, actor in asked.demotion_actors().items()}
        return self._carry_out(asked, by, recalled, instead=instead)

    def _carry_out(
        self,
        asked: ConsolidationJob,
        by: Mapping[str, Context],
        recalled: SearchIds,
        *,
        instead: Sequence[int] = (),
    ) -> ConsolidationResult | Refusal:
        """Compress, demote the sources, and record the consolidation as settled in any case."""
        names, principal = asked.wanted.item_ids, principal_of(asked.actor)
        try:
            made = self.compress(
                names, principal=principal, budget=asked.wanted.budget, instead=instead
            )
            if isinstance(made, Refusal):
                settle_consolidation(self.log, asked)
                return made
            done = self._step_back(made, by, recalled, asked.wanted.recall_k)
        except EverloopError:
            settle_consolidation(self.log, asked)
            raise
        if not self.stopped() or done.verified:
            settle_consolidation(self.log, asked, made.summary_id, verified=done.verified)
        elif made.new:
            self.log.retract([made.position], reason="it was not checked", actor=ENGINE)
        return done

    def _step_back(
        self, made: CompressionResult, by: Mapping[str, Context], recalled: SearchIds, recall_k: int
    ) -> ConsolidationResult:
        """Demote the sources, each by its actor, if a search finds the summary for all of them."""
        missed = self._missed(made, recalled, recall_k)
        if not missed:
            for item_id, context in by.items():
                self.bus.do(DemoteItem(item_id, made.summary_id, (made.position,)), by=context)
        with self.log.reading() as reader:
            who = load_viewer(reader, OWNER)
            stayed = [name for name in made.sources if not find_item(reader, who, name).retired]
        return ConsolidationResult(
            summary_id=made.summary_id,
            verified=not missed,
            demoted=tuple(name for name in made.sources if name not in stayed),
            kept_immune=() if missed else tuple(stayed),
            missed=missed,
        )

    def _missed(
        self, made: CompressionResult, recalled: SearchIds, recall_k: int
    ) -> tuple[str, ...]:
        """The sources for whose title a search does not find the summary."""
        if recall_k < 1:
            return made.sources
        with self.log.reading() as reader:
            who = load_viewer(reader, OWNER)
            titles = {name: find_item(reader, who, name).title for name in made.sources}
        try:
            return tuple(
                name
                for name, title in titles.items()
                if self.stopped() or made.summary_id not in recalled(title, recall_k)[:recall_k]
            )
        except EverloopError:
            return made.sources  # a search that fails proves nothing

    def _refuse(self, sources: Sequence[Item], refusal: Refusal, budget: int) -> None:
        """Record a refusal, once while the sources are unchanged."""
        names = tuple(source.item_id for source in sources)
        with self.log.reading() as reader:
            stream = window_stream(reader, names, budget)
            if is_compression_refused(reader, names, budget):
                return
        event = CompressionRefused(names, refusal.reason[:SUMMARY_TITLE_CHARACTERS_MAX])
        because = tuple(source.version for source in sources)
        self.log.append(stream, [Draft(event, because)], actor=ENGINE)


def load_window(reader: Reader, who: Viewer, item_ids: Sequence[str]) -> list[Item]:
    """Load the items to compress, oldest first, without duplicates.

    Raises:
        NotFound: the asker sees no such item.
        Invalid: there are none or too many, one is retired, their compressions are nested too
            deeply, or their audiences differ.
    """
    names = list(dict.fromkeys(item_ids))
    if not 1 <= len(names) <= SOURCES_MAX:
        raise Invalid(
            f"a summary has 1 to {SOURCES_MAX} sources, not {len(names)}",
            hint="Choose fewer, or summarise summaries.",
        )
    sources = [find_item(reader, who, name) for name in names]
    _check_one_audience(sources)
    if compression_depth(reader, names) >= DEPTH_MAX:
        raise Invalid(
            f"summaries can be nested at most {DEPTH_MAX} levels deep",
            hint="Summarise the original items instead.",
        )
    everything = VisibilityQuery(who, Filter(retired=True))
    for source in sources:
        if everything.rows(reader, "1", f"i.position = :at AND {RETIRED_SQL}", at=source.position):
            raise Invalid(f"{source.item_id!r} was retired", hint="Leave it out.")
    return sorted(sources, key=lambda source: (source.happened_at, source.position))


def summary_command(
    item_id: str, sources: Sequence[Item], gist: SummaryText, *because: int
) -> KeepSummary:
    """The command that stores a summary; properties shared by all sources are kept."""
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


def validate_summary(gist: SummaryText, budget: int, tokens: TokenCounter) -> None:
    """Validate the length of a summary.

    Raises:
        ModelFailed: it is empty or too long.
    """
    if not 1 <= len(gist.title.strip()) <= SUMMARY_TITLE_CHARACTERS_MAX:
        raise ModelFailed(f"the summary's title has {len(gist.title)} characters, not 1 to 200")
    if not 1 <= len(gist.text.strip()) <= SUMMARY_TEXT_CHARACTERS_MAX:
        raise ModelFailed(f"the summary has {len(gist.text)} characters, not 1 to 4,000")
    if (used := tokens(gist.text)) > budget:
        raise ModelFailed(f"the summary has {used} tokens; at most {budget} are allowed")


def is_protected(reader: Reader, item_id: str) -> bool:
    """Whether a user edited or cites a summary, or it no longer exists."""
    try:
        item = find_item(reader, load_viewer(reader, OWNER), item_id)
    except NotFound:
        return True
    writers = (row[0] for row in reader.rows(_WRITERS, (item.position,)))
    return any(map(acts_as_user, writers)) or bool(user_citers(reader, item_id))


def _existing(summary: Item, sources: Sequence[Item]) -> CompressionResult:
    names = tuple(source.item_id for source in sources)
    return CompressionResult(summary.item_id, summary.position, names, new=False)


def _check_one_audience(sources: Sequence[Item]) -> None:
    """Accept items of one audience only: a summary must not reveal items to others."""
    audiences = {(source.scope, source.witnesses) for source in sources}
    if len(audiences) > 1:
        raise Invalid(
            "these items are not all for the same audience",
            hint="Compress those of each scope, and of each set of witnesses, by themselves.",
        )


def _shared(values: Sequence[T], otherwise: T) -> T:
    return values[0] if all(value == values[0] for value in values) else otherwise


def _durability(sources: Sequence[Item]) -> str:
    """The latest expiry of the sources, so that a valid one does not expire with the others."""
    ends = [source.holds_until for source in sources]
    known = [end for end in ends if end is not None]
    return max(known).isoformat() if len(known) == len(ends) else DURABLE


_WRITERS = f"""
SELECT l.actor FROM memory_versions v JOIN log l ON l.position = v.position
WHERE v.item = ? AND {visible("v")}
"""  # noqa: S608 - our own condition
