"""Assembling the prompt of a character: from its sheet and its point of view, within a budget.

What is stable comes first (style, identity, what it remembers of earlier scenes, the dialogue),
what changes with every turn last, inside the newest message. Segments are left out in the order of
`Tier` and `drop`: previous scenes, further memories, older dialogue; then the others' activities,
the group, lore, other relationships; never identity, the relationship to whom one speaks, the scene
or the last four messages. Before that, earlier scenes take the place of older dialogue, so that a
prompt does not grow with its story: see `dialogue`.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec

from everloop.ports import Message, Prompt, Text
from everloop.worlds.message_parsing import directions
from everloop.worlds.model.values import NARRATOR, PLAYER, CharacterSheet, Edge
from everloop.worlds.prompt.dialogue import dialogue, limit_own
from everloop.worlds.prompt.ended_props import forget_props
from everloop.worlds.prompt.lore import activate_lore
from everloop.worlds.prompt.point_of_view import KnownText, PointOfView
from everloop.worlds.prompt.segments import FittedSegments, Segment, Tier, fit

MEMORIES_FIRST: Final = 2
STABLE: Final = ("style", "identity", "instructions", "voice", "summary", "offstage")
RULES: Final = """\
You tell one part in a story that others write with you. Write only what {name} says and does, in \
the third person, and stop when it is another's turn. You know what {name} knows: what is written \
here, and nothing else. Never speak or act for {others}."""
NARRATION: Final = """\
You are the narrator of a story that others write with you. Describe in two or three sentences \
what everyone present can see and hear, and stop. You know what is written here, and nothing \
else. Never speak, act or decide for {others}."""


class PromptLimits(msgspec.Struct, frozen=True):
    """How many tokens a prompt may have, how many its lore, and how many messages of the scene."""

    soft: int = 6_000
    hard: int = 8_000
    lore: int = 800
    messages: int = 60


class WorldPrompt(msgspec.Struct, frozen=True):
    """A prompt, with the segments it was made of and those that were left out."""

    prompt: Prompt
    fitted: FittedSegments
    speaker: str

    @property
    def background(self) -> str:
        """All that the speaker is told beside the dialogue, but for samples of their own speech."""
        told = (one.text for one in self.fitted.kept if one.kind not in ("dialogue", "voice"))
        return "\n".join(told)


def assemble(
    view: PointOfView,
    sheet: CharacterSheet,
    memories: Sequence[KnownText],
    limits: PromptLimits,
    count: Callable[[str], int],
    direction: str = "",
) -> WorldPrompt:
    """The prompt for the next reply of a character, or of the narrator."""
    past = list(_past(view))
    said = dialogue(view, limits.messages, sum(count(one.text) for one in past), count)
    own_most = int(view.world.style.own_prose_share * limits.soft)
    offered = [
        *_character(view, sheet),
        *past,
        *limit_own(said.lines, view.who, own_most, count),
        *_situation(view),
        *_relations(view),
        *_story(view),
        *_memories(memories),
        *activate_lore(view, limits.lore, count),
        *_closing(view, sheet, direction),
    ]
    fitted = fit(list(forget_props(offered, view)), limits.soft, limits.hard, count)
    fitted = msgspec.structs.replace(fitted, dropped=(*said.left_out, *fitted.dropped))
    return WorldPrompt(_prompt(view, fitted), fitted, view.who)


def addressee(view: PointOfView) -> str:
    """To whom a reply goes: whoever spoke last, or the player."""
    others = [one.speaker for one in view.messages if one.speaker in view.names]
    last = next((each for each in reversed(others) if each != view.who), "")
    return last or next((each for each in view.names if each != view.who), PLAYER)


# -- what is stable --------------------------------------------------------------------------------


def _character(view: PointOfView, sheet: CharacterSheet) -> Iterator[Segment]:
    others = " or ".join(name for who, name in view.names.items() if who != view.who) or "others"
    rules = (NARRATION if view.who == NARRATOR else RULES).format(name=view.name, others=others)
    style = view.world.style.prose
    yield Segment("style", f"{rules}\n{style}".strip(), Tier.MUST, reason="how the world is told")
    if view.who == NARRATOR:
        return
    lines = [f"You are {view.name}.", sheet.description, sheet.personality]
    if sheet.traits:
        lines.append(f"Traits: {', '.join(sheet.traits)}.")
    identity = _fill(view, "\n".join(line for line in lines if line))
    yield Segment("identity", identity, Tier.MUST, reason="the speaker's own sheet")
    if view.world.style.card_instructions and sheet.instructions:
        yield Segment("instructions", _fill(view, sheet.instructions), Tier.SHOULD, drop=5)
    if sheet.voice_samples:
        samples = _fill(view, "\n\n".join(sheet.voice_samples))
        yield Segment("voice", f"How {view.name} speaks:\n{samples}", Tier.SHOULD, drop=10)


def _past(view: PointOfView) -> Iterator[Segment]:
    for number, summary in enumerate(reversed(view.summaries)):
        tier, drop = (Tier.SHOULD, 15) if number == 0 else (Tier.NICE, 1_000 + number)
        text = f"An earlier scene, as {view.name} remembers it: {summary.text}"
        yield Segment("summary", text, tier, summary.positions, "seen in person", drop)
    for number, memory in enumerate(reversed(view.offstage)):
        text = f"Meanwhile, {view.name} lived through this: {memory.text}"
        yield Segment("offstage", text, Tier.NICE, memory.positions, "lived through", 990 + number)


# -- what changes ----------------------------------------------------------------------------------


def _situation(view: PointOfView) -> Iterator[Segment]:
    place = view.world.places.get(view.scene.place_id)
    lines = [f"Time: {_time(view.world.clock)}.", f"Place: {place.name if place else 'unknown'}."]
    if place and place.description:
        lines.append(place.description)
    if view.scene.weather:
        lines.append(f"Weather: {view.scene.weather}.")
    if view.premise:
        lines.append(view.premise)
    lines.append(f"Present: {', '.join(view.names.values())}.")
    yield Segment("scene", "\n".join(lines), Tier.MUST, (view.scene.position,), "present")
    drops = {view.who: (Tier.MUST, 0), PLAYER: (Tier.SHOULD, 70)}
    for who in view.names:
        text = _activity(view, who)
        tier, drop = drops.get(who, (Tier.SHOULD, 90))
        if text:
            yield Segment("activity", text, tier, (), "seen now", drop)
    if text := _condition(view):
        yield Segment("condition", text, Tier.MUST, (), "the speaker's own state")


def _activity(view: PointOfView, who: str) -> str:
    activity, name = view.activities[who], view.names[who]
    held = tuple(dict.fromkeys((*activity.holding, *view.holdings[who])))
    parts = [
        activity.whereabouts if activity.where else "",
        activity.doing,
        f"has {', '.join(held)}" if held else "",
        f"attends to {activity.attention}" if activity.attention else "",
        f"looks {activity.expression}" if activity.expression else "",
    ]
    said = ", ".join(part for part in parts if part)
    return f"{name} now: {said}." if said else ""


def _condition(view: PointOfView) -> str:
    condition = view.condition
    parts = [
        f"{view.name} is in this mood: {condition.mood}." if condition.mood else "",
        f"{view.name} wants: {'; '.join(condition.goals)}." if condition.goals else "",
        f"The matter with {view.name}: {condition.status}." if condition.status else "",
    ]
    return " ".join(part for part in parts if part)


def _relations(view: PointOfView) -> Iterator[Segment]:
    nearest = addressee(view)
    for who, edge in view.edges.items():
        if text := _edge(view, who, edge):
            must = who == nearest
            tier, drop = (Tier.MUST, 0) if must else (Tier.SHOULD, 60)
            yield Segment("edge", text, tier, (), f"how {view.name} feels", drop)
    if view.world.group and len(view.world.cast) > 1 and len(view.names) > len(view.world.cast):
        yield Segment("group", view.world.group, Tier.SHOULD, (), "shared by the three", 80)


def _edge(view: PointOfView, who: str, edge: Edge) -> str:
    if edge == Edge():
        return ""
    name = view.names[who]
    known = f" {view.name} knows of {name}: {' '.join(edge.facts)}" if edge.facts else ""
    feelings = f"affinity {edge.affinity:+d}, trust {edge.trust:+d} of 100"
    return f"{view.name} towards {name}: {feelings}. {edge.summary}{known}".strip()


def _story(view: PointOfView) -> Iterator[Segment]:
    if view.digest is not None:
        text = f"Before, without {view.world.player_name}: {view.digest.text}"
        yield Segment("digest", text, Tier.SHOULD, view.digest.positions, "was there", 50)
    for plot in view.plots:
        text = f"Unresolved: {plot.title}. {plot.summary}".strip()
        yield Segment("plot", text, Tier.SHOULD, (plot.position,), "knows of it", 40)
    for event_id, event in view.events:
        props = [prop.name for prop in view.world.props.values() if prop.event_id == event_id]
        with_props = f" With it: {', '.join(props)}." if props and event.status == "active" else ""
        text = f"{event.status.title()}: {event.title}. {event.gist}{with_props}"
        yield Segment("event", text, Tier.SHOULD, (event.position,), "knows of it", 30)


def _memories(memories: Sequence[KnownText]) -> Iterator[Segment]:
    for rank, memory in enumerate(memories):
        tier, drop = (Tier.SHOULD, 20) if rank < MEMORIES_FIRST else (Tier.NICE, 900 + rank)
        text = f"Remembered: {memory.text}"
        yield Segment("memory", text, tier, memory.positions, "recalled", drop)


def _closing(view: PointOfView, sheet: CharacterSheet, direction: str) -> Iterator[Segment]:
    if view.world.note.text:
        yield Segment("note", view.world.note.text, Tier.MUST, reason="the author's note")
    newest = view.messages[-1] if view.messages and view.up_to_date else None
    if newest is not None and newest.speaker == PLAYER and (said := directions(newest.passages)):
        text = f"The player asks, outside the story: {said}"
        yield Segment("direction", text, Tier.MUST, (newest.position,), "for the teller alone")
    if direction:
        text = f"The player asks, outside the story: {direction}"
        yield Segment("direction", text, Tier.MUST, (), "for the teller alone")
    if view.world.style.card_instructions and sheet.closing_instructions:
        closing = _fill(view, sheet.closing_instructions)
        yield Segment("closing", closing, Tier.SHOULD, drop=5)
    task = (
        "Write what happens next, as everyone present can see and hear it."
        if view.who == NARRATOR
        else f"Write what {view.name} says and does next."
    )
    yield Segment("task", task, Tier.MUST)


def _prompt(view: PointOfView, fitted: FittedSegments) -> Prompt:
    """The stable segments as the system prompt, the dialogue as messages, the rest at the end."""
    system = "\n\n".join(one.text for one in fitted.kept if one.kind in STABLE)
    messages: list[tuple[str, str]] = []
    if any(one.segment.kind == "dialogue" for one in fitted.dropped):
        messages.append(("user", "[Earlier parts of this scene are left out.]"))
    messages += [
        ("assistant" if one.speaker == view.who else "user", one.text)
        for one in fitted.kept
        if one.kind == "dialogue"
    ]
    rest = [one.text for one in fitted.kept if one.kind not in (*STABLE, "dialogue")]
    messages.append(("user", "[" + "\n".join(rest) + "]"))
    return Prompt(tuple(_merged(messages)), system)


def _merged(lines: Sequence[tuple[str, str]]) -> Iterator[Message]:
    """Messages that alternate: lines of one role in a row become one."""
    role, texts = "", list[str]()
    for next_role, text in lines:
        if texts and next_role != role:
            yield _message(role, texts)
            texts = []
        role = next_role
        texts.append(text)
    if texts:
        yield _message(role, texts)


def _message(role: str, texts: Sequence[str]) -> Message:
    return Message("assistant" if role == "assistant" else "user", (Text("\n".join(texts)),))


def _fill(view: PointOfView, text: str) -> str:
    """The text with the names of the character and the player in place of their macros."""
    filled = text
    for macro, name in (
        ("{{char}}", view.name),
        ("<BOT>", view.name),
        ("{{user}}", view.world.player_name),
        ("<USER>", view.world.player_name),
    ):
        filled = _replace(filled, macro, name)
    return filled


def _replace(text: str, macro: str, name: str) -> str:
    low, at, out = text.lower(), 0, list[str]()
    while (found := low.find(macro.lower(), at)) >= 0:
        out += [text[at:found], name]
        at = found + len(macro)
    return "".join([*out, text[at:]])


def _time(clock: str) -> str:
    return datetime.fromisoformat(clock).strftime("%A, %d %B %Y, %H:%M")
