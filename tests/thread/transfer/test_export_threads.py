"""Conversations on their way out: readable, and the same when they come back."""

from collections.abc import Generator
from datetime import UTC
from pathlib import Path

import pytest
from tests.adapters.exports.samples import claude, write_list
from tests.thread.fixtures import PLAIN, Parlour, parlour
from tests.thread.transfer.test_import_threads import said, take

from everloop.app import USER, Engine
from everloop.errors import NotFound
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.model.commands import HOME
from everloop.thread.queries import threads as browsing
from everloop.thread.transfer.export_threads import threads_to_export, to_jsonl, to_markdown


@pytest.fixture
def talking(tmp_path: Path) -> Generator[Parlour]:
    answers = ["Hello.\n\n# Not a title", "Again.", "Third."]
    with parlour(tmp_path / "here", answers) as talking:
        yield talking


def written(engine: Engine, folder: Path) -> Path:
    """Every thread, as lines in one file."""
    with engine.reading() as reader:
        threads = threads_to_export(reader, [])
    path = folder / "out.jsonl"
    path.write_bytes(b"".join(line for one in threads for line in to_jsonl(engine.log, one)))
    return path


def messages(engine: Engine) -> list[tuple[object, ...]]:
    """All that comes back: thread, id, role, text and time."""
    with engine.reading() as reader:
        return [
            (thread.thread_id, thread.title, one.message_id, one.role, one.text, one.said_at)
            for thread in threads_to_export(reader, [])
            for one in browsing.newest_messages(reader, thread.thread_id, 500).messages
        ]


@pytest.mark.promise("P-IMPORT-4")
def test_exported_jsonl_imports_as_the_same_threads_messages_and_times(
    talking: Parlour, tmp_path: Path
) -> None:
    talking.ask("Hi.")
    garden = talking.talk.open("Garden", USER)
    talking.ask("Beds?", thread=garden)
    take(talking.engine, write_list(tmp_path / "c.json", claude(1, "Old.", "Older.")))
    path = written(talking.engine, tmp_path)
    with Engine.open(tmp_path / "there", settings=PLAIN, ports=DeterministicPorts().ports) as there:
        take(there, path)
        assert sorted(messages(there), key=str) == sorted(messages(talking.engine), key=str)
        again = written(there, tmp_path / "there")
        assert sorted(again.read_bytes().splitlines()) == sorted(path.read_bytes().splitlines())


@pytest.mark.promise("P-IMPORT-4")
def test_importing_jsonl_into_its_own_log_changes_nothing(talking: Parlour, tmp_path: Path) -> None:
    talking.ask("Hi.")
    before = said(talking.engine)
    done = take(talking.engine, written(talking.engine, tmp_path))
    assert (done.messages, done.known) == (0, 2)
    assert said(talking.engine) == before


def test_an_export_of_several_pages_is_complete_and_in_order(
    talking: Parlour, tmp_path: Path
) -> None:
    texts = [f"Message {number}" for number in range(1_203)]
    at = "2025-03-01T10:00:00.{:06d}Z"
    take(talking.engine, write_list(tmp_path / "c.json", claude(1, *texts, at=at)), into_home=True)
    lines = written(talking.engine, tmp_path).read_text().splitlines()
    assert [f"Message {number}" in line for number, line in enumerate(lines)] == [True] * 1_203


def test_markdown_has_dates_authors_and_other_branches(talking: Parlour) -> None:
    talking.ask("Hi.")
    first = talking.engine.log.branches.current["thread:home"]
    with talking.engine.reading() as reader:
        question = browsing.newest_messages(reader, HOME).messages[0]
        (thread,) = threads_to_export(reader, [HOME])
    sent = talking.talk.regenerate(question.message_id, USER)
    talking.until_ended(sent.turn_id)
    page = "".join(to_markdown(talking.engine.log, thread, UTC))
    assert page.startswith("# Home\n\n## 2026-01-01\n\n**You** · 00:00\n\nHi.\n")
    assert "**Assistant (scripted)** · 00:00\n\nAgain.\n" in page
    assert f"- `{first}`: 2 messages of its own; it ends with: Hello." in page


def test_exporting_a_missing_thread_fails(talking: Parlour) -> None:
    with talking.engine.reading() as reader, pytest.raises(NotFound):
        threads_to_export(reader, ["nowhere"])
