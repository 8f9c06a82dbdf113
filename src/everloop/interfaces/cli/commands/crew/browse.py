"""`everloop skills`, `personas` and `teams`: list, show, activate, archive and remove them."""

from argparse import Namespace
from typing import Final

import msgspec

from everloop.interfaces.cli.audience import not_let_in, principal_of, speaker
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.json_shapes import receipt_of
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, STRONG, WARNING, Screen, styled
from everloop.interfaces.cli.output.times import local_with_age
from everloop.interfaces.cli.session import Session
from everloop.lessons.crew.commands import ActivateEntry, ArchiveEntry, RemoveEntry
from everloop.lessons.crew.events import Skill, Sort, Team
from everloop.lessons.crew.queries import Headline, Whole

SORTS: Final[dict[str, Sort]] = {"skills": "skill", "personas": "persona", "teams": "team"}


def sort_of(args: Namespace) -> Sort:
    """The type of entry that a command is about, from its first word."""
    return SORTS[args.spec.words[0]]


def list_entries(session: Session, args: Namespace) -> None:
    """List entries by name."""
    principal, sort = principal_of(session, args), sort_of(args)
    statuses = tuple(args.status or ("draft", "active"))
    with session.looking() as engine:
        found = engine.crew.headlines(principal, sort, statuses)
        notes = not_let_in(engine, principal)

    def draw(screen: Screen) -> None:
        if found:
            _table(screen, found)
        else:
            screen.say(f"No {sort}s found.")
        screen.notes(notes)

    session.answer({f"{sort}s": found, "notes": notes}, draw)


def show(session: Session, args: Namespace) -> None:
    """Show an entry in full."""
    principal = principal_of(session, args)
    with session.looking() as engine:
        found = engine.crew.whole(principal, sort_of(args), args.name)
    session.answer(found, lambda screen: _draw(screen, session, found))


def activate(session: Session, args: Namespace) -> None:
    """Activate an entry."""
    _change(session, args, ActivateEntry(sort_of(args), args.name), "active")


def archive(session: Session, args: Namespace) -> None:
    """Archive an entry."""
    command = ArchiveEntry(sort_of(args), args.name, args.reason, args.force)
    _change(session, args, command, "archived")


def remove(session: Session, args: Namespace) -> None:
    """Remove an entry."""
    command = RemoveEntry(sort_of(args), args.name, args.reason, args.force)
    _change(session, args, command, "removed")


def _change(
    session: Session,
    args: Namespace,
    command: ActivateEntry | ArchiveEntry | RemoveEntry,
    done: str,
) -> None:
    with session.engine() as engine:
        receipt = engine.crew.change(command, by=speaker(session))

    def draw(screen: Screen) -> None:
        if not receipt.facts:
            screen.say("No change: ", (args.name, NAME), f" is already {done}.")
            return
        screen.say(("Done", GOOD), ": ", (args.name, NAME), f" is {done}.")
        memory_items.undo(screen, [receipt.facts[0].position])

    session.answer(receipt_of(receipt), draw)


def _table(screen: Screen, found: list[Headline]) -> None:
    screen.table(
        ("name", "status", "by", "description"),
        [
            (
                styled((each.name, NAME)),
                styled((each.status, GOOD if each.status == "active" else WARNING)),
                f"pack {each.pack_id}" if each.pack_id else each.author,
                each.description
                if each.title == each.name
                else f"{each.title}: {each.description}",
            )
            for each in found
        ],
        cut=True,
    )


def _draw(screen: Screen, session: Session, found: Whole) -> None:
    head = found.headline
    screen.say((head.title, STRONG), (f"  {head.name}", FAINT))
    screen.say(head.description)
    screen.gap()
    screen.fields(_fields(found, session))
    if found.profile.body.strip():
        screen.gap()
        screen.say(found.profile.body.strip())
    if found.history:
        screen.gap()
        screen.say(("Lessons that improved it", STRONG))
        screen.table(
            ("lesson", "promoted", "by", "trigger"),
            [
                (each.lesson_id, local_with_age(each.promoted_at, session.now), each.author,
                 each.trigger)
                for each in found.history
            ],
            cut=True,
        )  # fmt: skip


def _fields(found: Whole, session: Session) -> list[tuple[str, str]]:
    head = found.headline
    fields = [
        ("status", head.status),
        ("scope", head.scope),
        ("written by", f"{head.author}, via {head.actor}"),
        ("pack", head.pack_id),
        ("written", local_with_age(head.written_at, session.now)),
        ("evidence", ", ".join(found.evidence)),
    ]
    match found.profile:
        case Skill() as skill:
            return [*fields, *_skill_fields(skill)]
        case Team(members=members):
            return [*fields, ("members", ", ".join(f"{m.sort}:{m.id}" for m in members))]
        case _:
            return fields


def _skill_fields(skill: Skill) -> list[tuple[str, str]]:
    names = ("type", "version", "when_to_use", "argument_hint", "model", "effort", "agent")
    named = [(name.replace("_", " "), str(getattr(skill, name))) for name in names]
    return [
        *named,
        ("context", skill.context),
        ("activation", skill.activation),
        ("arguments", ", ".join(skill.arguments)),
        ("allowed tools", ", ".join(skill.allowed_tools)),
        ("paths", ", ".join(skill.paths)),
        ("hooks (never run)", msgspec.json.encode(skill.hooks).decode() if skill.hooks else ""),
        ("files", ", ".join(file.path for file in skill.files)),
    ]
