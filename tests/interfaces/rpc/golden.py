"""Golden JSON-RPC conversations: requests, responses and events in between.

A line that begins with `>` is a request, `<` its response, `!` an event: time passes, the host
reconnects, the user acts. Ids are numbered by kind in order of appearance.
`python -m tests.interfaces.rpc.golden` rewrites the responses; review the diff.
"""

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.interfaces.rpc.clients import Indoors, indoors

from everloop.app import USER
from everloop.lessons.model.commands import GiveFeedback, HearWords
from everloop.log import Context

FOLDER = Path(__file__).with_name("golden")
_ID = re.compile(r"\b(mem-c|mem|les)-([0-9a-f]+)\b")


class Names:
    """Maps real ids to numbered ids of a recording, and back."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        self._real: dict[str, str] = {}
        self._count: Counter[str] = Counter()

    def told(self, text: str) -> str:
        """A text with numbered ids."""
        return _ID.sub(lambda found: self._name(found[0], found[1]), text)

    def real(self, text: str) -> str:
        """A recorded text with real ids."""
        return _ID.sub(lambda found: self._real.get(found[0], found[0]), text)

    def _name(self, real: str, kind: str) -> str:
        if real not in self._told:
            self._count[kind] += 1
            name = f"{kind}-{self._count[kind]}"
            self._told[real], self._real[name] = name, real
        return self._told[real]


def played(inside: Indoors, recording: str) -> str:
    """Replay a recording and return it with the current responses."""
    names, lines = Names(), list[str]()
    host, session = "rpc", "rpc-1"
    for line in recording.splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "<":
            continue
        lines.append(line)
        if mark == "!":
            what, *words = names.real(rest).split()
            if what == "connect":
                host, session = words
            else:
                _happens(inside, what, words)
        elif mark == ">":
            answer = inside.talk(host, session).respond(names.real(rest).encode())
            lines.append(f"< {names.told(answer.decode().rstrip()) if answer else 'nothing'}")
    return "\n".join(lines) + "\n"


def _happens(inside: Indoors, what: str, words: list[str]) -> None:
    match what, words:
        case "hours", [number]:
            inside.stage.clock.tick(hours=float(number))
        case "trust", [host]:
            inside.engine.lessons.trust(host, by=USER)
        case "hear", [host, session, *said]:
            by = Context(actor=f"agent:{host}", session=session)
            inside.engine.do(HearWords(host, session, " ".join(said)), by=by)
        case "praise", [lesson_id]:
            inside.engine.lessons.feedback(GiveFeedback(lesson_id, True, "s"), by=USER)
        case _:
            raise AssertionError(f"nobody knows how to {what} {words}")


def main() -> int:
    """Rewrite every recording."""
    for path in sorted(FOLDER.glob("*.txt")):
        with tempfile.TemporaryDirectory() as folder, indoors(Path(folder)) as inside:
            path.write_text(played(inside, path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
