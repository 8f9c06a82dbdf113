"""Relays streaming answers to other nodes of the same log, as messages that are not kept.

The node that runs the turns collects the text of each answer for a moment and sends it; the others
publish it to their own watchers. Best effort: what is lost appears later, when the log has it.
"""

import threading
from collections.abc import Callable

import msgspec

from everloop.ports import NodeMessages
from everloop.turns.live import LiveAnswers, LiveText

STEP_S = 0.05
PIECE_CHARACTERS = 1_200  # a control character takes six bytes as JSON, and 8,000 are allowed


class _Piece(msgspec.Struct, omit_defaults=True):
    """A piece of an answer, from a node. Without text the answer ended; without turn, all did."""

    node: str
    thread_id: str = ""
    turn_id: str = ""
    offset: int = 0
    text: str = ""


class AnswerRelay:
    """Relays answer text between nodes: sends while this one runs turns, else publishes."""

    def __init__(
        self, messages: NodeMessages, node: str, live: LiveAnswers, conducts: threading.Event
    ) -> None:
        self._messages, self._node, self._live, self._conducts = messages, node, live, conducts
        self._unsent: list[LiveText] = []
        self._known: dict[str, int] = {}  # how much of each answer of other nodes was published
        self._leave: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="everloop-relay", daemon=True)

    def start(self) -> None:
        """Start relaying."""
        self._leave = [self._live.watch(self._collect), self._messages.receive(self._publish)]
        self._thread.start()

    def stop(self) -> None:
        """Stop relaying."""
        self._stop.set()
        for leave in self._leave:
            leave()
        if self._thread.is_alive():
            self._thread.join()

    def clear(self) -> None:
        """End the answers of a node that crashed while it ran turns, here and elsewhere."""
        self._end_all()
        self._send(_Piece(self._node))

    # -- sending -----------------------------------------------------------------------------------

    def _collect(self, words: LiveText) -> None:
        """Note a piece of this node. Reasoning is shown where the answer is generated."""
        if words.thought or words.turn_id in self._known or not self._conducts.is_set():
            return
        with self._lock:
            self._unsent.append(words)

    def _run(self) -> None:
        while not self._stop.wait(STEP_S):
            self._send_collected()
        self._send_collected()

    def _send_collected(self) -> None:
        with self._lock:
            collected, self._unsent = self._unsent, []
        for words in _joined(collected):
            for start in range(0, max(1, len(words.text)), PIECE_CHARACTERS):
                text = words.text[start : start + PIECE_CHARACTERS]
                offset = words.offset + start
                self._send(_Piece(self._node, words.stream_id, words.turn_id, offset, text))

    def _send(self, piece: _Piece) -> None:
        self._messages.send(msgspec.json.encode(piece).decode())

    # -- receiving ---------------------------------------------------------------------------------

    def _publish(self, message: str) -> None:
        try:
            piece = msgspec.json.decode(message, type=_Piece)
        except msgspec.MsgspecError:  # of another version
            return
        if piece.node == self._node:
            return
        if not piece.turn_id:
            self._end_all()
        elif not piece.text:
            self._end(piece.turn_id)
        elif piece.offset == 0 and piece.turn_id not in self._known:
            self._known[piece.turn_id] = 0
            self._live.begin(piece.thread_id, piece.turn_id)
            self._append(piece)
        elif piece.offset == self._known.get(piece.turn_id):
            self._append(piece)

    def _append(self, piece: _Piece) -> None:
        self._known[piece.turn_id] += len(piece.text)
        self._live.append(piece.turn_id, piece.text)

    def _end(self, turn_id: str) -> None:
        if turn_id in self._known:
            self._live.end(turn_id)
            del self._known[turn_id]

    def _end_all(self) -> None:
        for turn_id in list(self._known):
            self._end(turn_id)


def _joined(pieces: list[LiveText]) -> list[LiveText]:
    """Pieces of one answer that follow each other, as one."""
    joined: list[LiveText] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last and piece.text and last.text and last.turn_id == piece.turn_id:
            joined[-1] = msgspec.structs.replace(last, text=last.text + piece.text)
        else:
            joined.append(piece)
    return joined
