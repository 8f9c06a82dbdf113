"""`everloop memories export` and `import`: a folder of Markdown that a person can read and edit."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import msgspec

from everloop.adapters.markdown import MarkdownFolder, page_name
from everloop.app import Engine
from everloop.errors import Conflict, Rejected
from everloop.interfaces.cli import items
from everloop.interfaces.cli.exits import DECLINED, EXIT_CODES
from everloop.interfaces.cli.eyes import only, speaker
from everloop.interfaces.cli.listing import plural
from everloop.interfaces.cli.screen import BAD, FAINT, GOOD, NAME, STRONG, WARNING, Screen, styled
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.troubles import draw_troubles
from everloop.memory.browsing import handle, page
from everloop.memory.folder import Applied, Change, Page, Plan, Trouble, apply, plan
from everloop.memory.markdown import Sheet, digest, filled, read, sheet_of, written
from everloop.memory.scopes import Asker
from everloop.memory.shelf import Item, asker

BATCH = 500
MARKS = {"new": ("+", GOOD), "edit": ("~", WARNING), "retire": ("-", BAD)}


class Exported(msgspec.Struct):
    """What became of an export."""

    written: list[str] = []
    unchanged: int = 0
    troubles: list[Trouble] = []


def export(session: Session, asked: Namespace) -> None:
    """Write a page for each item; a page that was edited is left alone."""
    folder = MarkdownFolder(Path(asked.folder))
    folder.make()
    pages = folder.pages()
    done = Exported()
    with session.looking() as engine, session.progress("exporting") as progress:
        found = _all(engine, session, asked)
        known = _known(pages)
        taken = {each.name.casefold() for each in pages}
        for number, item in enumerate(found, start=1):
            _write(folder, item, known, taken, done)
            if progress:
                progress(number, len(found))
        folder.note([*folder.exported(), *(item.item_id for item in found)])
    session.answer(
        {"folder": folder.path, **msgspec.structs.asdict(done)},
        lambda screen: _draw_export(screen, folder.path, done),
    )


def import_folder(session: Session, asked: Namespace) -> int | None:
    """Take in what was edited, after a preview."""
    folder = MarkdownFolder(Path(asked.folder))
    pages = folder.pages()
    exported = folder.exported()
    by = speaker(session)
    with session.engine() as engine:
        with engine.reading() as reader:
            who = asker(reader, session.actor)
        planned = plan(engine.memory, who, pages, exported, by=by)
        changes = [*planned.changes, *(planned.deleted if asked.prune else ())]
        if asked.preview or not changes:
            session.answer(
                _shape(planned, changes, []),
                lambda screen: _draw_plan(screen, planned, prune=asked.prune),
            )
            return None if asked.preview else _code(planned.troubles)
        number = plural(len(changes), "change")
        if not session.agreed(
            lambda screen: _draw_plan(screen, planned, prune=asked.prune), f"Make {number}?"
        ):
            return DECLINED
        applied, troubles = _apply(session, engine, who, changes)
        _keep(folder, exported, applied)
    every = [*planned.troubles, *troubles]
    after = msgspec.structs.replace(planned, troubles=tuple(every))
    session.answer(
        _shape(after, changes, applied), lambda screen: _draw_import(screen, after, applied)
    )
    return _code(every)


# -- exporting -------------------------------------------------------------------------------------


def _all(engine: Engine, session: Session, asked: Namespace) -> list[Item]:
    """Every item that is asked for, from one state of the log."""
    found: list[Item] = []
    with engine.reading() as reader:
        who, among = asker(reader, session.actor), only(session, asked)
        while True:
            batch, number = page(reader, who, among, limit=BATCH, offset=len(found))
            found += batch
            if len(found) >= number or not batch:
                return found


def _known(pages: Sequence[Page]) -> dict[str, tuple[str, Sheet]]:
    """The pages that are there, by the id of their item."""
    known: dict[str, tuple[str, Sheet]] = {}
    for each in pages:
        try:
            sheet = read(each.content)
        except Rejected:
            continue
        if sheet.id and not each.problem:
            known[sheet.id] = (each.name, sheet)
    return known


def _write(
    folder: MarkdownFolder,
    item: Item,
    known: dict[str, tuple[str, Sheet]],
    taken: set[str],
    done: Exported,
) -> None:
    now = sheet_of(item)
    if item.item_id not in known:
        name = page_name(item, taken)
        taken.add(name.casefold())
    else:
        name, sheet = known[item.item_id]
        said = digest(filled(sheet, now))
        if said == digest(now) == sheet.exported:
            done.unchanged += 1
            return
        if said not in {sheet.exported, digest(now)}:
            hint = "Import it first, or move it away."
            done.troubles.append(Trouble(name, "it was edited, so it was left as it is", hint))
            return
    folder.write(name, written(now))
    done.written.append(name)


def _draw_export(screen: Screen, path: Path, done: Exported) -> None:
    as_before = f"; {done.unchanged:,} were as they are" if done.unchanged else ""
    screen.say(("Exported", GOOD), f" {plural(len(done.written), 'page')} to {path}{as_before}.")
    draw_troubles(screen, done.troubles, each="page", fate="not taken in")
    screen.say((f"Edit them, then: everloop memories import {path}", FAINT))


# -- importing -------------------------------------------------------------------------------------


def _apply(
    session: Session, engine: Engine, who: Asker, changes: Sequence[Change]
) -> tuple[list[Applied], list[Trouble]]:
    """Make the changes one by one; what is refused does not hold up the others."""
    applied: list[Applied] = []
    troubles: list[Trouble] = []
    with session.progress("importing") as progress:
        for number, change in enumerate(changes, start=1):
            try:
                applied.append(apply(engine.memory, engine.do, who, change, by=speaker(session)))
            except Rejected as problem:
                conflict = isinstance(problem, Conflict)
                name = change.name or change.item_id
                troubles.append(Trouble(name, str(problem), problem.hint, conflict))
            if progress:
                progress(number, len(changes))
    return applied, troubles


def _keep(folder: MarkdownFolder, exported: Sequence[str], applied: Sequence[Applied]) -> None:
    """Write the pages that were taken in anew, with their ids and digests."""
    ids = set(exported)
    for done in applied:
        if done.change.action == "retire":
            ids.discard(done.item.item_id)
        else:
            folder.write(done.change.name, written(sheet_of(done.item)))
            ids.add(done.item.item_id)
    folder.note(ids)


def _code(troubles: Sequence[Trouble]) -> int | None:
    if not troubles:
        return None
    return EXIT_CODES[Conflict if any(each.conflict for each in troubles) else Rejected]


def _shape(
    planned: Plan, changes: Sequence[Change], applied: Sequence[Applied]
) -> dict[str, object]:
    return {
        "changes": [
            {"action": c.action, "page": c.name, "item_id": c.item_id, "what": c.what}
            for c in changes
        ],
        "applied": [
            {
                "action": done.change.action,
                "page": done.change.name,
                "item_id": done.item.item_id,
                "positions": done.positions,
            }
            for done in applied
        ],
        "deleted": [change.item_id for change in planned.deleted],
        "troubles": planned.troubles,
        "unchanged": planned.unchanged,
    }


def _draw_plan(screen: Screen, planned: Plan, *, prune: bool) -> None:
    changes = [*planned.changes, *(planned.deleted if prune else ())]
    if changes:
        screen.table(
            ("", "page", "what", "title"),
            [
                (
                    styled(MARKS[change.action]),
                    styled((change.name or handle(change.item_id), NAME)),
                    ", ".join(change.what),
                    change.title,
                )
                for change in changes
            ],
            cut=True,
        )
        screen.say((_meaning(changes), FAINT))
    else:
        screen.say(
            ("Nothing to take in", STRONG), f": {plural(planned.unchanged, 'page')} as they were."
        )
    if planned.deleted and not prune:
        _draw_deleted(screen, planned.deleted)
    draw_troubles(screen, planned.troubles, each="page", fate="not taken in")


def _meaning(changes: Sequence[Change]) -> str:
    """What the signs mean, of those that are shown."""
    meanings = {
        "new": "+ a new item; its id is written into the page",
        "edit": "~ a revision",
        "retire": "- retired, because its page was deleted",
    }
    return "; ".join(
        meanings[action] for action in meanings if action in {c.action for c in changes}
    )


def _draw_deleted(screen: Screen, deleted: Sequence[Change]) -> None:
    are = "is" if len(deleted) == 1 else "are"
    screen.say(
        (f"{plural(len(deleted), 'page')} {are} gone", WARNING),
        "; the items stay. `--prune` retires them.",
    )
    screen.table(
        ("", ""), [(styled((handle(each.item_id), NAME)), each.title) for each in deleted], cut=True
    )


def _draw_import(screen: Screen, after: Plan, applied: Sequence[Applied]) -> None:
    screen.say(("Done", GOOD), f": {plural(len(applied), 'change')}.")
    draw_troubles(screen, after.troubles, each="page", fate="not taken in")
    items.undo(screen, [position for done in applied for position in done.positions if position])
