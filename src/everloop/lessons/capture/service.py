"""The catcher: what the adapters call with what they read. It proposes lessons, and no more.

It speaks as an agent, whoever started it: what stands in a file may have been written by anyone.
An entry is proposed once, whatever happens in between: its lesson's id and the request's are made
from its words, so a crash, a restart or a second reader changes nothing.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256

import msgspec

from everloop.errors import Forbidden, Rejected
from everloop.lessons.capture.commands import NoteEntry, NoteRead
from everloop.lessons.capture.diff import Change, additions, changes
from everloop.lessons.capture.entries import Entry, Mark, Origin, Trouble
from everloop.lessons.capture.state import SOURCE, SourceState, stream_of
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.model.events import Evidence, MemoryEvidence, QuoteEvidence, Source
from everloop.lessons.model.state import LESSON, lesson_stream
from everloop.log import Context, Log, Receipt
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.events import Origin as ItemOrigin
from everloop.memory.model.scopes import written_by_user

Do = Callable[..., Receipt]
CAPTURE = "agent:capture"
HOST = "claude-code"


class Caught(msgspec.Struct, frozen=True):
    """An entry that was put forward.

    `replaces` is the lesson it was before its words changed. `known`: it was a lesson already, so
    nothing was proposed anew; another source says the same, perhaps.
    """

    lesson_id: str
    description: str
    scope: str
    name: str
    replaces: str = ""
    known: bool = False


class Report(msgspec.Struct, frozen=True):
    """What came of reading: what was put forward, and what could not be read."""

    caught: tuple[Caught, ...] = ()
    troubles: tuple[Trouble, ...] = ()

    def __add__(self, other: "Report") -> "Report":
        """Both."""
        return Report((*self.caught, *other.caught), (*self.troubles, *other.troubles))


class Catcher:
    """Proposes what sources say. With `preview` it only says what it would propose."""

    def __init__(self, log: Log, do: Do, *, actor: str = CAPTURE, preview: bool = False) -> None:
        if written_by_user(actor):
            raise Forbidden(
                f"capture cannot speak as {actor}",
                hint="What a file says is not yet the user's word: let an agent propose it.",
            )
        self._log = log
        self._do = do
        self._actor = actor
        self._preview = preview

    def source(self, origin: Origin) -> SourceState:
        """What is known of a source."""
        return self._log.state(SOURCE, stream_of(origin.source_id)) or SourceState()

    def take_page(self, origin: Origin, entries: Sequence[Entry]) -> Report:
        """Take in a source that was read as a whole."""
        found = changes(self.source(origin), origin.kind, entries)
        return self._all(origin, found)

    def take_piece(self, origin: Origin, entries: Sequence[Entry], mark: Mark) -> Report:
        """Take in the next piece of a growing source, then note how far it was read."""
        report = self._all(origin, additions(self.source(origin), origin.kind, entries))
        if report.caught:
            self.note(origin, mark)
        return report

    def note(self, origin: Origin, mark: Mark) -> None:
        """Note how far a growing source was read."""
        if not self._preview:
            self._do(NoteRead(origin, mark), by=self._by(origin.source_id))

    def _all(self, origin: Origin, found: Sequence[Change]) -> Report:
        report = Report()
        for change in found:
            try:
                report += Report((self._take(origin, change),))
            except Rejected as problem:
                trouble = f"{change.entry.description!r}: {problem}"
                report += Report(troubles=(Trouble(origin.name, trouble, problem.hint),))
        return report

    def _take(self, origin: Origin, change: Change) -> Caught:
        entry = change.entry
        known = self.source(origin).entries.get(change.replaces)
        lesson_id = f"les-{change.digest[:24]}"
        replaces = known.lesson_id if known else ""
        there = self._log.state(LESSON, lesson_stream(lesson_id)) is not None
        caught = Caught(lesson_id, entry.description, entry.scope, origin.name, replaces, there)
        if self._preview:
            return caught
        by = self._by(entry.session or origin.source_id)
        evidence, said_at = self._evidence(entry, by)
        proposal = ProposeLesson(
            lesson_id=lesson_id,
            description=entry.description,
            body=entry.body,
            scope=entry.scope,
            evidence=evidence,
            source=Source(origin.kind, origin.name, change.digest),
            because=said_at,
        )
        self._do(proposal, by=by, request_id=f"capture-{change.digest}")
        noted = NoteEntry(
            origin, entry.key, change.digest, entry.description, lesson_id, change.replaces
        )
        self._do(noted, by=by)
        return caught

    def _evidence(self, entry: Entry, by: Context) -> tuple[tuple[Evidence, ...], tuple[int, ...]]:
        """The words a user said and the message they stand in, so that anyone can check them.

        And where the message was recorded: who takes it back takes back what was made from it.
        """
        if not entry.message:
            return (QuoteEvidence(entry.quote),) if entry.quote else (), ()
        named = sha256(msgspec.json.encode((entry.session, entry.key, entry.message)))
        item_id = f"mem-{named.hexdigest()[:24]}"
        message = RememberItem(
            item_id=item_id,
            text=entry.message,
            kind="message",
            scope=entry.scope,
            origin=ItemOrigin(host=HOST, session=entry.session, folder=entry.folder),
            learned_via="imported",
            happened_at=entry.said_at,
        )
        receipt = self._do(message, by=by, request_id=f"capture-{item_id}")
        evidence = (QuoteEvidence(entry.quote, found_in=item_id), MemoryEvidence(item_id))
        return evidence, tuple(fact.position for fact in receipt.facts[:1])

    def _by(self, session: str) -> Context:
        return Context(actor=self._actor, session=session)
