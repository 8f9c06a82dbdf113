"""A memory on a temporary log for tests; the author is an agent by default."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from everloop.app import Engine
from everloop.log import Command, Context, Reader, Receipt
from everloop.memory.deciders import MEMORY_DECIDERS
from everloop.memory.model.commands import (
    CiteItem,
    CloseCitation,
    DemoteItem,
    RememberItem,
    RetireItem,
)
from everloop.memory.model.scopes import Viewer
from everloop.memory.projections.audiences import AudienceTable
from everloop.memory.projections.fts_index import PassageTable
from everloop.memory.projections.items import ItemTable
from everloop.memory.projections.queries import Item, find_item, list_items, load_viewer
from everloop.memory.summaries.compress import Compressor, Refusal, SummaryText
from everloop.memory.text.analysis import parse_question
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

USER = Context()
AGENT = Context(actor="agent:x")
ENGINE = Context(actor="engine")


def joined(sources: Sequence[Item], budget: int) -> SummaryText | Refusal:
    """A summariser that joins all texts."""
    del budget
    return SummaryText(
        "; ".join(source.title for source in sources)[:200],
        " ".join(source.text for source in sources)[:4_000],
    )


@dataclass
class Notebook:
    """A memory with a log of its own."""

    folder: Path
    stage: DeterministicPorts = field(default_factory=DeterministicPorts)

    def __post_init__(self) -> None:
        """Open it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        views = [PassageTable(), ItemTable(), AudienceTable()]
        self.log = self.stage.open(self.folder / "everloop.db", views)
        self.engine = Engine(self.log, self.stage.ports, Settings(), MEMORY_DECIDERS)
        self.compressor = Compressor(self.log, self.engine, joined)

    def do(self, command: Command, by: Context = AGENT) -> Receipt:
        """Carry out a command."""
        return self.engine.do(command, by=by)

    def say(self, *item_ids: str, by: Context = AGENT, **more: object) -> int:
        """Store items with unique texts; returns the position of the last one."""
        position = 0
        for item_id in item_ids:
            words = {"text": f"{item_id} is about {item_id}.", "title": f"About {item_id}"}
            position = self.do(RememberItem(item_id, **{**words, **more}), by).position  # type: ignore[arg-type]
        return position

    def make(self, item_id: str, *sources: str) -> int:
        """Store an item derived from others; returns its position."""
        with self.reading() as reader:
            because = tuple(self.item(source, reader).version for source in sources)
        return self.say(item_id, kind="summary", derived_from=sources, because=because)

    def cite(self, item_id: str, citer: str = "lesson:1", *, by_user: bool = True) -> Receipt:
        """Open a citation link."""
        return self.do(CiteItem(item_id, citer, by_user), USER)

    def let_go(self, item_id: str, citer: str = "lesson:1") -> Receipt:
        """Close a citation link."""
        return self.do(CloseCitation(item_id, citer), USER)

    def retire(self, item_id: str, by: Context = ENGINE, *, force: bool = False) -> Receipt:
        """Retire an item."""
        return self.do(RetireItem(item_id, force=force), by)

    def demote(self, item_id: str, summary: str, by: Context = ENGINE) -> Receipt:
        """Demote an item in favour of a summary."""
        with self.reading() as reader:
            because = (self.item(summary, reader).position,)
        return self.do(DemoteItem(item_id, summary, because), by)

    def reading(self) -> AbstractContextManager[Reader]:
        """A reader on the current state."""
        return self.log.reading()

    def who(self, reader: Reader, principal: str = "user") -> Viewer:
        """A principal as an asker."""
        return load_viewer(reader, principal)

    def item(self, item_id: str, reader: Reader) -> Item:
        """One item, as the owner sees it."""
        return find_item(reader, self.who(reader), item_id)

    def listed(self) -> set[str]:
        """The items that are visible and neither retired nor demoted."""
        with self.reading() as reader:
            return {item.item_id for item in list_items(reader, self.who(reader), limit=1_000)}

    def recalled(self, text: str, k: int) -> list[str]:
        """The items that share the most words with a text: a simple search for tests."""
        wanted = set(parse_question(text).terms)
        with self.reading() as reader:
            found = list_items(reader, self.who(reader), limit=1_000)
        shared = {
            item.item_id: len(wanted & set(parse_question(f"{item.title} {item.text}").terms))
            for item in found
        }
        return sorted(filter(shared.get, shared), key=lambda name: (-shared[name], name))[:k]

    def close(self) -> None:
        """Close the log."""
        self.log.close()
