"""`everloop manifest`: the context for a model, as Markdown for its prompt or as JSON."""

from argparse import Namespace
from typing import Any

from everloop.interfaces.cli.audience import not_let_in, speaker
from everloop.interfaces.cli.commands.memory.recall import embed
from everloop.interfaces.cli.output.escape import inert
from everloop.interfaces.cli.output.screen import FAINT
from everloop.interfaces.cli.session import Session
from everloop.lessons.manifest.manifest import Manifest, ShownLesson, Wish
from everloop.memory.retrieval.results import Asked


def manifest(session: Session, args: Namespace) -> None:
    """Build a manifest and print it."""
    wish = Wish(
        statuses=tuple(args.status or ("active",)),
        lesson_limit=args.lessons,
        record=not args.no_record,
        memory_query=" ".join(args.question),
        memory_limit=args.memories,
        memory_mode=args.mode,
        paths=tuple(args.path),
    )
    with session.engine() as engine:
        if wish.memory_query:
            embed(session, engine, Asked(wish.memory_query, mode=wish.memory_mode))
        found = engine.herald.manifest(wish, by=speaker(session))
        notes = [*found.stats.notes, *not_let_in(engine, session.actor)]
    session.answer(_shape(found, notes), lambda _: _draw(session, found, notes))


def _draw(session: Session, found: Manifest, notes: list[str]) -> None:
    """Print only the text to standard output, since it is for a prompt."""
    aside = session.aside
    if found.text:
        session.stdout.write(f"{inert(found.text)}\n")
    else:
        aside.say(("The manifest is empty.", FAINT))
    if found.stats.skipped:
        aside.say((f"{found.stats.skipped} left out: over the token budget.", FAINT))
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


def _lesson(shown: ShownLesson) -> dict[str, Any]:
    lesson = shown.lesson
    return {
        "lesson_id": lesson.lesson_id,
        "description": lesson.description,
        "status": lesson.status,
        "preview": shown.preview,
        "uses": lesson.uses,
        "gate": shown.gate,
    }
