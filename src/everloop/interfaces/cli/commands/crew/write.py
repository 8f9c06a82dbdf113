"""`everloop personas write`, `teams write`, `skills import` and `skills export`."""

from argparse import Namespace
from pathlib import Path

from everloop.adapters import read_pack_folder, write_skill
from everloop.app import Engine
from everloop.errors import NotFound
from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.commands.crew.browse import entry_type_of
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import DIM, GOOD, NAME, WARNING, Screen, styled_text
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.skipped_files import draw_skipped, exit_code_of_skipped
from everloop.lessons import (
    EnlistEntry,
    EntryResult,
    PackResult,
    Persona,
    Profile,
    ReviseEntry,
    Skill,
    Team,
    parse_member,
)
from everloop.memory import PageProblem

NOT_ARCHIVED = ("draft", "active")


def write(session: Session, args: Namespace) -> None:
    """Create or update a persona or a team; omitted fields keep their values."""
    sort = entry_type_of(args)
    with session.open_engine() as engine:
        existing = _existing(engine, session, args)
        profile = _profile(session, args, existing)
        if existing is None:
            new = EnlistEntry(sort, args.name, profile, args.scope or "user")
            done = engine.crew.enlist(new, by=command_context(session))
        else:
            change = ReviseEntry(sort, args.name, profile, args.scope)
            done = engine.crew.revise(change, by=command_context(session))
    session.print_result(done, lambda screen: _draw_one(screen, done))


def import_skills(session: Session, args: Namespace) -> int | None:
    """Import the skills of a folder."""
    offers = read_pack_folder(Path(args.folder))
    with session.open_engine() as engine:
        done = engine.crew.import_entries(offers, by=command_context(session))
    session.print_result(done, lambda screen: draw_import_result(screen, done))
    return exit_code_of_skipped(done.troubles)


def export_skills(session: Session, args: Namespace) -> int | None:
    """Export skills as folders."""
    folder = Path(args.folder)
    written: list[str] = []
    troubles: list[PageProblem] = []
    with session.open_engine() as engine:
        found = engine.crew.entry_summaries(session.actor, "skill", NOT_ARCHIVED)
        for name in args.names or [each.name for each in found]:
            skill = engine.crew.find_entry(session.actor, "skill", name).profile
            assert isinstance(skill, Skill), "an entry of type skill has a skill profile"
            done, problems = write_skill(folder, name, skill)
            written += done
            troubles += problems

    def draw(screen: Screen) -> None:
        screen.paragraph(("Exported", GOOD), f" {plural(len(written), 'file')} to {folder}.")
        draw_skipped(screen, troubles)

    session.print_result({"folder": folder, "written": written, "troubles": troubles}, draw)
    return exit_code_of_skipped(troubles)


def draw_import_result(screen: Screen, done: PackResult) -> None:
    """Print what was imported and what was skipped."""
    if done.entries:
        screen.table(
            ("", "name", "change", "status"),
            [
                (each.sort, styled_text((each.name, NAME)), each.what, styled_text(_status(each)))
                for each in done.entries
            ],
        )
    if any(each.withheld for each in done.entries):
        screen.paragraph(("Inactive entries are used once the user runs `activate` on them.", DIM))
    draw_skipped(screen, done.troubles)
    memory_items.draw_undo(
        screen, [each.positions[0] for each in done.entries if _is_undoable(each)]
    )


def _status(each: EntryResult) -> tuple[str, str]:
    return (f"{each.status}, inactive", WARNING) if each.withheld else (each.status, GOOD)


def _is_undoable(each: EntryResult) -> bool:
    return bool(each.positions) and each.what in {"new", "changed"}


def _draw_one(screen: Screen, done: EntryResult) -> None:
    if done.what == "unchanged":
        screen.paragraph("No change: ", (done.name, NAME), ".")
        return
    screen.paragraph(("Saved", GOOD), ": ", (done.name, NAME), f" is {_status(done)[0]}.")
    memory_items.draw_undo(screen, done.positions[:1])


def _existing(engine: Engine, session: Session, args: Namespace) -> Profile | None:
    """The existing entry, if the actor may see it."""
    try:
        return engine.crew.find_entry(session.actor, entry_type_of(args), args.name).profile
    except NotFound:
        return None


def _profile(session: Session, args: Namespace, existing: Profile | None) -> Profile:
    before = existing if isinstance(existing, Persona | Team) else None
    title = args.title or (before.title if before else args.name)
    description = args.description or (before.description if before else "")
    body_before = before.body if before else ""
    body = body_before if args.body is None else session.read_text(args.body)
    if entry_type_of(args) == "persona":
        return Persona(title, description, body)
    members = tuple(parse_member(each) for each in args.member or ())
    if args.member is None and isinstance(before, Team):
        members = before.members
    return Team(title, description, body, members)
