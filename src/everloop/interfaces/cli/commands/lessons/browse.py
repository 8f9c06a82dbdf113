"""`everloop lessons` and `everloop gate`: list and show lessons, and their promotion checks."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from rich.text import Text

from everloop.interfaces.cli.audience import (
    check_has_grant,
    effective_principal,
    missing_grant_notes,
)
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.escape import one_line
from everloop.interfaces.cli.output.memory_items import SCOPE_WIDTH, TEXT_WIDTH
from everloop.interfaces.cli.output.screen import (
    BAD,
    BOLD,
    DIM,
    GOOD,
    NAME,
    WARNING,
    Cell,
    Screen,
    styled_text,
)
from everloop.interfaces.cli.output.times import format_age, format_with_age
from everloop.interfaces.cli.session import Session
from everloop.lessons import (
    STATUS_LABELS,
    GateCheck,
    GateResult,
    LessonView,
    MemoryEvidence,
    Narrative,
    SignalHistory,
    SignalView,
    Status,
    VerdictView,
    signal_history,
)

STYLES: Final[dict[Status, str]] = {
    Status.PENDING: WARNING,
    Status.ACTIVE: NAME,
    Status.PROMOTED: GOOD,
    Status.DISCARDED: DIM,
    Status.SUPERSEDED: DIM,
}


def list_lessons(session: Session, args: Namespace) -> None:
    """List lessons by status, then by id."""
    principal = effective_principal(session, args)
    offset = (args.page - 1) * args.limit
    with session.open_for_reading() as engine:
        page = engine.lessons.page(principal, args.status or (), limit=args.limit, offset=offset)
        check_has_grant(session, engine, found=page.total)
        notes = missing_grant_notes(engine, principal)

    def draw(screen: Screen) -> None:
        if page.lessons:
            table(screen, page.lessons, session.now)
        else:
            screen.advice(
                "No lessons found."
                if args.status
                else "No lessons yet. `everloop lessons propose` and `everloop lessons capture` add"
                " some."
            )
        left = page.total - offset - len(page.lessons)
        if left > 0:
            screen.paragraph((f"{left:,} more: --page {args.page + 1}", DIM))
        screen.notes(notes)

    session.print_result({"total": page.total, "lessons": page.lessons, "notes": notes}, draw)


def recall(session: Session, args: Namespace) -> None:
    """Search lessons."""
    principal = effective_principal(session, args)
    with session.open_for_reading() as engine:
        hits = engine.lessons.recall(principal, " ".join(args.question), limit=args.limit)
        check_has_grant(session, engine, found=len(hits))
        notes = missing_grant_notes(engine, principal)

    def draw(screen: Screen) -> None:
        if hits:
            table(screen, [hit.lesson for hit in hits], session.now)
        else:
            screen.paragraph("No matches.")
        screen.notes(notes)

    session.print_result({"hits": hits, "notes": notes}, draw)


def stale(session: Session, _: Namespace) -> None:
    """List active lessons without recent feedback."""
    with session.open_for_reading() as engine:
        found = engine.lessons.stale_lessons(session.actor)
        check_has_grant(session, engine, found=len(found))
        notes = missing_grant_notes(engine, session.actor)

    def draw(screen: Screen) -> None:
        if found:
            table(screen, [each.lesson for each in found], session.now)
            screen.advice(("To rate one: everloop lessons feedback LESSON --up (or --down)", DIM))
        else:
            screen.paragraph("No lessons need feedback.")
        screen.notes(notes)

    session.print_result({"stale": found, "notes": notes}, draw)


def show(session: Session, args: Namespace) -> None:
    """Show a lesson in full."""
    with session.open_for_reading() as engine:
        found = engine.lessons.find(effective_principal(session, args), args.lesson)
    session.print_result(found, lambda screen: _draw(screen, found, session.now))


def gate(session: Session, args: Namespace) -> None:
    """Show the promotion checks of a lesson."""
    principal = effective_principal(session, args)
    with session.open_for_reading() as engine:
        standing = engine.lessons.gate_result(principal, args.lesson)
        found = standing.lesson
        with engine.reading() as reader:
            heard = signal_history(reader, found.position, found.digest)
    session.print_result(
        standing_of(standing, heard), lambda screen: _gate(screen, standing, heard, session.now)
    )


def table(screen: Screen, lessons: Sequence[LessonView], now: datetime) -> None:
    """Print lessons, one per line; in a narrow terminal the rule has a line of its own."""
    if not screen.wide:
        for each in lessons:
            screen.line(_head(each, now))
            screen.line(styled_text("  ", one_line(each.description, TEXT_WIDTH)))
        return
    screen.table(
        ("id", "status", "scope", "by", "#uses", "#+", "#-", "written", "rule"),
        [
            (
                styled_text((each.lesson_id, NAME)),
                status_text(each.status),
                one_line(each.scope, SCOPE_WIDTH),
                one_line(f"pack {each.pack_id}" if each.pack_id else each.author, SCOPE_WIDTH),
                str(each.uses),
                str(each.thumbs_up),
                str(each.thumbs_down),
                styled_text((format_age(each.written_at, now), DIM)),
                one_line(each.description, TEXT_WIDTH),
            )
            for each in lessons
        ],
        cut=True,
    )


def _head(lesson: LessonView, now: datetime) -> Text:
    """Status, feedback, age and id of a lesson, the most telling part first."""
    parts = [
        status_text(lesson.status),
        styled_text((plural(lesson.uses, "use"), DIM)),
        styled_text((f"+{lesson.thumbs_up} -{lesson.thumbs_down}", DIM)),
        styled_text((format_age(lesson.written_at, now), DIM)),
        styled_text((lesson.lesson_id, NAME)),
    ]
    return Text("  ").join(parts)


def status_text(status: Status) -> Text:
    """A status in the words that people read, with its colour."""
    return styled_text((STATUS_LABELS[status].lower(), STYLES[status]))


def standing_of(standing: GateResult, heard: SignalHistory) -> dict[str, Any]:
    """The promotion checks of a lesson, as JSON."""
    lesson = standing.lesson
    return {
        "lesson_id": lesson.lesson_id,
        "status": lesson.status,
        "text_digest": lesson.digest,
        "open": not standing.reasons,
        "checks": [
            {**msgspec.structs.asdict(check), "passed": check.passed} for check in standing.checks
        ],
        "signals": heard.signals,
        "verdicts": heard.verdicts,
    }


def _draw(screen: Screen, found: LessonView, now: datetime) -> None:
    screen.paragraph((found.description, BOLD), (f"  {found.lesson_id}", DIM))
    screen.paragraph(found.body)
    screen.blank_line()
    screen.fields(_fields(found, now))
    screen.advice((f"Requirements for promotion: everloop gate {found.lesson_id}", DIM))


def _fields(found: LessonView, now: datetime) -> list[tuple[str, str]]:
    feedback = f"{plural(found.uses, 'use')}, {found.thumbs_up} up, {found.thumbs_down} down"
    source = found.source
    return [
        ("status", ": ".join(filter(None, (STATUS_LABELS[found.status].lower(), found.note)))),
        ("scope", found.scope),
        ("written by", f"{found.author}, via {found.actor}"),
        ("pack", found.pack_id),
        ("source", f"{source.name} ({source.kind})" if source else ""),
        ("for skill", found.target_skill),
        ("proposed", format_with_age(found.created_at, now)),
        ("written", format_with_age(found.written_at, now)),
        ("feedback", feedback),
        ("evidence", _evidence(found.evidence)),
        *(_narrative_fields(found.narrative) if found.narrative else ()),
    ]


def _narrative_fields(narrative: Narrative) -> list[tuple[str, str]]:
    return [
        ("trigger", narrative.trigger),
        ("failure", narrative.failure_mode),
        ("correction", narrative.correction),
        ("confidence", narrative.confidence),
        ("evidence", _evidence(narrative.evidence)),
    ]


def _evidence(evidence: Sequence[Any]) -> str:
    return ", ".join(
        each.item_id
        if isinstance(each, MemoryEvidence)
        else f"“{each.text}” ({each.found_in or 'not found'})"
        for each in evidence
    )


def _gate(screen: Screen, standing: GateResult, heard: SignalHistory, now: datetime) -> None:
    lesson = standing.lesson
    screen.paragraph((lesson.description, BOLD), (f"  {lesson.lesson_id}", DIM))
    status = STATUS_LABELS[lesson.status].lower()
    screen.paragraph(f"Status: {status}. ", met_requirements(standing), ".")
    draw_checks(screen, standing.lesson.status, standing.checks)
    if heard.signals or heard.verdicts:
        screen.blank_line()
        rows = [*map(_signal, heard.signals), *map(_verdict, heard.verdicts)]
        screen.table(
            ("feedback", "result", "by", "when"), [(*row, format_age(at, now)) for row, at in rows]
        )


def met_requirements(standing: GateResult) -> tuple[str, str]:
    """How many requirements are met, with the colour for that."""
    met, total = sum(check.passed for check in standing.checks), len(standing.checks)
    if met == total:
        return "All requirements met", GOOD
    return f"{met} of {total} requirements met", WARNING


def draw_checks(screen: Screen, status: Status, checks: Iterable[GateCheck]) -> None:
    """Print requirements of a lesson with this status, each with its fact and the next step."""
    screen.table(("", "", ""), [row for check in checks for row in _check(check, status)])


def _check(check: GateCheck, status: Status) -> list[tuple[Cell, Cell, Cell]]:
    """The rows of a check: what it found, and below it what would satisfy it."""
    mark = styled_text(("✓", GOOD) if check.passed else ("✗", BAD))
    told = f"it is {STATUS_LABELS[status].lower()}" if check.name == "standing" else check.fact
    rows: list[tuple[Cell, Cell, Cell]] = [(mark, check.title, styled_text((told, DIM)))]
    for found in check.violations:
        why = "" if found.fact == check.fact else f"{found.fact}: "
        rows.append(("", "", styled_text(("→ ", BAD), f"{why}{found.satisfied_by}")))
    return rows


def _signal(signal: SignalView) -> tuple[tuple[Cell, Cell, str], datetime]:
    result = "helped" if signal.helpful else "harmed"
    marks = [
        *(["for an earlier text"] if not signal.present else []),
        *(["withdrawn"] if not signal.open else []),
        *(["reported as the user's"] if signal.relayed else []),
    ]
    cells = (styled_text((signal.signal_id, NAME)), ", ".join([result, *marks]), signal.actor)
    return cells, signal.recorded_at


def _verdict(verdict: VerdictView) -> tuple[tuple[Cell, Cell, str], datetime]:
    marks = [
        "passed" if verdict.passed else f"failed with exit code {verdict.exit_code}",
        *([] if verdict.outside else ["unconfirmed claim"]),
        *([] if verdict.present else ["for an earlier text"]),
    ]
    cells = (styled_text((one_line(verdict.command, 40), NAME)), ", ".join(marks), verdict.actor)
    return cells, verdict.recorded_at
