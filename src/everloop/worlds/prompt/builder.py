"""Builds the prompt of a turn: the speaker's point of view, what it recalls, and a ledger of both.

The same builder shows a prompt that was not sent yet, and, from an earlier state of the log, the
one behind a reply.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Protocol

from everloop.log import Log, Reader
from everloop.memory.model.events import Ledger, LedgerEntry, LedgerSection
from everloop.memory.token_counts import ESTIMATE
from everloop.worlds.message_parsing import told_text
from everloop.worlds.model.checks import existing_world, require_scene
from everloop.worlds.model.state import WORLD, World, world_stream
from everloop.worlds.model.values import NARRATOR, PLAYER, CharacterSheet
from everloop.worlds.prompt.assemble import PromptLimits, WorldPrompt, assemble
from everloop.worlds.prompt.point_of_view import (
    KnownText,
    PointOfView,
    ViewLimits,
    point_of_view,
)
from everloop.worlds.prompt.segments import Segment, Tier
from everloop.worlds.queries import find_character
from everloop.worlds.settings import WorldSettings

CUE_MESSAGES = 2  # newest messages whose words are searched for
TIERS = {Tier.MUST: "must", Tier.SHOULD: "should", Tier.NICE: "nice"}


class RecallForWitness(Protocol):
    """How a person of a world recalls what they witnessed."""

    def __call__(self, view: PointOfView, cue: str, *, branch: str | None) -> list[KnownText]:
        """What someone remembers about a cue, the best first."""
        ...


class WorldPromptBuilder:
    """Builds prompts of one log's worlds."""

    def __init__(self, log: Log, recall: RecallForWitness, limits: WorldSettings) -> None:
        self._log, self._recall, self._limits = log, recall, limits

    def build(
        self,
        world_id: str,
        speaker: str,
        *,
        branch: str | None = None,
        direction: str = "",
        without: str = "",
    ) -> WorldPrompt:
        """The prompt for the next reply of someone, without one message if it is named."""
        limits = self._limits
        view_limits = ViewLimits(limits.dialogue_messages, limits.summaries, limits.offstage)
        state = self._log.state(WORLD, world_stream(world_id), branch=branch)
        known = existing_world(state, world_id)
        scene = require_scene(known)
        with self._log.reading(branch=branch) as reader:
            view = point_of_view(
                reader, world_id, known, scene, speaker, limits=view_limits, without=without
            )
            sheet = _sheet(reader, known, speaker)
        memories = self._recall(view, _cue(view), branch=branch)
        return assemble(view, sheet, memories, self.budget, ESTIMATE, direction)

    @property
    def budget(self) -> PromptLimits:
        """How long a prompt may be."""
        limits = self._limits
        hard = max(limits.context_soft, limits.context_hard)
        return PromptLimits(limits.context_soft, hard, limits.lore_tokens, limits.dialogue_messages)

    def ledger(self, made: WorldPrompt) -> Ledger:
        """What a prompt was made of, as the log keeps it."""
        return Ledger(
            principal=made.speaker,
            tokens=made.fitted.tokens,
            soft=self._limits.context_soft,
            hard=self._limits.context_hard,
            counted_by=ESTIMATE.name,
            exact=ESTIMATE.exact,
            sections=tuple(_sections(made)),
        )


def _cue(view: PointOfView) -> str:
    """What the newest messages say, which memory is searched for."""
    said = [told_text(one.passages) for one in view.messages[-CUE_MESSAGES:]]
    return " ".join(text for text in said if text)


def _sheet(reader: Reader, world: World, speaker: str) -> CharacterSheet:
    if speaker == PLAYER:
        return CharacterSheet(world.player_name, world.player_description)
    if speaker == NARRATOR:
        return CharacterSheet("the narrator")
    return find_character(reader, speaker).sheet


def _sections(made: WorldPrompt) -> Iterable[LedgerSection]:
    offered = [(one, "") for one in made.fitted.kept]
    offered += [(one.segment, one.why) for one in made.fitted.dropped]
    order = {kind: number for number, kind in enumerate(dict.fromkeys(o[0].kind for o in offered))}
    offered.sort(key=lambda pair: order[pair[0].kind])
    for kind, group in groupby(offered, key=lambda pair: pair[0].kind):
        found = list(group)
        used = sum(segment.tokens for segment, why in found if not why)
        tier = TIERS[min(segment.tier for segment, _ in found)]
        yield LedgerSection(kind, tier, used, 0, tuple(_entries(found)))


def _entries(found: list[tuple[Segment, str]]) -> Iterable[LedgerEntry]:
    for number, (segment, why) in enumerate(found):
        reason = f" ({segment.reason})" if segment.reason else ""
        key = f"{segment.kind} {number + 1}{reason}"
        yield LedgerEntry(key, segment.tokens, segment.positions, why)
