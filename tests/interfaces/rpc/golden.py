"""Recorded conversations: what a host says, what it hears, and what happens in between.

A line that begins with `>` is a request, `<` its answer, `!` something that happens besides: time
passes, the host connects anew, the user does something. Ids are numbered by their kind as they
appear. `python -m tests.interfaces.rpc.golden` writes the answers anew; look at the difference.
"""

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.interfaces.rpc.clients import Indoors, indoors

from everloop.app import USER
from everloop.lessons.model.commands import GiveFeedback

FOLDER = Path(__file__).with_name("golden")
_ID = re.compile(r"\b(mem-c|mem|les)-([0-9a-f]+)\b")


class Names:
    """What ids are called in a recording."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        self._real: dict[str, str] = {}
        self._count: Counter[str] = Counter()

    def told(self, text: str) -> str:
        """A text as it is recorded."""
        return _ID.sub(lambda found: self._name(found[0], found[1]), text)

    def real(self, text: str) -> str:
        """A recorded text as it is said."""
        return _ID.sub(lambda found: self._real.get(found[0], found[0]), text)

    def _name(self, real: str, kind: str) -> str:
        if real not in self._told:
            self._count[kind] += 1
            name = f"{kind}-{self._count[kind]}"
            self._told[real], self._real[name] = name, real
        return self._told[real]


def played(inside: Indoors, recording: str) -> str:
    """The recording as it goes now."""
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
            answer = inside.talk(host, session).answer(names.real(rest).encode())
            lines.append(f"< {names.told(answer.decode().rstrip()) if answer else 'nothing'}")
    return "\n".join(lines) + "\n"


def _happens(inside: Indoors, what: str, words: list[str]) -> None:
    match what, words:
        case "hours", [number]:
            inside.stage.clock.tick(hours=float(number))
        case "trust", [host]:
            inside.engine.lessons.trust(host, by=USER)
        case "praise", [lesson_id]:
            inside.engine.lessons.feedback(GiveFeedback(lesson_id, True, "s"), by=USER)
        case _:
            raise AssertionError(f"nobody knows how to {what} {words}")


def main() -> int:
    """Write every recording anew."""
    for path in sorted(FOLDER.glob("*.txt")):
        with tempfile.TemporaryDirectory() as folder, indoors(Path(folder)) as inside:
            path.write_text(played(inside, path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
