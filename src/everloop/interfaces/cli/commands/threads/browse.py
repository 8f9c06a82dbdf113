"""`everloop threads` and `everloop search`: list, show, change and search conversations."""

from argparse import Namespace
from collections.abc import Sequence

from everloop.app import Engine
from everloop.errors import Invalid, NotFound
from everloop.interfaces.cli.audience import (
    check_can_read_everything,
    check_has_grant,
    command_context,
    missing_grant_notes,
)
from everloop.interfaces.cli.commands.memory.recall import embed_before_search
from everloop.interfaces.cli.output.json_shapes import receipt_json
from everloop.interfaces.cli.output.memory_items import draw_undo, highlight
from everloop.interfaces.cli.output.screen import (
    BOLD,
    DIM,
    GOOD,
    NAME,
    WARNING,
    Screen,
    styled_text,
)
from everloop.interfaces.cli.output.times import format_local, format_short
from everloop.interfaces.cli.parsing.time_argument import parse_time
from everloop.interfaces.cli.permissions import require_user
from everloop.interfaces.cli.session import Session
from everloop.memory import Filter, SearchQuery
from everloop.thread import (
    ArchiveThread,
    MessageFilter,
    MessagePage,
    PinThread,
    RenameThread,
    RestoreThread,
    Thread,
    ThreadMessage,
    ThreadService,
    UnpinThread,
    list_threads,
    messages_around,
    search_messages,
)

SPEAKERS = {"user": ("you", BOLD), "assistant": ("assistant", NAME)}


def show_threads(session: Session, args: Namespace) -> None:
    """List conversations, the most recently used first."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        with engine.reading() as reader:
            found = list_threads(reader, archived=args.archived)
    session.print_result({"threads": found}, lambda screen: draw_threads(screen, session, found))


def show(session: Session, args: Namespace) -> None:
    """Show the last messages of a conversation."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        thread = find_thread(engine, args.thread)
        with engine.reading() as reader:
            page = messages_around(reader, thread.thread_id, args.before, args.limit, "before")
    session.print_result(
        {"thread": thread, "messages": page.messages, "earlier": page.earlier},
        lambda screen: _draw_page(screen, thread, page),
    )


def open_thread(session: Session, args: Namespace) -> None:
    """Start a conversation."""
    with session.open_engine() as engine:
        talk = ThreadService(engine.log, engine, engine.memory)
        thread_id = talk.open(" ".join(args.title), command_context(session))
        thread = find_thread(engine, thread_id)
    session.print_result(
        thread,
        lambda screen: screen.paragraph(
            ("Created", GOOD), ": ", (thread.title, BOLD), f"  {thread_id}"
        ),
    )


def rename(session: Session, args: Namespace) -> None:
    """Rename a conversation."""
    _change(session, args, RenameThread, " ".join(args.title))


def archive(session: Session, args: Namespace) -> None:
    """Archive a conversation."""
    _change(session, args, ArchiveThread)


def restore(session: Session, args: Namespace) -> None:
    """Restore an archived conversation."""
    _change(session, args, RestoreThread)


def pin(session: Session, args: Namespace) -> None:
    """Pin a conversation."""
    _change(session, args, PinThread)


def unpin(session: Session, args: Namespace) -> None:
    """Unpin a conversation."""
    _change(session, args, UnpinThread)


def delete(session: Session, args: Namespace) -> None:
    """Delete a conversation and everything derived from it.

    Raises:
        Forbidden: not at a terminal; what a person said is theirs to delete.
    """
    require_user(session, "delete a conversation")
    with session.open_engine() as engine:
        thread = find_thread(engine, args.thread)
        talk = ThreadService(engine.log, engine, engine.memory)
        receipt = talk.delete(thread.thread_id, command_context(session))

    def draw(screen: Screen) -> None:
        screen.paragraph(("Deleted", GOOD), ": ", (thread.title, BOLD))
        draw_undo(screen, [receipt.position])

    session.print_result(receipt_json(receipt), draw)


def search(session: Session, args: Namespace) -> None:
    """Search messages."""
    only = Filter(
        since=None if args.since is None else parse_time(args.since, session.now),
        before=None if args.before is None else parse_time(args.before, session.now),
    )
    words = " ".join(args.words)
    question = SearchQuery(words, args.limit, args.mode, only)
    with session.open_for_reading() as engine:
        check_has_grant(session, engine)
        embed_before_search(session, engine, question)
        thread_id = find_thread(engine, args.thread).thread_id if args.thread else ""
        where = MessageFilter(thread_id, args.role or "")
        answer = search_messages(engine.log, engine.memory, session.actor, question, where)
        notes = [*answer.notes, *missing_grant_notes(engine, session.actor)]
    hits = [one.message for one in answer.found]
    session.print_result(
        {"messages": hits, "notes": notes},
        lambda screen: draw_search_results(screen, session, hits, words, notes),
    )


def find_thread(engine: Engine, name: str) -> Thread:
    """Find a conversation by its id or unique title.

    Raises:
        NotFound: no conversation has this id or title.
        Invalid: several conversations have this title.
    """
    with engine.reading() as reader:
        threads = list_threads(reader, archived=True)
    exact = [one for one in threads if one.thread_id == name]
    found = exact or [one for one in threads if one.title.casefold() == name.casefold()]
    if not found:
        raise NotFound(f"no conversation {name!r}", hint="Run `everloop threads` to list them.")
    if len(found) > 1:
        ids = ", ".join(one.thread_id for one in found)
        raise Invalid(f"several conversations are named {name!r}: {ids}", hint="Use the ID.")
    return found[0]


def draw_threads(screen: Screen, session: Session, found: Sequence[Thread]) -> None:
    """Print conversations as a table."""
    if not found:
        screen.advice("No conversations yet. Run `everloop chat` to start one.")
        return
    screen.table(
        ("id", "last message", "title"),
        [
            (
                styled_text((one.thread_id, NAME)),
                styled_text((format_short(one.newest_at, session.now), DIM)),
                styled_text(("[archived] " if one.archived else "", WARNING), (one.title, BOLD)),
            )
            for one in found
        ],
        cut=True,
    )


def draw_search_results(
    screen: Screen,
    session: Session,
    hits: Sequence[ThreadMessage],
    words: str,
    notes: Sequence[str],
) -> None:
    """Print matching messages, one per line."""
    if hits:
        screen.table(
            ("when", "by", "conversation", "message"),
            [
                (
                    styled_text((format_short(one.said_at, session.now), DIM)),
                    styled_text(SPEAKERS.get(one.role, (one.role, NAME))),
                    one.thread_id,
                    highlight(one.text, words, ""),
                )
                for one in hits
            ],
            cut=True,
        )
    else:
        screen.paragraph("No matches.")
    screen.notes(notes)


def draw_message(screen: Screen, message: ThreadMessage) -> None:
    """Print a message with author and time."""
    name, style = SPEAKERS.get(message.role, (message.role, NAME))
    state = f"  {message.state}" if message.state in ("stopped", "failed", "uncertain") else ""
    model = f" ({message.model})" if message.model else ""
    screen.paragraph(
        (name, style), (f"{model}  {format_local(message.said_at)}", DIM), (state, WARNING)
    )
    if message.text:
        screen.paragraph(message.text)
    if message.reason and message.state == "failed":
        screen.paragraph((f"{message.reason} {message.hint}".strip(), WARNING))
    screen.blank_line()


def _draw_page(screen: Screen, thread: Thread, page: MessagePage) -> None:
    screen.paragraph((thread.title, BOLD), (f"  {thread.thread_id}", DIM))
    screen.blank_line()
    for message in page.messages:
        draw_message(screen, message)
    if page.earlier:
        first = page.messages[0].message_id
        screen.paragraph((f"For earlier messages: --before {first}", DIM))


def _change(
    session: Session,
    args: Namespace,
    command: type[RenameThread | ArchiveThread | RestoreThread | PinThread | UnpinThread],
    *more: str,
) -> None:
    with session.open_engine() as engine:
        thread = find_thread(engine, args.thread)
        receipt = engine.do(command(thread.thread_id, *more), by=command_context(session))
    outcome = ("Done", GOOD) if receipt.facts else ("No change", DIM)
    session.print_result(receipt_json(receipt), lambda screen: screen.paragraph(outcome, "."))
