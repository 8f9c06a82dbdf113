"""`everloop voice`: check the telephone without a call, list calls, ask to be called."""

from argparse import Namespace

from everloop.access import require_user
from everloop.adapters import SystemMachine
from everloop.doctor import check_voice
from everloop.errors import Invalid, NotFound, Unavailable
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES
from everloop.interfaces.cli.output.screen import BAD, DIM, GOOD, NAME, Screen, styled_text
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.session import Session
from everloop.services import make_voice_service
from everloop.voice import CallView


def check(session: Session, args: Namespace) -> int | None:
    """Check the configuration of the telephone. No call is made."""
    steps = check_voice(session.settings, SystemMachine().module, online=args.online)
    ready = all(step.ok for step in steps)

    def draw(screen: Screen) -> None:
        for step in steps:
            mark = ("✓ ", GOOD) if step.ok else ("✗ ", BAD)
            screen.paragraph(mark, f"{step.topic}: {step.text}")
            if step.hint:
                screen.advice(f"→ {step.hint}")
        if ready:
            screen.paragraph(("The telephone is ready.", GOOD), " No call was made.")

    session.print_result({"ready": ready, "steps": steps}, draw)
    return None if ready else EXIT_CODES[Unavailable]


def list_calls(session: Session, _: Namespace) -> None:
    """List the newest calls, and what became of each."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        service = make_voice_service(engine, session.settings)
        calls, wanted = service.newest(), service.callbacks()

    def draw(screen: Screen) -> None:
        if not calls:
            screen.paragraph("No calls yet.")
        else:
            _draw_calls(screen, session, calls)
        for subject in wanted:
            screen.paragraph("You will be called when ", (subject, NAME), " is done.")

    session.print_result({"calls": calls, "wanted": sorted(wanted)}, draw)


def call_me(session: Session, args: Namespace) -> None:
    """Ask to be called when a task is done, or no longer."""
    require_user(session.actor, "ask to be called")
    title = args.task
    with session.open_engine() as engine:
        service = make_voice_service(engine, session.settings)
        by, subject = command_context(session), f"task:{args.task}"
        if args.cancel:
            if subject not in service.callbacks():
                raise NotFound(
                    f"no call about task {args.task!r} is wanted", hint="See `everloop voice`."
                )
            service.cancel_callback(subject, by)
        else:
            title = engine.workers.find(args.task).task.spec.title
            if not session.settings.voice.called_number:
                raise Invalid(
                    "there is no number to call",
                    hint="Run `everloop voice check` for what is missing.",
                )
            service.request_callback(subject, by)

    def draw(screen: Screen) -> None:
        if args.cancel:
            screen.paragraph("You will not be called about it.")
        else:
            screen.paragraph(("You will be called", GOOD), " when ", (title, NAME), " is done.")

    session.print_result({"subject": subject, "wanted": not args.cancel}, draw)


def _draw_calls(screen: Screen, session: Session, calls: list[CallView]) -> None:
    screen.table(
        ("call", "number", "what happened", "when"),
        [
            (
                styled_text((one.direction, NAME)),
                one.number,
                styled_text((", ".join(_words(one)), DIM)),
                format_with_age(one.steps[-1].at, session.now),
            )
            for one in calls
        ],
    )


def _words(call: CallView) -> list[str]:
    return [f"{one.act} ({one.detail})" if one.detail else one.act for one in call.steps]
