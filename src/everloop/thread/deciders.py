"""The commands of conversations and how each is decided: one row each, for the composition root."""

from typing import Any, Protocol

import msgspec

from everloop.log import Decider, Reader, visible
from everloop.thread.model import commands as c
from everloop.thread.model import decide as d
from everloop.thread.model import decide_imports as i
from everloop.thread.model.decide_imports import IMPORTS, IMPORTS_STREAM
from everloop.thread.model.state import (
    CALLS,
    CALLS_STREAM,
    CONVERSATION,
    PLACE,
    PLACE_STREAM,
    PYRAMID,
    PYRAMID_STREAM,
    stream_of,
)
from everloop.thread.queries.threads import Message, message

_MESSAGE = f"""
SELECT m.position FROM thread_messages m WHERE m.message_id = ? AND m.thread_id = ?
AND {visible("m")} ORDER BY m.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
_HERE = f"""
SELECT m.message_id FROM json_each(?) j JOIN thread_messages m ON m.message_id = j.value
WHERE {visible("m")}
"""  # noqa: S608 - our own condition


class _OnThread(Protocol):
    @property
    def thread_id(self) -> str: ...


class _OnMessage(_OnThread, Protocol):
    @property
    def message_id(self) -> str: ...


def _thread(command: _OnThread) -> str:
    return stream_of(command.thread_id)


def _pyramid(command: _OnThread) -> str:
    return f"{PYRAMID_STREAM}:{command.thread_id}"


def where_said(reader: Reader, command: _OnMessage) -> int:
    """The position of the message that a command names; 0 if there is none in sight."""
    rows = reader.rows(_MESSAGE, (command.message_id, command.thread_id))
    return rows[0][0] if rows else 0


def imported_before(reader: Reader, command: c.ImportMessages) -> frozenset[str]:
    """Which of the messages are in already."""
    names = msgspec.json.encode([one.message_id for one in command.messages]).decode()
    return frozenset(row[0] for row in reader.rows(_HERE, (names,)))


def imported_message(reader: Reader, command: c.AddFiles) -> Message | None:
    """The message that a command names, with what stands beside it; None if it is not there."""
    if not where_said(reader, command):
        return None
    return message(reader, command.message_id)


THREAD_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(c.OpenThread, _thread, CONVERSATION, d.open_thread),
    Decider(c.RenameThread, _thread, CONVERSATION, d.rename_thread),
    Decider(c.ArchiveThread, _thread, CONVERSATION, d.archive_thread),
    Decider(c.RestoreThread, _thread, CONVERSATION, d.restore_thread),
    Decider(c.SendMessage, _thread, CONVERSATION, d.send_message, also=where_said),
    Decider(c.RecordTurn, _thread, CONVERSATION, d.record_turn, also=where_said),
    Decider(c.BeginSending, _thread, CONVERSATION, d.begin_sending),
    Decider(c.BeginStreaming, _thread, CONVERSATION, d.begin_streaming),
    Decider(c.SaveAnswer, _thread, CONVERSATION, d.save_answer),
    Decider(c.RecordToolUse, _thread, CONVERSATION, d.record_tool_use),
    Decider(c.GiveAnswer, _thread, CONVERSATION, d.give_answer),
    Decider(c.StopTurn, _thread, CONVERSATION, d.stop_turn),
    Decider(c.FailTurn, _thread, CONVERSATION, d.fail_turn),
    Decider(c.LeaveUncertain, _thread, CONVERSATION, d.leave_uncertain),
    Decider(c.HideMessage, _thread, CONVERSATION, d.hide_message, also=where_said),
    Decider(c.UnhideMessage, _thread, CONVERSATION, d.unhide_message, also=where_said),
    Decider(c.BeginImport, _thread, CONVERSATION, d.begin_import),
    Decider(c.ImportMessages, _thread, CONVERSATION, d.import_messages, also=imported_before),
    Decider(c.AddFiles, _thread, CONVERSATION, i.add_files, also=imported_message),
    Decider(c.OpenImport, lambda _: IMPORTS_STREAM, IMPORTS, i.open_import),
    Decider(c.EndImport, lambda _: IMPORTS_STREAM, IMPORTS, i.end_import),
    Decider(c.OpenTopic, _thread, CONVERSATION, d.open_topic),
    Decider(c.NoteTopic, _thread, CONVERSATION, d.note_topic),
    Decider(c.CloseTopic, _thread, CONVERSATION, d.close_topic),
    Decider(c.NoteDecision, _thread, CONVERSATION, d.note_decision),
    Decider(c.NoteIntent, _thread, CONVERSATION, d.note_intent),
    Decider(c.SettleIntent, _thread, CONVERSATION, d.settle_intent),
    Decider(c.MarkDay, _thread, CONVERSATION, d.mark_day),
    Decider(c.NoteSummary, _pyramid, PYRAMID, d.note_summary),
    Decider(c.NoteNoSummary, _pyramid, PYRAMID, d.note_no_summary),
    Decider(c.SetZone, lambda _: PLACE_STREAM, PLACE, d.set_zone),
    Decider(c.RecordModelCall, lambda _: CALLS_STREAM, CALLS, d.record_model_call),
)
