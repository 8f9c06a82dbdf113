"""No ghost state: after an undo, recall is as if the undone facts had never happened."""

from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from everloop.app import Engine
from everloop.log import Log
from everloop.memory.deciders import MEMORY_DECIDERS
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.index.vector_store import VectorCache
from everloop.memory.model.commands import (
    DemoteItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
)
from everloop.memory.projections.audiences import AudienceTable
from everloop.memory.projections.fts_index import PassageTable
from everloop.memory.projections.items import ItemTable
from everloop.memory.projections.queries import Filter, count_items, load_viewer
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.embedder import WordEmbedder

QUESTIONS = ("garden", "red roses", "the old oak", "who planted it?", "oak garden winter", "slip")
TEXTS = (
    "Anna planted red roses in the garden.",
    "The old oak in the garden fell in winter.",
    "Ben keeps bees behind the house.",
    "In winter the roses sleep under straw.",
)


class Diary:
    """A memory service with a log of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.stage = DeterministicPorts()
        views = [PassageTable(), ItemTable(), AudienceTable()]
        self.log: Log = self.stage.open(folder / "everloop.db", views)
        self.engine = Engine(self.log, self.stage.ports, Settings(), MEMORY_DECIDERS)
        space = VectorIndex(VectorCache(folder / "vectors.db"), WordEmbedder())
        self.keeper = MemoryService(self.log, self.engine, self.stage.clock, self.stage.ids, space)

    def say(self, item_id: str, text: str, follows: str = "") -> int:
        """Store an item; returns its position."""
        receipt = self.engine.do(RememberItem(item_id, text, kind="message", follows=follows))
        return receipt.position

    def say_all(self) -> None:
        """Store the same four items, one after the other."""
        before = ""
        for number, text in enumerate(TEXTS):
            self.say(f"item-{number}", text, before)
            before = f"item-{number}"

    def answers(self) -> list[object]:
        """All search results, without positions."""
        self.keeper.embed_missing()
        told: list[object] = []
        for question in QUESTIONS:
            for hit in self.keeper.recall("user", SearchQuery(question, limit=10)).hits:
                item = msgspec.structs.replace(hit.item, position=0, version=0)
                told.append((question, item, hit.similarity, hit.source, hit.why))
        with self.log.reading() as reader:
            told.append(count_items(reader, load_viewer(reader, "user")))
        return told


@pytest.fixture
def diaries(tmp_path: Path) -> Generator[tuple[Diary, Diary]]:
    """One in which facts are undone, and one in which they never happened."""
    lived, pure = Diary(tmp_path / "lived"), Diary(tmp_path / "pure")
    yield lived, pure
    lived.log.close()
    pure.log.close()


def slip_and_retract(diary: Diary) -> None:
    """Store an item in the middle, derive from it, and retract it."""
    slip = diary.say("slip", "A slip about the garden and the old oak.", "item-1")
    summary = RememberItem(
        "gist", "Gist: the oak, a slip.", derived_from=("slip",), because=(slip,)
    )
    diary.engine.do(summary)
    diary.say("after", "Said after the slip, in winter.", "slip")
    diary.log.retract([slip], reason="slip", actor="user")
    diary.log.retract([diary.log.head - 1], reason="slip", actor="user")


def slip_and_rewind(diary: Diary) -> None:
    """Store an item, and rewind to before it."""
    head = diary.log.head
    diary.say("slip", "A slip about the garden and the old oak.", "item-3")
    diary.engine.do(RateItem("item-1", 3))
    diary.engine.do(ReviseItem("item-0", text="Anna planted white roses."))
    diary.log.rewind(head, actor="user")


def slip_and_retire_and_undo(diary: Diary) -> None:
    """Retire an item, revise another, and undo both."""
    retired = diary.engine.do(RetireItem("item-2", "slip", force=True))
    revised = diary.engine.do(ReviseItem("item-0", text="A slip."))
    diary.log.retract([retired.position], reason="undo", actor="user")
    diary.log.retract([revised.position], reason="undo", actor="user")


def slip_and_purge(diary: Diary) -> None:
    """Store an item and purge it."""
    slip = diary.say("slip", "A slip about the garden and the old oak.", "item-3")
    diary.log.purge([slip], reason="privacy", actor="user")


def try_a_branch_and_come_back(diary: Diary) -> None:
    """Fork, write there, and switch back to the old branch."""
    diary.log.rewind(diary.log.head - 2, actor="user")
    diary.say("slip", "A slip about the garden and the old oak.", "item-1")
    diary.log.switch_branch("main", actor="user")


@pytest.mark.promise("P-MEM-2")
@pytest.mark.parametrize(
    "detour",
    [
        slip_and_retract,
        slip_and_rewind,
        slip_and_retire_and_undo,
        slip_and_purge,
        try_a_branch_and_come_back,
    ],
    ids=lambda detour: detour.__name__,
)
def test_recall_after_undoing_equals_recall_where_it_never_happened(
    diaries: tuple[Diary, Diary], detour: Callable[[Diary], None]
) -> None:
    lived, pure = diaries
    for diary in diaries:
        diary.say_all()
    detour(lived)
    assert lived.answers() == pure.answers()
    for diary in diaries:
        diary.say("later", "Later the bees came back to the garden.", "item-3")
    assert lived.answers() == pure.answers()


def test_reading_as_of_the_past_gives_the_past_answers(diaries: tuple[Diary, Diary]) -> None:
    lived, pure = diaries
    for diary in diaries:
        diary.say_all()
    then = lived.log.head
    slip_and_retract(lived)
    lived.keeper.embed_missing()
    pure.keeper.embed_missing()
    for question in QUESTIONS:
        asked = SearchQuery(question, limit=10, mode="text")
        now = [hit.item.item_id for hit in pure.keeper.recall("user", asked).hits]
        past = [hit.item.item_id for hit in lived.keeper.recall("user", asked, as_of=then).hits]
        assert past == now


def test_after_a_rewind_the_past_reads_unchanged(diaries: tuple[Diary, Diary]) -> None:
    lived, pure = diaries
    for diary in diaries:
        diary.say_all()
    then = lived.log.head
    lived.log.rewind(then - 2, actor="user")
    lived.say("later", "Later the bees came back to the garden.")
    for question in QUESTIONS:
        asked = SearchQuery(question, limit=10, mode="text")
        past = [hit.item.item_id for hit in lived.keeper.recall("user", asked, as_of=then).hits]
        assert past == [hit.item.item_id for hit in pure.keeper.recall("user", asked).hits]


def test_an_item_valid_in_the_past_is_valid_when_read_as_of_then(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    clock = diary.stage.clock
    over = (clock.now() + timedelta(days=2)).isoformat()
    note = RememberItem("note", "The bees are at the neighbours", durability=over)
    then = diary.engine.do(note).position
    diary.say("other", "The bees of the neighbours are loud")
    at = clock.now()
    clock.tick(days=30)
    diary.say("last", "Nothing to see")
    asked, first = (
        SearchQuery("bees at the neighbours", mode="text"),
        SearchQuery("what did I say today"),
    )

    def told(question: SearchQuery, as_of: int | datetime | None = None) -> list[str]:
        answer = diary.keeper.recall("user", question, as_of=as_of)
        return [hit.item.item_id for hit in answer.hits]

    assert told(asked)[0] == "other"
    assert told(asked, as_of=then + 1)[0] == told(asked, as_of=at)[0] == "note"
    assert told(first) == ["last"]
    assert set(told(first, as_of=at)) == {"note", "other"}


def test_a_question_about_a_time_finds_demoted_items(
    tmp_path: Path,
) -> None:
    diary = Diary(tmp_path / "diary")
    days = ("2025-05-03", "2025-06-04", "2025-07-05")
    because = tuple(
        diary.engine.do(
            RememberItem(f"f{n}", f"Fence: post {n} is set", happened_at=f"{day}T10:00:00Z")
        ).position
        for n, day in enumerate(days)
    )
    new = RememberItem(
        "gist", "The fence was built", happened_at=f"{days[2]}T10:00:00Z", because=because,
        derived_from=("f0", "f1", "f2"),
    )  # fmt: skip
    diary.engine.do(new)
    for n in range(3):
        diary.engine.do(DemoteItem(f"f{n}", "gist"))
    diary.engine.do(RetireItem("f1", "wrong", force=True))

    def told(text: str, only: Filter | None = None) -> list[str]:
        answer = diary.keeper.recall("user", SearchQuery(text, only=only or Filter(), mode="text"))
        return [hit.item.item_id for hit in answer.hits]

    assert told("the fence") == ["gist"]
    assert told("what did I say about the fence in May 2025") == ["f0"]
    assert told("what did I say about the fence in June 2025") == []
    july = Filter(since=datetime(2025, 7, 1, tzinfo=UTC))
    assert set(told("the fence", july)) == {"f2", "gist"}
    may = SearchQuery("what did I say about the fence in May 2025", mode="text")
    assert diary.keeper.why_not("user", "f0", may).reason == "here"
    assert diary.keeper.why_not("user", "f0", SearchQuery("the fence")).reason == "retired"
    june = SearchQuery("what did I say about the fence in June 2025", mode="text")
    assert diary.keeper.why_not("user", "f1", june).reason == "retired"


def test_a_summary_is_hidden_when_a_source_is_revised_and_restored_by_undo(
    tmp_path: Path,
) -> None:
    diary = Diary(tmp_path / "diary")
    source = diary.say("source", "The party is a secret.")
    gist = diary.engine.do(
        RememberItem("gist", "Gist: a secret party.", derived_from=("source",), because=(source,))
    )
    diary.engine.do(
        RememberItem("top", "Top: parties.", derived_from=("gist",), because=(gist.position,))
    )
    diary.engine.do(RateItem("source", 2))
    narrowed = diary.engine.do(ReviseItem("source", witnesses=("anna",)))

    def there() -> set[str]:
        asked = SearchQuery("party parties gist top", limit=10, mode="text")
        return {hit.item.item_id for hit in diary.keeper.recall("user", asked).hits}

    assert there() == {"source"}
    assert diary.keeper.find("user", "source").significance == 2
    diary.log.retract([narrowed.position], reason="undo", actor="user")
    assert there() == {"source", "gist", "top"}
    diary.log.close()


def revised(diary: Diary, **changes: str) -> int:
    """Revise the item about the safe; returns the position."""
    return diary.engine.do(ReviseItem("safe", **changes)).position  # type: ignore[arg-type]


@pytest.mark.promise("P-MEM-2")
def test_text_of_a_retracted_revision_does_not_survive_in_a_later_one(
    diaries: tuple[Diary, Diary],
) -> None:
    lived, _ = diaries
    lived.say("safe", "The code is 1234.")
    secret = revised(lived, text="The code is 9999.")
    revised(lived, title="The safe")
    lived.log.retract([secret], reason="not that", actor="user")
    item = lived.keeper.find("user", "safe")
    assert (item.title, item.text) == ("The code is 1234.", "The code is 1234.")


@pytest.mark.promise("P-MEM-2")
def test_a_retracted_audience_does_not_survive_in_a_later_revision(
    diaries: tuple[Diary, Diary],
) -> None:
    lived, _ = diaries
    lived.say("safe", "The code is 1234.")
    opened = revised(lived, scope="global")
    revised(lived, text="The code is 9999.")
    lived.log.retract([opened], reason="not for all", actor="user")
    assert lived.keeper.find("user", "safe").scope == "user"


@pytest.mark.promise("P-MEM-2")
def test_purged_text_does_not_survive_in_a_later_revision(
    diaries: tuple[Diary, Diary],
) -> None:
    lived, _ = diaries
    lived.say("safe", "The code is 1234.")
    secret = revised(lived, text="The code is hunter2secret.")
    revised(lived, title="The safe")
    lived.log.purge([secret], reason="private", actor="user")
    assert b"hunter2secret" not in lived.log.file.path.read_bytes()
    assert lived.keeper.find("user", "safe").text == "The code is 1234."


def test_a_revision_of_every_field_does_not_depend_on_the_one_before(
    diaries: tuple[Diary, Diary],
) -> None:
    lived, _ = diaries
    lived.say("safe", "The code is 1234.")
    first = revised(lived, text="The code is 9999.")
    revised(lived, text="The code is 5555.")
    lived.log.retract([first], reason="not that", actor="user")
    assert lived.keeper.find("user", "safe").text == "The code is 5555."
