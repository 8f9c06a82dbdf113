"""A chat at a terminal: sends messages and prints streamed answers."""

from datetime import timedelta

from everloop.errors import Invalid, ModelFailed
from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.commands.threads.answer_stream import AnswerStream, ToolNotice, TurnEnd
from everloop.interfaces.cli.commands.threads.browse import draw_message
from everloop.interfaces.cli.output.escape import escape_controls
from everloop.interfaces.cli.output.screen import BOLD, DIM, NAME, WARNING
from everloop.interfaces.cli.session import Session
from everloop.services import Services
from everloop.thread import (
    CUT_HINT,
    AnswerGiven,
    OutgoingMessage,
    SentMessage,
    ThreadMessage,
    TurnFailed,
    TurnStopped,
    find_thread,
    newest_messages,
)

DEVICE = "terminal"
LAST_DAY = timedelta(days=1)
GREETING_MAX = 20
HISTORY_MAX = 200  # messages available in the input history


class ChatSession:
    """One conversation at a terminal."""

    def __init__(self, session: Session, running: Services, thread_id: str) -> None:
        self.session, self.running = session, running
        self.thread_id = thread_id
        self.by = command_context(session)

    def answer_once(self, text: str) -> None:
        """Send one message and print the answer.

        Raises:
            ModelFailed: the model gave no answer.
        """
        if not text:
            raise Invalid("the message is empty", hint="Pass the message on standard input.")
        sent = self.send(text)
        stream = AnswerStream(self.running, sent)
        try:
            for _ in stream.pieces():
                pass
        finally:
            stream.close()
        end = stream.end
        assert end is not None, "the stream ends with the turn"
        if isinstance(end, TurnFailed):
            raise ModelFailed(end.reason, hint=end.hint)
        document = {
            "thread_id": self.thread_id,
            "message_id": sent.message_id,
            "turn_id": sent.turn_id,
            "state": _state(end),
            "text": end.text,
        }
        self.session.print_result(document, lambda _: self.write(f"{end.text}\n"))

    def send_and_show(self, text: str) -> None:
        """Send a message and print the answer as it arrives."""
        self.show_answer(self.send(text))

    def send(self, text: str) -> SentMessage:
        """Send a message."""
        return self.running.talk.send(self.thread_id, OutgoingMessage(text, device=DEVICE), self.by)

    def show_answer(self, sent: SentMessage) -> None:
        """Print an answer as it arrives. Ctrl-C stops it and keeps the part received."""
        stream = AnswerStream(self.running, sent)
        try:
            self._show(stream, sent)
        finally:
            stream.close()

    def stop(self, sent: SentMessage) -> None:
        """Stop an answer."""
        self.running.stop_turn(sent.thread_id, sent.turn_id, by=self.by, branch=sent.branch)

    def history(self, limit: int = HISTORY_MAX) -> list[ThreadMessage]:
        """The last messages of the conversation."""
        with self.running.engine.reading() as reader:
            return list(newest_messages(reader, self.thread_id, limit).messages)

    def _show(self, stream: AnswerStream, sent: SentMessage) -> None:
        pieces = stream.pieces()
        while stream.end is None:
            try:
                for piece in pieces:
                    self._piece(piece)
            except KeyboardInterrupt:
                self.stop(sent)
                pieces = stream.pieces()  # an interrupted generator cannot continue
        self.write("\n")
        self._ended(stream.end)

    def _piece(self, piece: str | ToolNotice) -> None:
        if isinstance(piece, ToolNotice):
            self.session.screen.paragraph(
                (f"  [{piece.name}{' failed' if piece.failed else ''}]", DIM)
            )
        else:
            self.write(escape_controls(piece))

    def _ended(self, end: TurnEnd) -> None:
        match end:
            case AnswerGiven(finish="length"):
                self.session.screen.paragraph(
                    (f"Cut off. {CUT_HINT} /continue gets the rest.", WARNING)
                )
            case AnswerGiven():
                self.write("\n")
            case TurnStopped():
                self.session.screen.paragraph(("Stopped. The partial answer is saved.", DIM))
            case TurnFailed(reason=reason, hint=hint):
                self.session.screen.paragraph((f"Failed: {reason} {hint}".strip(), WARNING))
            case _:
                message = "The answer was lost: its process has ended. Use /again to retry."
                self.session.screen.paragraph((message, WARNING))

    def greet(self, messages: list[ThreadMessage]) -> None:
        """Print the title and the messages of the last day."""
        screen = self.session.screen
        with self.running.engine.reading() as reader:
            thread = find_thread(reader, self.thread_id)
        screen.paragraph((thread.title, BOLD), (f"  {self.thread_id}", NAME))
        since = self.session.now - LAST_DAY
        recent = [one for one in messages if one.said_at >= since and not one.hidden][
            -GREETING_MAX:
        ]
        for message in recent:
            draw_message(screen, message)
        if len(messages) > len(recent):
            screen.advice((f"For older messages: everloop threads show {self.thread_id}", DIM))
        screen.paragraph(("/help lists the commands; Ctrl-D quits.", DIM))

    def write(self, text: str) -> None:
        """Write escaped text and flush."""
        self.session.stdout.write(text)
        self.session.stdout.flush()


def _state(end: TurnEnd) -> str:
    match end:
        case AnswerGiven():
            return "done"
        case TurnStopped():
            return "stopped"
        case TurnFailed():
            return "failed"
        case _:
            return "uncertain"
