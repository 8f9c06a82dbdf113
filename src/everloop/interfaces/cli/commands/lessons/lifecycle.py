"""`everloop lessons activate`, `use`, `feedback`, `promote` ...: the lifecycle of a lesson."""

from argparse import Namespace

from everloop.adapters.processes.run_command import run
from everloop.errors import Rejected
from everloop.interfaces.cli.audience import speaker
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES
from everloop.interfaces.cli.output.screen import BAD, FAINT, GOOD, NAME, WARNING, Screen
from everloop.interfaces.cli.session import USER, Session
from everloop.lessons.model.commands import (
    DiscardLesson,
    GiveFeedback,
    RecordVerdict,
    SupersedeLesson,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.projections.queries import LessonSeen
from everloop.lessons.service import Promotion


def activate(session: Session, args: Namespace) -> None:
    """Activate a lesson."""
    with session.engine() as engine:
        done = engine.lessons.activate(args.lesson, by=speaker(session))
    answer_with(session, done, "is active")


def use(session: Session, args: Namespace) -> None:
    """Record that a lesson was used."""
    with session.engine() as engine:
        done = engine.lessons.use(UseLesson(args.lesson, args.use_id), by=speaker(session))
    answer_with(session, done, f"was used ({plural(done.uses, 'use')} recorded)")


def feedback(session: Session, args: Namespace) -> None:
    """Rate a lesson as helpful or harmful."""
    command = GiveFeedback(args.lesson, args.helpful, args.signal)
    with session.engine() as engine:
        done = engine.lessons.feedback(command, by=speaker(session))
    answer_with(session, done, "was rated helpful" if args.helpful else "was rated harmful")


def withdraw(session: Session, args: Namespace) -> None:
    """Withdraw feedback."""
    with session.engine() as engine:
        command = WithdrawFeedback(args.lesson, args.signal)
        done = engine.lessons.withdraw(command, by=speaker(session))
    answer_with(session, done, "no longer has that feedback")


def verdict(session: Session, args: Namespace) -> None:
    """Test a lesson with a command and record the result."""
    with session.engine() as engine:
        tested = engine.lessons.find(session.actor, args.lesson)
        ran = run(args.command, lambda line: session.aside.say(line))
        passed = ran.exit_code == 0
        command = RecordVerdict(
            args.lesson, passed, ran.exit_code, ran.command, ran.output_digest, tested.digest
        )
        done = engine.lessons.verdict(command, by=speaker(session))
    outside = session.actor == USER

    def draw(screen: Screen) -> None:
        how = ("passed", GOOD) if passed else (f"failed with exit code {ran.exit_code}", BAD)
        screen.say(("Recorded", GOOD), ": ", (done.lesson_id, NAME), " ", how, ".")
        if not outside:
            screen.say(
                (
                    f"Recorded as a claim of {session.actor}; it does not count towards promotion.",
                    WARNING,
                )
            )

    session.answer(
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
    with session.engine() as engine:
        done = engine.lessons.promote(args.lesson, by=speaker(session))
    session.answer(done, lambda screen: _draw_promotion(screen, done))
    return None if done.passed else EXIT_CODES[Rejected]


def discard(session: Session, args: Namespace) -> None:
    """Discard a lesson."""
    command = DiscardLesson(args.lesson, args.reason, args.force)
    with session.engine() as engine:
        done = engine.lessons.discard(command, by=speaker(session))
    answer_with(session, done, "was discarded")


def supersede(session: Session, args: Namespace) -> None:
    """Replace a lesson with another one."""
    command = SupersedeLesson(args.lesson, args.by, args.force)
    with session.engine() as engine:
        done = engine.lessons.supersede(command, by=speaker(session))
    answer_with(session, done, f"was replaced by {args.by}")


def answer_with(session: Session, lesson: LessonSeen, said: str) -> None:
    """Print the result of a change to a lesson, and the lesson."""
    session.answer(
        lesson,
        lambda screen: screen.say(
            ("Done", GOOD), ": ", (lesson.lesson_id, NAME), f" {said}.",
            (f" Status: {lesson.status}. Rule: {lesson.description}", FAINT),
        ),
    )  # fmt: skip


def _draw_promotion(screen: Screen, done: Promotion) -> None:
    if done.passed:
        screen.say(("Promoted", GOOD), ": ", (done.lesson_id, NAME), ".")
        return
    screen.say(("Not promoted", BAD), ": ", (done.lesson_id, NAME), f" is still {done.status}.")
    for reason in done.reasons:
        screen.say(f"  {reason}")
    screen.say((f"For details: everloop gate {done.lesson_id}", FAINT))
