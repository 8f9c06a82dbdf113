"""The vector store on disk and the vector index in memory."""

from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.memory.test_ghosts import Diary

from everloop.app import Engine
from everloop.errors import Unavailable
from everloop.log import Context
from everloop.memory.index.passage_table import PassageColumns
from everloop.memory.index.quantisation import Floats
from everloop.memory.index.search_view import SearchView
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.index.vector_store import SCAN_FROM, VectorCache
from everloop.memory.model.commands import RememberItem
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.settings import MemorySettings
from everloop.memory.text.passages import PASSAGES_MAX
from everloop.settings import Settings
from everloop.testing.embedder import WordEmbedder


def random_unit(count: int, dimensions: int = 64) -> Floats:
    """Unit vectors, the same in every run."""
    rows = np.random.default_rng(1).standard_normal((count, dimensions)).astype(np.float32)
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def test_vectors_are_loaded_by_model_and_passage(tmp_path: Path) -> None:
    rows = random_unit(3)
    cache = VectorCache(tmp_path / "vectors.db")
    halves = [half.tobytes() for half in rows.astype(np.float16)]
    cache.save("one", list(zip((5_000, 5_001, 6_000), (b"a", b"b", b"c"), halves, strict=True)))
    cache.close()
    again = VectorCache(tmp_path / "vectors.db")
    wanted = {6_000: b"c", 5_000: b"a", 7_000: b"missing"}
    found = again.load("one", wanted)
    assert list(found) == [6_000, 5_000]
    assert np.allclose(np.frombuffer(found[6_000], np.float16), rows[2], atol=1e-3)
    assert again.stored_passages("one", wanted) == {5_000, 6_000}
    assert again.load("other", wanted) == {}
    again.save("other", [(6_000, b"c", halves[0])])
    again.purge([5, 7])
    assert set(again.load("one", wanted)) == set(again.load("other", wanted)) == {6_000}
    again.close()


def test_reading_many_vectors_equals_reading_them_one_by_one(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.db")
    for model in ("one", "other"):
        cache.save(model, [(n, b"%d" % n, model.encode()) for n in range(0, 4 * SCAN_FROM, 2)])
    wanted = {n: b"%d" % n for n in range(SCAN_FROM, 3 * SCAN_FROM)}
    few = {n: digest for n, digest in wanted.items() if n % 100 == 0}
    assert cache.load("one", wanted) == dict.fromkeys(range(SCAN_FROM, 3 * SCAN_FROM, 2), b"one")
    assert cache.load("other", few) == dict.fromkeys(few, b"other")
    assert cache.stored_passages("one", wanted) == set(range(SCAN_FROM, 3 * SCAN_FROM, 2))
    cache.close()


def test_a_vector_of_another_text_is_not_loaded(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.db")
    cache.save("one", [(5_000, b"before", b"old")])
    assert cache.stored_passages("one", {5_000: b"restored"}) == set()
    assert cache.load("one", {5_000: b"restored"}) == {}
    cache.save("one", [(5_000, b"restored", b"new")])
    assert cache.load("one", {5_000: b"restored"}) == {5_000: b"new"}
    cache.close()


def test_a_duplicate_text_is_embedded_once(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    for name in ("one", "two"):
        diary.say(name, "The very same words about a garden.")
    assert diary.keeper.embed_missing() == 1
    found = diary.keeper.recall("user", SearchQuery("words about a garden", mode="semantic"))
    assert {hit.item.item_id for hit in found.hits} == {"one", "two"}
    assert not found.notes
    diary.log.close()


def test_a_purged_vector_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.db")
    cache.save("one", [(1_000, b"a", b"\x07secret\x07" * 90), (2_000, b"b", b"other" * 150)])
    cache.purge([1])
    cache.close()
    for path in tmp_path.iterdir():
        assert b"\x07secret\x07" not in path.read_bytes()
    assert b"other" in (tmp_path / "vectors.db").read_bytes()


def test_stored_vectors_are_not_made_again_before_the_first_search(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    assert diary.keeper.embed_missing() == 4
    diary.say("more", "A fifth thing about the old garden.")
    assert diary.keeper.embed_missing() == 1
    assert diary.keeper.embed_missing() == 0
    found = diary.keeper.recall("user", SearchQuery("fifth thing", mode="semantic"))
    assert found.hits[0].item.item_id == "more"
    assert not found.notes
    diary.log.close()


def test_a_damaged_vector_cache_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "vectors.db").write_bytes(b"not a database at all, but long enough" * 100)
    cache = VectorCache(tmp_path / "vectors.db")
    assert cache.load("one", {1_000: b"a"}) == {}
    cache.close()


def overwrite(path: Path, begin: int, what: bytes) -> None:
    """Overwrite a part of a file."""
    whole = path.read_bytes()
    path.write_bytes(whole[:begin] + what + whole[begin + len(what) :])


@pytest.mark.parametrize("what", [bytes(4_096), b"\xff" * 4_096])
def test_a_vector_cache_damaged_inside_is_deleted_when_noticed(tmp_path: Path, what: bytes) -> None:
    cache, wanted = VectorCache(tmp_path / "vectors.db"), dict.fromkeys(range(3_000), b"d")
    cache.save("one", [(n, b"d", b"v" * 100) for n in wanted])
    cache.close()
    for page in range(2, 60):
        overwrite(tmp_path / "vectors.db", page * 4_096, what)
    cache = VectorCache(tmp_path / "vectors.db")
    assert cache.load("one", wanted) == {}
    assert cache.stored_passages("one", wanted) == set()
    cache.save("one", [(7, b"d", b"new")])
    assert cache.load("one", wanted) == {7: b"new"}
    cache.close()


def test_an_unreadable_vector_cache_is_reported_and_keyword_search_works(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    (tmp_path / "diary" / "vectors.db").mkdir()
    diary.say_all()
    assert diary.keeper.remember(RememberItem("", "Moths eat wool."), by=Context()).new
    with pytest.raises(Unavailable, match=r"vectors\.db"):
        diary.keeper.embed_missing()
    answer = diary.keeper.recall("user", SearchQuery("red roses"))
    assert answer.hits[0].item.item_id == "item-0"
    assert "The vectors cannot be read, so only words were searched" in answer.notes[0]
    diary.log.close()


def test_an_unwritable_vector_cache_is_reported_and_keyword_search_works(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say("first", "The first thing of all.")
    diary.keeper.embed_missing()
    diary.say_all()
    other = apsw.Connection(str(tmp_path / "diary" / "vectors.db"))
    other.execute("CREATE TRIGGER full BEFORE INSERT ON placed BEGIN SELECT RAISE(ABORT, 'x'); END")
    with pytest.raises(Unavailable, match=r"vectors\.db"):
        diary.keeper.embed_missing()
    answer = diary.keeper.recall("user", SearchQuery("red roses"))
    assert answer.hits[0].item.item_id == "item-0"
    assert "only keyword search finds them" in answer.notes[0]
    other.close()
    diary.log.close()


def test_a_damaged_vector_is_made_again(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    diary.keeper.embed_missing()
    right = [hit.why for hit in diary.keeper.recall("user", SearchQuery("red roses")).hits]
    short = bytes(2 * WordEmbedder.dimensions - 2)
    nan = np.full(WordEmbedder.dimensions, np.nan, np.float16).tobytes()
    large = np.full(WordEmbedder.dimensions, 99, np.float16).tobytes()
    other = apsw.Connection(str(tmp_path / "diary" / "vectors.db"))
    places = [row[0] for row in other.execute("SELECT place FROM placed ORDER BY place")]
    wrong = list(zip((short, nan, large), places, strict=False))
    other.executemany("UPDATE placed SET vector = ? WHERE place = ?", wrong)
    other.close()
    cache = VectorCache(tmp_path / "diary" / "vectors.db")
    diary.keeper.memory.vector_index = VectorIndex(cache, WordEmbedder())
    assert (
        "only keyword search finds them"
        in diary.keeper.recall("user", SearchQuery("red roses")).notes[0]
    )
    assert diary.keeper.embed_missing() == 3
    assert [hit.why for hit in diary.keeper.recall("user", SearchQuery("red roses")).hits] == right
    cache.close()
    diary.log.close()


def test_changing_the_embedder_embeds_again_and_keyword_search_works(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    assert diary.keeper.embed_missing() == 4

    other = WordEmbedder()
    other.name = "words-2"
    cache = VectorCache(tmp_path / "other.db")
    diary.keeper.memory.vector_index = VectorIndex(cache, other)
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    assert diary.keeper.embed_missing(progress) == 4
    assert seen[-1] == (4, 4)
    cache.close()
    diary.log.close()


def test_a_large_index_finds_what_an_exact_search_finds(tmp_path: Path) -> None:
    space = VectorIndex(VectorCache(tmp_path / "vectors.db"), WordEmbedder(), exact_max=100)
    rows = random_unit(5_000)
    space.add(np.arange(len(rows)) + 1, rows)
    everything = SearchView(PassageColumns(), np.ones(len(rows) + 2, np.bool_))
    hits = 0
    for query in rows[:50] + 0.05 * random_unit(50):
        exact = set(np.argsort(-(rows @ query))[:10].tolist())
        found = space.query(query).nearest(50, everything) - 1
        hits += len(exact & set(found.tolist()))
    assert hits / 500 >= 0.95


class WideEmbedder(WordEmbedder):
    """An embedder with as many dimensions as the default one."""

    dimensions = 384


def similar_vectors(count: int, dimensions: int = 384) -> Floats:
    """Similar unit vectors, in clusters, as the vectors of texts are."""
    rows = random_unit(count, dimensions)
    rows += rows[0] * 3 + rows[1 + np.arange(count) % (count // 50)] * 1.5
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def large_index(path: Path, rows: Floats, together: int) -> VectorIndex:
    """A vector index that is searched by sign bits, filled in batches."""
    space = VectorIndex(VectorCache(path), WideEmbedder(), exact_max=1_000)
    for start in range(0, len(rows), together):
        some = rows[start : start + together]
        space.add(np.arange(start + 1, start + 1 + len(some)), some)
    return space


def test_very_similar_vectors_are_distinguished(tmp_path: Path) -> None:
    rows = similar_vectors(20_000)
    space = large_index(tmp_path / "vectors.db", rows, len(rows))
    everything = SearchView(PassageColumns(), np.ones(len(rows) + 2, np.bool_))
    hits = 0
    for query in rows[:50] + 0.5 * random_unit(50, 384):
        exact = set(np.argsort(-(rows @ query))[:10].tolist())
        found = space.query(query).nearest(200, everything) - 1
        hits += len(exact & set(found.tolist()))
    assert hits / 500 >= 0.99


def test_an_index_finds_the_same_however_it_grew(tmp_path: Path) -> None:
    rows = similar_vectors(6_000)
    everything = SearchView(PassageColumns(), np.ones(len(rows) + 2, np.bool_))
    found = [
        [
            sorted(space.query(query).nearest(20, everything).tolist())
            for query in rows[:20] + 0.5 * random_unit(20, 384)
        ]
        for space in (
            large_index(tmp_path / "slowly.db", rows, 700),
            large_index(tmp_path / "at-once.db", rows, len(rows)),
        )
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("share", [2, 3, 50, 900])
def test_a_large_index_finds_enough_vectors_and_only_visible_ones(
    tmp_path: Path, share: int
) -> None:
    rows = similar_vectors(9_000)
    space = large_index(tmp_path / "vectors.db", rows, len(rows))
    allowed = np.arange(len(rows) + 2) % share == 0
    allowed[-1] = False
    view = SearchView(PassageColumns(), allowed)
    there = int(np.count_nonzero(allowed)) - 1  # the first stands for nothing
    for query in rows[:10]:
        found = space.query(query).nearest(20, view)
        assert len(found) >= min(20, there)
        assert allowed[found].all()
        assert found.all()


def test_a_purge_deletes_the_vector_of_the_text(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path), memory=MemorySettings(embedder="none"))
    with Engine.open(tmp_path, settings=settings) as engine:
        receipt = engine.do(RememberItem("secret", "The code is 4711."))
        here, there = (at * PASSAGES_MAX for at in (receipt.position, receipt.position + 1))
        cache = VectorCache(tmp_path / "vectors.db")
        cache.save("model", [(here, b"digest", bytes(128)), (there, b"other", bytes(128))])
        engine.purge([receipt.position], reason="privacy", actor="user")
        assert set(cache.load("model", {here: b"digest", there: b"other"})) == {there}
        cache.close()


def test_a_purge_that_failed_to_delete_vectors_deletes_them_on_retry(
    tmp_path: Path,
) -> None:
    settings = Settings(home=str(tmp_path), memory=MemorySettings(embedder="none"))
    with Engine.open(tmp_path, settings=settings) as engine:
        secret = engine.do(RememberItem("secret", "The code is 4711.")).position
        place = secret * PASSAGES_MAX
        vectors, aside = tmp_path / "vectors.db", tmp_path / "aside.db"
        cache = VectorCache(vectors)
        cache.save("model", [(place, b"digest", bytes(128))])
        cache.close()
        vectors.rename(aside)
        vectors.mkdir()
        with pytest.raises(Unavailable):
            engine.purge([secret], reason="privacy", actor="user")
        vectors.rmdir()
        aside.rename(vectors)
        engine.purge([secret], reason="privacy", actor="user")
        again = VectorCache(vectors)
        assert again.load("model", {place: b"digest"}) == {}
        again.close()
