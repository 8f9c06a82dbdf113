"""A batch of commands and a rebuild give the same memory as the commands one by one."""

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.faults.places import scratch_place

from everloop.app import Engine
from everloop.errors import Rejected
from everloop.log import Command
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.log.integrity.verify import verify_log
from everloop.memory.model.commands import (
    CiteItem,
    CloseCitation,
    GrantAudience,
    PinItem,
    RateItem,
    RelateItems,
    RememberItem,
    RepeatItem,
    RetireItem,
    ReviseItem,
    RevokeAudience,
)
from everloop.memory.projections.audiences import AudienceTable
from everloop.memory.projections.fts_index import (
    INDEX_GROUP_FACTS,
    PassageTable,
    newest_indexed_passage,
)
from everloop.memory.projections.items import ItemTable
from everloop.memory.settings import MemorySettings
from everloop.memory.text.passages import PASSAGES_MAX
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

ITEMS = ("one", "two", "three")
LONG = "A long story about a garden that is told in many words. " * 60

items = st.sampled_from(ITEMS)
texts = st.sampled_from(("Pears grow by the wall.", "Plums grow by the gate.", LONG, "  "))
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(
        RememberItem,
        items,
        texts,
        witnesses=st.sampled_from(((), ("guest", "other"))),
        follows=st.sampled_from(("", "one")),
        derived_from=st.sampled_from(((), ("one", "two"))),
        because=st.sampled_from(((), (1,), (40,))),
        happened_at=st.sampled_from(("", "2026-05-01T12:00:00+02:00", "some day")),
    ),
    st.builds(ReviseItem, items, text=texts),
    st.builds(RateItem, items, st.integers(0, 4)),
    st.builds(PinItem, items),
    st.builds(CiteItem, items, items),
    st.builds(CloseCitation, items, items),
    st.builds(RelateItems, items, items, st.just("contradicts")),
    st.builds(RepeatItem, items, texts, st.just(0.95)),
    st.builds(RetireItem, items),
    st.builds(GrantAudience, st.just("guest"), st.just(("user",))),
    st.builds(RevokeAudience, st.just("guest")),
)


@given(asked=st.lists(commands, min_size=2, max_size=15))
def test_a_batch_of_commands_equals_the_commands_one_by_one(asked: list[Command]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="everloop-memory-", dir=scratch_place()))
    try:
        together = memory_after(folder / "together", [asked])
        apart = memory_after(folder / "apart", [[each] for each in asked])
        assert together == apart
    finally:
        shutil.rmtree(folder)


def test_a_batch_that_closes_groups_gives_the_same_index(tmp_path: Path) -> None:
    many = [RememberItem(f"item-{n}", f"The {n}th oak. {LONG * (n % 9 == 0)}") for n in range(250)]
    together = memory_after(tmp_path / "together", [many, many[:3]])
    assert together == memory_after(tmp_path / "apart", [[each] for each in many])
    more = [RememberItem(f"more-{n}", f"The {n}th elm.") for n in range(2 * INDEX_GROUP_FACTS)]
    with open_engine(tmp_path / "together") as engine:
        engine.do_many(more)
        with engine.reading() as reader:
            assert (
                250 * PASSAGES_MAX < newest_indexed_passage(reader) < engine.log.head * PASSAGES_MAX
            )


def open_engine(folder: Path) -> Engine:
    """An engine without vectors, with deterministic ports."""
    settings = Settings(home=str(folder), memory=MemorySettings(embedder="none"))
    return Engine.open(folder / "everloop.db", settings=settings, ports=DeterministicPorts().ports)


def memory_after(folder: Path, batches: Sequence[Sequence[Command]]) -> list[Any]:
    """Every row of memory after some batches of commands, which a rebuild does not change."""
    folder.mkdir()
    with open_engine(folder) as engine:
        for batch in batches:
            with suppress(Rejected):
                engine.do_many(batch)
        live = rows(engine)
        rebuild_projections(engine.log)
        assert rows(engine) == live
        assert verify_log(engine.log).ok
    return live


def rows(engine: Engine) -> list[Any]:
    """Every row of the projections of memory, including every term and position."""
    with engine.reading() as reader:
        return [
            list(view.dump(reader.db)) for view in (ItemTable(), PassageTable(), AudienceTable())
        ]
