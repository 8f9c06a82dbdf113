"""A world as a readable book: a chapter for each scene, as Markdown or EPUB."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from everloop.log import Reader
from everloop.worlds.browse.scenes import SceneRecord, course_of, names_in
from everloop.worlds.message_parsing import told_text
from everloop.worlds.model import story_events as s
from everloop.worlds.model.state import World
from everloop.worlds.model.values import NARRATOR, PLAYER
from everloop.worlds.queries import story_messages, timeline

EVERYTHING: Final = 10_000_000
_MARKUP: Final = re.compile(r"([\\`\[\]<>#|])")


class Said(msgspec.Struct, frozen=True):
    """A paragraph: what someone said or did, or without a speaker, what is told."""

    speaker: str
    text: str


class Chapter(msgspec.Struct, frozen=True):
    """A scene: where and when it plays, and what happens."""

    heading: str
    subtitle: str
    premise: str
    said: tuple[Said, ...]


class Book(msgspec.Struct, frozen=True):
    """A story to read."""

    book_id: str
    title: str
    cast: tuple[str, ...]
    modified: datetime
    chapters: tuple[Chapter, ...]


def make_book(reader: Reader, world_id: str, world: World, modified: datetime) -> Book:
    """The story of a world, scene by scene, as it stands on its current branch."""
    names = names_in(reader, world_id, world)
    scenes = course_of(reader, world_id, world).scenes
    chapters = tuple(_chapter(reader, world_id, scene, names) for scene in scenes)
    filled = tuple(one for one in chapters if one.said or one.premise)
    return Book(world_id, world.title, tuple(names.values()), modified, filled)


def write_markdown(book: Book) -> str:
    """The book as Markdown."""
    return "\n".join(_markdown(book)) + "\n"


def _chapter(reader: Reader, world_id: str, scene: SceneRecord, names: dict[str, str]) -> Chapter:
    messages = story_messages(reader, world_id, scene_id=scene.scene_id, limit=EVERYTHING)
    lines = [
        (one.position, Said("" if one.speaker == NARRATOR else names.get(one.speaker, ""), text))
        for one in messages
        if not one.hidden and (text := told_text(one.passages))
    ]
    end = scene.closed_at or EVERYTHING * EVERYTHING
    skips = [
        (one.position, Said("", one.event.narration))
        for one in timeline(reader, world_id, ("time_elided", "time_jumped"))
        if isinstance(one.event, s.TimeElided | s.TimeJumped)
        and one.event.narration
        and scene.position < one.position < end
    ]
    said = tuple(line for _, line in sorted([*lines, *skips], key=lambda pair: pair[0]))
    heading = f"{scene.number}. {scene.place}"
    meanwhile = [] if PLAYER in scene.present else ["meanwhile"]
    details = [_moment(scene.clock), scene.weather, *meanwhile]
    return Chapter(heading, " · ".join(one for one in details if one), scene.premise, said)


def _moment(clock: str) -> str:
    moment = datetime.fromisoformat(clock)
    return f"{moment:%A}, {moment.day} {moment:%B %Y, %H:%M}"


def _markdown(book: Book) -> Iterator[str]:
    yield f"# {_plain(book.title)}\n"
    yield f"With {_plain(_listed(book.cast))}.\n"
    for chapter in book.chapters:
        yield f"## {_plain(chapter.heading)}\n"
        if chapter.subtitle:
            yield f"*{_plain(chapter.subtitle)}*\n"
        if chapter.premise:
            yield f"> {_plain(' '.join(chapter.premise.split()))}\n"
        for one in chapter.said:
            name = f"**{_plain(one.speaker)}:** " if one.speaker else ""
            yield f"{name}{_plain(one.text)}\n"


def _listed(names: tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _plain(text: str) -> str:
    """Text whose signs are no markup, but for the stars around actions."""
    return _MARKUP.sub(r"\\\1", text)
