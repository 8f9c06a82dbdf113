"""Random worlds of memories, and a simple model of who may see what, for leak tests.

Every version of every item contains a word that occurs nowhere else: its canary. A hit that the
asker may not see, or a text with the canary of a hidden version, is a leak.
"""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from tests.log.naive_model import NaiveLog

from everloop.app import Engine
from everloop.log import Command, Receipt
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.memory.deciders import MEMORY_DECIDERS
from everloop.memory.index.vector_index import EXACT_MAX, VectorIndex
from everloop.memory.index.vector_store import VectorCache
from everloop.memory.model.commands import (
    GrantAudience,
    RememberItem,
    RetireItem,
    ReviseItem,
    RevokeAudience,
)
from everloop.memory.projections.audiences import AudienceTable
from everloop.memory.projections.fts_index import PassageTable
from everloop.memory.projections.items import ItemTable
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.embedder import WordEmbedder
from everloop.testing.seeded_random import SeededRandom

PRINCIPALS = ("anna", "ben", "cleo", "dirk")
STRANGER = "stranger"
SCOPES = ("user", "global", "project:a", "project:b", "team:t")
COMMON = ("garden", "meeting", "release", "coffee", "train", "letter", "music", "winter")


class DistinctEmbedder(WordEmbedder):
    """An embedder with so many dimensions that words, and so canaries, hardly ever collide."""

    name = "distinct words"
    dimensions = 256


@dataclass
class Version:
    """One version of an item, as the model keeps it."""

    position: int
    canary: str
    scope: str
    witnesses: tuple[str, ...]


@dataclass
class World:
    """A log with memories, and its model."""

    folder: Path
    seed: int
    exact_max: int = EXACT_MAX  # vectors that are searched exactly; beyond, by signs first
    naive: NaiveLog = field(default_factory=NaiveLog)
    versions: dict[str, list[Version]] = field(default_factory=dict)
    retired: dict[str, list[int]] = field(default_factory=dict)
    grants: dict[str, list[tuple[int, tuple[str, ...]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = SeededRandom(self.seed)
        self.stage = DeterministicPorts()
        views = [PassageTable(), ItemTable(), AudienceTable()]
        self.log = self.stage.open(self.folder / "everloop.db", views)
        self.engine = Engine(self.log, self.stage.ports, Settings(), MEMORY_DECIDERS)
        cache = VectorCache(self.folder / "vectors.db")
        space = VectorIndex(cache, DistinctEmbedder(), exact_max=self.exact_max)
        self.keeper = MemoryService(self.log, self.engine, self.stage.clock, self.stage.ids, space)
        for principal in PRINCIPALS:
            self.grant(principal)

    def close(self) -> None:
        """Close the log."""
        self.keeper.memory.vector_index = None
        self.log.close()

    # -- what happens ----------------------------------------------------------------------------

    def live(self, steps: int) -> None:
        """Carry out random actions."""
        acts = [
            *[self.remember] * 8,
            self.revise,
            self.revise,
            self.retire,
            self.retract,
            self.rewind,
            self.stand,
            self.grant_someone,
            self.purge,
            self.rebuild,
            self.embed,
        ]
        for _ in range(steps):
            self.chance.choice(acts)()
        self.embed()

    def remember(self) -> None:
        """Store an item, perhaps following another, perhaps derived from one."""
        item_id = f"item-{len(self.versions)}"
        canary = f"canary{self.seed}v{self.naive.head}"
        known = self.countable()
        source = self.chance.choice(known) if known and self.chance.random() < 0.3 else None
        follows = self.chance.choice(known) if known and self.chance.random() < 0.5 else ""
        shown = self.newest(source) if source else None
        scope = shown.scope if shown else self.chance.choice(SCOPES)
        witnesses = shown.witnesses if shown else self.some_witnesses()
        because = (shown.position,) if shown else ()
        self.do(
            RememberItem(
                item_id,
                f"{canary} {' '.join(self.chance.sample(COMMON, 4))}",
                scope=scope,
                witnesses=witnesses,
                follows=follows,
                derived_from=(source,) if source else (),
                because=because,
            ),
            because,
        )
        self.versions[item_id] = [Version(self.naive.head, canary, scope, witnesses)]

    def revise(self) -> None:
        """Change an item's text and audience."""
        if not (known := self.countable()):
            return
        item_id = self.chance.choice(known)
        canary = f"canary{self.seed}v{self.naive.head}"
        scope, witnesses = self.chance.choice(SCOPES), self.some_witnesses()
        text = f"{canary} {self.chance.choice(COMMON)}"
        first = self.versions[item_id][0].position
        stale = self.derived_from(item_id)
        change = ReviseItem(item_id, text=text, scope=scope, witnesses=witnesses)
        self.do(change, (first,), stale)
        self.versions[item_id].append(Version(self.naive.head, canary, scope, witnesses))

    def derived_from(self, item_id: str) -> tuple[int, ...]:
        """The items derived from a version of this one."""
        own = {version.position for version in self.versions[item_id]}
        return tuple(
            entry.position
            for entry in self.naive.entries
            if own & set(entry.because) and entry.stream != f"memory:{item_id}"
        )

    def retire(self) -> None:
        """Retire an item."""
        known = [item_id for item_id in self.countable() if not self.is_retired(item_id)]
        if known:
            item_id = self.chance.choice(known)
            self.do(RetireItem(item_id, force=True), (self.versions[item_id][0].position,))
            self.retired.setdefault(item_id, []).append(self.naive.head)

    def retract(self) -> None:
        """Retract a version, or an item with all its versions."""
        if not (known := self.countable()):
            return
        version = self.newest(self.chance.choice(known))
        assert version is not None
        self.log.retract([version.position], reason="test", actor="user")
        self.naive.add("log", self.naive.standing["main"], targets=(version.position,))

    def rewind(self) -> None:
        """Rewind a little."""
        to = max(0, self.naive.head - self.chance.randrange(12))
        receipt = self.log.rewind(to, actor="user")
        branch = msgspec.to_builtins(receipt.facts[0].event)["branch"]
        self.naive.add("log", "main")
        self.naive.add("log", "main")
        self.naive.parents[branch] = (self.naive.standing["main"], to)
        self.naive.standing["main"] = branch

    def stand(self) -> None:
        """Switch to another branch."""
        branch = self.chance.choice(sorted(self.naive.parents))
        if self.log.switch_branch(branch, actor="user").facts:
            self.naive.add("log", "main")
        self.naive.standing["main"] = branch

    def grant_someone(self) -> None:
        """Change the scopes of a principal."""
        principal = self.chance.choice(PRINCIPALS)
        if self.chance.random() < 0.3:
            if self.do(RevokeAudience(principal), ()).facts:
                self.grants.setdefault(principal, []).append((self.naive.head, ()))
        else:
            self.grant(principal)

    def grant(self, principal: str) -> None:
        """Grant a principal random scopes."""
        scopes = tuple(self.chance.sample([*SCOPES, "*", "project:*"], 3))
        if self.do(GrantAudience(principal, scopes), ()).facts:
            self.grants.setdefault(principal, []).append((self.naive.head, scopes))

    def purge(self) -> None:
        """Erase an item for good."""
        if self.chance.random() < 0.7 or not (known := self.countable()):
            return
        version = self.newest(self.chance.choice(known))
        assert version is not None
        receipt = self.log.purge([version.position], reason="test", actor="user")
        self.naive.purged |= set(msgspec.to_builtins(receipt.facts[0].event)["positions"])
        self.naive.add("log", "main")

    def rebuild(self) -> None:
        """Rebuild every projection."""
        rebuild_projections(self.log)

    def embed(self) -> None:
        """Compute and load missing vectors."""
        self.keeper.embed_missing()
        self.keeper.recall("user", SearchQuery(COMMON[0], mode="semantic"))

    def do(
        self, command: Command, because: tuple[int, ...], targets: tuple[int, ...] = ()
    ) -> Receipt:
        """Carry a command out, in the log and in the model."""
        receipt = self.engine.do(command)
        for fact in receipt.facts:
            self.naive.add(fact.stream, fact.branch, because=because, targets=targets)
        assert self.naive.head == self.log.head
        return receipt

    # -- what the model says ---------------------------------------------------------------------

    def counts(self, position: int) -> bool:
        """Whether a fact is visible on the current branch."""
        return self.naive.counts(position, self.naive.standing["main"])

    def newest(self, item_id: str) -> Version | None:
        """The current version of an item."""
        found = [version for version in self.versions[item_id] if self.counts(version.position)]
        return found[-1] if found else None

    def countable(self) -> list[str]:
        """The visible items."""
        return [item_id for item_id in self.versions if self.newest(item_id)]

    def is_retired(self, item_id: str) -> bool:
        """Whether an item is retired."""
        return any(self.counts(position) for position in self.retired.get(item_id, ()))

    def may_see(self, principal: str, item_id: str) -> bool:
        """The access rule, written independently of the code."""
        version = self.newest(item_id)
        if version is None:
            return False
        if principal == "user":
            return True
        granted = [scopes for at, scopes in self.grants.get(principal, ()) if self.counts(at)]
        scopes = granted[-1] if granted else ()
        kind = version.scope.split(":")[0]
        in_scope = version.scope in scopes or "*" in scopes or f"{kind}:*" in scopes
        return in_scope and (not version.witnesses or principal in version.witnesses)

    def some_witnesses(self) -> tuple[str, ...]:
        """No witnesses, or a few."""
        if self.chance.random() < 0.4:
            return ()
        return tuple(sorted(self.chance.sample(PRINCIPALS, self.chance.randint(1, 3))))
