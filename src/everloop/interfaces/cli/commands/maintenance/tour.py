"""`everloop tour`: a guided demonstration of the log in a temporary data home.

Every step really runs; nothing is left behind.
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
from everloop.interfaces.cli.output.json_document import encode_document
from everloop.interfaces.cli.output.json_shapes import impact_json
from everloop.interfaces.cli.output.screen import BOLD, DIM, GOOD, NAME, Screen
from everloop.interfaces.cli.session import Session
from everloop.log import (
    BranchList,
    Draft,
    Impact,
    NewestFacts,
    NoteWritten,
    make_backup,
    verify_log,
)

USER, AGENT = "user", "agent:planner"
SECRET = "the door code is 4711"  # noqa: S105 - sample data
FRIDAY = "notes:friday"


def tour(session: Session, _: Namespace) -> None:
    """Demonstrate append, branch, rewind, retract, purge and verify."""
    with tempfile.TemporaryDirectory(prefix="everloop-tour-") as folder:
        home = Path(folder) / "home"
        with Engine.open(home, settings=session.settings, ports=session.ports) as engine:
            guide = _Tour(engine, session, home)
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
        session.stdout.write(encode_document(guide.done))


class _Tour:
    """The steps of the tour. They build on each other, in this order."""

    def __init__(self, engine: Engine, session: Session, home: Path) -> None:
        self.done: list[dict[str, Any]] = []
        self._engine = engine
        self._log = engine.log
        self._session = session
        self._home = home
        self._screen = Screen(io.StringIO()) if session.json else session.screen
        self._facts: list[int] = []

    def welcome(self) -> None:
        self._screen.paragraph(("Everloop stores everything in one append-only log.", BOLD))
        self._screen.paragraph((f"This tour uses a temporary one in {self._home}.", DIM))

    def append(self) -> None:
        self._title("Append", "Record two facts by you, and one that an agent derives from them.")
        allergy = self._note("notes:anna", USER, "Anna is allergic to nuts.")
        dinner = self._note(FRIDAY, USER, "Dinner with Anna on Friday at Luigi's.")
        menu = self._note(
            FRIDAY, AGENT, "Ask Luigi's for a menu without nuts.", because=(allergy, dinner)
        )
        self._facts = [allergy, dinner, menu]
        self._show()
        self._say(
            f"Each fact is on disk before its position is returned. Fact {menu} names its sources:"
            f" {allergy} and {dinner}."
        )
        self._record_step("append", positions=self._facts)

    def repeat(self) -> None:
        self._title("Repeat", "Send a request twice, as after a lost connection.")
        sent = [
            self._log.append(
                FRIDAY, [NoteWritten("Table booked for seven.")], actor=USER, request_id="booking-1"
            )
            for _ in range(2)
        ]
        self._say(
            f"Both times the result is position {sent[1].position}. It is recorded once, because"
            " the request has an ID (idempotency key)."
        )
        self._record_step("repeat", positions=[receipt.position for receipt in sent])

    def branch(self) -> None:
        self._title("Branch", "Try another plan without changing the current one.")
        self._log.fork(name="at-home", actor=USER)
        other = self._note(FRIDAY, USER, "Or we cook at home.", branch="at-home")
        self._branches()
        counts = {name: self._length(name) for name in ("main", "at-home")}
        self._say(
            f"{FRIDAY} has {counts['main']} facts on main and {counts['at-home']} on at-home."
            " A branch costs one row, however long the history is."
        )
        self._record_step("branch", position=other, facts=counts)

    def rewind(self) -> None:
        to = self._facts[1]
        self._title("Rewind", f"Go back to position {to}, then return.")
        impact = self._log.preview_rewind(to)
        self._log.rewind(to, name="before-the-menu", actor=USER)
        self._branches()
        self._say(
            f"{fact_tables.plural(len(impact.hides), 'fact')} are hidden on the new branch. Nothing"
            " is lost: they are still on the branch main, and we switch back to it now."
        )
        self._log.switch_branch("main", actor=USER)
        self._record_step("rewind", impact=impact_json(impact, impact))

    def retract(self) -> None:
        allergy, _, menu = self._facts
        self._title("Retract", "Anna is not allergic after all. What else would change?")
        impact = self._log.preview_retract([allergy])
        preview = fact_tables.load_preview(self._session, self._engine, impact, impact)
        fact_tables.draw_preview(self._screen, preview, lead=f"Preview of retracting {allergy}")
        receipt = self._log.retract([allergy], reason="a misunderstanding", actor=USER)
        self._screen.blank_line()
        self._show(upto=menu)
        self._say(f"Fact {menu} was derived from it, so it is retracted too.")
        undone = self._undo(receipt.position)
        self._say(
            f"A retraction is itself a fact. Retracting it undoes it:"
            f" {fact_tables.plural(len(undone.restores), 'fact')} restored."
        )
        self._record_step(
            "retract", impact=impact_json(impact, impact), undone=impact_json(undone, undone)
        )

    def purge(self) -> None:
        self._title("Purge", "Permanently erase what must not be stored.")
        secret = self._note("notes:anna", USER, f"By the way, {SECRET}.")
        derived = self._note("notes:anna", AGENT, f"Remember: {SECRET}.", because=(secret,))
        before = self._occurrences()
        impact = self._log.preview_purge([secret])
        receipt = self._log.purge([secret], reason="it was a secret", actor=USER)
        after = self._occurrences()
        self._show(positions=(secret, derived, receipt.position))
        self._say(
            f"The secret was in the log files {before} times, and is there {after} times now."
            " Tombstones of the records stay, so the log can still be verified."
        )
        self._record_step("purge", impact=impact_json(impact, impact), occurrences=[before, after])

    def verify(self) -> None:
        self._title("Verify", "Check every digest, then flip one byte in a copy.")
        whole = verify_log(self._log)
        self._say(
            ("✓ ", GOOD),
            f"{whole.records} records in {whole.streams} streams are intact.",
        )
        damage = self._flip_a_byte()
        for one in damage:
            self._say(("✓ ", GOOD), f"In the copy, position {one['first']} {one['problem']}.")
        self._record_step("verify", ok=whole.ok, records=whole.records, damage_in_copy=damage)

    def farewell(self) -> None:
        self._screen.blank_line()
        self._screen.paragraph(
            ("The tour is over and its data is deleted.", BOLD), " To use your own log:"
        )
        self._screen.advice(("  everloop log note ", NAME), '"the first thing worth keeping"')
        self._screen.advice(("  everloop log tail ", NAME), " show the newest facts")
        self._screen.advice(("  everloop doctor   ", NAME), " check the installation")

    def _title(self, title: str, words: str) -> None:
        self._screen.blank_line()
        number = len(self.done) + 1
        self._screen.paragraph((f"{number}. {title}  ", f"{BOLD} {NAME}"), (words, BOLD))

    def _say(self, *parts: str | tuple[str, str]) -> None:
        self._screen.paragraph(*parts)

    def _record_step(self, step: str, **results: Any) -> None:
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
        fact_tables.draw_facts(self._screen, chosen, self._session.now)

    def _branches(self) -> None:
        fact_tables.draw_branches(self._screen, self._engine.ask(BranchList()))

    def _length(self, branch: str) -> int:
        return sum(1 for _ in self._log.read(FRIDAY, branch=branch))

    def _occurrences(self) -> int:
        """How often the secret occurs in the log files."""
        files = [path for path in self._home.iterdir() if path.is_file()]
        return sum(path.read_bytes().count(SECRET.encode()) for path in files)

    def _flip_a_byte(self) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory(dir=self._home) as folder:
            copy = make_backup(self._log.file, Path(folder), self._session.now)
            stored = bytearray(copy.read_bytes())
            stored[stored.index(b"menu without nuts")] ^= 0x01
            copy.write_bytes(stored)
            other = self._log.open_other(copy)
            try:
                return [msgspec.structs.asdict(one) for one in verify_log(other).damage]
            finally:
                other.close()
