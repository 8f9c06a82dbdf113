"""A conversation at a terminal: saying something, and showing the answer as it comes."""

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
SHOWN = 20
KNOWN = 200  # messages among which one looks back


class Chat:
    """A conversation at a terminal."""

    def __init__(self, session: Session, running: Running, thread_id: str) -> None:
        self.session, self.running = session, running
        self.thread_id = thread_id
        self.by = speaker(session)

    def answer_once(self, text: str) -> None:
        """One message in, one answer out.

        Raises:
            ModelFailed: there is none.
        """
        if not text:
            raise Invalid("there is nothing to say", hint="Give the message on standard input.")
        sent = self.send(text)
        hearing = Hearing(self.running, sent)
        try:
            for _ in hearing.pieces():
                pass
        finally:
            hearing.close()
        end = hearing.end
        assert end is not None, "pieces end when the turn does"
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
        """Say something, and show the answer as it comes."""
        self.hear(self.send(text))

    def send(self, text: str) -> Sent:
        """Say something."""
        return self.running.talk.send(self.thread_id, Letter(text, device=DEVICE), self.by)

    def hear(self, sent: Sent) -> None:
        """Show an answer as it comes. Ctrl-C stops it, and keeps what came."""
        hearing = Hearing(self.running, sent)
        try:
            self._show(hearing, sent)
        finally:
            hearing.close()

    def stop(self, sent: Sent) -> None:
        """Stop an answer."""
        self.running.turns.stop_turn(
            sent.thread_id,
            sent.turn_id,
            lambda command: self.running.engine.do(command, by=self.by, branch=sent.branch),
        )

    def history(self, limit: int = KNOWN) -> list[Message]:
        """The last messages of the thread."""
        with self.running.engine.reading() as reader:
            return list(threads.newest(reader, self.thread_id, limit).messages)

    def _show(self, hearing: Hearing, sent: Sent) -> None:
        pieces = hearing.pieces()
        while hearing.end is None:
            try:
                for piece in pieces:
                    self._piece(piece)
            except KeyboardInterrupt:
                self.stop(sent)
                pieces = hearing.pieces()  # an interrupted one is of no more use
        self.write("\n")
        self._ended(hearing.end)

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
                self.session.screen.say(("Stopped. What had come is kept.", FAINT))
            case TurnFailed(reason=reason, hint=hint):
                self.session.screen.say((f"It failed: {reason} {hint}".strip(), WARNING))
            case _:
                words = "Nobody knows what became of it: its process is gone. /again asks again."
                self.session.screen.say((words, WARNING))

    def greet(self, messages: list[Message]) -> None:
        """Show what was said in the last day."""
        screen = self.session.screen
        with self.running.engine.reading() as reader:
            thread = threads.thread(reader, self.thread_id)
        screen.say((thread.title, STRONG), (f"  {self.thread_id}", NAME))
        since = self.session.now - LAST_DAY
        recent = [one for one in messages if one.said_at >= since and not one.hidden][-SHOWN:]
        for message in recent:
            draw_message(screen, message)
        if len(messages) > len(recent):
            screen.say((f"`everloop threads show {self.thread_id}` has what is older.", FAINT))
        screen.say(("/help lists what can be done; Ctrl-D leaves.", FAINT))

    def write(self, text: str) -> None:
        """Put inert text on the terminal, at once."""
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
