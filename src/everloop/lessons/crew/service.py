"""The guild: what the doors call to keep skills, personas and teams, and to install packs.

Everything it changes, it changes by commands; every answer says who asked.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from everloop.errors import NotFound, Rejected
from everloop.lessons.crew.commands import (
    ActivateEntry,
    ArchiveEntry,
    EnlistEntry,
    RemoveEntry,
    ReviseEntry,
)
from everloop.lessons.crew.events import Sort
from everloop.lessons.crew.pack import Offer, Pack, enlistment, proposal
from everloop.lessons.crew.queries import Headline, Whole, headlines, packs, whole
from everloop.lessons.crew.state import ENTRY, stream_of
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.service import Teacher
from everloop.log import Context, Log, Receipt
from everloop.memory.markdown.folder import Trouble
from everloop.memory.projections.queries import asker

Do = Callable[..., Receipt]
What = Literal["new", "changed", "unchanged", "known"]


class Enlisted(msgspec.Struct, frozen=True):
    """What became of an entry. `withheld`: it waits for the user's word to be used.

    A lesson that was `known` has the pack's words now. `positions` are the facts that say so:
    retracting the first takes it all back.
    """

    sort: str
    name: str
    what: What
    status: str
    withheld: bool
    positions: tuple[int, ...] = ()


class TakenIn(msgspec.Struct, frozen=True):
    """What became of a pack or a folder: each thing that was taken in, and each that was not."""

    pack_id: str
    entries: tuple[Enlisted, ...]
    troubles: tuple[Trouble, ...]


class Guild:
    """The crew over one log."""

    def __init__(self, log: Log, do: Do, teacher: Teacher) -> None:
        self.log = log
        self._do = do
        self._teacher = teacher

    def headlines(
        self, principal: str, sort: Sort, statuses: Sequence[str] = ("draft", "active")
    ) -> list[Headline]:
        """The entries of a sort that a principal may see, by name."""
        with self.log.reading() as reader:
            return headlines(reader, asker(reader, principal), sort, statuses)

    def whole(self, principal: str, sort: Sort, name: str) -> Whole:
        """One entry with all that it says, and what made it better.

        Raises:
            NotFound: there is none that this principal may see.
        """
        with self.log.reading() as reader:
            return whole(reader, asker(reader, principal), sort, name)

    def packs(self, principal: str) -> dict[str, dict[str, int]]:
        """The packs that brought something here, and how many of what."""
        with self.log.reading() as reader:
            return packs(reader, asker(reader, principal))

    def enlist(
        self, command: EnlistEntry, *, by: Context, request_id: str | None = None
    ) -> Enlisted:
        """Take a new skill, persona or team in.

        Raises:
            Conflict: there is one of that name.
        """
        receipt = self._do(command, by=by, request_id=request_id)
        return self._outcome(command.sort, command.name, receipt, wanted=not command.draft)

    def revise(
        self, command: ReviseEntry, *, by: Context, request_id: str | None = None
    ) -> Enlisted:
        """Write an entry anew."""
        receipt = self._do(command, by=by, request_id=request_id)
        return self._outcome(command.sort, command.name, receipt)

    def change(
        self,
        command: ActivateEntry | ArchiveEntry | RemoveEntry,
        *,
        by: Context,
        request_id: str | None = None,
    ) -> Receipt:
        """Put an entry to use, out of use, or let it go."""
        return self._do(command, by=by, request_id=request_id)

    def take_in(self, offers: Pack, *, by: Context) -> TakenIn:
        """Take in skills, personas and teams from a folder; those that are there are revised."""
        return self._each(offers, lambda offer: self._import(offer, by))

    def install(self, pack: Pack, *, by: Context) -> TakenIn:
        """Install a pack, or what is new in it. What was let go here does not come back.

        In use at once is what the user installs, or a host that the user trusts; anyone else's
        pack waits for the user's word.
        """
        return self._each(pack, lambda offer: self._install(offer, pack.pack_id, by))

    def _each(self, pack: Pack, act: Callable[[Offer], Enlisted]) -> TakenIn:
        """One after the other; what is refused is named, and does not hold up the rest."""
        entries: list[Enlisted] = []
        troubles = list(pack.troubles)
        for offer in pack.offers:
            try:
                entries.append(act(offer))
            except Rejected as problem:
                troubles.append(Trouble(offer.source, str(problem), problem.hint))
        return TakenIn(pack.pack_id, tuple(entries), tuple(troubles))

    def _import(self, offer: Offer, by: Context) -> Enlisted:
        command = enlistment(offer)
        try:
            self.whole(by.actor, command.sort, command.name)
        except NotFound:
            return self.enlist(command, by=by)
        revision = ReviseEntry(
            command.sort, command.name, command.profile, evidence=command.evidence or None
        )
        return self.revise(revision, by=by)

    def _install(self, offer: Offer, pack_id: str, by: Context) -> Enlisted:
        if offer.sort != "lesson":
            return self.enlist(enlistment(offer, pack_id), by=by)
        done = self._teacher.propose(proposal(offer, pack_id), by=by)
        what: What = "known" if done.updated else "new"
        withheld = done.withheld or done.status is Status.PENDING
        return Enlisted("lesson", done.lesson_id, what, done.status, withheld, (done.position,))

    def _outcome(self, sort: Sort, name: str, receipt: Receipt, *, wanted: bool = True) -> Enlisted:
        """What an append led to."""
        entry = self.log.state(ENTRY, stream_of(sort, name))
        status = entry.status if entry else "removed"
        positions = tuple(fact.position for fact in receipt.facts)
        what: What = "unchanged"
        if receipt.facts:
            what = "changed" if receipt.facts[0].because else "new"
        withheld = wanted and status == "draft"
        return Enlisted(sort, name, what, status, withheld, positions)
