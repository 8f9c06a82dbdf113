"""`everloop lessons activate`, `use`, `feedback` and the rest: what becomes of a lesson."""

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
    """Put it on trial."""
    with session.engine() as engine:
        done = engine.lessons.activate(args.lesson, by=speaker(session))
    answer_with(session, done, "is on trial")


def use(session: Session, args: Namespace) -> None:
    """Note that it was acted on."""
    with session.engine() as engine:
        done = engine.lessons.use(UseLesson(args.lesson, args.use_id), by=speaker(session))
    answer_with(session, done, f"was acted on ({plural(done.uses, 'use')} noted)")


def feedback(session: Session, args: Namespace) -> None:
    """Say that it helped, or that it harmed."""
    command = GiveFeedback(args.lesson, args.helpful, args.signal)
    with session.engine() as engine:
        done = engine.lessons.feedback(command, by=speaker(session))
    answer_with(session, done, "helped" if args.helpful else "harmed")


def withdraw(session: Session, args: Namespace) -> None:
    """Take praise or blame back."""
    with session.engine() as engine:
        command = WithdrawFeedback(args.lesson, args.signal)
        done = engine.lessons.withdraw(command, by=speaker(session))
    answer_with(session, done, "no longer has that signal")


def verdict(session: Session, args: Namespace) -> None:
    """Run a command that tries it, and record how that ends."""
    with session.engine() as engine:
        tried = engine.lessons.find(session.actor, args.lesson)
        ran = run(args.command, lambda line: session.aside.say(line))
        passed = ran.exit_code == 0
        command = RecordVerdict(
            args.lesson, passed, ran.exit_code, ran.command, ran.output_digest, tried.digest
        )
        done = engine.lessons.verdict(command, by=speaker(session))
    outside = session.actor == USER

    def draw(screen: Screen) -> None:
        how = ("passed", GOOD) if passed else (f"failed with exit code {ran.exit_code}", BAD)
        screen.say(("Recorded", GOOD), ": ", (done.lesson_id, NAME), " ", how, ".")
        if not outside:
            screen.say((f"It is a claim of {session.actor}, and supports nothing.", WARNING))

    session.answer(
        {
            "lesson_id": done.lesson_id,
            "status": done.status,
            "passed": passed,
            "exit_code": ran.exit_code,
            "output_digest": ran.output_digest,
            "text_digest": tried.digest,
            "outside": outside,
        },
        draw,
    )


def promote(session: Session, args: Namespace) -> int | None:
    """Ask the gate. If it says no, that is the answer and the exit code."""
    with session.engine() as engine:
        done = engine.lessons.promote(args.lesson, by=speaker(session))
    session.answer(done, lambda screen: _promotion(screen, done))
    return None if done.passed else EXIT_CODES[Rejected]


def discard(session: Session, args: Namespace) -> None:
    """Let it go."""
    command = DiscardLesson(args.lesson, args.reason, args.force)
    with session.engine() as engine:
        done = engine.lessons.discard(command, by=speaker(session))
    answer_with(session, done, "is let go")


def supersede(session: Session, args: Namespace) -> None:
    """Let another take its place."""
    command = SupersedeLesson(args.lesson, args.by, args.force)
    with session.engine() as engine:
        done = engine.lessons.supersede(command, by=speaker(session))
    answer_with(session, done, f"gave its place to {args.by}")


def answer_with(session: Session, lesson: LessonSeen, said: str) -> None:
    """Answer with the lesson as it stands now."""
    session.answer(
        lesson,
        lambda screen: screen.say(
            ("Recorded", GOOD), ": ", (lesson.lesson_id, NAME), f" {said}.",
            (f" It is {lesson.status}, and says: {lesson.description}", FAINT),
        ),
    )  # fmt: skip


def _promotion(screen: Screen, done: Promotion) -> None:
    if done.passed:
        screen.say(("Promoted", GOOD), ": ", (done.lesson_id, NAME), ".")
        return
    screen.say(("The gate says no", BAD), ": ", (done.lesson_id, NAME), f" is {done.status}.")
    for reason in done.reasons:
        screen.say(f"  {reason}")
    screen.say((f"What would satisfy it: everloop gate {done.lesson_id}", FAINT))
