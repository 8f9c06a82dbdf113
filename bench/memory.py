"""Memory: what a recall and an item cost, beside bare queries on the same data, and beside peers.

A recall is a whole one, from the door to the items with their reasons; only the embedding of the
question is left out on both sides. The bare side is the sum of one FTS5 query and one matrix
product, ten rows each, with no audience, no branches and no items read.
"""

import asyncio
import gc
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from time import perf_counter

import psutil

from bench import shelves
from bench.race import Claim, Outcome, Rate, bounded, dearer, race, steady
from bench.rivals import Rival, rivals_python
from bench.shelves import GUEST, HITS, NARROW, NOW, Bare, Shelf
from bench.workshop import Workshop
from everloop.memory.answers import Asked
from everloop.memory.commands import RememberItem
from everloop.memory.shelf import Filter

SIZES = (1_000, 10_000, 100_000)
SOAKED = 1_000_000
BESIDE = "bare FTS5 + matrix product"
FILTERS: dict[str, tuple[str, Filter]] = {
    "all": ("user", Filter()),
    "scope": ("user", Filter(scopes=(NARROW,))),
    "witness": (GUEST, Filter()),
}
SAID = {
    "all": "recall among {:,}",
    "scope": "recall among {:,}, a scope of 1 %",
    "witness": "recall among {:,}, a witness of 1 %",
}
BYTES_MAX = 4_096  # in memory for an item, its vector included
BATCH = 100  # items added at once
PEERS = ("langgraph", "chroma", "mem0")

Measure = Callable[[Workshop], Outcome]


def recall(shop: Workshop, *, items: int, only: str) -> Outcome:
    """One question after the other, beside the bare queries for the same words."""
    title = SAID[only].format(items)
    claim = Claim(f"recall-{only}-{items}", title, BESIDE, "ms", "at most", goal=1.5)
    shelf = _shelf(shop, items)
    bare = Bare(shelf, items)
    rounds = race(_recalls(shelf, only), _searches(bare), **shop.pace(share=0.3))
    bare.close()
    return dearer(claim, rounds)


def growth(shop: Workshop, *, few: int, many: int) -> Outcome:
    """How many times dearer a recall is among many items than among few."""
    title = f"recall among {many:,}, beside the same among {few:,}"
    goal = many / few / 2  # half of linear
    claim = Claim(f"recall-growth-{many}", title, f"among {few:,}", "ms", "at most", goal=goal)
    small, large = _shelf(shop, few), _shelf(shop, many)
    rounds = race(_recalls(large, "all"), _recalls(small, "all"), **shop.pace(share=0.3))
    return dearer(claim, rounds)


def weight(shop: Workshop, *, items: int) -> Outcome:
    """How much the process grows by an item when a memory is first asked."""
    title = f"memory per item, of {items:,}, vectors included"
    claim = Claim("recall-memory", title, "", "bytes", "at most", goal=BYTES_MAX)
    shelf = _reopened(shop, items)
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    shelf.keeper.recall("user", Asked(shelves.questions()[0], limit=HITS), now=NOW)
    return bounded(claim, [(process.memory_info().rss - before) / items])


def opening(shop: Workshop, *, items: int) -> Outcome:
    """The first recall of a process, which reads the index and the vectors into memory."""
    title = f"first recall of a process, among {items:,}"
    claim = Claim("recall-first", title, "", "ms", "at most", goal=items / 50)
    shelf = _reopened(shop, items)
    start = perf_counter()
    shelf.keeper.recall("user", Asked(shelves.questions()[0], limit=HITS), now=NOW)
    return bounded(claim, [1_000 * (perf_counter() - start)])


def peer_search(shop: Workshop, *, peer: str, items: int) -> Outcome:
    """A recall beside a search of a peer, on the same texts and vectors."""
    title = f"recall among {items:,}"
    claim = Claim(f"{peer}-search-{items}", title, f"{peer}, search", "ms", "at most", goal=1)
    shelf = _shelf(shop, items)
    with Rival(peer, shop.path(peer).with_suffix(""), items) as rival:
        rounds = race(_recalls(shelf, "all"), rival.searches(), **shop.pace(share=0.2))
    return dearer(claim, rounds)


def peer_add(shop: Workshop, *, peer: str, items: int, written: int) -> Outcome:
    """Items that come when there are many, with their vectors, beside the same in a peer."""
    title = f"{written} at once added to {items:,}" if written > 1 else f"one added to {items:,}"
    name = f"{peer}-add-{written}-{items}"
    claim = Claim(name, title, f"{peer}, add", "ms", "at most", goal=1)
    shelf = _shelf(shop, items)
    with Rival(peer, shop.path(peer).with_suffix(""), items) as rival:
        rounds = race(_adds(shelf, written), rival.adds(written), **shop.pace(share=0.2))
    return dearer(claim, rounds)


_shelves: dict[int, Shelf] = {}  # made once in a run
_folders: dict[int, Path] = {}
_added = iter(range(10_000_000, 100_000_000))


def close() -> None:
    """Close the memories that were made for this run."""
    for shelf in _shelves.values():
        shelf.close()
    _shelves.clear()
    _folders.clear()


def _shelf(shop: Workshop, items: int) -> Shelf:
    if items not in _shelves:
        _folders[items] = shop.path(f"memory-{items}").with_suffix("")
        _shelves[items] = Shelf(_folders[items], items)
    return _shelves[items]


def _reopened(shop: Workshop, items: int) -> Shelf:
    """The same memory as after a new start: nothing of it is in this process's memory."""
    _shelf(shop, items).close()
    _shelves[items] = Shelf(_folders[items], 0)
    return _shelves[items]


def _recalls(shelf: Shelf, only: str) -> Rate:
    principal, chosen = FILTERS[only]
    texts = cycle(shelves.questions())

    def act() -> int:
        asked = Asked(next(texts), limit=HITS, only=chosen)
        shelf.keeper.recall(principal, asked, now=NOW)
        return 1

    return _warm(act)


def _searches(bare: Bare) -> Rate:
    texts = cycle(shelves.questions())

    def act() -> int:
        bare.search(next(texts))
        return 1

    return _warm(act)


def _warm(act: Callable[[], int]) -> Rate:
    """The rate of asking, once every question was asked: terms and pages are in memory."""
    for _ in shelves.questions():
        act()
    return steady(act)


def _adds(shelf: Shelf, written: int) -> Rate:
    """Items by command, durable, with their vectors, in the index and ready to be found."""

    def act() -> int:
        first = next(_added)
        new = enumerate(shelves.texts(first, written))
        commands = [RememberItem(f"new-{first}-{n}", text, kind="message") for n, text in new]
        if written == 1:
            shelf.engine.do(commands[0])
        else:
            asyncio.run(_done(shelf, commands))
        shelf.keeper.embed_missing()
        return 1

    return steady(act)


async def _done(shelf: Shelf, commands: Sequence[RememberItem]) -> None:
    """Many commands at once; the writer takes them together."""
    await asyncio.gather(*(shelf.engine.do_soon(command) for command in commands))


def measures() -> dict[str, Measure]:
    """Every measure by name; those of peers only where a Python with peers is named."""
    found: dict[str, Measure] = {
        f"recall-{only}-{items}": partial(recall, items=items, only=only)
        for items in SIZES
        for only in FILTERS
    }
    found["recall-growth"] = partial(growth, few=SIZES[1], many=SIZES[2])
    found["recall-first"] = partial(opening, items=SIZES[2])
    found["recall-memory"] = partial(weight, items=SIZES[2])
    if rivals_python() is not None:
        for peer in PEERS:
            for items in SIZES[1:]:
                found[f"{peer}-search-{items}"] = partial(peer_search, peer=peer, items=items)
                for written in (1, BATCH):
                    add = partial(peer_add, peer=peer, items=items, written=written)
                    found[f"{peer}-add-{written}-{items}"] = add
    return found


def soaked() -> dict[str, Measure]:
    """The measures that take an hour or more: a million items."""
    found: dict[str, Measure] = {
        f"recall-{only}-{SOAKED}": partial(recall, items=SOAKED, only=only) for only in FILTERS
    }
    return found | {f"recall-growth-{SOAKED}": partial(growth, few=SIZES[1], many=SOAKED)}
