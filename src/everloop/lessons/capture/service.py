"""The capture service: proposes lessons from the entries that adapters read. It never promotes any.

It always acts as an agent, because anyone may have written what is in a file. Proposals are
idempotent: the lesson id and the request id are derived from the entry's text, so a crash, a
restart or a second reader changes nothing.
"""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from everloop.errors import Forbidden, Rejected
from everloop.lessons.capture.commands import NoteEntry, NoteRead
from everloop.lessons.capture.diff import EntryChange, changed_entries, new_entries
from everloop.lessons.capture.entries import CaptureEntry, CaptureProblem, CaptureSource, ReadOffset
from everloop.lessons.capture.state import SOURCE, SourceState, source_stream
from everloop.lessons.lesson_ids import content_lesson_id
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.model.events import Evidence, MemoryEvidence, QuoteEvidence, Source
from everloop.lessons.model.state import LESSON, lesson_stream
from everloop.log import CommandBus, Context, Log
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.events import Origin as ItemOrigin
from everloop.memory.model.scopes import acts_as_user

CAPTURE_ACTOR = "agent:capture"
CAPTURE_HOST = "claude-code"


class ProposedEntry(msgspec.Struct, frozen=True):
    """An entry that was proposed.

    `replaces` is the lesson of its previous version. `known`: the lesson existed already, perhaps
    from another source, so nothing was proposed.
    """

    lesson_id: str
    description: str
    scope: str
    name: str
    replaces: str = ""
    known: bool = False


class CaptureReport(msgspec.Struct, frozen=True):
    """The result of a reading: the proposed entries, and what could not be read."""

    caught: tuple[ProposedEntry, ...] = ()
    troubles: tuple[CaptureProblem, ...] = ()

    def __add__(self, other: "CaptureReport") -> "CaptureReport":
        """Both reports joined."""
        return CaptureReport((*self.caught, *other.caught), (*self.troubles, *other.troubles))


class CaptureService:
    """Proposes the entries of sources. With `preview` it records nothing."""

    def __init__(
        self, log: Log, bus: CommandBus, *, actor: str = CAPTURE_ACTOR, preview: bool = False
    ) -> None:
        if acts_as_user(actor):
            raise Forbidden(
                f"capture cannot act as {actor}",
                hint="Use an agent's name: a file does not speak for the user.",
            )
        self._log = log
        self._bus = bus
        self._actor = actor
        self._preview = preview

    def source(self, origin: CaptureSource) -> SourceState:
        """The recorded state of a source."""
        return self._log.state(SOURCE, source_stream(origin.source_id)) or SourceState()

    def propose_page(self, origin: CaptureSource, entries: Sequence[CaptureEntry]) -> CaptureReport:
        """Propose the new entries of a source that was read as a whole."""
        found = changed_entries(self.source(origin), origin.kind, entries)
        return self._propose_all(origin, found)

    def propose_piece(
        self, origin: CaptureSource, entries: Sequence[CaptureEntry], mark: ReadOffset
    ) -> CaptureReport:
        """Propose the new entries of a growing source, then record how far it was read."""
        report = self._propose_all(origin, new_entries(self.source(origin), origin.kind, entries))
        if report.caught:
            self.record_offset(origin, mark)
        return report

    def record_offset(self, origin: CaptureSource, mark: ReadOffset) -> None:
        """Record how far a growing source was read."""
        if not self._preview:
            self._bus.do(NoteRead(origin, mark), by=self._context(origin.source_id))

    def _propose_all(self, origin: CaptureSource, found: Sequence[EntryChange]) -> CaptureReport:
        report = CaptureReport()
        for change in found:
            try:
                report += CaptureReport((self._propose(origin, change),))
            except Rejected as problem:
                trouble = f"{change.entry.description!r}: {problem}"
                report += CaptureReport(
                    troubles=(CaptureProblem(origin.name, trouble, problem.hint),)
                )
        return report

    def _propose(self, origin: CaptureSource, change: EntryChange) -> ProposedEntry:
        entry = change.entry
        known = self.source(origin).entries.get(change.replaces)
        named, plain = (origin.kind, change.digest), f"les-{change.digest[:24]}"
        lesson_id = content_lesson_id(self._log, self._actor, named, plain=plain)
        replaces = known.lesson_id if known else ""
        exists = self._log.state(LESSON, lesson_stream(lesson_id)) is not None
        caught = ProposedEntry(
            lesson_id, entry.description, entry.scope, origin.name, replaces, exists
        )
        if self._preview:
            return caught
        by = self._context(entry.session or origin.source_id)
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
        self._bus.do(proposal, by=by, request_id=f"capture-{lesson_id}")
        noted = NoteEntry(
            origin, entry.key, change.digest, entry.description, lesson_id, change.replaces
        )
        self._bus.do(noted, by=by)
        return caught

    def _evidence(
        self, entry: CaptureEntry, by: Context
    ) -> tuple[tuple[Evidence, ...], tuple[int, ...]]:
        """The quote and its message as evidence, and the position of the recorded message.

        The lesson depends on that position: retracting the message retracts the lesson.
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
            origin=ItemOrigin(host=CAPTURE_HOST, session=entry.session, folder=entry.folder),
            learned_via="imported",
            happened_at=entry.said_at,
        )
        receipt = self._bus.do(message, by=by, request_id=f"capture-{item_id}")
        evidence = (QuoteEvidence(entry.quote, found_in=item_id), MemoryEvidence(item_id))
        return evidence, tuple(fact.position for fact in receipt.facts[:1])

    def _context(self, session: str) -> Context:
        return Context(actor=self._actor, session=session)
