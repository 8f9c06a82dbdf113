"""Conversations from elsewhere: once, whole, in order, and gone without a trace when taken back."""

import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from datetime import date
from pathlib import Path

import pytest
from tests.adapters.exports.samples import Json, chatgpt, claude, write_lines, write_list
from tests.thread.fixtures import PLAIN

from everloop.adapters.exports.open_export import OpenedExport, open_export
from everloop.app import USER, Engine
from everloop.errors import Forbidden, Invalid
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.memory.retrieval.results import SearchQuery
from everloop.testing.deterministic import DeterministicPorts, given
from everloop.thread.background import RememberMessagesTask
from everloop.thread.model import commands as c
from everloop.thread.model import events as e
from everloop.thread.model.decide_imports import IMPORTS, end_import, open_import
from everloop.thread.pyramid.timeline import timeline_windows
from everloop.thread.queries import threads as browsing
from everloop.thread.settings import ImportLimits
from everloop.thread.transfer.import_threads import ImportResult, ThreadImporter, import_history
from everloop.thread.transfer.parsed_export import ImportProblem, ParsedChat, ParsedMessage

LIMITS = ImportLimits()
TODAY = date(2026, 1, 1)


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    with Engine.open(tmp_path / "home", settings=PLAIN, ports=DeterministicPorts().ports) as engine:
        yield engine


class Listed:
    """An export that is a list."""

    kind, name, size = "claude", "listed", 100

    def __init__(self, *parts: ParsedChat | ImportProblem, identity: str = "x") -> None:
        self.parts, self.identity = parts, identity

    def chats(self) -> Iterator[ParsedChat | ImportProblem]:
        yield from self.parts


def take(
    engine: Engine,
    source: Path | Listed | OpenedExport,
    *,
    into_home: bool = False,
    by: Context = USER,
    batch: int = 500,
) -> ImportResult:
    export = open_export(source, LIMITS) if isinstance(source, Path) else source
    importer = ThreadImporter(engine.log, engine, by, batch=batch, into_home=into_home)
    return importer.run(export)


def said(engine: Engine) -> dict[str, list[tuple[str, str]]]:
    """What each thread shows, by its title."""
    with engine.reading() as reader:
        return {
            thread.title: [
                (one.role, one.text)
                for one in browsing.newest_messages(reader, thread.thread_id, 500).messages
            ]
            for thread in browsing.list_threads(reader)
        }


def found(engine: Engine, words: str) -> list[str]:
    RememberMessagesTask(engine.log, engine).remember()
    answer = engine.memory.recall("user", SearchQuery(words, mode="text"))
    return [hit.item.text for hit in answer.hits]


def test_each_conversation_becomes_a_thread(engine: Engine, tmp_path: Path) -> None:
    path = write_list(tmp_path / "c.json", claude(1, "Hi.", "Hello."), claude(2, "Ho."))
    done = take(engine, path)
    assert (done.messages, done.known, len(done.threads)) == (3, 0, 2)
    assert said(engine) == {
        "Talk 1": [("user", "Hi."), ("assistant", "Hello.")],
        "Talk 2": [("user", "Ho.")],
    }


def test_conversations_can_be_imported_into_the_home_thread_in_order(
    engine: Engine, tmp_path: Path
) -> None:
    later = claude(1, "Later.", at="2025-04-01T10:{:02d}:00Z")
    take(engine, write_list(tmp_path / "c.json", later, claude(2, "Sooner.")), into_home=True)
    assert said(engine) == {"Home": [("user", "Sooner."), ("user", "Later.")]}


@pytest.mark.promise("P-IMPORT-1")
def test_importing_again_imports_nothing_twice(engine: Engine, tmp_path: Path) -> None:
    path = write_list(tmp_path / "c.json", claude(1, "Hi.", "Hello."), chatgpt())
    first = take(engine, path)
    head = engine.log.head
    second = take(engine, path)
    assert (first.messages, second.messages, second.known) == (2, 0, 2)
    assert engine.log.head == head


@pytest.mark.promise("P-IMPORT-1")
def test_an_export_that_overlaps_brings_only_what_is_new(engine: Engine, tmp_path: Path) -> None:
    take(engine, write_list(tmp_path / "a.json", claude(1, "Hi.", "Hello.")))
    done = take(engine, write_list(tmp_path / "b.json", claude(1, "Hi.", "Hello.", "More.")))
    assert (done.messages, done.known) == (1, 2)
    assert said(engine)["Talk 1"][-1] == ("user", "More.")


def test_a_duplicate_message_of_an_export_is_imported_once(engine: Engine) -> None:
    one = ParsedMessage("m1", "user", "Hi.", "2025-01-01T00:00:00+00:00")
    done = take(engine, Listed(ParsedChat("a", "A", (one, one)), ParsedChat("b", "B", (one,))))
    assert done.messages == 1


def test_a_text_too_long_for_one_event_is_split(engine: Engine) -> None:
    text = "\x01" * 200_000 + "the end"
    one = ParsedMessage("m1", "user", text, "2025-01-01T00:00:00+00:00")
    assert take(engine, Listed(ParsedChat("a", "A", (one,)))).messages == 2
    assert "".join(words for _, words in said(engine)["A"]) == text


def test_titles_are_truncated_and_never_empty(engine: Engine) -> None:
    one = ParsedMessage("m1", "user", "Hi.", "2025-01-01T00:00:00+00:00")
    two = ParsedMessage("m2", "user", "Hi.", "2025-01-01T00:00:00+00:00")
    take(engine, Listed(ParsedChat("a", " \n ", (one,)), ParsedChat("b", "long " * 100, (two,))))
    assert {len(title) for title in said(engine)} == {len("Untitled"), 199}


def test_skipped_messages_are_reported(engine: Engine) -> None:
    troubles = [ImportProblem(f"line {number}", "bad") for number in range(60)]
    done = take(engine, Listed(*troubles))
    assert (done.passed_over, len(done.troubles)) == (60, 50)


@pytest.mark.promise("P-IMPORT-2")
def test_undoing_an_import_leaves_no_trace(engine: Engine, tmp_path: Path) -> None:
    engine.log.create_tree("thread:home", actor="user")
    engine.do(c.OpenThread("home", "Home"))
    engine.do(c.SendMessage("home", "msg-own", "My own kettle."))
    before = said(engine), found(engine, "kettle"), _windows(engine)
    kettle = claude(1, "The kettle is red.", "A red kettle.")
    homely = claude(2, "Another kettle.")
    threads = take(engine, write_list(tmp_path / "a.json", kettle))
    home = take(engine, write_list(tmp_path / "b.json", homely), into_home=True)
    assert len(found(engine, "kettle")) == 4
    for done in (threads, home):
        engine.log.retract([done.position], reason="test", actor="user")
    assert (said(engine), found(engine, "kettle"), _windows(engine)) == before
    with engine.reading() as reader:
        assert import_history(reader) == []


@pytest.mark.promise("P-IMPORT-2")
def test_an_undone_import_can_be_repeated(engine: Engine, tmp_path: Path) -> None:
    path = write_list(tmp_path / "c.json", claude(1, "The kettle is red."))
    first = take(engine, path)
    assert found(engine, "kettle")
    undone = engine.log.retract([first.position], reason="test", actor="user")
    second = take(engine, path)
    assert (second.messages, second.position > first.position) == (1, True)
    assert found(engine, "kettle") == ["The kettle is red."]
    engine.log.retract([second.position], reason="test", actor="user")
    engine.log.retract([undone.position], reason="never mind", actor="user")
    assert said(engine) == {"Talk 1": [("user", "The kettle is red.")]}


def test_imports_are_listed_with_their_results(engine: Engine, tmp_path: Path) -> None:
    take(engine, write_list(tmp_path / "c.json", claude(1, "Hi.", "Hello."), claude(2, "Ho.")))
    with engine.reading() as reader:
        (past,) = import_history(reader)
    assert (past.source, past.name, past.messages, past.ended) == ("claude", "c.json", 3, True)


def test_an_interrupted_import_can_be_resumed(engine: Engine) -> None:
    def talk(number: int) -> ParsedChat:
        one = ParsedMessage(f"m{number}", "user", f"{number}", "2025-01-01T00:00:00+00:00")
        return ParsedChat(f"c{number}", f"Talk {number}", (one,))

    class Broken(Listed):
        def chats(self) -> Iterator[ParsedChat | ImportProblem]:
            yield talk(1)
            yield talk(2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take(engine, Broken(), batch=1)
    with engine.reading() as reader:
        assert [(one.messages, one.ended) for one in import_history(reader)] == [(2, False)]
    done = take(engine, Listed(talk(1), talk(2), talk(3)), batch=1)
    assert (done.messages, done.known) == (1, 2)
    with engine.reading() as reader:
        assert [(one.messages, one.ended) for one in import_history(reader)] == [(3, True)]


PROGRAMME = """
import os, signal, sys
from pathlib import Path
from tests.thread.transfer.test_import_threads import open_export, take, LIMITS, PLAIN
from everloop.app import Engine

engine = Engine.open(Path(sys.argv[1]), settings=PLAIN)
export = open_export(Path(sys.argv[2]), LIMITS)
chats = export.chats
def until_killed():
    for number, chat in enumerate(chats()):
        if number == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        yield chat
export.chats = until_killed
take(engine, export, batch=2)
"""


@pytest.mark.promise("P-IMPORT-3")
def test_an_import_that_was_killed_is_complete_after_another_run(tmp_path: Path) -> None:
    talks = [claude(number, "Hi.", "Hello.", name=f"Talk {number}") for number in range(10)]
    path = write_list(tmp_path / "c.json", *talks)
    killed = subprocess.run(  # noqa: S603 - our own programme
        [sys.executable, "-c", PROGRAMME, str(tmp_path / "home"), str(path)],
        check=False,
        cwd=Path(__file__).parents[3],  # where `tests` is found
    )
    assert killed.returncode == -signal.SIGKILL
    with Engine.open(tmp_path / "home", settings=PLAIN) as engine:
        assert 0 < len(said(engine)) < 10
        done = take(engine, path)
        assert done.messages + done.known == 20
        assert all(len(messages) == 2 for messages in said(engine).values())


def test_indexing_repeatedly_creates_one_item_for_each_message(
    engine: Engine, tmp_path: Path
) -> None:
    take(engine, write_list(tmp_path / "c.json", claude(1, "Hi.", "Hello.")))
    remembering = RememberMessagesTask(engine.log, engine)
    upto = remembering.remember()
    head = engine.log.head
    assert remembering.remember() == remembering.remember(after=upto) == head
    assert engine.log.head == head
    with engine.reading() as reader:
        rows = reader.rows("SELECT item_id, follows FROM memory_items ORDER BY position")
    assert rows[1][1] == rows[0][0]


def test_a_conflicting_item_does_not_block_the_others(engine: Engine, tmp_path: Path) -> None:
    lines: list[Json] = [
        {"id": f"msg-{name}", "role": "user", "text": f"The {name}.", "at": 1_700_000_000}
        for name in ("taken", "free")
    ]
    take(engine, write_lines(tmp_path / "x.jsonl", lines))
    with engine.reading() as reader:
        first = browsing.find_message(reader, "msg-taken")
    engine.memory.remember(RememberItem(first.message_id, "Something else."), by=USER)
    assert "The free." in found(engine, "free")


def test_only_the_user_can_import_conversations(engine: Engine, tmp_path: Path) -> None:
    path = write_list(tmp_path / "c.json", claude(1, "Hi."))
    with pytest.raises(Forbidden):
        take(engine, path, by=Context(actor="agent:cli"))
    assert said(engine) == {}


def test_the_same_import_begins_and_ends_once() -> None:
    opened = c.OpenImport("imp", "claude", "x")
    begun, ended = e.ImportBegun("", "imp", "claude", "x"), e.ImportEnded("", "imp", 3)
    assert given(IMPORTS).when(open_import, opened) == [begun]
    assert given(IMPORTS, begun).when(open_import, opened) == []
    assert given(IMPORTS, begun).when(end_import, c.EndImport("imp", 3)) == [ended]
    assert given(IMPORTS, begun, ended).when(end_import, c.EndImport("imp", 3)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"role": "system"},
        {"text": " "},
        {"text": "x" * 150_001},
        {"said_at": "now"},
        {"said_at": "2025-01-01"},
    ],
)
def test_an_invalid_imported_message_is_rejected(engine: Engine, change: dict[str, str]) -> None:
    engine.log.create_tree("thread:home", actor="user")
    engine.do(c.OpenThread("home", "Home"))
    engine.do(c.BeginImport("home", "imp", "claude", "x"))
    fields = {"role": "user", "text": "Hi.", "said_at": "2025-01-01T00:00:00Z"} | change
    bad = e.MessageImported("home", "msg-1", author="", external_id="m1", attachments=(), **fields)
    with pytest.raises(Invalid):
        engine.do(c.ImportMessages("home", "imp", (bad,)))


def _windows(engine: Engine) -> list[str]:
    with engine.reading() as reader:
        return [
            band.key
            for thread in browsing.list_threads(reader)
            for band in timeline_windows(reader, thread.thread_id, TODAY, ("day", "month"))
        ]
