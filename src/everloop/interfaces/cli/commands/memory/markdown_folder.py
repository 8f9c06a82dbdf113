"""`everloop memories export` and `import`: a folder of Markdown that a person can read and edit.

An import can be broken off between any two pages and run again: a page gets its id as soon as what
it says is recorded, and Ctrl-C waits for that. A page that somebody saves meanwhile is left alone.
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
NOTED_EVERY = 100  # pages after which an import notes which items have one
IMPORTS = "notes:imports"


class Exported(msgspec.Struct):
    """What became of an export."""

    written: list[str] = []
    unchanged: int = 0
    troubles: list[Trouble] = []
    notes: list[str] = []


def export(session: Session, args: Namespace) -> None:
    """Write a page for each item; a page that was edited is left alone."""
    folder = MarkdownFolder(Path(args.folder))
    folder.make()
    pages = folder.pages()
    done = Exported()
    with session.looking() as engine, session.progress("exporting") as progress:
        found = _all(engine, session, args)
        there = There(pages)
        for number, item in enumerate(found, start=1):
            _write(folder, item, there, done)
            if progress:
                progress(number, len(found))
        folder.note([*folder.exported(), *(item.item_id for item in found)])
        done.notes = not_let_in(engine, session.actor)
    session.answer(
        {"folder": folder.path, **msgspec.structs.asdict(done)},
        lambda screen: _draw_export(screen, folder.path, done),
    )


def import_folder(session: Session, args: Namespace) -> int | None:
    """Take in what was edited, after a preview."""
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
        _apply(session, engine, who, Opened(folder, pages), changes, done)
    after = msgspec.structs.replace(planned, troubles=(*planned.troubles, *done.troubles))
    session.answer(
        shape(after, changes, done),
        lambda screen: draw_import(screen, after, done, prune=args.prune),
    )
    return INTERRUPTED if done.interrupted else _code(after.troubles)


# -- exporting -------------------------------------------------------------------------------------


def _all(engine: Engine, session: Session, args: Namespace) -> list[Item]:
    """Every item that is asked for, from one state of the log."""
    found: list[Item] = []
    with engine.reading() as reader:
        who, among = asker(reader, session.actor), only(session, args)
        while True:
            batch, number = page(reader, who, among, limit=BATCH, offset=len(found))
            found += batch
            if len(found) >= number or not batch:
                return found


class Known(NamedTuple):
    """A page that is there, and what it says; or what hinders reading that."""

    page: Page
    sheet: Sheet | None
    problem: str = ""
    hint: str = "Mend its front matter, or move it away."


class There:
    """The pages that are there, by the id of their item."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.taken = {each.name.casefold() for each in pages}
        self._known: dict[str, Known] = {}
        self._unread: list[Known] = []
        for each in pages:
            item_id, known = _understood(each)
            if item_id:
                self._known[item_id] = known
            elif each.problem:
                self._unread.append(known)

    def of(self, item: Item) -> Known | None:
        """The page of an item. One that cannot be read at all is known by its name."""
        if known := self._known.get(item.item_id):
            return known
        end = f"-{handle(item.item_id)}{SUFFIX}".casefold()
        return next((one for one in self._unread if one.page.name.casefold().endswith(end)), None)


def _understood(page: Page) -> tuple[str, Known]:
    """A page with the id it has, or seems to have."""
    if page.problem:
        return "", Known(page, None, page.problem, page.hint)
    try:
        sheet = read(page.content)
    except Rejected as problem:
        return seeming_id(page.content), Known(page, None, str(problem), problem.hint)
    if sheet.id:
        return sheet.id, Known(page, sheet)
    return seeming_id(page.content), Known(page, None, "its front matter cannot be read")


def _write(folder: MarkdownFolder, item: Item, there: There, done: Exported) -> None:
    now, known = sheet_of(item), there.of(item)
    if known is None:
        name = page_name(item, there.taken)
        there.taken.add(name.casefold())
    else:
        name, sheet = known.page.name, known.sheet
        if sheet is None:
            left = f"{known.problem}, so it was left as it is"
            done.troubles.append(Trouble(name, left, known.hint))
            return
        said = digest(filled(sheet, now))
        if said == digest(now) == sheet.exported:
            done.unchanged += 1
            return
        if said not in {sheet.exported, digest(now)} or not folder.still_says(known.page):
            hint = "Import it first, or move it away."
            done.troubles.append(Trouble(name, "it was edited, so it was left as it is", hint))
            return
    folder.write(name, written(now))
    done.written.append(name)


def _draw_export(screen: Screen, path: Path, done: Exported) -> None:
    as_before = f"; {done.unchanged:,} were as they are" if done.unchanged else ""
    screen.say(("Exported", GOOD), f" {plural(len(done.written), 'page')} to {path}{as_before}.")
    draw_troubles(screen, done.troubles, each="page", fate="not written")
    if done.written or done.unchanged:
        screen.say((f"Edit them, then: everloop memories import {path}", FAINT))
    screen.notes(done.notes)


# -- importing -------------------------------------------------------------------------------------


class Opened:
    """A folder and its pages as they were read."""

    def __init__(self, folder: MarkdownFolder, pages: Sequence[Page]) -> None:
        self.folder = folder
        self._pages = {each.name: each for each in pages}

    def check_unchanged(self, change: Change) -> None:
        """Let a change be made only to a page that still says what it said.

        Raises:
            Conflict: somebody saved or deleted it since.
        """
        page = self._pages.get(change.name)  # an item that is retired has none
        if page is not None and not self.folder.still_says(page):
            raise Conflict("it changed meanwhile, so it was left as it is", hint="Import again.")


def _apply(
    session: Session,
    engine: Engine,
    who: Asker,
    opened: Opened,
    changes: Sequence[Change],
    done: Import,
) -> None:
    """Make the changes one by one; what is refused does not hold up the others."""
    by, folder = speaker(session), opened.folder
    try:
        done.root = _root(engine, session.actor, folder, changes)
        because = (done.root,) if done.root else ()
        with session.progress("importing") as progress:
            for number, change in enumerate(changes, start=1):
                with _undivided():
                    try:
                        opened.check_unchanged(change)
                        made = apply(engine.memory, engine.do, who, change, by=by, because=because)
                        _keep(opened, made, done)
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
    """The position of a note that several new items stand on, to take all back at once; else 0."""
    new = sum(change.action == "new" for change in changes)
    if new < 2:
        return 0
    note = NoteWritten(f"Took in new pages of the folder {folder.path.name!r}.")
    return engine.log.append(IMPORTS, [note], actor=actor).position


def _keep(opened: Opened, made: Applied, done: Import) -> None:
    """Write the page of what was taken in anew, with its id and digest.

    Raises:
        Conflict: somebody saved the page while it was taken in.
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
def _undivided() -> Generator[None]:
    """Let Ctrl-C wait until a fact and its page are both written."""
    pressed: list[int] = []
    usual, here = signal.getsignal(signal.SIGINT), threading.current_thread()
    if usual is not signal.default_int_handler or here is not threading.main_thread():
        yield  # it is somebody else's to hear
        return
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if pressed:
        raise KeyboardInterrupt


def _code(troubles: Sequence[Trouble]) -> int | None:
    if not troubles:
        return None
    return EXIT_CODES[Conflict if any(each.conflict for each in troubles) else Rejected]
