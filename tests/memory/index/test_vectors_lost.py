"""The vector file is deleted, damaged or replaced while other processes have it open."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.memory.test_ghosts import Diary

from everloop.log.maintenance.backup import make_backup
from everloop.log.transfer.restore import restore_log
from everloop.memory.index.vector_store import VectorCache
from everloop.memory.retrieval.results import SearchQuery

KEPT = {1_000: b"a"}
SAVED = [(1_000, b"a", b"vector")]
HOLDING = """
import sys
from pathlib import Path
from everloop.memory.index.vector_store import VectorCache

cache = VectorCache(Path(sys.argv[1]))
for line in sys.stdin:
    if line.startswith("save"):
        cache.save("one", [(1_000, b"a", b"vector")])
    print(sorted(cache.load("one", {1_000: b"a"})), flush=True)
"""


class Other:
    """Another process that has the vectors open."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, word: str) -> str:
        """Send a command to the process, and return its answer."""
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        into.write(f"{word}\n")
        into.flush()
        return out.readline().strip()


@contextmanager
def another_process(path: Path) -> Generator[Other]:
    command = [sys.executable, "-c", HOLDING, str(path)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:  # noqa: S603
        yield Other(process)


def test_a_deleted_vector_file_is_recreated_while_another_process_has_it_open(
    tmp_path: Path,
) -> None:
    path = tmp_path / "vectors.db"
    with another_process(path) as other:
        assert other.ask("save") == "[1000]"
        path.unlink()
        cache = VectorCache(path)
        assert cache.load("one", KEPT) == {}
        cache.save("one", SAVED)
        assert cache.load("one", KEPT) == {1_000: b"vector"}
        assert other.ask("load") == "[1000]", "it goes on with the file that is there"
        cache.delete("one", [1_000])
        assert other.ask("load") == "[]"
        assert other.ask("save") == "[1000]"
        assert cache.load("one", KEPT) == {1_000: b"vector"}
        cache.close()


def test_both_processes_switch_to_the_file_that_replaced_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    first = VectorCache(path)
    first.save("one", SAVED)
    first.close()
    with another_process(path) as other:
        assert other.ask("load") == "[1000]"
        path.write_bytes(b"not a database at all, but long enough" * 1_000)
        cache = VectorCache(path)
        assert cache.load("one", KEPT) == {}
        assert other.ask("load") == "[]"
        assert other.ask("save") == "[1000]"
        assert cache.load("one", KEPT) == {1_000: b"vector"}
        cache.close()


def test_vectors_lost_with_their_file_are_made_again_in_the_background(
    tmp_path: Path,
) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    assert diary.keeper.embed_missing() == 4
    assert not diary.keeper.recall("user", SearchQuery("garden")).notes
    (tmp_path / "diary" / "vectors.db").unlink()
    assert diary.keeper.embed_missing() == 4
    assert diary.keeper.embed_missing() == 0
    found = diary.keeper.recall("user", SearchQuery("garden", mode="semantic"))
    assert found.hits
    assert not found.notes
    diary.log.close()


def test_items_recorded_after_a_restore_are_embedded_without_a_search(
    tmp_path: Path,
) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    backup = make_backup(diary.log.file, tmp_path / "backups", diary.stage.clock.now())
    diary.say("lost", "A fox came to the fence.")
    assert diary.keeper.embed_missing() == 5
    assert diary.keeper.recall("user", SearchQuery("fox")).hits
    restore_log(backup, diary.log.file.path, diary.stage.ports)
    diary.say("new", "The well in the yard ran dry.")
    assert diary.keeper.embed_missing() == 1
    diary.say("newer", "A heron stood at the pond.")
    assert diary.keeper.embed_missing() == 1
    answer = diary.keeper.recall("user", SearchQuery("fox or heron or well", limit=10))
    assert {"new", "newer"} < {hit.item.item_id for hit in answer.hits}
    assert "lost" not in {hit.item.item_id for hit in answer.hits}
    assert not answer.notes
    diary.log.close()
