"""Search in transcripts: what a tool gave back months ago is found, at its place."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.workers.rig import Rig, rig

from everloop.log.integrity.rebuild import rebuild_projections
from everloop.workers import TranscriptEntry
from everloop.workers.model import commands as c
from everloop.workers.projection import TranscriptWords

SENTENCE = "AssertionError: the café's clock_skew was 512 ms"


@pytest.fixture
def work(tmp_path: Path) -> Generator[Rig]:
    """An engine with a scheduler that is moved by hand."""
    with rig(tmp_path) as one:
        yield one


def shown(work: Rig, *entries: TranscriptEntry) -> str:
    """A task whose worker showed this; returns its id."""
    name = work.start("true")
    work.until(name, "done")
    recorded = c.RecordTranscript(name, 1, 10_000_000, entries)
    work.engine.do(recorded)
    return name


def found(work: Rig, query: str) -> list[tuple[str, str]]:
    """The task and the kind of entry of each hit."""
    return [(one.task_id, one.kind) for one in work.engine.workers.search(query)]


def test_a_sentence_of_a_tools_output_is_found_six_months_later(work: Rig) -> None:
    call = TranscriptEntry("tool_call", '{"command": "pytest -q"}', "Bash", "c1")
    result = TranscriptEntry("tool_result", "x" * 500 + f"\n{SENTENCE}\n" + "y" * 500, "", "c1")
    name = shown(work, TranscriptEntry("text", "I run the tests."), call, result)
    work.stage.clock.tick(days=180)
    for number in range(3):
        shown(work, TranscriptEntry("text", f"Nothing of that kind, {number}."))
    (hit,) = work.engine.workers.search("clock_skew assertionerror")
    assert (hit.task_id, hit.kind) == (name, "tool_result")
    assert SENTENCE in hit.excerpt
    assert hit.position in [part.position for part in work.engine.workers.transcript(name)]
    assert found(work, "cafe") == [(name, "tool_result")]
    assert found(work, "Bash pyt") == [(name, "tool_call")]


def test_the_output_of_commands_is_found_and_the_newest_comes_first(work: Rig) -> None:
    done: list[str] = []
    for _ in range(2):  # one after the other, so that one is newer
        done.append(work.start("echo", "disk is full"))
        work.until(done[-1], "done")
    assert found(work, "disk full") == [(done[1], "output"), (done[0], "output")]


@pytest.mark.parametrize("query", ["", "   ", '"', "-- ()", '" OR said:x', "NOT *", "a\0b"])
def test_no_query_is_read_as_an_expression(work: Rig, query: str) -> None:
    shown(work, TranscriptEntry("text", "Something else."))
    assert found(work, query) == []


@pytest.mark.promise("P-LOG-6")
def test_what_was_retracted_or_purged_is_not_found(work: Rig) -> None:
    retracted = shown(work, TranscriptEntry("text", "the first canary"))
    purged = shown(work, TranscriptEntry("text", "the second canary"))
    assert len(found(work, "canary")) == 2
    work.engine.log.retract([work.task(retracted).position], reason="slip", actor="user")
    (part,) = [one for one in work.engine.workers.transcript(purged) if one.attempt == 1]
    work.engine.purge([part.position], reason="privacy", actor="user")
    assert found(work, "canary") == []
    assert "second" not in {term for term, *_ in dumped(work)[0][1:]}


def dumped(work: Rig) -> list[Any]:
    """The rows of the view."""
    with work.engine.log.file.reading() as reader:
        return list(TranscriptWords().dump(reader.db))


@pytest.mark.promise("P-LOG-1")
def test_the_rebuilt_index_equals_the_live_one(work: Rig) -> None:
    shown(work, TranscriptEntry("text", SENTENCE))
    live = dumped(work)
    rebuild_projections(work.engine.log, [TranscriptWords.name])
    assert dumped(work) == live
