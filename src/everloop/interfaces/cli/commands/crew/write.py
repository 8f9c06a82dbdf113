"""`everloop personas write`, `teams write`, `skills import` and `skills export`."""

from argparse import Namespace
from pathlib import Path

from everloop.adapters.files.packs import read_folder, write_skill
from everloop.app import Engine
from everloop.errors import NotFound
from everloop.interfaces.cli.audience import speaker
from everloop.interfaces.cli.commands.crew.browse import sort_of
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, WARNING, Screen, styled
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.skipped_files import code_of, draw_troubles
from everloop.lessons.crew.commands import EnlistEntry, ReviseEntry
from everloop.lessons.crew.events import Persona, Profile, Skill, Team
from everloop.lessons.crew.service import Enlisted, TakenIn
from everloop.lessons.crew.validation import member_of
from everloop.memory.markdown.folder import Trouble

EVERY = ("draft", "active")


def write(session: Session, args: Namespace) -> None:
    """Write a persona or a team, or write it anew; what is not said stays."""
    sort = sort_of(args)
    with session.engine() as engine:
        known = _known(engine, session, args)
        profile = _profile(session, args, known)
        if known is None:
            new = EnlistEntry(sort, args.name, profile, args.scope or "user")
            done = engine.crew.enlist(new, by=speaker(session))
        else:
            change = ReviseEntry(sort, args.name, profile, args.scope)
            done = engine.crew.revise(change, by=speaker(session))
    session.answer(done, lambda screen: _draw_one(screen, done))


def import_skills(session: Session, args: Namespace) -> int | None:
    """Take in the skills of a folder."""
    offers = read_folder(Path(args.folder))
    with session.engine() as engine:
        done = engine.crew.take_in(offers, by=speaker(session))
    session.answer(done, lambda screen: draw_taken_in(screen, done))
    return code_of(done.troubles)


def export_skills(session: Session, args: Namespace) -> int | None:
    """Write skills as folders."""
    folder = Path(args.folder)
    written: list[str] = []
    troubles: list[Trouble] = []
    with session.engine() as engine:
        found = engine.crew.headlines(session.actor, "skill", EVERY)
        for name in args.names or [each.name for each in found]:
            skill = engine.crew.whole(session.actor, "skill", name).profile
            assert isinstance(skill, Skill), "a skill has a skill's fields"
            done, problems = write_skill(folder, name, skill)
            written += done
            troubles += problems

    def draw(screen: Screen) -> None:
        screen.say(("Exported", GOOD), f" {plural(len(written), 'file')} to {folder}.")
        draw_troubles(screen, troubles)

    session.answer({"folder": folder, "written": written, "troubles": troubles}, draw)
    return code_of(troubles)


def draw_taken_in(screen: Screen, done: TakenIn) -> None:
    """What was taken in, and what was not."""
    if done.entries:
        screen.table(
            ("", "name", "what", "status"),
            [
                (each.sort, styled((each.name, NAME)), each.what, styled(_status(each)))
                for each in done.entries
            ],
        )
    if any(each.withheld for each in done.entries):
        screen.say(("What waits is used when the user says so, with `activate`.", FAINT))
    draw_troubles(screen, done.troubles)
    memory_items.undo(screen, [each.positions[0] for each in done.entries if _fresh(each)])


def _status(each: Enlisted) -> tuple[str, str]:
    return (f"{each.status}, waits", WARNING) if each.withheld else (each.status, GOOD)


def _fresh(each: Enlisted) -> bool:
    return bool(each.positions) and each.what in {"new", "changed"}


def _draw_one(screen: Screen, done: Enlisted) -> None:
    if done.what == "unchanged":
        screen.say("It says so already: ", (done.name, NAME), ".")
        return
    screen.say(("Written", GOOD), ": ", (done.name, NAME), f" is {_status(done)[0]}.")
    memory_items.undo(screen, done.positions[:1])


def _known(engine: Engine, session: Session, args: Namespace) -> Profile | None:
    """What is there already, if the one who speaks may see it."""
    try:
        return engine.crew.whole(session.actor, sort_of(args), args.name).profile
    except NotFound:
        return None


def _profile(session: Session, args: Namespace, known: Profile | None) -> Profile:
    before = known if isinstance(known, Persona | Team) else None
    title = args.title or (before.title if before else args.name)
    description = args.description or (before.description if before else "")
    known_body = before.body if before else ""
    body = known_body if args.body is None else session.said(args.body)
    if sort_of(args) == "persona":
        return Persona(title, description, body)
    members = tuple(member_of(each) for each in args.member or ())
    if args.member is None and isinstance(before, Team):
        members = before.members
    return Team(title, description, body, members)
