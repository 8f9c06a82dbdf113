"""A chat at a terminal: sends messages and prints streamed answers."""

from datetime import timedelta

from everloop.errors import Invalid, ModelFailed
from everloop.interfaces.cli.audience import speaker
from everloop.interfaces.cli.commands.threads.answer_stream import End, Hearing, Tool
from everloop.interfaces.cli.commands.threads.browse import draw_message
from everloop.interfaces.cli.output.escape import inert
from everloop.interfaces.cli.output.screen import FAINT, NAME, STRONG, WARNING
from everloop.interfaces.cli.session import Session
from everloop.running import Running
from everloop.thread.model.events import AnswerGiven, TurnFailed, TurnStopped
from everloop.thread.queries import threads
from everloop.thread.queries.threads import Message
from everloop.thread.service import Letter, Sent

DEVICE = "terminal"
LAST_DAY = timedelta(days=1)
GREETING_MAX = 20
HISTORY_MAX = 200  # messages available in the input history


class Chat:
    """One conversation at a terminal."""

    def __init__(self, session: Session, running: Running, thread_id: str) -> None:
        self.session, self.running = session, running
        self.thread_id = thread_id
        self.by = speaker(session)

    def answer_once(self, text: str) -> None:
        """Send one message and print the answer.

        Raises:
            ModelFailed: the model gave no answer.
        """
        if not text:
            raise Invalid("the message is empty", hint="Pass the message on standard input.")
        sent = self.send(text)
        stream = Hearing(self.running, sent)
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
        self.session.answer(document, lambda _: self.write(f"{end.text}\n"))

    def say(self, text: str) -> None:
        """Send a message and print the answer as it arrives."""
        self.hear(self.send(text))

    def send(self, text: str) -> Sent:
        """Send a message."""
        return self.running.talk.send(self.thread_id, Letter(text, device=DEVICE), self.by)

    def hear(self, sent: Sent) -> None:
        """Print an answer as it arrives. Ctrl-C stops it and keeps the part received."""
        stream = Hearing(self.running, sent)
        try:
            self._show(stream, sent)
        finally:
            stream.close()

    def stop(self, sent: Sent) -> None:
        """Stop an answer."""
        self.running.stop_turn(sent.thread_id, sent.turn_id, by=self.by, branch=sent.branch)

    def history(self, limit: int = HISTORY_MAX) -> list[Message]:
        """The last messages of the conversation."""
        with self.running.engine.reading() as reader:
            return list(threads.newest(reader, self.thread_id, limit).messages)

    def _show(self, stream: Hearing, sent: Sent) -> None:
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

    def _piece(self, piece: str | Tool) -> None:
        if isinstance(piece, Tool):
            self.session.screen.say((f"  [{piece.name}{' failed' if piece.failed else ''}]", FAINT))
        else:
            self.write(inert(piece))

    def _ended(self, end: End) -> None:
        match end:
            case AnswerGiven():
                self.write("\n")
            case TurnStopped():
                self.session.screen.say(("Stopped. The partial answer is saved.", FAINT))
            case TurnFailed(reason=reason, hint=hint):
                self.session.screen.say((f"Failed: {reason} {hint}".strip(), WARNING))
            case _:
                message = "The answer was lost: its process has ended. Use /again to retry."
                self.session.screen.say((message, WARNING))

    def greet(self, messages: list[Message]) -> None:
        """Print the title and the messages of the last day."""
        screen = self.session.screen
        with self.running.engine.reading() as reader:
            thread = threads.thread(reader, self.thread_id)
        screen.say((thread.title, STRONG), (f"  {self.thread_id}", NAME))
        since = self.session.now - LAST_DAY
        recent = [one for one in messages if one.said_at >= since and not one.hidden][
            -GREETING_MAX:
        ]
        for message in recent:
            draw_message(screen, message)
        if len(messages) > len(recent):
            screen.say((f"For older messages: everloop threads show {self.thread_id}", FAINT))
        screen.say(("/help lists the commands; Ctrl-D quits.", FAINT))

    def write(self, text: str) -> None:
        """Write escaped text and flush."""
        self.session.stdout.write(text)
        self.session.stdout.flush()


def _state(end: End) -> str:
    match end:
        case AnswerGiven():
            return "done"
        case TurnStopped():
            return "stopped"
        case TurnFailed():
            return "failed"
        case _:
            return "uncertain"
