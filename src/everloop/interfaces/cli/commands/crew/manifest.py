"""`everloop manifest`: the context for a model, as Markdown for its prompt or as JSON."""

from argparse import Namespace
from typing import Any

from everloop.interfaces.cli.audience import command_context, missing_grant_notes
from everloop.interfaces.cli.commands.memory.recall import embed_before_search
from everloop.interfaces.cli.output.escape import escape_controls
from everloop.interfaces.cli.output.screen import DIM
from everloop.interfaces.cli.session import Session
from everloop.lessons import Manifest, ManifestLesson, ManifestRequest
from everloop.memory import SearchQuery


def manifest(session: Session, args: Namespace) -> None:
    """Build a manifest and print it."""
    wish = ManifestRequest(
        statuses=tuple(args.status or ("active",)),
        lesson_limit=args.lessons,
        record=not args.no_record,
        memory_query=" ".join(args.question),
        memory_limit=args.memories,
        memory_mode=args.mode,
        paths=tuple(args.path),
    )
    with session.open_engine() as engine:
        if wish.memory_query:
            embed_before_search(
                session, engine, SearchQuery(wish.memory_query, mode=wish.memory_mode)
            )
        found = engine.manifests.build(wish, by=command_context(session))
        notes = [*found.stats.notes, *missing_grant_notes(engine, session.actor)]
    session.print_result(_shape(found, notes), lambda _: _draw(session, found, notes))


def _draw(session: Session, found: Manifest, notes: list[str]) -> None:
    """Print only the text to standard output, since it is for a prompt."""
    aside = session.error_screen
    if found.text:
        session.stdout.write(f"{escape_controls(found.text)}\n")
    else:
        aside.paragraph(("The manifest is empty.", DIM))
    if found.stats.skipped:
        aside.paragraph((f"{found.stats.skipped} left out: over the token budget.", DIM))
    aside.notes(notes)


def _shape(found: Manifest, notes: list[str]) -> dict[str, Any]:
    return {
        "context_id": found.context_id,
        "text": found.text,
        "tokens": found.tokens,
        "lessons": [_lesson(each) for each in found.lessons],
        "memories": found.memories,
        "skills": found.skills,
        "personas": found.personas,
        "teams": found.teams,
        "stats": found.stats,
        "notes": notes,
    }


def _lesson(shown: ManifestLesson) -> dict[str, Any]:
    lesson = shown.lesson
    return {
        "lesson_id": lesson.lesson_id,
        "description": lesson.description,
        "status": lesson.status,
        "preview": shown.preview,
        "uses": lesson.uses,
        "gate": shown.gate,
    }
