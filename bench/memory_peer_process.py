# ruff: noqa: PLC0415, TID251 - only the peer that is asked for is imported; it has its own world
"""The peer's side of a comparison, run by a Python with the peers installed; knows nothing of ours.

    python memory_peer_process.py PEER FOLDER ITEMS

The folder holds the texts of items and questions, and the vectors of both. Each question is asked
once before anything is measured. Each line that comes in is a number of seconds, a number of items
to add at once, and whether (1) or not (0) to search then. Each line that goes out is how often that
was done per second.
"""

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np

os.environ.update(MEM0_TELEMETRY="False", ANONYMIZED_TELEMETRY="False", OPENAI_API_KEY="none")

HITS = 10
CHUNK = 1_000
USER = "user"


class LangGraph:
    """LangGraph's SqliteStore with its vector index, in the journal that ours has."""

    journal = "WAL"

    def __init__(self, folder: Path, vector_of: Callable[[str], Any]) -> None:
        from langgraph.store.base import PutOp
        from langgraph.store.sqlite import SqliteStore

        connection = sqlite3.connect(
            folder / "store.db", check_same_thread=False, isolation_level=None
        )
        embed = lambda texts: [vector_of(text).tolist() for text in texts]  # noqa: E731
        index = {"dims": 384, "embed": embed, "fields": ["text"]}
        self._store = SqliteStore(connection, index=index)
        self._store.setup()
        connection.execute(f"PRAGMA journal_mode = {self.journal}")
        self._put = PutOp

    def add(self, numbers: Sequence[int], texts: Sequence[str], vectors: Any) -> None:
        """Put items; the store asks for their vectors itself."""
        del vectors
        pairs = zip(numbers, texts, strict=True)
        self._store.batch([self._put(("m",), str(n), {"text": text}) for n, text in pairs])

    fill = add

    def search(self, text: str, vector: Any) -> int:
        """The nearest ten."""
        del vector
        return len(self._store.search(("m",), query=text, limit=HITS))


class PlainLangGraph(LangGraph):
    """The same as it comes, with the journal that SQLite has by itself."""

    journal = "DELETE"


class Chroma:
    """Chroma, persistent, in this process."""

    def __init__(self, folder: Path, vector_of: Callable[[str], Any]) -> None:
        import chromadb

        del vector_of
        client = chromadb.PersistentClient(str(folder / "chroma"))
        self._items = client.create_collection("memory", metadata={"hnsw:space": "cosine"})

    def add(self, numbers: Sequence[int], texts: Sequence[str], vectors: Any) -> None:
        """Add documents with their vectors."""
        ids = [str(number) for number in numbers]
        self._items.add(ids=ids, embeddings=vectors, documents=list(texts))

    fill = add

    def search(self, text: str, vector: Any) -> int:
        """The nearest ten."""
        del text
        found = self._items.query(query_embeddings=[vector], n_results=HITS)
        return len(found["ids"][0])


class Mem0:
    """mem0 without a model: `infer=False`, on its default vector store."""

    def __init__(self, folder: Path, vector_of: Callable[[str], Any]) -> None:
        from mem0 import Memory

        store = {"path": str(folder / "qdrant"), "embedding_model_dims": 384}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Given(vector_of)

    def fill(self, numbers: Sequence[int], texts: Sequence[str], vectors: Any) -> None:
        """Put items straight into its vector store, for one by one would take hours."""
        payloads = [{"data": text, "user_id": USER, "hash": text[:32]} for text in texts]
        self._memory.vector_store.insert(vectors.tolist(), payloads, list(numbers))

    def add(self, numbers: Sequence[int], texts: Sequence[str], vectors: Any) -> None:
        """Add messages as they are."""
        del numbers, vectors
        for text in texts:
            self._memory.add(text, user_id=USER, infer=False)

    def search(self, text: str, vector: Any) -> int:
        """The nearest ten."""
        del vector
        try:
            found = self._memory.search(text, filters={"user_id": USER}, top_k=HITS)
        except TypeError:
            found = self._memory.search(text, user_id=USER, limit=HITS)
        return len(found["results"])


class _Given:
    """An embedder that looks vectors up."""

    def __init__(self, vector_of: Callable[[str], Any]) -> None:
        self._vector_of = vector_of
        self.config = type("Config", (), {"embedding_dims": 384})()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text."""
        del memory_action
        return self._vector_of(text).tolist()

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[Any]:
        """The vectors of texts."""
        return [self.embed(text, memory_action) for text in texts]


SIDES = {
    "langgraph": LangGraph,
    "plain-langgraph": PlainLangGraph,
    "chroma": Chroma,
    "mem0": Mem0,
}


def main(peer: str, folder: Path, items: int) -> None:
    """Fill the peer's store, then do as told."""
    given = json.loads((folder / "texts.json").read_bytes())
    texts, questions = given["items"], given["questions"]
    vectors, asked_of = np.load(folder / "vectors.npy"), np.load(folder / "asked.npy")
    known = dict(zip(texts, vectors, strict=True)) | dict(zip(questions, asked_of, strict=True))
    side: Any = SIDES[peer](
        folder, lambda text: known.get(text, vectors[crc32(text.encode()) % 1_000])
    )
    start = perf_counter()
    for first in range(0, items, CHUNK):
        chosen = slice(first, min(items, first + CHUNK))
        side.fill(list(range(items))[chosen], texts[chosen], vectors[chosen])
    for text, vector in zip(questions, asked_of, strict=True):
        side.search(text, vector)
    print(perf_counter() - start, flush=True)
    asked = added = 0
    for line in sys.stdin:
        seconds, written, found = float(line.split()[0]), *map(int, line.split()[1:])
        done, spent, begun = 0, 0.0, perf_counter()
        while spent < seconds:
            if written:
                numbers = range(items + added, items + added + written)
                added += written
                new = [f"{texts[number % items]} {number}" for number in numbers]
                side.add(list(numbers), new, vectors[: len(new)])
            if found:
                asked += 1
                at = asked % len(questions)
                side.search(questions[at], asked_of[at])
            done += 1
            spent = perf_counter() - begun
        print(done / spent, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
