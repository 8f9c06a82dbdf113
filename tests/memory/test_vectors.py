"""The vector cache and the space in memory."""

from pathlib import Path

import numpy as np
import pytest
from tests.memory.test_ghosts import Diary

from everloop.app import Engine
from everloop.memory import vectors
from everloop.memory.answers import Asked
from everloop.memory.commands import RememberItem
from everloop.memory.limits import MemorySettings
from everloop.memory.measures import Floats
from everloop.memory.vectors import VectorCache, VectorSpace
from everloop.memory.views import text_digests
from everloop.settings import Settings
from everloop.testing.embedder import WordEmbedder


def random_unit(count: int, dimensions: int = 64) -> Floats:
    """Unit vectors, the same in every run."""
    rows = np.random.default_rng(1).standard_normal((count, dimensions)).astype(np.float32)
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def test_vectors_come_back_from_the_disk_by_model_and_text(tmp_path: Path) -> None:
    rows = random_unit(3)
    cache = VectorCache(tmp_path / "vectors.db")
    halves = rows.astype(np.float16)
    cache.save(
        "one", {name: half.tobytes() for name, half in zip((b"a", b"b", b"c"), halves, strict=True)}
    )
    cache.close()
    again = VectorCache(tmp_path / "vectors.db")
    found = again.load("one", [b"a", b"c", b"missing"])
    assert set(found) == {b"a", b"c"}
    assert np.allclose(np.frombuffer(found[b"c"], np.float16), rows[2], atol=1e-3)
    assert again.load("other", [b"a"]) == {}
    again.forget([b"a"])
    assert again.load("one", [b"a"]) == {}
    again.close()


def test_a_forgotten_vector_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.db")
    cache.save("one", {b"a": b"\x07secret\x07" * 90, b"b": b"other" * 150})
    cache.forget([b"a"])
    cache.close()
    for path in tmp_path.iterdir():
        assert b"\x07secret\x07" not in path.read_bytes()
    assert b"other" in (tmp_path / "vectors.db").read_bytes()


def test_what_was_made_is_not_made_again_though_nobody_searched_yet(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    assert diary.keeper.embed_missing() == 4
    diary.say("more", "A fifth thing about the old garden.")
    assert diary.keeper.embed_missing() == 1
    assert diary.keeper.embed_missing() == 0
    found = diary.keeper.recall("user", Asked("fifth thing", mode="semantic"))
    assert found.hits[0].item.item_id == "more"
    assert not found.notes
    diary.log.close()


def test_a_damaged_cache_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "vectors.db").write_bytes(b"not a database at all, but long enough" * 100)
    cache = VectorCache(tmp_path / "vectors.db")
    assert cache.load("one", [b"a"]) == {}
    cache.close()


def test_changing_the_embedder_embeds_anew_and_words_go_on(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    assert diary.keeper.embed_missing() == 4

    other = WordEmbedder()
    other.name = "words-2"
    cache = VectorCache(tmp_path / "other.db")
    diary.keeper.memory.space = VectorSpace(cache, other)
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    assert diary.keeper.embed_missing(progress) == 4
    assert seen[-1] == (4, 4)
    cache.close()
    diary.log.close()


def test_a_large_space_finds_what_an_exact_search_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "EXACT_MAX", 100)
    space = VectorSpace(VectorCache(tmp_path / "vectors.db"), WordEmbedder())
    rows = random_unit(5_000)
    space.add(np.arange(len(rows)) + 1, rows)
    everything = np.ones(len(rows) + 2, np.bool_)
    hits = 0
    for query in rows[:50] + 0.05 * random_unit(50):
        exact = set(np.argsort(-(rows @ query))[:10].tolist())
        found = space.looking(query).nearest(50, everything) - 1
        hits += len(exact & set(found.tolist()))
    assert hits / 500 >= 0.95


def test_a_purge_takes_the_vector_of_the_text_with_it(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path), memory=MemorySettings(embedder="none"))
    with Engine.open(tmp_path, settings=settings) as engine:
        receipt = engine.do(RememberItem("secret", "The code is 4711."))
        with engine.log.file.reading() as reader:
            (digest,) = text_digests(reader, [receipt.position])
        cache = VectorCache(tmp_path / "vectors.db")
        cache.save("model", {digest: bytes(128), b"other": bytes(128)})
        engine.purge([receipt.position], reason="privacy", actor="user")
        assert set(cache.load("model", [digest, b"other"])) == {b"other"}
        cache.close()
