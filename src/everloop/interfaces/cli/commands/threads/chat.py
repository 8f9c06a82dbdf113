"""`everloop chat`: chat at a terminal, with or without a running server.

If no other process generates answers, this one does; else it records the message and follows the
log for the answer. Without a terminal it reads one message and prints one answer.
"""

from argparse import Namespace

from everloop.errors import EverloopError
from everloop.interfaces.cli.audience import check_can_read_everything
from everloop.interfaces.cli.commands.threads.browse import find_thread
from everloop.interfaces.cli.commands.threads.chat_session import ChatSession
from everloop.interfaces.cli.commands.threads.line_input import LineReader
from everloop.interfaces.cli.commands.threads.slash_commands import Quit, SlashCommands
from everloop.interfaces.cli.output import errors
from everloop.interfaces.cli.session import Session
from everloop.services import Services

TOOLS_WAIT_S = 5.0


def chat(session: Session, args: Namespace) -> None:
    """Chat in one conversation."""
    with session.open_engine() as engine:
        check_can_read_everything(session, engine)  # an answer may use everything in memory
        with Services(engine, session.settings) as running:
            chat_session = ChatSession(session, running, find_thread(engine, args.thread).thread_id)
            if session.stdin.isatty():
                run_chat_loop(chat_session)
            else:
                # Tools must be ready now: there is only one message.
                running.tool_servers.wait(TOOLS_WAIT_S)
                chat_session.answer_once(session.read_text("-").strip())


def run_chat_loop(chat_session: ChatSession) -> None:
    """Read messages and commands until the person quits."""
    messages = chat_session.history()
    chat_session.greet(messages)
    earlier = [one.text for one in messages if one.role == "user"]
    typist = LineReader(chat_session.session.stdin, chat_session.session.stdout, earlier)
    moves = SlashCommands(chat_session, typist)
    while True:
        try:
            text = typist.read_message()
            if text is None:
                return
            if text.startswith("/"):
                moves.run_command(text)
            elif text.strip():
                chat_session.send_and_show(text)
        except Quit:
            return
        except KeyboardInterrupt:
            chat_session.write("\n")  # discard the line and continue
        except EverloopError as problem:
            errors.print_error(problem, chat_session.session.stdout)
