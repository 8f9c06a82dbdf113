"""`everloop threads` and `everloop search`: list, show, change and search conversations."""

from argparse import Namespace
from collections.abc import Sequence

from everloop.app import Engine
from everloop.errors import Invalid, NotFound
from everloop.interfaces.cli.audience import check_reads_all, not_let_in, speaker
from everloop.interfaces.cli.commands.memory.recall import embed
from everloop.interfaces.cli.output.json_shapes import receipt_of
from everloop.interfaces.cli.output.memory_items import highlighted
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, STRONG, WARNING, Screen, styled
from everloop.interfaces.cli.output.times import local, local_short
from everloop.interfaces.cli.parsing.dates import moment_of
from everloop.interfaces.cli.session import Session
from everloop.memory.projections.queries import Filter
from everloop.memory.retrieval.results import Asked
from everloop.thread.model.commands import ArchiveThread, RenameThread, RestoreThread
from everloop.thread.queries import threads as browsing
from everloop.thread.queries.threads import Message, Thread
from everloop.thread.search import Narrow
from everloop.thread.search import search as search_messages
from everloop.thread.service import Talk

SPEAKERS = {"user": ("you", STRONG), "assistant": ("assistant", NAME)}


def list_threads(session: Session, args: Namespace) -> None:
    """List conversations, the most recently used first."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        with engine.reading() as reader:
            found = browsing.threads(reader, archived=args.archived)
    session.answer({"threads": found}, lambda screen: draw_threads(screen, session, found))


def show(session: Session, args: Namespace) -> None:
    """Show the last messages of a conversation."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        thread = named(engine, args.thread)
        with engine.reading() as reader:
            page = browsing.around(reader, thread.thread_id, args.before, args.limit, "before")
    session.answer(
        {"thread": thread, "messages": page.messages, "earlier": page.earlier},
        lambda screen: _draw_page(screen, thread, page),
    )


def open_thread(session: Session, args: Namespace) -> None:
    """Start a conversation."""
    with session.engine() as engine:
        talk = Talk(engine.log, engine, engine.memory)
        thread_id = talk.open(" ".join(args.title), speaker(session))
        thread = named(engine, thread_id)
    session.answer(
        thread,
        lambda screen: screen.say(
            ("Created", GOOD), ": ", (thread.title, STRONG), f"  {thread_id}"
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


def search(session: Session, args: Namespace) -> None:
    """Search messages."""
    only = Filter(
        since=None if args.since is None else moment_of(args.since, session.now),
        before=None if args.before is None else moment_of(args.before, session.now),
    )
    words = " ".join(args.words)
    question = Asked(words, args.limit, args.mode, only)
    with session.looking() as engine:
        embed(session, engine, question)
        thread_id = named(engine, args.thread).thread_id if args.thread else ""
        where = Narrow(thread_id, args.role or "")
        answer = search_messages(engine.log, engine.memory, session.actor, question, where)
        notes = [*answer.notes, *not_let_in(engine, session.actor)]
    hits = [one.message for one in answer.found]
    session.answer(
        {"messages": hits, "notes": notes},
        lambda screen: draw_found(screen, session, hits, words, notes),
    )


def named(engine: Engine, name: str) -> Thread:
    """Find a conversation by its id or unique title.

    Raises:
        NotFound: no conversation has this id or title.
        Invalid: several conversations have this title.
    """
    with engine.reading() as reader:
        threads = browsing.threads(reader, archived=True)
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
        screen.say("No conversations yet. Run `everloop chat` to start one.")
        return
    screen.table(
        ("id", "last message", "title"),
        [
            (
                styled((one.thread_id, NAME)),
                styled((local_short(one.newest_at, session.now), FAINT)),
                styled(("[archived] " if one.archived else "", WARNING), (one.title, STRONG)),
            )
            for one in found
        ],
        cut=True,
    )


def draw_found(
    screen: Screen, session: Session, hits: Sequence[Message], words: str, notes: Sequence[str]
) -> None:
    """Print matching messages, one per line."""
    if hits:
        screen.table(
            ("when", "by", "conversation", "message"),
            [
                (
                    styled((local_short(one.said_at, session.now), FAINT)),
                    styled(SPEAKERS.get(one.role, (one.role, NAME))),
                    one.thread_id,
                    highlighted(one.text, words, ""),
                )
                for one in hits
            ],
            cut=True,
        )
    else:
        screen.say("No matches.")
    screen.notes(notes)


def draw_message(screen: Screen, message: Message) -> None:
    """Print a message with author and time."""
    name, style = SPEAKERS.get(message.role, (message.role, NAME))
    state = f"  {message.state}" if message.state in ("stopped", "failed", "uncertain") else ""
    model = f" ({message.model})" if message.model else ""
    screen.say((name, style), (f"{model}  {local(message.said_at)}", FAINT), (state, WARNING))
    if message.text:
        screen.say(message.text)
    if message.reason and message.state == "failed":
        screen.say((f"{message.reason} {message.hint}".strip(), WARNING))
    screen.gap()


def _draw_page(screen: Screen, thread: Thread, page: browsing.Page) -> None:
    screen.say((thread.title, STRONG), (f"  {thread.thread_id}", FAINT))
    screen.gap()
    for message in page.messages:
        draw_message(screen, message)
    if page.earlier:
        first = page.messages[0].message_id
        screen.say((f"For earlier messages: --before {first}", FAINT))


def _change(
    session: Session,
    args: Namespace,
    command: type[RenameThread] | type[ArchiveThread] | type[RestoreThread],
    *more: str,
) -> None:
    with session.engine() as engine:
        thread = named(engine, args.thread)
        receipt = engine.do(command(thread.thread_id, *more), by=speaker(session))
    outcome = ("Done", GOOD) if receipt.facts else ("No change", FAINT)
    session.answer(receipt_of(receipt), lambda screen: screen.say(outcome, "."))
