"""`everloop lessons activate`, `use`, `feedback`, `promote` ...: the lifecycle of a lesson."""

from argparse import Namespace

from everloop.adapters import run_command
from everloop.errors import Rejected
from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.commands.lessons.browse import draw_checks, met_requirements
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES
from everloop.interfaces.cli.output.screen import BAD, DIM, GOOD, NAME, WARNING, Screen
from everloop.interfaces.cli.session import USER, Session
from everloop.lessons import (
    STATUS_LABELS,
    DiscardLesson,
    GateResult,
    GiveFeedback,
    LessonView,
    RecordVerdict,
    SupersedeLesson,
    UseLesson,
    WithdrawFeedback,
)


def activate(session: Session, args: Namespace) -> None:
    """Activate a lesson."""
    with session.open_engine() as engine:
        done = engine.lessons.activate(args.lesson, by=command_context(session))
    print_lesson_change(session, done, "is active")


def use(session: Session, args: Namespace) -> None:
    """Record that a lesson was used."""
    with session.open_engine() as engine:
        done = engine.lessons.use(UseLesson(args.lesson, args.use_id), by=command_context(session))
    print_lesson_change(session, done, f"was used ({plural(done.uses, 'use')} recorded)")


def feedback(session: Session, args: Namespace) -> None:
    """Rate a lesson as helpful or harmful."""
    command = GiveFeedback(args.lesson, args.helpful, args.signal)
    with session.open_engine() as engine:
        done = engine.lessons.feedback(command, by=command_context(session))
    print_lesson_change(session, done, "was rated helpful" if args.helpful else "was rated harmful")


def withdraw(session: Session, args: Namespace) -> None:
    """Withdraw feedback."""
    with session.open_engine() as engine:
        command = WithdrawFeedback(args.lesson, args.signal)
        done = engine.lessons.withdraw(command, by=command_context(session))
    print_lesson_change(session, done, "no longer has that feedback")


def verdict(session: Session, args: Namespace) -> None:
    """Test a lesson with a command and record the result."""
    with session.open_engine() as engine:
        tested = engine.lessons.find(session.actor, args.lesson)
        ran = run_command(args.command, lambda line: session.error_screen.paragraph(line))
        passed = ran.exit_code == 0
        command = RecordVerdict(
            args.lesson, passed, ran.exit_code, ran.command, ran.output_digest, tested.digest
        )
        done = engine.lessons.verdict(command, by=command_context(session))
    outside = session.actor == USER

    def draw(screen: Screen) -> None:
        how = ("passed", GOOD) if passed else (f"failed with exit code {ran.exit_code}", BAD)
        screen.paragraph(("Recorded", GOOD), ": ", (done.lesson_id, NAME), " ", how, ".")
        if not outside:
            screen.paragraph(
                (
                    f"Recorded as a claim of {session.actor}; it does not count towards promotion.",
                    WARNING,
                )
            )

    session.print_result(
        {
            "lesson_id": done.lesson_id,
            "status": done.status,
            "passed": passed,
            "exit_code": ran.exit_code,
            "output_digest": ran.output_digest,
            "text_digest": tested.digest,
            "outside": outside,
        },
        draw,
    )


def promote(session: Session, args: Namespace) -> int | None:
    """Promote a lesson, or print the missing requirements and exit with code 2."""
    with session.open_engine() as engine:
        done = engine.lessons.promote(args.lesson, by=command_context(session))
        refused = None if done.passed else engine.lessons.gate_result(session.actor, done.lesson_id)
    session.print_result(done, lambda screen: _draw_promotion(screen, done.lesson_id, refused))
    return None if done.passed else EXIT_CODES[Rejected]


def discard(session: Session, args: Namespace) -> None:
    """Discard a lesson."""
    command = DiscardLesson(args.lesson, args.reason, args.force)
    with session.open_engine() as engine:
        done = engine.lessons.discard(command, by=command_context(session))
    print_lesson_change(session, done, "was discarded")


def supersede(session: Session, args: Namespace) -> None:
    """Replace a lesson with another one."""
    command = SupersedeLesson(args.lesson, args.by, args.force)
    with session.open_engine() as engine:
        done = engine.lessons.supersede(command, by=command_context(session))
    print_lesson_change(session, done, f"was replaced by {args.by}")


def print_lesson_change(session: Session, lesson: LessonView, said: str) -> None:
    """Print the result of a change to a lesson, and the lesson."""
    session.print_result(
        lesson,
        lambda screen: screen.paragraph(
            ("Done", GOOD), ": ", (lesson.lesson_id, NAME), f" {said}.",
            (f" Status: {STATUS_LABELS[lesson.status].lower()}. Rule: {lesson.description}", DIM),
        ),
    )  # fmt: skip


def _draw_promotion(screen: Screen, lesson_id: str, refused: GateResult | None) -> None:
    if refused is None:
        screen.paragraph(("Approved", GOOD), ": ", (lesson_id, NAME), ".")
        return
    met = met_requirements(refused)
    screen.paragraph(("Not approved yet", BAD), ": ", (lesson_id, NAME), ". ", met, ".")
    unmet = [check for check in refused.checks if not check.passed]
    draw_checks(screen, refused.lesson.status, unmet)
    screen.advice((f"For details: everloop gate {lesson_id}", DIM))
