"""`everloop memories export` and `import`: memories as a folder of editable Markdown files.

An import can be interrupted between any two files and run again: a file gets its id as soon as its
memory is recorded, and Ctrl-C waits for that. A file that is saved meanwhile is not overwritten.
"""

import signal
import threading
from argparse import Namespace
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from everloop.adapters.files.markdown_folder import SUFFIX, MarkdownFolder, page_name
from everloop.app import Engine
from everloop.errors import Conflict, Rejected
from everloop.interfaces.cli.audience import not_let_in, only, speaker
from everloop.interfaces.cli.commands.memory.import_report import (
    Import,
    draw_import,
    draw_plan,
    shape,
)
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.exit_codes import DECLINED, EXIT_CODES, INTERRUPTED
from everloop.interfaces.cli.output.screen import FAINT, GOOD, Screen
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.skipped_files import draw_troubles
from everloop.log.model.facts import NoteWritten
from everloop.memory.browse.queries import handle, page
from everloop.memory.markdown.folder import Applied, Change, Page, Trouble, apply, plan
from everloop.memory.markdown.page import Sheet, digest, filled, read, seeming_id, sheet_of, written
from everloop.memory.model.scopes import Asker
from everloop.memory.projections.queries import Item, asker

BATCH = 500
NOTED_EVERY = 100  # pages between two saves of the list of exported items
IMPORTS = "notes:imports"


class _ExportResult(msgspec.Struct):
    """The result of an export."""

    written: list[str] = []
    unchanged: int = 0
    troubles: list[Trouble] = []
    notes: list[str] = []


def export(session: Session, args: Namespace) -> None:
    """Write one file per memory; edited files are not overwritten."""
    folder = MarkdownFolder(Path(args.folder))
    folder.make()
    pages = folder.pages()
    done = _ExportResult()
    with session.looking() as engine, session.progress("exporting") as progress:
        found = _all(engine, session, args)
        existing = _ExistingPages(pages)
        for number, item in enumerate(found, start=1):
            _write(folder, item, existing, done)
            if progress:
                progress(number, len(found))
        folder.note([*folder.exported(), *(item.item_id for item in found)])
        done.notes = not_let_in(engine, session.actor)
    session.answer(
        {"folder": folder.path, **msgspec.structs.asdict(done)},
        lambda screen: _draw_export(screen, folder.path, done),
    )


def import_folder(session: Session, args: Namespace) -> int | None:
    """Import edited files, after a preview."""
    folder = MarkdownFolder(Path(args.folder))
    pages = folder.pages()
    exported = folder.exported()
    with session.engine() as engine:
        with engine.reading() as reader:
            who = asker(reader, session.actor)
        planned = plan(engine.memory, who, pages, exported, by=speaker(session))
        changes = [*planned.changes, *(planned.deleted if args.prune else ())]
        done = Import(set(exported), len(changes), notes=not_let_in(engine, session.actor))
        if args.preview or not changes:
            session.answer(
                shape(planned, changes, done),
                lambda screen: draw_plan(screen, planned, done.notes, prune=args.prune),
            )
            return None if args.preview else _code(planned.troubles)
        number = plural(len(changes), "change")
        if not session.agreed(
            lambda screen: draw_plan(screen, planned, done.notes, prune=args.prune),
            f"Make {number}?",
        ):
            return DECLINED
        _apply(session, engine, who, _OpenedFolder(folder, pages), changes, done)
    after = msgspec.structs.replace(planned, troubles=(*planned.troubles, *done.troubles))
    session.answer(
        shape(after, changes, done),
        lambda screen: draw_import(screen, after, done, prune=args.prune),
    )
    return INTERRUPTED if done.interrupted else _code(after.troubles)


# -- exporting -------------------------------------------------------------------------------------


def _all(engine: Engine, session: Session, args: Namespace) -> list[Item]:
    """All memories that match the filter, from one snapshot of the log."""
    found: list[Item] = []
    with engine.reading() as reader:
        who, among = asker(reader, session.actor), only(session, args)
        while True:
            batch, number = page(reader, who, among, limit=BATCH, offset=len(found))
            found += batch
            if len(found) >= number or not batch:
                return found


class _ExistingPage(NamedTuple):
    """An existing page with its parsed content, or the problem that prevents parsing it."""

    page: Page
    sheet: Sheet | None
    problem: str = ""
    hint: str = "Fix its front matter, or move the file elsewhere."


class _ExistingPages:
    """The existing pages of a folder, by the id of their memory."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.taken = {each.name.casefold() for each in pages}
        self._known: dict[str, _ExistingPage] = {}
        self._unread: list[_ExistingPage] = []
        for each in pages:
            item_id, known = _parse_page(each)
            if item_id:
                self._known[item_id] = known
            elif each.problem:
                self._unread.append(known)

    def of(self, item: Item) -> _ExistingPage | None:
        """The page of a memory. A page that cannot be read is found by its file name."""
        if known := self._known.get(item.item_id):
            return known
        end = f"-{handle(item.item_id)}{SUFFIX}".casefold()
        return next((one for one in self._unread if one.page.name.casefold().endswith(end)), None)


def _parse_page(page: Page) -> tuple[str, _ExistingPage]:
    """Parse a page, and find the id it has or seems to have."""
    if page.problem:
        return "", _ExistingPage(page, None, page.problem, page.hint)
    try:
        sheet = read(page.content)
    except Rejected as problem:
        return seeming_id(page.content), _ExistingPage(page, None, str(problem), problem.hint)
    if sheet.id:
        return sheet.id, _ExistingPage(page, sheet)
    return seeming_id(page.content), _ExistingPage(page, None, "its front matter cannot be read")


def _write(
    folder: MarkdownFolder, item: Item, existing: _ExistingPages, done: _ExportResult
) -> None:
    now, known = sheet_of(item), existing.of(item)
    if known is None:
        name = page_name(item, existing.taken)
        existing.taken.add(name.casefold())
    else:
        name, sheet = known.page.name, known.sheet
        if sheet is None:
            left = f"{known.problem}, so it was not overwritten"
            done.troubles.append(Trouble(name, left, known.hint))
            return
        current = digest(filled(sheet, now))
        if current == digest(now) == sheet.exported:
            done.unchanged += 1
            return
        if current not in {sheet.exported, digest(now)} or not folder.still_says(known.page):
            hint = "Import it first, or move it elsewhere."
            done.troubles.append(Trouble(name, "it was edited, so it was not overwritten", hint))
            return
    folder.write(name, written(now))
    done.written.append(name)


def _draw_export(screen: Screen, path: Path, done: _ExportResult) -> None:
    unchanged = f"; {done.unchanged:,} unchanged" if done.unchanged else ""
    screen.say(("Exported", GOOD), f" {plural(len(done.written), 'file')} to {path}{unchanged}.")
    draw_troubles(screen, done.troubles, each="file", fate="not written")
    if done.written or done.unchanged:
        screen.say((f"After editing, run: everloop memories import {path}", FAINT))
    screen.notes(done.notes)


# -- importing -------------------------------------------------------------------------------------


class _OpenedFolder:
    """A folder and its pages as they were when they were read."""

    def __init__(self, folder: MarkdownFolder, pages: Sequence[Page]) -> None:
        self.folder = folder
        self._pages = {each.name: each for each in pages}

    def check_unchanged(self, change: Change) -> None:
        """Check that the page of a change is still as it was read.

        Raises:
            Conflict: the page was saved or deleted since.
        """
        page = self._pages.get(change.name)  # a retired memory has no page
        if page is not None and not self.folder.still_says(page):
            raise Conflict(
                "the file changed in the meantime, so it was not imported",
                hint="Run the import again.",
            )


def _apply(
    session: Session,
    engine: Engine,
    who: Asker,
    opened: _OpenedFolder,
    changes: Sequence[Change],
    done: Import,
) -> None:
    """Apply the changes one by one; a rejected change does not stop the others."""
    by, folder = speaker(session), opened.folder
    try:
        done.root = _root(engine, session.actor, folder, changes)
        because = (done.root,) if done.root else ()
        with session.progress("importing") as progress:
            for number, change in enumerate(changes, start=1):
                with _delay_interrupt():
                    try:
                        opened.check_unchanged(change)
                        made = apply(engine.memory, engine, who, change, by=by, because=because)
                        _save_page(opened, made, done)
                    except Rejected as problem:
                        conflict = isinstance(problem, Conflict)
                        name = change.name or change.item_id
                        done.troubles.append(Trouble(name, str(problem), problem.hint, conflict))
                if progress:
                    progress(number, len(changes))
    except KeyboardInterrupt:
        done.interrupted = True
    finally:
        folder.note(done.ids)


def _root(engine: Engine, actor: str, folder: MarkdownFolder, changes: Sequence[Change]) -> int:
    """Record a note that several new memories derive from, so that one retraction undoes them all.

    Returns its position, or 0 if there are fewer than two new memories.
    """
    new = sum(change.action == "new" for change in changes)
    if new < 2:
        return 0
    note = NoteWritten(f"Took in new pages of the folder {folder.path.name!r}.")
    return engine.log.append(IMPORTS, [note], actor=actor).position


def _save_page(opened: _OpenedFolder, made: Applied, done: Import) -> None:
    """Rewrite the page of an applied change with its id and digest.

    Raises:
        Conflict: the page was saved while it was imported.
    """
    folder = opened.folder
    done.applied.append(made)
    if made.change.action == "retire":
        done.ids.discard(made.sheet.id)
    else:
        opened.check_unchanged(made.change)
        folder.write(made.change.name, written(made.sheet))
        done.ids.add(made.sheet.id)
    if not len(done.applied) % NOTED_EVERY:
        folder.note(done.ids)


@contextmanager
def _delay_interrupt() -> Generator[None]:
    """Delay Ctrl-C until a fact and its page are both written."""
    pressed: list[int] = []
    default, thread = signal.getsignal(signal.SIGINT), threading.current_thread()
    if default is not signal.default_int_handler or thread is not threading.main_thread():
        yield  # another handler is in charge
        return
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, default)
    if pressed:
        raise KeyboardInterrupt


def _code(troubles: Sequence[Trouble]) -> int | None:
    if not troubles:
        return None
    return EXIT_CODES[Conflict if any(each.conflict for each in troubles) else Rejected]
