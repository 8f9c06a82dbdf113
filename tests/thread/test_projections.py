"""The views of conversations: rebuilt they are the live ones, and what is gone is gone."""

from pathlib import Path
from typing import Any

import pytest
from tests.thread.fixtures import Parlour, parlour

from everloop.app import PROJECTIONS, USER
from everloop.log import Log
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.memory.model.scopes import OWNER
from everloop.memory.retrieval.results import SearchQuery
from everloop.ports import Prompt, ToolCall
from everloop.thread.background import summarise_due_windows
from everloop.thread.model.commands import (
    HOME,
    AddFiles,
    BeginImport,
    ImportMessages,
    MarkDay,
    NoteIntent,
    SetZone,
)
from everloop.thread.model.events import Attachment, MessageImported
from everloop.thread.model.state import CONVERSATION, thread_stream
from everloop.thread.service import OutgoingMessage

NOTE = ToolCall("c", "remember", {"kind": "topic", "title": "Plums", "text": "Ripe."})
DECIDE = ToolCall("d", "remember", {"kind": "decision", "text": "We plant plums."})
IMPORTED = MessageImported(
    HOME, "old-1", "user", "Old.", "2025-05-05T05:05:05+00:00", "me", "1", ()
)


def lived(talking: Parlour) -> None:
    """A little of everything."""
    engine = talking.engine
    engine.do(SetZone("Europe/Berlin"))
    engine.do(BeginImport(HOME, "imp", "jsonl", "old"))
    engine.do(ImportMessages(HOME, "imp", (IMPORTED,)))
    engine.do(AddFiles(HOME, "imp", "old-1", (Attachment("d1", "old.txt", "text/plain", 3),)))
    first = talking.say("Hi.")
    talking.until_ended(first.turn_id)
    second = talking.talk.regenerate(first.message_id, USER)
    talking.until_ended(second.turn_id)
    talking.ask("And?")
    talking.hide(first.message_id)
    engine.do(MarkDay(HOME, "2026-01-01"))
    engine.do(NoteIntent(HOME, "int-1", "Call."))
    gone = talking.say("My locker is 4711.")
    talking.until_ended(gone.turn_id)
    talking.remembered()
    talking.stage.clock.tick(days=40)
    summarise_due_windows(engine.log, talking.plain_pyramid(), talking.stage.clock)
    engine.log.purge([gone.position], reason="privacy", actor="user")


@pytest.mark.parametrize(
    "view", [view.name for view in PROJECTIONS if view.name.startswith("thread")]
)
def test_rebuilt_thread_projections_equal_the_live_ones(tmp_path: Path, view: str) -> None:
    with parlour(tmp_path, ["One.", [NOTE, DECIDE], "Two.", "Three.", "Four."]) as talking:
        lived(talking)
        log = talking.engine.log
        live, state = _dumped(log, view), log.state(CONVERSATION, thread_stream(HOME))
        assert live
        rebuild_projections(log, [view])
        assert _dumped(log, view) == live
        assert "4711" not in repr(live)
        assert log.state(CONVERSATION, thread_stream(HOME)) == state


def _dumped(log: Log, name: str) -> list[Any]:
    with log.file.reading() as reader:
        view = next(known for known in log.file.views.all if known.name == name)
        return list(view.dump(reader.db))


def test_a_deleted_message_leaves_no_trace_in_queries(tmp_path: Path) -> None:
    told = [_last_prompt(tmp_path / str(slip), slip=slip) for slip in (False, True)]
    assert told[0] == told[1]


def _last_prompt(folder: Path, *, slip: bool) -> tuple[Prompt, list[str], list[str]]:
    """The prompt, the recall and the summaries of a conversation, with a slip taken back or not."""
    with parlour(folder, ["Fine.", *(["Kept."] if slip else []), "Later."]) as talking:
        talking.ask("The plums are ripe.")
        if slip:
            sent = talking.say("My locker for plums is 4711.")
            talking.until_ended(sent.turn_id)
            talking.remembered()
            talking.stage.clock.tick(days=3)
            summarise_due_windows(talking.engine.log, talking.plain_pyramid(), talking.stage.clock)
            talking.talk.retract(sent.message_id, "a slip", USER)
            talking.stage.clock.tick(days=-3)
        talking.remembered()
        talking.stage.clock.tick(days=3)
        summarise_due_windows(talking.engine.log, talking.plain_pyramid(), talking.stage.clock)
        talking.ask("Where are the plums?")
        found = talking.engine.memory.recall(OWNER, SearchQuery("locker plums", limit=50)).hits
        prompt, _ = talking.model.calls[-1]
        return prompt, [hit.item.text for hit in found], [hit.item.kind for hit in found]


def test_an_answer_replaced_by_an_edit_is_in_no_later_prompt(tmp_path: Path) -> None:
    with parlour(tmp_path, ["Plum.", "Pear.", "Next."]) as talking:
        first = talking.say("Which fruit?")
        talking.until_ended(first.turn_id)
        second = talking.talk.edit(first.message_id, OutgoingMessage("Which other fruit?"), USER)
        talking.until_ended(second.turn_id)
        talking.remembered()
        talking.ask("And now?")
        assert "Plum" not in str(talking.model.calls[-1][0])
