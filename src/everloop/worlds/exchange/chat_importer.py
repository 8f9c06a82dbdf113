"""Makes a world of a chat: its cast, one scene, and every message with its versions."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from everloop.errors import Invalid
from everloop.log import Command
from everloop.worlds.exchange.card_import import CastMember, Importer
from everloop.worlds.exchange.card_lore import character_lore
from everloop.worlds.exchange.formats.chats import (
    BadLine,
    ChatHeader,
    ChatLine,
    WrittenLine,
    read_chat,
    write_message,
)
from everloop.worlds.exchange.formats.json_text import as_text, encode_json
from everloop.worlds.exchange.formats.macros import expand_macros
from everloop.worlds.exchange.import_report import digest_of
from everloop.worlds.exchange.model import commands as x
from everloop.worlds.model import commands as c
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.checks import NAME_MAX, TITLE_MAX
from everloop.worlds.model.state import WORLD, world_stream
from everloop.worlds.model.values import NARRATOR, PLAYER, Place
from everloop.worlds.queries import lore_entries

SOURCE_CHARACTERS_MAX = 300_000  # of what is attached to a message
HERE = Place("imported", "Where the chat takes place")
PLAYER_NAME = "You"


class ChatPlan(msgspec.Struct, frozen=True):
    """How a chat becomes a world. `books` are lorebooks of the library."""

    title: str
    cast: tuple[CastMember, ...]
    player_name: str = ""
    player_description: str = ""
    books: tuple[str, ...] = ()


def import_chat(importer: Importer, content: bytes, name: str, plan: ChatPlan) -> str:
    """Make a world of a chat and return its id.

    Raises:
        Invalid: it has no messages.
    """
    lines = read_chat(content, name, importer.limits)
    header = next(lines, None)
    first = next((one for one in lines if isinstance(one, ChatLine)), None)
    if not isinstance(header, ChatHeader) or first is None:
        raise Invalid(f"{name!r} has no messages", hint="Choose another chat.")
    world_id = f"wld-{digest_of(importer.import_id, name)}"
    if importer.ports.log.state(WORLD, world_stream(world_id)) is None:
        _open_world(importer, world_id, name, plan, (header, first.said_at))
    _import_lines(importer, world_id, name, plan, content)
    importer.worlds.append(world_id)
    return world_id


def _open_world(
    importer: Importer,
    world_id: str,
    name: str,
    plan: ChatPlan,
    begun: tuple[ChatHeader, datetime | None],
) -> None:
    header, at = begun
    log, bus, _, clock = importer.ports
    log.create_tree(world_stream(world_id), actor=importer.by.actor)
    player = (plan.player_name or header.user_name or PLAYER_NAME)[:NAME_MAX]
    first = plan.cast[0].sheet.name if plan.cast else ""
    premise = as_text(header.metadata.get("scenario")) or next(
        (member.sheet.scenario for member in plan.cast if member.sheet.scenario), ""
    )
    opened: list[Command] = [
        c.OpenWorld(
            world_id,
            plan.title[:TITLE_MAX].strip() or first or "Chat",
            player,
            (at or clock.now()).isoformat(),
            plan.player_description,
            (importer.root,),
        ),
        *(c.JoinCast(world_id, one.character_id, one.sheet.name) for one in plan.cast),
        c.DefinePlace(world_id, HERE),
        c.OpenScene(
            world_id,
            f"scn-{digest_of(world_id)}",
            HERE.place_id,
            (PLAYER, *(one.character_id for one in plan.cast)),
            expand_macros(premise, first, player),
        ),
        x.ImportChat(world_id, importer.import_id, name, encode_json(header.raw)),
        *_lore(importer, world_id, plan),
    ]
    bus.do_many(opened, by=importer.by)


def _lore(importer: Importer, world_id: str, plan: ChatPlan) -> Iterator[Command]:
    owner_only = importer.choices.owner_lore
    for member in plan.cast:
        for entry in character_lore(member.character_id, member.sheet, owner_only=owner_only):
            yield s.SetLoreEntry(world_id, entry, (importer.root,))
    with importer.ports.log.reading() as reader:
        for book_id in plan.books:
            for entry in lore_entries(reader, book_id):
                yield s.SetLoreEntry(world_id, entry, (importer.root,))


def _import_lines(
    importer: Importer, world_id: str, name: str, plan: ChatPlan, content: bytes
) -> None:
    speakers = _Speakers(plan.cast)
    batch: list[x.ImportedMessage] = []
    count, told = 0, 0
    for line in read_chat(content, name, importer.limits):
        if isinstance(line, BadLine):
            importer.report.drop(f"{name}, line {line.number}", line.problem)
        elif isinstance(line, ChatLine):
            message = _message(importer, f"{world_id}/{name}", line, speakers)
            batch += [message] if message else []
        if len(batch) >= importer.limits.batch:
            count += _record(importer, world_id, batch)
            step = len(content) * min(count, 10**9) // (count + 10**3)
            importer.advance(max(0, step - told))
            told, batch = max(told, step), []
    count += _record(importer, world_id, batch)
    importer.advance(len(content) - told)
    importer.report.keep(plan.title or name, f"chat with {count:,} messages")
    for who in speakers.narrated:
        importer.report.change(plan.title or name, f"lines of {who} are told by the narrator")


def _record(importer: Importer, world_id: str, batch: Sequence[x.ImportedMessage]) -> int:
    if batch:
        command = x.ImportMessages(world_id, tuple(batch))
        importer.ports.bus.do(command, by=importer.by)
        importer.messages += len(batch)
    return len(batch)


def _message(
    importer: Importer, key: str, line: ChatLine, speakers: "_Speakers"
) -> x.ImportedMessage | None:
    most = importer.limits.message_characters_max
    problem = ""
    if max(len(one) for one in (line.text, *line.swipes)) > most:
        problem = f"longer than {most:,} characters"
    elif len(line.source) > SOURCE_CHARACTERS_MAX:
        problem = "what is attached to it is too large"
    if problem:
        importer.report.drop(f"{key.partition('/')[2]}, line {line.number}", problem)
        return None
    speaker, told_as = speakers.find(line)
    prefix = f"{told_as}: " if told_as else ""
    return x.ImportedMessage(
        f"msg-{digest_of(key, str(line.number))}",
        speaker,
        f"{prefix}{line.text}",
        speakers.witnesses(line, speaker),
        line.said_at.isoformat() if line.said_at else "",
        _with_texts(line) if prefix else line.source,
        tuple(f"{prefix}{one}" for one in line.swipes),
        line.chosen,
        line.hidden,
    )


def _with_texts(line: ChatLine) -> str:
    """The whole JSON of a message whose text is another in the world."""
    whole = WrittenLine(
        line.name, line.is_user, line.text, line.swipes, line.chosen, line.hidden, ""
    )
    return encode_json(write_message(whole, line.source))


class _Speakers:
    """Who says a line, and who witnesses it."""

    def __init__(self, cast: Sequence[CastMember]) -> None:
        self._cast = cast
        self._by_avatar = {one.avatar: one.character_id for one in cast if one.avatar}
        self._by_name: Mapping[str, str] = {
            name.casefold(): one.character_id
            for one in cast
            for name in (one.sheet.nickname, one.sheet.name)
            if name
        }
        self.narrated: dict[str, None] = {}

    def find(self, line: ChatLine) -> tuple[str, str]:
        """The speaker; for someone outside the cast, the narrator and the name to tell it with."""
        if line.is_user:
            return PLAYER, ""
        avatar = line.avatar.rpartition("file=")[2].rpartition("/")[2]
        known = self._by_avatar.get(avatar) or self._by_name.get(line.name.casefold())
        if known:
            return known, ""
        if line.hidden or not line.name:
            return NARRATOR, ""
        if len(self._cast) == 1 and not avatar:
            return self._cast[0].character_id, ""  # the card was renamed since
        self.narrated[line.name] = None
        return NARRATOR, line.name

    def witnesses(self, line: ChatLine, speaker: str) -> tuple[str, ...]:
        """Who was present, where the chat says so; else everyone."""
        everyone = (PLAYER, *(one.character_id for one in self._cast))
        if not line.present:
            return everyone
        there = {self._by_avatar.get(one) for one in line.present} | {PLAYER, speaker}
        return tuple(one for one in everyone if one in there)
