"""`everloop skills`, `personas` and `teams`: list, show, activate, archive and remove them."""

from argparse import Namespace
from typing import Final

import msgspec

from everloop.interfaces.cli.audience import (
    check_has_grant,
    command_context,
    effective_principal,
    missing_grant_notes,
)
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.json_shapes import receipt_json
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
from everloop.interfaces.cli.session import Session
from everloop.lessons import (
    ActivateEntry,
    ArchiveEntry,
    EntrySummary,
    FullEntry,
    RemoveEntry,
    Skill,
    Sort,
    Team,
)

SORTS: Final[dict[str, Sort]] = {"skills": "skill", "personas": "persona", "teams": "team"}


def entry_type_of(args: Namespace) -> Sort:
    """The type of entry that a command is about, from its first word."""
    return SORTS[args.spec.words[0]]


def list_entries(session: Session, args: Namespace) -> None:
    """List entries by name."""
    principal, sort = effective_principal(session, args), entry_type_of(args)
    statuses = tuple(args.status or ("draft", "active"))
    with session.open_for_reading() as engine:
        found = engine.crew.entry_summaries(principal, sort, statuses)
        check_has_grant(session, engine, found=len(found))
        notes = missing_grant_notes(engine, principal)

    def draw(screen: Screen) -> None:
        if found:
            _table(screen, found)
        else:
            screen.paragraph(f"No {sort}s found.")
        screen.notes(notes)

    session.print_result({f"{sort}s": found, "notes": notes}, draw)


def show(session: Session, args: Namespace) -> None:
    """Show an entry in full."""
    principal = effective_principal(session, args)
    with session.open_for_reading() as engine:
        found = engine.crew.find_entry(principal, entry_type_of(args), args.name)
    session.print_result(found, lambda screen: _draw(screen, session, found))


def activate(session: Session, args: Namespace) -> None:
    """Activate an entry."""
    _change(session, args, ActivateEntry(entry_type_of(args), args.name), "active")


def archive(session: Session, args: Namespace) -> None:
    """Archive an entry."""
    command = ArchiveEntry(entry_type_of(args), args.name, args.reason, args.force)
    _change(session, args, command, "archived")


def remove(session: Session, args: Namespace) -> None:
    """Remove an entry."""
    command = RemoveEntry(entry_type_of(args), args.name, args.reason, args.force)
    _change(session, args, command, "removed")


def _change(
    session: Session,
    args: Namespace,
    command: ActivateEntry | ArchiveEntry | RemoveEntry,
    done: str,
) -> None:
    with session.open_engine() as engine:
        receipt = engine.crew.change_status(command, by=command_context(session))

    def draw(screen: Screen) -> None:
        if not receipt.facts:
            screen.paragraph("No change: ", (args.name, NAME), f" is already {done}.")
            return
        screen.paragraph(("Done", GOOD), ": ", (args.name, NAME), f" is {done}.")
        memory_items.draw_undo(screen, [receipt.facts[0].position])

    session.print_result(receipt_json(receipt), draw)


def _table(screen: Screen, found: list[EntrySummary]) -> None:
    screen.table(
        ("name", "status", "by", "description"),
        [
            (
                styled_text((each.name, NAME)),
                styled_text((each.status, GOOD if each.status == "active" else WARNING)),
                f"pack {each.pack_id}" if each.pack_id else each.author,
                each.description
                if each.title == each.name
                else f"{each.title}: {each.description}",
            )
            for each in found
        ],
        cut=True,
    )


def _draw(screen: Screen, session: Session, found: FullEntry) -> None:
    head = found.headline
    screen.paragraph((head.title, BOLD), (f"  {head.name}", DIM))
    screen.paragraph(head.description)
    screen.blank_line()
    screen.fields(_fields(found, session))
    if found.profile.body.strip():
        screen.blank_line()
        screen.paragraph(found.profile.body.strip())
    if found.history:
        screen.blank_line()
        screen.paragraph(("Lessons that improved it", BOLD))
        screen.table(
            ("lesson", "promoted", "by", "trigger"),
            [
                (each.lesson_id, format_with_age(each.promoted_at, session.now), each.author,
                 each.trigger)
                for each in found.history
            ],
            cut=True,
        )  # fmt: skip


def _fields(found: FullEntry, session: Session) -> list[tuple[str, str]]:
    head = found.headline
    fields = [
        ("status", head.status),
        ("scope", head.scope),
        ("written by", f"{head.author}, via {head.actor}"),
        ("pack", head.pack_id),
        ("written", format_with_age(head.written_at, session.now)),
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
