"""The herald: puts manifests together, in one call that is cheap enough for every turn.

Everything is as the asking principal may see it. The ledger of what was shown, and of what did not
fit, is kept. Being shown is recorded as being shown, and never as being used.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from everloop.errors import EverloopError, Invalid
from everloop.lessons.crew.queries import headlines
from everloop.lessons.gate.case_queries import cases
from everloop.lessons.gate.checks import violations
from everloop.lessons.manifest.manifest import (
    PLURALS,
    Found,
    GateNote,
    Manifest,
    ShownLesson,
    Took,
    Wish,
    chosen,
    flat,
    kept,
    manifest_of,
    sections,
)
from everloop.lessons.manifest.settings import ManifestSettings
from everloop.lessons.model.commands import ShowManifest
from everloop.lessons.projections.order import LessonOrder
from everloop.lessons.projections.queries import load, status_of
from everloop.lessons.settings import GateRules
from everloop.log import Context, Log, Reader, Receipt
from everloop.memory.context import Assembled, Budget, assemble
from everloop.memory.model.commands import KeepContext
from everloop.memory.model.scopes import Asker
from everloop.memory.projections.queries import asker
from everloop.memory.retrieval.results import Answer, Asked
from everloop.memory.tokens import ESTIMATE
from everloop.ports import Clock, Ids

DoMany = Callable[..., list[Receipt]]

# Most lines of a manifest are those of the one before, so their tokens are counted once.
_REMEMBERED = replace(ESTIMATE, count=lru_cache(maxsize=4_096)(ESTIMATE.count))


class Recaller(Protocol):
    """What answers questions to memory; the keeper does."""

    def recall(self, principal: str, asked: Asked) -> Answer:
        """Answer a principal's question."""
        ...


class Herald:
    """Puts manifests together, over one log."""

    def __init__(
        self,
        log: Log,
        do_many: DoMany,
        memory: Callable[[], Recaller],
        outside: tuple[Clock, Ids],
        rules: GateRules,
        settings: ManifestSettings,
    ) -> None:
        self.log = log
        self._do_many = do_many
        self._memory = memory
        self._clock, self._ids = outside
        self._rules = rules
        self._settings = settings
        self._order = LessonOrder()

    def manifest(self, wish: Wish, *, by: Context) -> Manifest:
        """What a host's model is told, as its principal may see it.

        Raises:
            Invalid: no status was asked for, or one that there is not.
        """
        if not wish.statuses:
            raise Invalid("no status was asked for", hint="Name at least one, such as active.")
        statuses = [status_of(name).value for name in wish.statuses]
        now = self._clock.now()
        with self.log.reading() as reader:
            who = _narrowed(asker(reader, by.actor), wish.scopes)
            found = self._found(reader, who, wish, statuses)
        self._recall(found, wish, by)
        assembled = self._assembled(found, wish, by)
        context_id = self._ids.new("ctx")
        shown = kept(assembled)
        ids = tuple(each.lesson.lesson_id for each in found.lessons if wish.record)
        seen = ShowManifest(tuple(each for each in ids if each in shown), context_id)
        failures = self._record(KeepContext(context_id, assembled.ledger), seen, by)
        return manifest_of(found, assembled, context_id, Took(now, failures, self._cut(wish)))

    def _found(self, reader: Reader, who: Asker, wish: Wish, statuses: Sequence[str]) -> Found:
        found = Found()
        limit = self._settings.lessons if wish.lesson_limit is None else wish.lesson_limit
        sight = self.log.sight(reader)
        positions, found.listed = self._order.first(reader, sight, who, statuses, limit)
        standings: dict[str, GateNote] = {}
        if wish.gate:
            for case in cases(reader, positions, self._clock.now()):
                reasons = tuple(each.message for each in violations(case, self._rules))
                standings[case.lesson_id] = GateNote("block" if reasons else "promote", reasons)
        for lesson in load(reader, positions):
            preview = flat(lesson.body)[: self._cut(wish)]
            found.lessons.append(ShownLesson(lesson, preview, standings.get(lesson.lesson_id)))
        found.gate_skips = len(positions) - len(standings) if wish.gate else 0
        named = {"skill": wish.skills, "persona": wish.personas, "team": wish.teams}
        for sort in PLURALS:
            used = headlines(reader, who, sort, ("active",))
            found.crew[sort], stale = chosen(used, named[sort], wish.paths)
            found.stale += stale
        return found

    def _recall(self, found: Found, wish: Wish, by: Context) -> None:
        """Memories that fit the question. A memory that fails leaves the rest as it is."""
        if not wish.memory_query.strip():
            return
        limit = self._settings.memories if wish.memory_limit is None else wish.memory_limit
        asked = Asked(
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

    def _assembled(self, found: Found, wish: Wish, by: Context) -> Assembled:
        most = self._settings.tokens_max
        budget = Budget(min(self._settings.tokens, most), most)
        parts = sections(found, self._cut(wish))
        return assemble(parts, budget, principal=by.actor, tokens=_REMEMBERED)

    def _record(self, context: KeepContext, seen: ShowManifest, by: Context) -> int:
        """Keep the ledger, and note what was shown; how many lessons the latter failed for.

        Both share one trip to the disk. Without its ledger, no manifest is given.
        """
        try:
            self._do_many([context, seen] if seen.lesson_ids else [context], by=by)
        except EverloopError:
            self._do_many([context], by=by)
            return len(seen.lesson_ids)
        return 0

    def _cut(self, wish: Wish) -> int:
        asked = wish.preview_characters
        return self._settings.preview_characters if asked is None else asked


def _narrowed(who: Asker, scopes: Sequence[str]) -> Asker:
    """One who sees these scopes alone, as far as `who` may; without any, `who`."""
    if not scopes:
        return who
    return Asker("", tuple(scope for scope in scopes if who.admits(scope)))
