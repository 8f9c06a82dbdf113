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

from everloop.adapters import PAGE_SUFFIX, MarkdownFolder, page_name
from everloop.app import Engine
from everloop.errors import Conflict, Rejected
from everloop.interfaces.cli.audience import (
    build_filter,
    check_has_grant,
    command_context,
    missing_grant_notes,
)
from everloop.interfaces.cli.commands.memory.import_report import (
    ImportProgress,
    draw_import,
    draw_plan,
    import_json,
)
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.exit_codes import DECLINED, EXIT_CODES, INTERRUPTED
from everloop.interfaces.cli.output.screen import DIM, GOOD, Screen
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.skipped_files import draw_skipped
from everloop.log import NoteWritten
from everloop.memory import (
    AppliedChange,
    Item,
    PageChange,
    PageContent,
    PageFile,
    PageProblem,
    Viewer,
    apply_change,
    fill_missing_fields,
    guess_id,
    load_viewer,
    page_by_time,
    page_content,
    page_digest,
    parse_page,
    plan_import,
    render_page,
    short_id,
)

BATCH = 500
NOTED_EVERY = 100  # pages between two saves of the list of exported items
IMPORTS = "notes:imports"


class _ExportResult(msgspec.Struct):
    """The result of an export."""

    written: list[str] = []
    unchanged: int = 0
    troubles: list[PageProblem] = []
    notes: list[str] = []


def export(session: Session, args: Namespace) -> None:
    """Write one file per memory; edited files are not overwritten."""
    folder = MarkdownFolder(Path(args.folder))
    folder.create()
    pages = folder.pages()
    done = _ExportResult()
    with session.open_for_reading() as engine, session.progress("exporting") as progress:
        check_has_grant(session, engine)
        found = _all(engine, session, args)
        existing = _ExistingPages(pages)
        for number, item in enumerate(found, start=1):
            _write(folder, item, existing, done)
            if progress:
                progress(number, len(found))
        folder.save_exported_ids([*folder.exported_ids(), *(item.item_id for item in found)])
        done.notes = missing_grant_notes(engine, session.actor)
    session.print_result(
        {"folder": folder.path, **msgspec.structs.asdict(done)},
        lambda screen: _draw_export(screen, folder.path, done),
    )


def import_folder(session: Session, args: Namespace) -> int | None:
    """Import edited files, after a preview."""
    folder = MarkdownFolder(Path(args.folder))
    pages = folder.pages()
    exported = folder.exported_ids()
    with session.open_engine() as engine:
        with engine.reading() as reader:
            who = load_viewer(reader, session.actor)
        planned = plan_import(engine.memory, who, pages, exported, by=command_context(session))
        changes = [*planned.changes, *(planned.deleted if args.prune else ())]
        done = ImportProgress(
            set(exported), len(changes), notes=missing_grant_notes(engine, session.actor)
        )
        if args.preview or not changes:
            session.print_result(
                import_json(planned, changes, done),
                lambda screen: draw_plan(screen, planned, done.notes, prune=args.prune),
            )
            return None if args.preview else _code(planned.troubles)
        number = plural(len(changes), "change")
        if not session.confirm(
            lambda screen: draw_plan(screen, planned, done.notes, prune=args.prune),
            f"Make {number}?",
        ):
            return DECLINED
        _apply(session, engine, who, _OpenedFolder(folder, pages), changes, done)
    after = msgspec.structs.replace(planned, troubles=(*planned.troubles, *done.troubles))
    session.print_result(
        import_json(after, changes, done),
        lambda screen: draw_import(screen, after, done, prune=args.prune),
    )
    return INTERRUPTED if done.interrupted else _code(after.troubles)


# -- exporting -------------------------------------------------------------------------------------


def _all(engine: Engine, session: Session, args: Namespace) -> list[Item]:
    """All memories that match the filter, from one snapshot of the log."""
    found: list[Item] = []
    with engine.reading() as reader:
        who, among = load_viewer(reader, session.actor), build_filter(session, args)
        while True:
            batch, number = page_by_time(reader, who, among, limit=BATCH, offset=len(found))
            found += batch
            if len(found) >= number or not batch:
                return found


class _ExistingPage(NamedTuple):
    """An existing page with its parsed content, or the problem that prevents parsing it."""

    page: PageFile
    sheet: PageContent | None
    problem: str = ""
    hint: str = "Fix its front matter, or move the file elsewhere."


class _ExistingPages:
    """The existing pages of a folder, by the id of their memory."""

    def __init__(self, pages: Sequence[PageFile]) -> None:
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
        end = f"-{short_id(item.item_id)}{PAGE_SUFFIX}".casefold()
        return next((one for one in self._unread if one.page.name.casefold().endswith(end)), None)


def _parse_page(page: PageFile) -> tuple[str, _ExistingPage]:
    """Parse a page, and find the id it has or seems to have."""
    if page.problem:
        return "", _ExistingPage(page, None, page.problem, page.hint)
    try:
        sheet = parse_page(page.content)
    except Rejected as problem:
        return guess_id(page.content), _ExistingPage(page, None, str(problem), problem.hint)
    if sheet.id:
        return sheet.id, _ExistingPage(page, sheet)
    return guess_id(page.content), _ExistingPage(page, None, "its front matter cannot be read")


def _write(
    folder: MarkdownFolder, item: Item, existing: _ExistingPages, done: _ExportResult
) -> None:
    now, known = page_content(item), existing.of(item)
    if known is None:
        name = page_name(item, existing.taken)
        existing.taken.add(name.casefold())
    else:
        name, sheet = known.page.name, known.sheet
        if sheet is None:
            left = f"{known.problem}, so it was not overwritten"
            done.troubles.append(PageProblem(name, left, known.hint))
            return
        current = page_digest(fill_missing_fields(sheet, now))
        if current == page_digest(now) == sheet.exported:
            done.unchanged += 1
            return
        if current not in {sheet.exported, page_digest(now)} or not folder.is_unchanged(known.page):
            hint = "Import it first, or move it elsewhere."
            done.troubles.append(
                PageProblem(name, "it was edited, so it was not overwritten", hint)
            )
            return
    folder.write(name, render_page(now))
    done.written.append(name)


def _draw_export(screen: Screen, path: Path, done: _ExportResult) -> None:
    unchanged = f"; {done.unchanged:,} unchanged" if done.unchanged else ""
    screen.paragraph(
        ("Exported", GOOD), f" {plural(len(done.written), 'file')} to {path}{unchanged}."
    )
    draw_skipped(screen, done.troubles, each="file", fate="not written")
    if done.written or done.unchanged:
        screen.advice((f"After editing, run: everloop memories import {path}", DIM))
    screen.notes(done.notes)


# -- importing -------------------------------------------------------------------------------------


class _OpenedFolder:
    """A folder and its pages as they were when they were read."""

    def __init__(self, folder: MarkdownFolder, pages: Sequence[PageFile]) -> None:
        self.folder = folder
        self._pages = {each.name: each for each in pages}

    def check_unchanged(self, change: PageChange) -> None:
        """Check that the page of a change is still as it was read.

        Raises:
            Conflict: the page was saved or deleted since.
        """
        page = self._pages.get(change.name)  # a retired memory has no page
        if page is not None and not self.folder.is_unchanged(page):
            raise Conflict(
                "the file changed in the meantime, so it was not imported",
                hint="Run the import again.",
            )


def _apply(
    session: Session,
    engine: Engine,
    who: Viewer,
    opened: _OpenedFolder,
    changes: Sequence[PageChange],
    done: ImportProgress,
) -> None:
    """Apply the changes one by one; a rejected change does not stop the others."""
    by, folder = command_context(session), opened.folder
    try:
        done.root = _root(engine, session.actor, folder, changes)
        because = (done.root,) if done.root else ()
        with session.progress("importing") as progress:
            for number, change in enumerate(changes, start=1):
                with _delay_interrupt():
                    try:
                        opened.check_unchanged(change)
                        made = apply_change(
                            engine.memory, engine, who, change, by=by, because=because
                        )
                        _save_page(opened, made, done)
                    except Rejected as problem:
                        conflict = isinstance(problem, Conflict)
                        name = change.name or change.item_id
                        done.troubles.append(
                            PageProblem(name, str(problem), problem.hint, conflict)
                        )
                if progress:
                    progress(number, len(changes))
    except KeyboardInterrupt:
        done.interrupted = True
    finally:
        folder.save_exported_ids(done.ids)


def _root(engine: Engine, actor: str, folder: MarkdownFolder, changes: Sequence[PageChange]) -> int:
    """Record a note that several new memories derive from, so that one retraction undoes them all.

    Returns its position, or 0 if there are fewer than two new memories.
    """
    new = sum(change.action == "new" for change in changes)
    if new < 2:
        return 0
    note = NoteWritten(f"Took in new pages of the folder {folder.path.name!r}.")
    return engine.log.append(IMPORTS, [note], actor=actor).position


def _save_page(opened: _OpenedFolder, made: AppliedChange, done: ImportProgress) -> None:
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
        folder.write(made.change.name, render_page(made.sheet))
        done.ids.add(made.sheet.id)
    if not len(done.applied) % NOTED_EVERY:
        folder.save_exported_ids(done.ids)


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


def _code(troubles: Sequence[PageProblem]) -> int | None:
    if not troubles:
        return None
    return EXIT_CODES[Conflict if any(each.conflict for each in troubles) else Rejected]
