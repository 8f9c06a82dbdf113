"""`everloop inbox`: list what needs you, show it, answer it, put it off."""

import shlex
from argparse import Namespace
from collections.abc import Sequence
from datetime import datetime

from everloop.errors import Invalid
from everloop.inbox import AnswerRequest, ClosingView, QuestionAnswer, RequestView
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.output.screen import BAD, DIM, GOOD, NAME, WARNING, Screen, styled_text
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.parsing.time_argument import parse_time
from everloop.interfaces.cli.session import Session
from everloop.log import to_microseconds

TERMINAL = "a terminal"
ANSWER = "answer"
OPENED_BY = {"lesson": "lessons", "task": "tasks"}
COLOURS = {"urgent": BAD, "high": WARNING}


def list_inbox(session: Session, _: Namespace) -> None:
    """List what waits for you, in groups."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        seen = engine.inbox.overview()
    groups = {
        "Needs you": seen.needs_you,
        "Failed": seen.failed,
        "Just finished": seen.finished,
        "Snoozed": seen.snoozed,
    }

    def draw(screen: Screen) -> None:
        for title, found in groups.items():
            _draw_group(screen, session, title, found)
        if not any(groups.values()):
            screen.paragraph("Nothing needs you.")
        if seen.history:
            screen.paragraph((f"Closed or older: {len(seen.history)} shown with --json.", DIM))

    session.print_result(seen, draw)


def show(session: Session, args: Namespace) -> None:
    """Show one request with its choices, and its receipt once it is closed."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        found = engine.inbox.find(args.request)
    session.print_result(found, lambda screen: _draw_request(screen, session, found))


def answer(session: Session, args: Namespace) -> None:
    """Show a request and answer it."""
    with session.open_engine() as engine:
        shown = engine.inbox.find(args.request)
        answers = _read_answers(shown, args.answers)
        choice = args.choice or (ANSWER if answers else "")
        command = AnswerRequest(args.request, choice, shown.digest, answers, args.text, TERMINAL)
        question = f"Answer {choice!r}?"
        if not session.confirm(lambda screen: _draw_request(screen, session, shown), question):
            return
        done = engine.inbox.answer(command, command_context(session))
    session.print_result(
        done,
        lambda screen: screen.paragraph(
            ("Answered", GOOD), ": ", (done.title, NAME), f" with {choice!r}."
        ),
    )


def snooze(session: Session, args: Namespace) -> None:
    """Put a request off until a time."""
    until = parse_time(args.until, session.now, example="tomorrow")
    with session.open_engine() as engine:
        done = engine.inbox.snooze(args.request, to_microseconds(until), command_context(session))
    session.print_result(
        done,
        lambda screen: screen.paragraph(
            ("Snoozed", GOOD), ": ", (done.title, NAME), f" until {until:%Y-%m-%d %H:%M}."
        ),
    )


def read(session: Session, args: Namespace) -> None:
    """Mark a request, or all of them, as read."""
    with session.open_engine() as engine:
        if args.request:
            engine.inbox.mark_read(args.request, command_context(session))
            count = 1
        else:
            count = engine.inbox.mark_all_read(command_context(session))
    session.print_result(
        {"read": count}, lambda screen: screen.paragraph(("Done", GOOD), f": {count} read.")
    )


def _read_answers(shown: RequestView, given: Sequence[str]) -> tuple[QuestionAnswer, ...]:
    """Answers as `QUESTION=VALUE`: the label or value of an option, else free text."""
    options = {
        one.question_id: {
            name.casefold(): option.value
            for option in one.options
            for name in (option.value, option.label)
        }
        for one in shown.questions
    }
    values: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for line in given:
        question, found, said = line.partition("=")
        if not found or question not in options:
            raise Invalid(
                f"{line!r} answers no question",
                hint=f"Write QUESTION=ANSWER, with {', '.join(options) or 'no question'}.",
            )
        option = options[question].get(said.strip().casefold())
        if option is None:
            texts[question] = said
        else:
            values.setdefault(question, []).append(option)
    return tuple(
        QuestionAnswer(name, tuple(values.get(name, ())), texts.get(name, ""))
        for name in options
        if name in values or name in texts
    )


def _draw_group(screen: Screen, session: Session, title: str, found: Sequence[RequestView]) -> None:
    if not found:
        return
    screen.paragraph((title, NAME))
    if not screen.wide:  # an id and a title do not fit beside each other
        for one in found:
            mark, kind = "* " if one.unread else "", one.kind.replace("_", " ")
            screen.paragraph(f"{mark}{one.title}", (f"  {kind}", COLOURS.get(one.priority, "")))
            screen.paragraph((f"  {one.request_id}", DIM))
        return
    screen.table(
        ("id", "kind", "since", "title"),
        [
            (
                styled_text((one.request_id, DIM)),
                styled_text((one.kind.replace("_", " "), COLOURS.get(one.priority, ""))),
                format_with_age(one.raised_at, session.now),
                f"{'* ' if one.unread else ''}{one.title}",
            )
            for one in found
        ],
    )


def _draw_request(screen: Screen, session: Session, one: RequestView) -> None:
    screen.paragraph((one.title, NAME), (f"  {one.kind.replace('_', ' ')}, {one.priority}", DIM))
    screen.fields(
        [
            ("about", one.subject),
            ("from", one.raised_by),
            ("since", format_with_age(one.raised_at, session.now)),
            ("expires", f"{one.expires_at:%Y-%m-%d %H:%M} UTC" if one.expires_at else ""),
        ]
    )
    if one.body:
        screen.paragraph(one.body)
    for question in one.questions:
        several = " (several)" if question.multiple else ""
        screen.paragraph((question.question_id, NAME), f": {question.text}{several}")
        for option in question.options:
            screen.paragraph(f"  {option.label}", (f"  {option.description}", DIM))
    if one.closing is not None:
        screen.paragraph((_receipt(one.closing, session.now), GOOD))
        return
    for choice in one.choices:
        more = f"{choice.description} Needs --text." if choice.needs_text else choice.description
        screen.paragraph(
            "  ", (choice.value, NAME), f"  {choice.label}", (f"  {more.strip()}", DIM)
        )
    if opened := _opening_command(one.subject):
        screen.advice((f"To open it: {opened}", DIM))


def _receipt(closing: ClosingView, now: datetime) -> str:
    how = f" with {closing.choice!r}" if closing.choice else ""
    where = f" on {closing.device}" if closing.device else ""
    when = format_with_age(closing.at, now)
    return f"{closing.outcome}{how} by {closing.actor}{where}, {when}"


def _opening_command(subject: str) -> str:
    """The command that shows what a request is about; empty if there is none."""
    kind, _, name = subject.partition(":")
    return f"everloop {OPENED_BY[kind]} show {shlex.quote(name)}" if kind in OPENED_BY else ""
