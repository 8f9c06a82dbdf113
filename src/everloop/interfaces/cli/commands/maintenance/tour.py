"""`everloop tour`: an engine at work in a temporary home, step by step, in plain words.

Everything it shows really happens; nothing of it is left behind.
"""

import io
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from everloop.app import Engine
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.output.json_document import document
from everloop.interfaces.cli.output.json_shapes import impact_of
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, STRONG, Screen
from everloop.interfaces.cli.session import Session
from everloop.log import Draft, Impact
from everloop.log.integrity.verify import verify
from everloop.log.maintenance.backup import make_backup
from everloop.log.model.facts import NoteWritten
from everloop.log.read.queries import BranchList, NewestFacts

USER, AGENT = "user", "agent:planner"
SECRET = "the door code is 4711"  # noqa: S105 - a made-up one
FRIDAY = "notes:friday"


def tour(session: Session, _: Namespace) -> None:
    """Show append, branch, rewind, retract, purge and verify at work."""
    with tempfile.TemporaryDirectory(prefix="everloop-tour-") as folder:
        home = Path(folder) / "home"
        with Engine.open(home, settings=session.settings, world=session.world) as engine:
            guide = _Guide(engine, session, home)
            guide.welcome()
            for step in (
                guide.append,
                guide.repeat,
                guide.branch,
                guide.rewind,
                guide.retract,
                guide.purge,
                guide.verify,
            ):
                step()
            guide.farewell()
    if session.json:
        session.stdout.write(document(guide.done))


class _Guide:
    """Shows one engine. The steps build on each other, in the order of their appearance."""

    def __init__(self, engine: Engine, session: Session, home: Path) -> None:
        self.done: list[dict[str, Any]] = []
        self._engine = engine
        self._log = engine.log
        self._session = session
        self._home = home
        self._screen = Screen(io.StringIO()) if session.json else session.screen
        self._facts: list[int] = []

    def welcome(self) -> None:
        self._screen.say(("Everloop keeps everything in one append-only log.", STRONG))
        self._screen.say((f"This one lives in {self._home} until the tour ends.", FAINT))

    def append(self) -> None:
        self._title("Append", "Two facts from you, and one that an agent derived from them.")
        allergy = self._note("notes:anna", USER, "Anna is allergic to nuts.")
        dinner = self._note(FRIDAY, USER, "Dinner with Anna on Friday at Luigi's.")
        menu = self._note(
            FRIDAY, AGENT, "Ask Luigi's for a menu without nuts.", because=(allergy, dinner)
        )
        self._facts = [allergy, dinner, menu]
        self._show()
        self._say(
            f"Each is on the disk before its position is given. Fact {menu} names its sources:"
            f" {allergy} and {dinner}."
        )
        self._did("append", positions=self._facts)

    def repeat(self) -> None:
        self._title("Repeat", "A request that is sent twice, as after a lost connection.")
        sent = [
            self._log.append(
                FRIDAY, [NoteWritten("Table booked for seven.")], actor=USER, request_id="booking-1"
            )
            for _ in range(2)
        ]
        self._say(
            f"Both times the answer is position {sent[1].position}. It is recorded once, because"
            " the request has a name."
        )
        self._did("repeat", positions=[receipt.position for receipt in sent])

    def branch(self) -> None:
        self._title("Branch", "Try another plan without touching the present one.")
        self._log.fork(name="at-home", actor=USER)
        other = self._note(FRIDAY, USER, "Or we cook at home.", branch="at-home")
        self._branches()
        counts = {name: self._length(name) for name in ("main", "at-home")}
        self._say(
            f"{FRIDAY} has {counts['main']} facts on main and {counts['at-home']} on at-home."
            " A branch is one row, however long the history."
        )
        self._did("branch", position=other, facts=counts)

    def rewind(self) -> None:
        to = self._facts[1]
        self._title("Rewind", f"Go back to position {to}, then return.")
        impact = self._log.preview_rewind(to)
        self._log.rewind(to, name="before-the-menu", actor=USER)
        self._branches()
        self._say(
            f"{fact_tables.plural(len(impact.hides), 'fact')} would no longer count there. Nothing"
            " is lost: the old future is the branch main, and we go back to it now."
        )
        self._log.stand("main", actor=USER)
        self._did("rewind", impact=impact_of(impact, impact))

    def retract(self) -> None:
        allergy, _, menu = self._facts
        self._title("Retract", "Anna is not allergic after all. What else would change?")
        impact = self._log.preview_retract([allergy])
        preview = fact_tables.preview(self._session, self._engine, impact, impact)
        fact_tables.draw_preview(self._screen, preview, lead=f"Preview of retracting {allergy}")
        receipt = self._log.retract([allergy], reason="a misunderstanding", actor=USER)
        self._screen.gap()
        self._show(upto=menu)
        self._say(f"Fact {menu} came from it, so it is gone too: no ghost stays behind.")
        undone = self._undo(receipt.position)
        self._say(
            f"A retraction is a fact as well. Retracting it undoes it:"
            f" {fact_tables.plural(len(undone.restores), 'fact')} count again."
        )
        self._did("retract", impact=impact_of(impact, impact), undone=impact_of(undone, undone))

    def purge(self) -> None:
        self._title("Purge", "Some things must not be kept at all.")
        secret = self._note("notes:anna", USER, f"By the way, {SECRET}.")
        derived = self._note("notes:anna", AGENT, f"Remember: {SECRET}.", because=(secret,))
        before = self._occurrences()
        impact = self._log.preview_purge([secret])
        receipt = self._log.purge([secret], reason="it was a secret", actor=USER)
        after = self._occurrences()
        self._show(positions=(secret, derived, receipt.position))
        self._say(
            f"The words were in the log's files {before} times and are there {after} times now."
            " The records' tombstones stay, so the proof below still holds."
        )
        self._did("purge", impact=impact_of(impact, impact), occurrences=[before, after])

    def verify(self) -> None:
        self._title("Verify", "Every digest is computed again; then we flip one byte in a copy.")
        whole = verify(self._log)
        self._say(
            ("✓ ", GOOD),
            f"{whole.records} records in {whole.streams} streams are as they were written.",
        )
        damage = self._flip_a_byte()
        for one in damage:
            self._say(("✓ ", GOOD), f"In the copy, position {one['first']} {one['problem']}.")
        self._did("verify", ok=whole.ok, records=whole.records, damage_in_copy=damage)

    def farewell(self) -> None:
        self._screen.gap()
        self._screen.say(("That was all real, and is gone now.", STRONG), " Your own log:")
        self._screen.say(("  everloop log note ", NAME), '"the first thing worth keeping"')
        self._screen.say(("  everloop log tail ", NAME), " what is in it")
        self._screen.say(("  everloop doctor   ", NAME), " what is found on this machine")

    def _title(self, title: str, words: str) -> None:
        self._screen.gap()
        number = len(self.done) + 1
        self._screen.say((f"{number}. {title}  ", f"{STRONG} {NAME}"), (words, STRONG))

    def _say(self, *parts: str | tuple[str, str]) -> None:
        self._screen.say(*parts)

    def _did(self, step: str, **results: Any) -> None:
        self.done.append({"step": step, **results})

    def _note(
        self,
        stream: str,
        actor: str,
        text: str,
        *,
        because: tuple[int, ...] = (),
        branch: str | None = None,
    ) -> int:
        draft = Draft(NoteWritten(text), because)
        return self._log.append(stream, [draft], actor=actor, branch=branch).position

    def _undo(self, retraction: int) -> Impact:
        impact = self._log.preview_retract([retraction])
        self._log.retract([retraction], reason="she is", actor=USER)
        return impact

    def _show(self, *, upto: int | None = None, positions: Sequence[int] = ()) -> None:
        before = (upto or self._log.head) + 1
        found = self._engine.ask(NewestFacts(limit=50, before=before, stream="*"))
        chosen = [one for one in found if not positions or one.record.position in positions]
        fact_tables.facts(self._screen, chosen, self._session.now)

    def _branches(self) -> None:
        fact_tables.branch_tree(self._screen, self._engine.ask(BranchList()))

    def _length(self, branch: str) -> int:
        return sum(1 for _ in self._log.read(FRIDAY, branch=branch))

    def _occurrences(self) -> int:
        """How often the secret stands in the log's own files, whatever part of them it is."""
        files = [path for path in self._home.iterdir() if path.is_file()]
        return sum(path.read_bytes().count(SECRET.encode()) for path in files)

    def _flip_a_byte(self) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory(dir=self._home) as folder:
            copy = make_backup(self._log.file, Path(folder), self._session.now)
            stored = bytearray(copy.read_bytes())
            stored[stored.index(b"menu without nuts")] ^= 0x01
            copy.write_bytes(stored)
            other = self._log.beside(copy)
            try:
                return [msgspec.structs.asdict(one) for one in verify(other).damage]
            finally:
                other.close()
