"""`everloop worlds`: list worlds and characters, import, undo an import, export."""

import os
from argparse import Namespace
from pathlib import Path

from everloop.app import Engine
from everloop.errors import Conflict, Invalid, NotFound
from everloop.import_jobs import WorldImportJobs
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.screen import (
    DIM,
    GOOD,
    NAME,
    WARNING,
    Screen,
    styled_text,
)
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.permissions import require_user
from everloop.interfaces.cli.session import Session
from everloop.worlds import (
    ExportedFile,
    ImportChoices,
    ImportNote,
    WorldImportResult,
    find_import,
    list_characters,
    list_lorebooks,
    list_worlds,
    world_imports,
)

NOTES_SHOWN = 30
COLOURS = {"kept": GOOD, "changed": WARNING, "dropped": WARNING, "asked": WARNING}


def list_all(session: Session, args: Namespace) -> None:
    """List worlds."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        with engine.reading() as reader:
            found = list_worlds(reader, archived=args.archived)

    def draw(screen: Screen) -> None:
        if not found:
            screen.paragraph("No worlds yet. Open one in the web app, or import a chat.")
            return
        screen.table(
            ("ID", "title", "you are", "since"),
            [
                (
                    styled_text((one.world_id, NAME)),
                    f"{one.title} (archived)" if one.archived else one.title,
                    one.player_name,
                    styled_text((format_with_age(one.since, session.now), DIM)),
                )
                for one in found
            ],
            cut=True,
        )

    session.print_result({"worlds": found}, draw)


def library(session: Session, _: Namespace) -> None:
    """List the characters and lorebooks of the library."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        with engine.reading() as reader:
            characters, books = list_characters(reader), list_lorebooks(reader)
    rows = [(one.character_id, one.sheet.name, ", ".join(one.sheet.tags)) for one in characters]
    rows += [(book.book_id, book.name, "lorebook") for book in books]

    def draw(screen: Screen) -> None:
        if not rows:
            screen.advice("No characters yet. Import a card: everloop worlds import FILE")
            return
        shown = [(styled_text((key, NAME)), name, tags) for key, name, tags in rows]
        screen.table(("ID", "name", "tags"), shown, cut=True)

    document = {
        "characters": [
            {"character_id": one.character_id, "name": one.sheet.name, "tags": one.sheet.tags}
            for one in characters
        ],
        "lorebooks": [{"book_id": book.book_id, "name": book.name} for book in books],
    }
    session.print_result(document, draw)


def import_files(session: Session, args: Namespace) -> None:
    """Import a file or folder."""
    require_user(session, "import into worlds")
    choices = ImportChoices(
        casts=dict(_parse_cast(text) for text in args.cast),
        player_name=args.player,
        owner_lore=args.owner_lore,
    )
    with session.open_engine() as engine:
        if args.into:
            choices = ImportChoices(
                choices.casts,
                choices.player_name,
                choices.owner_lore,
                find_world(engine, args.into),
            )
        jobs = WorldImportJobs(engine, session.settings.exchange)
        with session.progress("importing, in bytes") as progress:
            done = jobs.import_path(Path(args.path), choices, command_context(session), progress)
    session.print_result(done, lambda screen: _draw_done(screen, done))


def list_imports(session: Session, _: Namespace) -> None:
    """List imports into worlds."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        with engine.reading() as reader:
            found = world_imports(reader)

    def draw(screen: Screen) -> None:
        if not found:
            screen.paragraph("No imports yet.")
            return
        screen.table(
            ("ID", "started", "what", "name"),
            [
                (
                    styled_text((one.import_id, NAME)),
                    styled_text((format_with_age(one.begun_at, session.now), DIM)),
                    one.source,
                    one.name if one.ended else f"{one.name} (incomplete; run it again)",
                )
                for one in found
            ],
            cut=True,
        )
        _draw_notes(screen, found[0].notes)

    session.print_result({"imports": found}, draw)


def undo_import(session: Session, args: Namespace) -> int | None:
    """Undo a whole import."""
    require_user(session, "undo an import")
    with session.open_engine() as engine:
        with engine.reading() as reader:
            past = find_import(reader, args.import_id)
        impact = engine.exchange.preview_undo(past.import_id)
        head = f"{past.name}: {plural(len(impact.hides), 'fact')} would no longer count."
        if not session.confirm(lambda screen: screen.paragraph(head), "Undo the import?"):
            return DECLINED
        position = engine.exchange.undo(past.import_id, command_context(session))

    def draw(screen: Screen) -> None:
        screen.paragraph(("Undone", GOOD), f": {past.name}")
        memory_items.draw_undo(screen, [position])

    session.print_result({"import_id": past.import_id, "position": position}, draw)
    return None


def export(session: Session, args: Namespace) -> None:
    """Export a world, a scene, a character or a lorebook."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        file = _export(engine, args)
    target = Path(args.to)
    path = target / file.name if target.is_dir() else target
    if path.exists() and target.is_dir():
        raise Conflict(f"{str(path)!r} exists", hint="Give a file name with --to.")
    _write(path, file.content)

    def draw(screen: Screen) -> None:
        screen.paragraph(("Exported", GOOD), f" {len(file.content):,} bytes to {path}.")

    session.print_result({"path": path, "bytes": len(file.content)}, draw)


def _export(engine: Engine, args: Namespace) -> ExportedFile:
    form = args.format
    exports = engine.exchange.exports
    with engine.reading() as reader:
        characters = {
            each: one.character_id
            for one in list_characters(reader)
            for each in (one.sheet.name, one.character_id)
        }
        books = {each: b.book_id for b in list_lorebooks(reader) for each in (b.name, b.book_id)}
    try:
        world_id = find_world(engine, args.what)
    except NotFound:
        if args.what in characters and form in ("png", "json", "charx", "everloop"):
            return exports.character(characters[args.what], form)
        if args.what in books:
            return exports.lorebook(books[args.what])
        raise
    world = engine.worlds.world(world_id)
    if args.scene:
        return exports.scene(world_id, args.scene, world.title)
    if form not in ("json", "markdown", "epub", "chat", "lorebook"):
        raise Invalid(f"a world has no form {form!r}", hint="Use json, markdown, epub or chat.")
    return exports.world(world_id, world, form)


def find_world(engine: Engine, named: str) -> str:
    """The id of the world with this id or title.

    Raises:
        NotFound: there is none, or several have the title.
    """
    with engine.reading() as reader:
        found = [
            one.world_id
            for one in list_worlds(reader, archived=True)
            if named in (one.world_id, one.title)
        ]
    if len(found) != 1:
        several = f"{len(found)} worlds are called {named!r}" if found else f"no world {named!r}"
        raise NotFound(several, hint="`everloop worlds` lists them with their IDs.")
    return found[0]


def _parse_cast(text: str) -> tuple[str, tuple[str, ...]]:
    group, found, names = text.rpartition("=")
    parts = tuple(name.strip() for name in names.split(",") if name.strip())
    if not parts:
        raise Invalid(f"{text!r} names nobody", hint="Write --cast 'Group=Ada,Bo'.")
    return (group.strip() if found else ""), parts


def _draw_done(screen: Screen, done: WorldImportResult) -> None:
    counts = [
        plural(len(found), name)
        for found, name in (
            (done.characters, "character"),
            (done.worlds, "world"),
            (done.books, "lorebook"),
        )
        if found
    ]
    messages = [plural(done.messages, "message")] if done.messages else []
    screen.paragraph(("Imported", GOOD), f" {', '.join([*counts, *messages]) or 'nothing'}.")
    _draw_notes(screen, done.notes)
    for question in done.questions:
        names = ",".join(question.names[: question.room])
        screen.advice(
            f"{question.group}: which {question.room} of {', '.join(question.names)}? Run it again"
            f" with ",
            (f"--cast '{question.group}={names}'", NAME),
        )
    screen.advice("To undo it: ", (f"everloop worlds undo {done.import_id}", NAME))


def _draw_notes(screen: Screen, notes: tuple[ImportNote, ...]) -> None:
    for note in notes[:NOTES_SHOWN]:
        reason = f": {note.reason}" if note.reason else ""
        screen.paragraph((note.what, COLOURS[note.what]), f" {note.subject}{reason}")
    if len(notes) > NOTES_SHOWN:
        screen.paragraph((f"and {len(notes) - NOTES_SHOWN:,} more", DIM))


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically, readable only by its owner."""
    partial = path.with_name(f".{path.name}.part")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    partial.replace(path)
