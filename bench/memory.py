"""Memory: what a recall and an item cost, beside bare queries on the same data, and beside peers.

A recall is a whole one, from the door to the items with their reasons; only the embedding of the
question is left out on both sides. The bare side is the sum of one FTS5 query and one matrix
product, ten rows each, with no audience, no branches and no items read.

Peers get the same texts and vectors, and are asked every question once before, as we are.
They search by meaning alone, so that is what ours is set beside; a row of its own says what words
and meaning together cost. An item counts as added, on both sides, when SQLite has flushed it, once
for each add or batch, and its vector was made and written. What one add is:

- LangGraph: two statements in one transaction: a row with its text, found by key and by prefix, and
  a row with its vector. No words are indexed, and an item that is put again replaces the old one.
  It is given the journal that ours has (WAL), which makes it faster than it is as it comes;
  `plain-langgraph` is as it comes.
- Chroma: its queue in SQLite with full text, metadata, and the vector into an index in memory.
- mem0 without a model: a point in a local Qdrant, and a row in a history file.
- Ours: a decision inside the transaction, a record of a chain with its seal, an item, its version
  and its passage with its terms. The index of words takes passages in by groups of about 256, and
  who closes a group pays for it. Then the vector is written to the cache, which is not flushed: it
  can be made again. What is kept in memory takes an item in when somebody searches next: rows of
  their own say what both cost together.

No side looks for near-duplicates there. `remember` does so first, as every door of ours: `notice`
in the name of a measure says that it did, beside a peer that looks for none.
"""

import tracemalloc
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Literal

from bench import sample_memory
from bench.comparison import Claim, Outcome, Rate, bounded, compare, dearer, steady
from bench.memory_peers import MemoryPeer, peers_python
from bench.run_folder import RunFolder
from bench.sample_memory import GUEST, HITS, NARROW, NOW, OTHER, Bare, SampleMemory
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.memory.projections.queries import Filter
from everloop.memory.retrieval.results import SearchMode, SearchQuery

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
PEERS = ("langgraph", "plain-langgraph", "chroma", "mem0")
MODES: tuple[SearchMode, ...] = ("semantic", "hybrid")
ALSO = {"": "", "search": ", and a search", "notice": ", each compared with all there is"}

Measure = Callable[[RunFolder], Outcome]


def recall(run: RunFolder, *, items: int, only: str) -> Outcome:
    """One question after the other, beside the bare queries for the same words."""
    title = SAID[only].format(items)
    claim = Claim(f"recall-{only}-{items}", title, BESIDE, "ms", "at most", goal=1.5)
    sample = _sample(run, items)
    bare = Bare(sample, items)
    rounds = compare(_recalls(sample, only), _searches(bare), **run.pace(share=0.3))
    bare.close()
    return dearer(claim, rounds)


def growth(run: RunFolder, *, few: int, many: int) -> Outcome:
    """How many times dearer a recall is among many items than among few."""
    title = f"recall among {many:,}, beside the same among {few:,}"
    goal = many / few / 2  # half of linear
    claim = Claim(f"recall-growth-{many}", title, f"among {few:,}", "ms", "at most", goal=goal)
    small, large = _sample(run, few), _sample(run, many)
    rounds = compare(_recalls(large, "all"), _recalls(small, "all"), **run.pace(share=0.3))
    return dearer(claim, rounds)


def weight(run: RunFolder, *, items: int) -> Outcome:
    """How much memory an item takes once a memory has been asked; what is freed does not count."""
    title = f"memory per item, of {items:,}, vectors included"
    claim = Claim("recall-memory", title, "", "bytes", "at most", goal=BYTES_MAX)
    sample = _reopened(run, items)
    tracemalloc.start()
    sample.keeper.recall("user", SearchQuery(sample_memory.questions()[0], limit=HITS), now=NOW)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return bounded(claim, [taken / items])


def opening(run: RunFolder, *, items: int) -> Outcome:
    """The first recall of a process, which reads the index and the vectors into memory."""
    title = f"first recall of a process, among {items:,}"
    claim = Claim("recall-first", title, "", "ms", "at most", goal=items / 100)
    sample = _reopened(run, items)
    start = perf_counter()
    sample.keeper.recall("user", SearchQuery(sample_memory.questions()[0], limit=HITS), now=NOW)
    return bounded(claim, [1_000 * (perf_counter() - start)])


def peer_search(run: RunFolder, *, peer: str, items: int, mode: SearchMode) -> Outcome:
    """Questions by meaning alone, as the peer answers them; or by words and meaning on our side."""
    ours = "by meaning" if mode == "semantic" else "by words and meaning"
    name = f"{peer}-{mode}-{items}"
    title = f"search {ours} among {items:,}"
    note = "the same vectors, each question asked once before" + (
        "" if mode == "semantic" else "; the peer does not search words"
    )
    claim = Claim(name, title, f"{peer}, by meaning", "ms", "at most", goal=1, note=note)
    sample = _sample(run, items)
    other = _memory_peer(run, peer, items)
    rounds = compare(_recalls(sample, "all", mode), other.searches(), **run.pace(share=0.2))
    return dearer(claim, rounds)


def peer_add(
    run: RunFolder, *, peer: str, items: int, written: int, also: Literal["", "search", "notice"]
) -> Outcome:
    """Items that come when there are many, with their vectors, beside the same in a peer."""
    title = f"{written} at once added to {items:,}" if written > 1 else f"one added to {items:,}"
    title += ALSO[also]
    name = f"{peer}-add{also and '-'}{also}-{written}-{items}"
    note = (
        "flushed on both sides, synchronous=FULL; only ours can be found by words as well, and has"
        " a history"
    )
    claim = Claim(name, title, f"{peer}, the same", "ms", "at most", goal=1, note=note)
    sample = _sample(run, items)
    other = _memory_peer(run, peer, items)
    found = also == "search"
    ours = _remembers(sample, written) if also == "notice" else _adds(sample, written, found=found)
    other = other.adds(written, found=found)
    return dearer(claim, compare(ours, other, **run.pace(share=0.2)))


_shelves: dict[int, SampleMemory] = {}  # made once in a run
_folders: dict[int, Path] = {}
_memory_peers: dict[tuple[str, int], MemoryPeer] = {}
_added = iter(range(10_000_000, 100_000_000))
_fresh = (
    text for at in range(10_000_000, 100_000_000, 1_000) for text in sample_memory.texts(at, 1_000)
)


def close() -> None:
    """Close the memories that were made for this run, ours and the peers'."""
    for other in _memory_peers.values():
        other.close()
    _memory_peers.clear()
    for sample in _shelves.values():
        sample.close()
    _shelves.clear()
    _folders.clear()


def _memory_peer(run: RunFolder, peer: str, items: int) -> MemoryPeer:
    if (peer, items) not in _memory_peers:
        _memory_peers[peer, items] = MemoryPeer(peer, run.folder(peer), items)
    return _memory_peers[peer, items]


def _sample(run: RunFolder, items: int) -> SampleMemory:
    if items not in _shelves:
        _folders[items] = run.folder(f"memory-{items}")
        _shelves[items] = SampleMemory(_folders[items], items)
    return _shelves[items]


def _reopened(run: RunFolder, items: int) -> SampleMemory:
    """The same memory as after a new start: nothing of it is in this process's memory."""
    _sample(run, items).close()
    _shelves[items] = SampleMemory(_folders[items], 0)
    return _shelves[items]


def _recalls(sample: SampleMemory, only: str, mode: SearchMode = "hybrid") -> Rate:
    principal, chosen = FILTERS[only]
    texts = cycle(sample_memory.questions())

    def act() -> int:
        asked = SearchQuery(next(texts), limit=HITS, mode=mode, only=chosen)
        sample.keeper.recall(principal, asked, now=NOW)
        return 1

    return _warm(act)


def _searches(bare: Bare) -> Rate:
    texts = cycle(sample_memory.questions())

    def act() -> int:
        bare.search(next(texts))
        return 1

    return _warm(act)


def _warm(act: Callable[[], int]) -> Rate:
    """The rate of asking, once every question was asked: terms and pages are in memory."""
    for _ in sample_memory.questions():
        act()
    return steady(act)


def _adds(sample: SampleMemory, written: int, *, found: bool) -> Rate:
    """Items by command, durable, with their vectors, in the index; and a search by meaning."""
    known, texts = sample_memory.all_texts(sample_memory.BATCH), cycle(sample_memory.questions())

    def act() -> int:
        numbers = [next(_added) for _ in range(written)]
        commands = [
            RememberItem(f"new-{n}", f"{known[n % len(known)]} {n}", kind="message")
            for n in numbers
        ]
        if written == 1:
            sample.engine.do(commands[0])
        else:
            sample.engine.do_many(commands)
        sample.keeper.embed_missing()
        if found:
            sample.keeper.recall(
                "user", SearchQuery(next(texts), limit=HITS, mode="semantic"), now=NOW
            )
        return 1

    return steady(act)


def _remembers(sample: SampleMemory, written: int) -> Rate:
    """Items as every door takes them in: first compared with all that is there.

    They are for those who saw nearly all of what is there, for else there would be little to
    compare them with.
    """

    def act() -> int:
        texts = (next(_fresh) for _ in range(written))
        new = [RememberItem("", text, kind="message", witnesses=(OTHER,)) for text in texts]
        sample.keeper.remember_many(new, by=Context())
        sample.keeper.embed_missing()
        return 1

    return steady(act)


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
    if peers_python() is not None:
        for peer in PEERS:
            for items in SIZES[1:]:
                for mode in MODES:
                    search = partial(peer_search, peer=peer, items=items, mode=mode)
                    found[f"{peer}-{mode}-{items}"] = search
                for written in (1, BATCH):
                    add = partial(peer_add, peer=peer, items=items, written=written)
                    found[f"{peer}-add-{written}-{items}"] = partial(add, also="")
                    found[f"{peer}-add-search-{written}-{items}"] = partial(add, also="search")
                    found[f"{peer}-add-notice-{written}-{items}"] = partial(add, also="notice")
    return found


def soaked() -> dict[str, Measure]:
    """The measures that take an hour or more: a million items."""
    found: dict[str, Measure] = {
        f"recall-{only}-{SOAKED}": partial(recall, items=SOAKED, only=only) for only in FILTERS
    }
    return found | {f"recall-growth-{SOAKED}": partial(growth, few=SIZES[1], many=SOAKED)}
