"""`everloop chat`: chat at a terminal, with or without a running server.

If no other process generates answers, this one does; else it records the message and follows the
log for the answer. Without a terminal it reads one message and prints one answer.
"""

from argparse import Namespace

from everloop.errors import EverloopError
from everloop.interfaces.cli.audience import check_reads_all
from everloop.interfaces.cli.commands.threads.browse import named
from everloop.interfaces.cli.commands.threads.chat_session import Chat
from everloop.interfaces.cli.commands.threads.line_input import Typist
from everloop.interfaces.cli.commands.threads.slash_commands import Moves, Quit
from everloop.interfaces.cli.output import errors
from everloop.interfaces.cli.session import Session
from everloop.running import Running

TOOLS_WAIT_S = 5.0


def chat(session: Session, args: Namespace) -> None:
    """Chat in one conversation."""
    with session.engine() as engine:
        check_reads_all(session, engine)  # an answer may use everything in memory
        with Running(engine, session.settings) as running:
            chat_session = Chat(session, running, named(engine, args.thread).thread_id)
            if session.stdin.isatty():
                talk(chat_session)
            else:
                # Tools must be ready now: there is only one message.
                running.tool_servers.wait(TOOLS_WAIT_S)
                chat_session.answer_once(session.said("-").strip())


def talk(chat_session: Chat) -> None:
    """Read messages and commands until the person quits."""
    messages = chat_session.history()
    chat_session.greet(messages)
    earlier = [one.text for one in messages if one.role == "user"]
    typist = Typist(chat_session.session.stdin, chat_session.session.stdout, earlier)
    moves = Moves(chat_session, typist)
    while True:
        try:
            text = typist.message()
            if text is None:
                return
            if text.startswith("/"):
                moves.make(text)
            elif text.strip():
                chat_session.say(text)
        except Quit:
            return
        except KeyboardInterrupt:
            chat_session.write("\n")  # discard the line and continue
        except EverloopError as problem:
            errors.show(problem, chat_session.session.stdout)
