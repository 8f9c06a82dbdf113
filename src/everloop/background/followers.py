"""Followers: reactions to facts, each done once for every fact, over crashes and several nodes.

The process that records a fact reacts to it at once, so that its caller sees the effect. If it dies
in between, another process catches up: it reacts to every fact after the checkpoint. Whoever holds
the claim moves the checkpoint, in the order of positions, so no fact is skipped.

Once: a reaction must be idempotent. One that records something uses a request id made from the fact
(see `reaction_id`), and the log records a request only once, whichever node makes it. The
checkpoint is a cache: delete it, and every fact is looked at again, at no cost but time.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from everloop.background.task import BackgroundTask
from everloop.errors import EverloopError
from everloop.log import Command, Event, Fact, Log
from everloop.log.model.record import fact_of
from everloop.log.ownership import Claim

CLAIM = "background.followers"
SUFFIX = ".followers"  # of the checkpoint file beside the log
PAGE = 1_000
SAVE_EVERY = 200  # facts; after a reaction it is saved at once


@dataclass(frozen=True, slots=True)
class Reaction:
    """What happens when one of these events was recorded. `react` must be idempotent."""

    name: str
    events: tuple[type[Event], ...]
    react: Callable[[Fact], None]


def reaction_id(reaction: str, fact: Fact, command: Command) -> str:
    """The idempotency key of a command that a reaction to a fact leads to."""
    said = type(command).__name__.encode() + msgspec.json.encode(command)
    return f"{reaction}:{fact.position}:{hashlib.sha256(said).hexdigest()[:16]}"


class Followers:
    """The reactions of an engine, with the checkpoint up to which all of them were done."""

    def __init__(self, log: Log, reactions: Sequence[Reaction]) -> None:
        self._log = log
        self._path = log.file.path.with_suffix(SUFFIX)
        self._by_event: dict[type[Event], list[Reaction]] = {}
        for reaction in reactions:
            for event in reaction.events:
                self._by_event.setdefault(event, []).append(reaction)
        self._kinds = sorted(event.wire for event in self._by_event)

    def react(self, facts: Iterable[Fact]) -> bool:
        """React to facts. Returns whether there was anything to react to."""
        found = False
        for fact in facts:
            for reaction in self._by_event.get(type(fact.event), ()):
                found = True
                reaction.react(fact)
        return found

    def catch_up(self) -> None:
        """React to what a process left that died. Another process may be doing it just now."""
        if self.checkpoint() >= self._log.head:
            return
        claim = self._log.claim(CLAIM)
        if claim is not None:
            with claim:
                self.run(claim)

    def run(self, claim: Claim) -> None:
        """React to every fact after the checkpoint, and move it."""
        after = self.checkpoint()
        head = self._log.head
        with self._log.file.reading() as reader:
            rows = reader.rows(_AFTER.format(kinds=_marks(self._kinds)), (after, *self._kinds))
            positions = [position for (position,) in rows]
        for position in positions:
            if not claim.held:
                return
            with self._log.file.reading() as reader:
                fact = fact_of(reader.record(position))
            self.react([fact])
        self.save(head)

    def checkpoint(self) -> int:
        """The position up to which every reaction was done."""
        try:
            at = int(self._path.read_text())
        except (OSError, ValueError):
            return 0
        return at if at <= self._log.head else 0  # the log was restored to an earlier state

    def save(self, position: int) -> None:
        """Move the checkpoint. A disk that refuses costs a second look later, and no more."""
        with suppress(OSError):
            whole = self._path.with_suffix(f"{SUFFIX}.part")
            whole.write_text(str(position))
            whole.replace(self._path)


class FollowerTask(BackgroundTask):
    """Catches up with what other processes left, as long as this one runs."""

    def __init__(self, log: Log, followers: Followers) -> None:
        super().__init__(log, "reactions", self._work, claim=CLAIM)
        self._followers = followers

    def _work(self, claim: Claim) -> None:
        self._followers.run(claim)
        saved = self._followers.checkpoint()
        for fact in self._log.follow(after=saved, stop=self.stopping):
            if not claim.held:
                return
            try:
                reacted = self._followers.react([fact])
            except EverloopError:
                self._followers.save(fact.position - 1)
                raise
            if reacted or fact.position - saved >= SAVE_EVERY:
                self._followers.save(fact.position)
                saved = fact.position


def _marks(kinds: Sequence[str]) -> str:
    return ", ".join("?" * len(kinds))


_AFTER = "SELECT position FROM log WHERE position > ? AND kind IN ({kinds}) ORDER BY position"
