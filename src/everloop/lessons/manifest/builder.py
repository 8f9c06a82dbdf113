"""Builds manifests: one call that is cheap enough for every turn.

Everything is filtered by the principal's audience. The ledger of what was shown, and of what did
not fit the token budget, is recorded. Being shown is recorded as such, and never as a use.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from everloop.errors import EverloopError, Invalid
from everloop.lessons.crew.queries import entry_summaries
from everloop.lessons.gate.case_queries import load_gate_cases
from everloop.lessons.gate.checks import violations
from everloop.lessons.manifest.manifest import (
    PLURALS,
    BuildRecord,
    GateSummary,
    Manifest,
    ManifestCandidates,
    ManifestLesson,
    ManifestRequest,
    build_manifest,
    included_keys,
    manifest_sections,
    select_entries,
    single_line,
)
from everloop.lessons.manifest.settings import ManifestSettings
from everloop.lessons.model.commands import ShowManifest
from everloop.lessons.projections.order import LessonOrder
from everloop.lessons.projections.queries import load_lessons, parse_status
from everloop.lessons.settings import GateRules
from everloop.log import CommandBus, Context, Log, Reader
from everloop.memory.context import AssembledPrompt, TokenBudget, assemble_prompt
from everloop.memory.model.commands import KeepContext
from everloop.memory.model.scopes import Viewer
from everloop.memory.projections.queries import load_viewer
from everloop.memory.retrieval.results import SearchQuery, SearchResult
from everloop.memory.token_counts import ESTIMATE
from everloop.ports import Clock, Ids

# Most lines of a manifest repeat those of the one before, so token counts are cached.
_CACHED_ESTIMATE = replace(ESTIMATE, count=lru_cache(maxsize=4_096)(ESTIMATE.count))


class MemoryRecall(Protocol):
    """Searches memory; the memory service does."""

    def recall(self, principal: str, asked: SearchQuery) -> SearchResult:
        """Answer a principal's query."""
        ...


class ManifestBuilder:
    """Builds and records manifests, over one log."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        memory: Callable[[], MemoryRecall],
        outside: tuple[Clock, Ids],
        rules: GateRules,
        settings: ManifestSettings,
    ) -> None:
        self.log = log
        self._bus = bus
        self._memory = memory
        self._clock, self._ids = outside
        self._rules = rules
        self._settings = settings
        self._order = LessonOrder()

    def build(self, wish: ManifestRequest, *, by: Context) -> Manifest:
        """Build a manifest for the acting principal, and record it.

        Raises:
            Invalid: no status was given, or an unknown one.
        """
        if not wish.statuses:
            raise Invalid("no status was asked for", hint="Name at least one, such as active.")
        statuses = [parse_status(name).value for name in wish.statuses]
        now = self._clock.now()
        with self.log.reading() as reader:
            who = _narrow(load_viewer(reader, by.actor), wish.scopes)
            found = self._collect(reader, who, wish, statuses)
        self._add_memories(found, wish, by)
        assembled = self._assemble(found, wish, by)
        context_id = self._ids.new("ctx")
        shown = included_keys(assembled)
        ids = tuple(each.lesson.lesson_id for each in found.lessons if wish.record)
        seen = ShowManifest(tuple(each for each in ids if each in shown), context_id)
        failures = self._record(KeepContext(context_id, assembled.ledger), seen, by)
        return build_manifest(
            found, assembled, context_id, BuildRecord(now, failures, self._preview_length(wish))
        )

    def _collect(
        self, reader: Reader, who: Viewer, wish: ManifestRequest, statuses: Sequence[str]
    ) -> ManifestCandidates:
        found = ManifestCandidates()
        limit = self._settings.lessons if wish.lesson_limit is None else wish.lesson_limit
        sight = self.log.sight(reader)
        positions, found.listed = self._order.first(reader, sight, who, statuses, limit)
        standings: dict[str, GateSummary] = {}
        if wish.gate:
            for case in load_gate_cases(reader, positions, self._clock.now()):
                reasons = tuple(each.message for each in violations(case, self._rules))
                standings[case.lesson_id] = GateSummary("block" if reasons else "promote", reasons)
        for lesson in load_lessons(reader, positions):
            preview = single_line(lesson.body)[: self._preview_length(wish)]
            found.lessons.append(ManifestLesson(lesson, preview, standings.get(lesson.lesson_id)))
        found.gate_skips = len(positions) - len(standings) if wish.gate else 0
        named = {"skill": wish.skills, "persona": wish.personas, "team": wish.teams}
        for sort in PLURALS:
            used = entry_summaries(reader, who, sort, ("active",))
            found.crew[sort], stale = select_entries(used, named[sort], wish.paths)
            found.stale += stale
        return found

    def _add_memories(self, found: ManifestCandidates, wish: ManifestRequest, by: Context) -> None:
        """Add memories that match the query. If the search fails, the rest is unaffected."""
        if not wish.memory_query.strip():
            return
        limit = self._settings.memories if wish.memory_limit is None else wish.memory_limit
        asked = SearchQuery(
            wish.memory_query,
            limit,
            wish.memory_mode,
            wish.memory_only,
            wish.memory_similarity_min,
        )
        try:
            answer = self._memory().recall(by.actor, asked)
        except EverloopError as problem:
            found.memory_failures = 1
            found.notes = (f"Memory could not be searched: {problem}",)
        else:
            found.memories = list(answer.hits)
            found.notes = answer.notes

    def _assemble(
        self, found: ManifestCandidates, wish: ManifestRequest, by: Context
    ) -> AssembledPrompt:
        most = self._settings.tokens_max
        budget = TokenBudget(min(self._settings.tokens, most), most)
        parts = manifest_sections(found, self._preview_length(wish))
        return assemble_prompt(parts, budget, principal=by.actor, tokens=_CACHED_ESTIMATE)

    def _record(self, context: KeepContext, seen: ShowManifest, by: Context) -> int:
        """Record the ledger and what was shown; returns how many lessons the latter failed for.

        Both share one commit. Without its ledger, no manifest is returned.
        """
        try:
            self._bus.do_many([context, seen] if seen.lesson_ids else [context], by=by)
        except EverloopError:
            self._bus.do_many([context], by=by)
            return len(seen.lesson_ids)
        return 0

    def _preview_length(self, wish: ManifestRequest) -> int:
        asked = wish.preview_characters
        return self._settings.preview_characters if asked is None else asked


def _narrow(who: Viewer, scopes: Sequence[str]) -> Viewer:
    """The asker, limited to these scopes; without any, unchanged."""
    if not scopes:
        return who
    return Viewer("", tuple(scope for scope in scopes if who.has_scope(scope)))
