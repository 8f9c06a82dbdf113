"""Search over everything that was said: words, meaning, date, thread and author."""

from collections.abc import Generator, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.thread.fixtures import PLAIN

from everloop.app import USER, Engine
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.index.vector_store import VectorCache
from everloop.memory.projections.queries import Filter
from everloop.memory.retrieval.results import SearchMode, SearchQuery
from everloop.memory.service import MemoryService
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.embedder import WordEmbedder
from everloop.thread.queries import threads
from everloop.thread.remember_messages import remember_messages
from everloop.thread.search import MessageFilter, MessageSearchResult, search_messages
from everloop.thread.transfer.import_threads import ThreadImporter
from everloop.thread.transfer.parsed_export import ImportProblem, ParsedChat, ParsedMessage

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
MANY = 60


class Letters:
    """An export that holds these conversations."""

    kind, name, size = "jsonl", "letters", 1

    def __init__(self, *chats: ParsedChat) -> None:
        self._chats = chats
        self.identity = chats[0].external_id

    def chats(self) -> Iterator[ParsedChat | ImportProblem]:
        """What it holds."""
        return iter(self._chats)


def long() -> Iterable[ParsedMessage]:
    """One that speaks of plums all the time."""
    for number in range(MANY):
        at = (BEGIN + timedelta(days=number)).isoformat()
        yield ParsedMessage(f"l{number}", "user", f"Plums, plums, plums {number}", at)


def short() -> Iterable[ParsedMessage]:
    """One that speaks of them in passing."""
    at = (BEGIN + timedelta(days=200)).isoformat()
    yield ParsedMessage("s1", "user", "I like plums and other fruit of the autumn.", at)
    yield ParsedMessage("s2", "assistant", "The plums of the neighbour are the best of all.", at)


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    with Engine.open(tmp_path, settings=PLAIN, ports=DeterministicPorts().ports) as opened:
        chats = (
            ParsedChat("long", "Long", tuple(long()), thread_id="long"),
            ParsedChat("short", "Short", tuple(short()), thread_id="short"),
        )
        ThreadImporter(opened.log, opened, USER, batch=500).run(Letters(*chats))
        remember_messages(opened.log, opened)
        yield opened


def found(
    engine: Engine, narrow: MessageFilter | None = None, only: Filter | None = None, limit: int = 5
) -> MessageSearchResult:
    asked = SearchQuery("plums", limit, "text", only or Filter())
    return search_messages(engine.log, engine.memory, "user", asked, narrow)


def texts(searched: MessageSearchResult) -> list[str]:
    return [one.message.text for one in searched.found]


def test_a_search_in_one_thread_finds_enough_hits_even_if_other_threads_match_more(
    engine: Engine,
) -> None:
    assert {one.message.thread_id for one in found(engine).found} == {"long"}
    assert len(found(engine, MessageFilter("short"), limit=2).found) == 2
    (only,) = texts(found(engine, MessageFilter(role="assistant"), limit=1))
    assert only.startswith("The plums of the neighbour")
    assert texts(found(engine, MessageFilter("short", "assistant"))) == [only]
    assert len(found(engine, MessageFilter("long"), limit=MANY).found) == MANY
    assert found(engine, MessageFilter("long", "assistant")).found == ()
    assert found(engine, MessageFilter("none")).found == ()


def test_a_search_can_be_limited_to_a_time_range(engine: Engine) -> None:
    since, before = BEGIN + timedelta(days=10), BEGIN + timedelta(days=12)
    told = texts(found(engine, only=Filter(since=since, before=before)))
    assert sorted(told) == ["Plums, plums, plums 10", "Plums, plums, plums 11"]


@pytest.mark.parametrize(("mode", "source"), [("semantic", "meaning"), ("hybrid", "both")])
def test_messages_are_found_by_meaning(
    engine: Engine, tmp_path: Path, mode: SearchMode, source: str
) -> None:
    space = VectorIndex(VectorCache(tmp_path / "meaning.db"), WordEmbedder())
    ports = DeterministicPorts().ports
    keeper = MemoryService(engine.log, engine, ports.clock, ports.ids, space)
    keeper.embed_missing()
    asked = SearchQuery("fruit of autumn", 1, mode)
    (hit,) = search_messages(engine.log, keeper, "user", asked, MessageFilter("short")).found
    assert hit.message.message_id == _of(engine, "s1")
    assert hit.hit.source == source


def test_a_hit_leads_to_its_place_in_the_thread(engine: Engine) -> None:
    (hit,) = found(engine, MessageFilter("short", "assistant")).found
    with engine.reading() as reader:
        page = threads.messages_around(reader, "short", hit.message.message_id, 5, "before")
    assert [one.role for one in page.messages] == ["user"]


def test_paging_returns_messages_with_equal_timestamps_exactly_once(engine: Engine) -> None:
    at = datetime(2024, 2, 2, tzinfo=UTC).isoformat()
    chat = ParsedChat(
        "same", "Same", tuple(ParsedMessage(f"x{n}", "user", str(n), at) for n in range(25))
    )
    done = ThreadImporter(engine.log, engine, USER, batch=10).run(Letters(chat))
    (thread_id,) = done.threads
    told: list[str] = []
    after: str | None = None
    while True:
        with engine.reading() as reader:
            page = threads.messages_around(reader, thread_id, after, 4, "after")
        told += [one.text for one in page.messages]
        if not page.later:
            break
        after = page.messages[-1].message_id
    assert told == [str(number) for number in range(25)]


def _of(engine: Engine, external_id: str) -> str:
    for record in engine.log.records():
        if record.data and f'"external_id":"{external_id}"' in str(record.data):
            return str(record.data).partition('"message_id":"')[2].partition('"')[0]
    raise AssertionError(external_id)
