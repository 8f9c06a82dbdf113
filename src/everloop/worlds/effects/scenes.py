"""Closed scenes and time jumps: one summary per witness, made of what that witness saw.

Rewrites relationships from each side, sums up what a meanwhile-scene comes to, and gives everyone a
memory of the time that was skipped. Without a model, or when it fails, summaries are made by
extraction: the beginning of what the player said and what was noted.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec

from everloop.errors import EverloopError, ModelFailed, Rejected
from everloop.log import Command, CommandBus, Context, Log, Reader
from everloop.memory.token_counts import estimate_tokens
from everloop.worlds.effects.names import find_person
from everloop.worlds.effects.read import GROUP, OFFSTAGE, SCENE, Readings, script
from everloop.worlds.effects.schema import OffstageReading, SceneReading
from everloop.worlds.message_parsing import told_text
from everloop.worlds.model import commands as c
from everloop.worlds.model import events as e
from everloop.worlds.model import story_commands as s
from everloop.worlds.model import story_events as v
from everloop.worlds.model.checks import display_name
from everloop.worlds.model.state import WORLD, World, world_stream
from everloop.worlds.model.values import PLAYER
from everloop.worlds.queries import (
    StoryMessage,
    TimelineEntry,
    newest_entries,
    opening_clock,
    scene_effects,
    scene_entries,
    story_messages,
    timeline,
)
from everloop.worlds.settings import WorldSettings
from everloop.worlds.witness_memory import EVENT as EVENT_KIND
from everloop.worlds.witness_memory import FACT as FACT_KIND
from everloop.worlds.witness_memory import OFFSTAGE as OFFSTAGE_KIND
from everloop.worlds.witness_memory import SCENE as SCENE_KIND
from everloop.worlds.witness_memory import WitnessMemory, event_memory_id, new_memory

ENGINE = Context(actor="engine")
MESSAGES_MAX = 2_000  # of a scene that are read
TRANSCRIPT_TOKENS = 3_000  # of a scene that a model is shown; its middle is left out
DIGEST_MAX = 200
EVENT_SIGNIFICANCE = 1  # notable: it had a beginning and an end
RELATIONSHIP_MAX = 1_000
SUMMARY_MAX = 1_900
FACTS_MAX = 20
KNOWN_SUMMARIES = 3


class ClosedScene(msgspec.Struct, frozen=True):
    """A closed scene with its messages and those who witnessed some of it."""

    world_id: str
    scene_id: str
    closed_at: int
    messages: tuple[StoryMessage, ...]
    witnesses: tuple[str, ...]
    because: tuple[int, ...]
    place: str
    meanwhile: bool


class SceneEffects:
    """Sums up what ended: scenes and stretches of time that were skipped."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        readings: Readings,
        memory: WitnessMemory,
        settings: WorldSettings,
    ) -> None:
        self._log, self._bus, self._readings = log, bus, readings
        self._memory, self._settings = memory, settings

    def sum_up(self, world_id: str, scene_id: str) -> int:
        """Give a closed scene the summaries that it lacks; returns how many were made."""
        with self._log.reading() as reader:
            scene = closed_scene(reader, self._world(world_id), world_id, scene_id)
            missing = _lacking(reader, scene) if scene else ()
            digests = scene_entries(reader, world_id, scene_id, ("digest_recorded",))
        if scene is None:
            return 0
        for witness in missing:
            with suppress(Rejected):  # someone left the cast, or the scene is open again
                self._sum_up_for(scene, witness)
        if missing:
            with suppress(Rejected):
                self._sum_up_for_all(scene, digested=bool(digests))
        return len(missing)

    def remember_jump(self, world_id: str, jump: TimelineEntry) -> int:
        """Give all who were in the story a memory of skipped time; returns how many."""
        world = self._world(world_id)
        with self._log.reading() as reader:
            known = {
                one.subject
                for one in timeline(reader, world_id, ("offstage_remembered",), after=jump.position)
            }
            before = _clock_before(reader, world_id, jump)
            people = [who for who in world.people if _was_in_it(reader, world_id, who, jump)]
            views = {
                who: [
                    (one.position, one.event.text)
                    for one in newest_entries(
                        reader, world_id, "scene_summarised", who, limit=KNOWN_SUMMARIES
                    )
                    if isinstance(one.event, e.SceneSummarised)
                ]
                for who in people
            }
        assert isinstance(jump.event, v.TimeJumped)
        made = 0
        for who in people:
            if who not in known:
                span = _span(before, jump.event.clock)
                known_texts = [text for _, text in views[who]]
                text = self._offstage_text(world, who, span, jump.event.narration, known_texts)
                because = (jump.position, *(position for position, _ in views[who]))
                self._remember_offstage(world_id, world, who, text, because)
                made += 1
        return made

    def remember_event(self, world_id: str, ended: TimelineEntry) -> None:
        """Remember what a finished event comes to, for those who were there; its props are gone."""
        done = ended.event
        if not isinstance(done, v.EventCompleted) or not done.gist.strip():
            return
        item = new_memory(
            world_id,
            event_memory_id(ended.position),
            done.gist,
            kind=EVENT_KIND,
            witnesses=done.witnesses,
            clock=self._world(world_id).clock,
            because=(ended.position,),
        )
        with suppress(Rejected):  # it is remembered
            self._memory.store([item], EVENT_SIGNIFICANCE)

    # -- scenes ------------------------------------------------------------------------------------

    def _sum_up_for(self, scene: ClosedScene, witness: str) -> None:
        world = self._world(scene.world_id)
        seen = [one for one in scene.messages if witness in one.witnesses]
        reading = self._read_scene(world, scene, seen, witness)
        because = scene.because
        told = [f"{each.target}: {each.summary}" for each in reading.relationships if each.summary]
        summary = c.SummariseScene(
            scene.world_id,
            scene.scene_id,
            witness,
            reading.summary[:SUMMARY_MAX],
            tuple(each[:500] for each in reading.learned[:FACTS_MAX] if each.strip()),
            " ".join(told)[:RELATIONSHIP_MAX],
            because,
        )
        recorded = self._bus.do(summary, by=ENGINE)
        if not recorded.facts:
            return
        root = recorded.position
        texts = [(SCENE_KIND, summary.text), *((FACT_KIND, each) for each in summary.learned)]
        self._memory.store(
            [
                new_memory(
                    scene.world_id,
                    self._log.ids.new("mem"),
                    text,
                    kind=kind,
                    witnesses=(witness,),
                    clock=world.clock,
                    scene_id=scene.scene_id,
                    because=(root,),
                )
                for kind, text in texts
            ]
        )
        for command in _rewrites(scene.world_id, world, witness, scene.witnesses, reading, root):
            with self._log.reading() as reader:
                rewrite = _with_previous(reader, command)
            with suppress(EverloopError):
                self._bus.do(rewrite, by=ENGINE)

    def _read_scene(
        self, world: World, scene: ClosedScene, seen: Sequence[StoryMessage], witness: str
    ) -> SceneReading:
        name = display_name(world, witness)
        if self._readings.available:
            text = f"Place: {scene.place}.\n\n" + "\n".join(_within(script(world, seen)))
            with suppress(ModelFailed):
                found = self._readings.ask(SCENE.format(name=name), text, SceneReading)
                if found.summary.strip():
                    return found
        plain = extract_summary(world, scene.place, seen, self._settings.summary_tokens)
        return SceneReading(plain)

    def _sum_up_for_all(self, scene: ClosedScene, *, digested: bool) -> None:
        """The digest of a meanwhile-scene, and what the three are to each other now."""
        if scene.meanwhile and not digested:
            self._digest(scene)
        world = self._world(scene.world_id)
        if len(world.cast) < 2 or not set(world.people) <= set(scene.witnesses):
            return
        if self._readings.available:
            shared = [one for one in scene.messages if set(world.people) <= set(one.witnesses)]
            with self._log.reading() as reader:
                before = newest_entries(reader, scene.world_id, "group_rewritten", limit=1)
            because = (*scene.because, *(one.position for one in before))
            lines = [world.group, *_within(script(world, shared))]
            with suppress(ModelFailed):
                said = self._readings.ask(GROUP, "\n".join(lines), OffstageReading).text
                if said.strip():
                    rewrite = c.RewriteGroup(scene.world_id, said[:RELATIONSHIP_MAX], because)
                    self._bus.do(rewrite, by=ENGINE)

    def _digest(self, scene: ClosedScene) -> None:
        world = self._world(scene.world_id)
        shared = [one for one in scene.messages if set(scene.witnesses) <= set(one.witnesses)]
        lines = script(world, shared)
        names = " and ".join(display_name(world, who) for who in scene.witnesses)
        first = lines[0] if lines else "they met"
        text = f"{names} at {scene.place}: {first}"
        if self._readings.available:
            system = "Sum up this scene in one sentence of at most 25 words, past tense, no quotes."
            with suppress(ModelFailed):
                body = "\n".join(_within(lines))
                text = self._readings.ask(system, body, OffstageReading).text or text
        digest = c.RecordDigest(scene.world_id, scene.scene_id, text[:DIGEST_MAX], scene.because)
        self._bus.do(digest, by=ENGINE)

    # -- time --------------------------------------------------------------------------------------

    def _offstage_text(
        self, world: World, who: str, span: str, narration: str, known: Sequence[str]
    ) -> str:
        name = display_name(world, who)
        if self._readings.available and who != PLAYER:
            text = "\n".join((*known, narration)).strip() or f"{name} knows nothing special."
            with suppress(ModelFailed):
                found = self._readings.ask(
                    OFFSTAGE.format(span=span, name=name), text, OffstageReading
                )
                if found.text.strip():
                    return found.text.strip()[:SUMMARY_MAX]
        told = f" {narration}" if narration else ""
        return f"{span[:1].upper()}{span[1:]} went by for {name}.{told}"

    def _remember_offstage(
        self, world_id: str, world: World, who: str, text: str, because: tuple[int, ...]
    ) -> None:
        command = s.RememberOffstage(world_id, who, " ".join(text.split()), because)
        recorded = self._bus.do(command, by=ENGINE)
        item = new_memory(
            world_id,
            self._log.ids.new("mem"),
            " ".join(text.split()),
            kind=OFFSTAGE_KIND,
            witnesses=(who,),
            clock=world.clock,
            because=(recorded.position,),
        )
        self._memory.store([item])

    def _world(self, world_id: str) -> World:
        world = self._log.state(WORLD, world_stream(world_id))
        assert world is not None, "it has scenes"
        return world


def closed_scene(reader: Reader, world: World, world_id: str, scene_id: str) -> ClosedScene | None:
    """A closed scene; None if it is open or unknown."""
    entries = scene_entries(
        reader, world_id, scene_id, ("scene_opened", "presence_changed", "scene_closed")
    )
    closed = [one for one in entries if isinstance(one.event, e.SceneClosed)]
    opened = [one.event for one in entries if isinstance(one.event, e.SceneOpened)]
    if not closed or not opened:
        return None
    present = list(dict.fromkeys(_present(entries)))
    said = story_messages(reader, world_id, scene_id=scene_id, limit=MESSAGES_MAX)
    told = tuple(one for one in said if one.counts and not one.hidden)
    witnesses = dict.fromkeys(who for one in told for who in one.witnesses)
    read = scene_effects(reader, world_id, scene_id)
    return ClosedScene(
        world_id,
        scene_id,
        closed[-1].position,
        told,
        tuple(witnesses),
        tuple(dict.fromkeys((closed[-1].position, *read.values()))),
        place.name if (place := world.places.get(opened[0].place_id)) else "some place",
        PLAYER not in present,
    )


def extract_summary(world: World, place: str, seen: Sequence[StoryMessage], tokens_max: int) -> str:
    """A plain summary without a model: who met where, and the first words of what was said."""
    names = dict.fromkeys(display_name(world, one.speaker) for one in seen if one.speaker)
    lines = [f"At {place}, with {', '.join(names)}."]
    left = tokens_max - estimate_tokens(lines[0])
    for one in seen:
        text = told_text(one.passages)
        if one.versions or not text:  # what a model wrote is not repeated
            continue
        line = f"{display_name(world, one.speaker)}: {text[:160]}"
        left -= estimate_tokens(line)
        if left < 0:
            break
        lines.append(line)
    return " ".join(lines)


def _rewrites(
    world_id: str,
    world: World,
    witness: str,
    among: Sequence[str],
    reading: SceneReading,
    root: int,
) -> Iterator[Command]:
    """Relationships of a witness, as it sees them now; facts that it knew stay known."""
    if witness not in world.cast:
        return
    for each in reading.relationships:
        target = find_person(world, each.target)
        if target in among and target != witness and (each.summary or each.facts):
            edge = world.edge(witness, target)
            facts = tuple(dict.fromkeys((*edge.facts, *each.facts[:FACTS_MAX])))
            summary = each.summary or edge.summary
            yield c.RewriteEdge(world_id, witness, target, summary, facts, (root,))


def _with_previous(reader: Reader, command: Command) -> Command:
    """A rewrite that also depends on the one before it, whose facts it keeps."""
    if not isinstance(command, c.RewriteEdge):
        return command
    edge = f"{command.source}>{command.target}"
    before = newest_entries(reader, command.world_id, "edge_rewritten", edge, limit=1)
    because = (*command.because, *(one.position for one in before))
    return msgspec.structs.replace(command, because=because)


def _lacking(reader: Reader, scene: ClosedScene) -> tuple[str, ...]:
    made = scene_entries(reader, scene.world_id, scene.scene_id, ("scene_summarised",))
    known = {one.subject for one in made}
    return tuple(who for who in scene.witnesses if who not in known)


def _present(entries: Sequence[TimelineEntry]) -> Iterator[str]:
    for one in entries:
        if isinstance(one.event, e.SceneOpened | e.PresenceChanged):
            yield from one.event.present


def _within(lines: Sequence[str]) -> list[str]:
    """Lines that fit: the first and the last ones, with a gap between them."""
    half, first, last = TRANSCRIPT_TOKENS // 2, list[str](), list[str]()
    spent = 0
    for line in lines:
        spent += estimate_tokens(line)
        if spent > half:
            break
        first.append(line)
    spent = 0
    for line in reversed(lines[len(first) :]):
        spent += estimate_tokens(line)
        if spent > half:
            return [*first, "[…]", *last]
        last.insert(0, line)
    return [*first, *last]


def _was_in_it(reader: Reader, world_id: str, who: str, jump: TimelineEntry) -> bool:
    """Whether someone was in the cast when time jumped; the player always is."""
    moves = [
        one.kind
        for one in timeline(reader, world_id, ("cast_joined", "cast_left"))
        if one.subject == who and one.position < jump.position
    ]
    return who == PLAYER or moves[-1:] == ["cast_joined"]


def _clock_before(reader: Reader, world_id: str, jump: TimelineEntry) -> str:
    """The clock before a jump."""
    times = [
        one.event.clock
        for one in timeline(reader, world_id, ("time_elided", "time_jumped"))
        if one.position < jump.position and isinstance(one.event, v.TimeElided | v.TimeJumped)
    ]
    return times[-1] if times else opening_clock(reader, world_id)


def _span(before: str, after: str) -> str:
    """How long it was, in words."""
    if not before:
        return "some time"
    hours = (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds() / 3600
    if hours < 36:
        return f"about {max(1, round(hours))} hours"
    return f"about {round(hours / 24)} days"
