"""`everloop chat`: talking at a terminal, with or without a server beside it.

The process conducts if no other does; else it records what is said, and follows the log for the
answer. Without a terminal it takes one message and gives one answer.
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
    """Talk in one thread."""
    with session.engine() as engine:
        check_reads_all(session, engine)  # an answer is made of all that is remembered
        with Running(engine, session.settings) as running:
            room = Chat(session, running, named(engine, args.thread).thread_id)
            if session.stdin.isatty():
                talk(room)
            else:
                # There is no second message to have them for.
                running.tool_servers.wait(TOOLS_WAIT_S)
                room.answer_once(session.said("-").strip())


def talk(room: Chat) -> None:
    """Go on until the person leaves."""
    messages = room.history()
    room.greet(messages)
    known = [one.text for one in messages if one.role == "user"]
    typist = Typist(room.session.stdin, room.session.stdout, known)
    moves = Moves(room, typist)
    while True:
        try:
            text = typist.message()
            if text is None:
                return
            if text.startswith("/"):
                moves.make(text)
            elif text.strip():
                room.say(text)
        except Quit:
            return
        except KeyboardInterrupt:
            room.write("\n")  # the line is dropped, the conversation goes on
        except EverloopError as problem:
            errors.show(problem, room.session.stdout)
