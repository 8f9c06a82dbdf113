"""`everloop threads import`, `imports` and `export`: import and export conversations."""

import os
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

import msgspec

from everloop.adapters import CopyResult, FileStore, OpenedExport, open_export
from everloop.app import Engine
from everloop.errors import Forbidden
from everloop.import_jobs import ImportJobs
from everloop.interfaces.cli import message_files
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.commands.threads.browse import find_thread
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.screen import (
    BOLD,
    DIM,
    GOOD,
    NAME,
    WARNING,
    Screen,
    styled_text,
)
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.session import USER, Session
from everloop.thread import (
    MEMORY_CLAIM,
    Attachment,
    ImportResult,
    ParsedChat,
    PutFile,
    RememberMessagesTask,
    attachment_path,
    export_file_name,
    export_thread,
    import_history,
    threads_to_export,
)

NAMES = {
    "claude": "Claude data export",
    "chatgpt": "ChatGPT data export",
    "claude-code": "Claude Code transcripts",
    "jsonl": "JSON lines",
}


class ExportContents(msgspec.Struct):
    """The contents of an export."""

    kind: str
    bytes: int
    conversations: int = 0
    messages: int = 0
    passed_over: int = 0


def import_chats(session: Session, args: Namespace) -> int | None:
    """Import conversations from another product."""
    export = open_export(Path(args.path), session.settings.thread.imports)
    if args.preview:
        inside = _read_contents(session, export)
        session.print_result(inside, lambda screen: _draw_contents(screen, export, inside))
        return None
    if session.actor != USER:
        raise Forbidden(
            "only the user can import conversations, because they contain the user's words",
            hint="Run it at a terminal. --preview works without one.",
        )
    where = "the home conversation" if args.into_home else "separate conversations"
    head = f"{export.name}: {NAMES[export.kind]}, {export.size:,} bytes, into {where}."
    if not session.confirm(lambda screen: screen.paragraph(head), "Import it?"):
        return DECLINED
    with session.open_engine() as engine:
        done = _import(session, engine, Path(args.path), into_home=args.into_home)
    session.print_result(done, lambda screen: _draw_done(screen, done))
    return None


def list_imports(session: Session, _: Namespace) -> None:
    """List imports."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        with engine.reading() as reader:
            found = import_history(reader)

    def draw(screen: Screen) -> None:
        if not found:
            screen.paragraph("No imports yet.")
            return
        screen.table(
            ("position", "started", "#messages", "source", "name"),
            [
                (
                    styled_text((str(one.position), NAME)),
                    styled_text((format_with_age(one.begun_at, session.now), DIM)),
                    f"{one.messages:,}",
                    one.source,
                    one.name if one.ended else f"{one.name} (incomplete; run it again)",
                )
                for one in found
            ],
            cut=True,
        )
        memory_items.draw_undo(screen, [found[0].position])

    session.print_result({"imports": found}, draw)


def export_chats(session: Session, args: Namespace) -> None:
    """Export conversations, one file each."""
    folder = Path(args.folder)
    with session.open_for_reading() as engine, session.progress("exporting") as progress:
        check_can_read_everything(session, engine)
        folder.mkdir(parents=True, exist_ok=True)
        wanted = [find_thread(engine, name).thread_id for name in args.threads]
        with engine.reading() as reader:
            threads = threads_to_export(reader, wanted)
        written: list[str] = []
        lost: set[str] = set()
        put_file = _attachment_writer(engine.files, folder, lost)
        for number, thread in enumerate(threads, start=1):
            path = folder / export_file_name(thread, args.format)
            _write(path, export_thread(engine.log, thread, args.format, put_file))
            written.append(path.name)
            if progress:
                progress(number, len(threads))

    def draw(screen: Screen) -> None:
        summary = f" {plural(len(written), 'conversation')} to {folder}."
        screen.paragraph(("Exported", GOOD), summary)
        message_files.draw_attachments(screen, CopyResult(missing=len(lost)))

    session.print_result({"folder": folder, "files": written, "files_missing": len(lost)}, draw)


def _import(session: Session, engine: Engine, path: Path, *, into_home: bool) -> ImportResult:
    jobs = ImportJobs(engine, lambda: session.settings.thread.imports)
    by = command_context(session)
    with session.progress("importing, in bytes") as progress:
        done = jobs.import_file(path, into_home=into_home, by=by, progress=progress)
    claim = engine.log.claim(MEMORY_CLAIM)
    if claim is not None:  # else a running server adds it to memory
        with claim:
            session.error_screen.paragraph(("Adding to memory …", DIM))
            RememberMessagesTask(engine.log, engine).remember()
    return done


def _read_contents(session: Session, export: OpenedExport) -> ExportContents:
    inside, seen = ExportContents(export.kind, export.size), set[str]()
    with session.progress("reading, in bytes") as progress:
        for chat in export.chats():
            if not isinstance(chat, ParsedChat):
                inside.passed_over += 1
                continue
            seen.add(chat.external_id)
            inside.messages += len(chat.messages)
            if progress:
                progress(chat.done, export.size)
    inside.conversations = len(seen)
    return inside


def _draw_contents(screen: Screen, export: OpenedExport, inside: ExportContents) -> None:
    screen.paragraph((export.name, BOLD), f": {NAMES[inside.kind]}, {inside.bytes:,} bytes")
    number = plural(inside.conversations, "conversation")
    screen.paragraph(f"{number} with {plural(inside.messages, 'message')}.")
    if inside.passed_over:
        screen.paragraph((f"{plural(inside.passed_over, 'part')} cannot be read.", WARNING))


def _draw_done(screen: Screen, done: ImportResult) -> None:
    threads = plural(len(done.threads), "conversation")
    screen.paragraph(("Imported", GOOD), f" {plural(done.messages, 'message')} into {threads}.")
    if done.files or done.files_missing:
        attached = f"Included {plural(done.files, 'attachment')}"
        missing = (
            f"; {done.files_missing:,} more not found in the export" if done.files_missing else ""
        )
        screen.paragraph((f"{attached}{missing}.", DIM))
    if done.known:
        screen.paragraph((f"Skipped {plural(done.known, 'message')} imported before.", DIM))
    for trouble in done.troubles:
        screen.paragraph((f"{trouble.place}: {trouble.problem}", WARNING))
    more = done.passed_over - len(done.troubles)
    if more:
        screen.paragraph((f"{more:,} more could not be read.", WARNING))
    memory_items.draw_undo(screen, [done.position])


def _attachment_writer(store: FileStore, folder: Path, lost: set[str]) -> PutFile:
    """A function that copies attachments into a folder of the export, named by their digests.

    It adds the digests of missing attachments to `lost`.
    """

    def put(file: Attachment) -> str:
        content = store.read(file)
        if content is None:
            lost.add(file.digest)
            return ""
        place = folder / attachment_path(file)
        if not place.exists():
            place.parent.mkdir(mode=0o700, exist_ok=True)
            _write(place, [content])
        return attachment_path(file)

    return put


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file atomically, readable only by its owner."""
    partial = path.with_name(f".{path.name}.part")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.writelines(pieces)
    partial.replace(path)
