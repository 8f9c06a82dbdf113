"""Registry of thread commands: stream, state and decider of each, for the composition root."""

from typing import Any, Protocol

import msgspec

from everloop.log import Decider, Reader, visible
from everloop.thread.model import commands as c
from everloop.thread.model import decide as d
from everloop.thread.model import decide_imports as i
from everloop.thread.model.decide_imports import IMPORTS, IMPORTS_STREAM
from everloop.thread.model.state import (
    CONVERSATION,
    INSTRUCTIONS,
    PYRAMID,
    PYRAMID_STREAM,
    TIME_ZONE,
    TIME_ZONE_STREAM,
    EndedAnswer,
    instructions_stream,
    thread_stream,
)
from everloop.thread.queries.threads import ThreadMessage, find_message

_MESSAGE_POSITION = f"""
SELECT m.position FROM thread_messages m WHERE m.message_id = ? AND m.thread_id = ?
AND {visible("m")} ORDER BY m.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
_EXISTING = f"""
SELECT m.message_id FROM json_each(?) j JOIN thread_messages m ON m.message_id = j.value
WHERE {visible("m")}
"""  # noqa: S608 - our own condition

_ANSWER = f"""
SELECT m.message_id, t.position FROM thread_messages m
JOIN thread_turns t ON t.turn_id = m.turn_id AND t.phase = 'recorded' AND {visible("t")}
WHERE m.turn_id = ? AND m.thread_id = ? AND {visible("m")} ORDER BY m.position DESC LIMIT 1
"""  # noqa: S608 - our own conditions


class _ThreadCommand(Protocol):
    @property
    def thread_id(self) -> str: ...


class _MessageCommand(_ThreadCommand, Protocol):
    @property
    def message_id(self) -> str: ...


def _thread_stream(command: _ThreadCommand) -> str:
    return thread_stream(command.thread_id)


def _pyramid_stream(command: _ThreadCommand) -> str:
    return f"{PYRAMID_STREAM}:{command.thread_id}"


def _instructions_stream(command: _ThreadCommand) -> str:
    return instructions_stream(command.thread_id)


def message_position(reader: Reader, command: _MessageCommand) -> int:
    """The position of the message that a command names; 0 if none is visible."""
    rows = reader.rows(_MESSAGE_POSITION, (command.message_id, command.thread_id))
    return rows[0][0] if rows else 0


def existing_message_ids(reader: Reader, command: c.ImportMessages) -> frozenset[str]:
    """The ids of the messages that were imported before."""
    names = msgspec.json.encode([one.message_id for one in command.messages]).decode()
    return frozenset(row[0] for row in reader.rows(_EXISTING, (names,)))


def find_imported_message(reader: Reader, command: c.AddFiles) -> ThreadMessage | None:
    """The message that a command names, with its attachments; None if none is visible."""
    if not message_position(reader, command):
        return None
    return find_message(reader, command.message_id)


def ended_answer(reader: Reader, command: c.TruncateAnswer) -> EndedAnswer | None:
    """The answer of the turn that a command names; None if it has not ended or is not visible."""
    rows = reader.rows(_ANSWER, (command.turn_id, command.thread_id))
    if not rows:
        return None
    answer_id, turn_position = rows[0]
    answer = find_message(reader, answer_id)
    return EndedAnswer(answer_id, answer.position, turn_position, answer.text)


THREAD_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(c.OpenThread, _thread_stream, CONVERSATION, d.open_thread),
    Decider(c.RenameThread, _thread_stream, CONVERSATION, d.rename_thread),
    Decider(c.ArchiveThread, _thread_stream, CONVERSATION, d.archive_thread),
    Decider(c.RestoreThread, _thread_stream, CONVERSATION, d.restore_thread),
    Decider(c.PinThread, _thread_stream, CONVERSATION, d.pin_thread),
    Decider(c.UnpinThread, _thread_stream, CONVERSATION, d.unpin_thread),
    Decider(c.SendMessage, _thread_stream, CONVERSATION, d.send_message, also=message_position),
    Decider(c.PostReport, _thread_stream, CONVERSATION, d.post_report, also=message_position),
    Decider(c.RecordTurn, _thread_stream, CONVERSATION, d.record_turn, also=message_position),
    Decider(c.BeginSending, _thread_stream, CONVERSATION, d.begin_sending),
    Decider(c.BeginStreaming, _thread_stream, CONVERSATION, d.begin_streaming),
    Decider(c.SaveAnswer, _thread_stream, CONVERSATION, d.save_answer),
    Decider(c.RecordToolUse, _thread_stream, CONVERSATION, d.record_tool_use),
    Decider(c.RecordReasoning, _thread_stream, CONVERSATION, d.record_reasoning),
    Decider(c.GiveAnswer, _thread_stream, CONVERSATION, d.give_answer),
    Decider(c.StopTurn, _thread_stream, CONVERSATION, d.stop_turn),
    Decider(c.TruncateAnswer, _thread_stream, CONVERSATION, d.truncate_answer, also=ended_answer),
    Decider(c.FailTurn, _thread_stream, CONVERSATION, d.fail_turn),
    Decider(c.LeaveUncertain, _thread_stream, CONVERSATION, d.leave_uncertain),
    Decider(c.HideMessage, _thread_stream, CONVERSATION, d.hide_message, also=message_position),
    Decider(c.UnhideMessage, _thread_stream, CONVERSATION, d.unhide_message, also=message_position),
    Decider(c.BeginImport, _thread_stream, CONVERSATION, d.begin_import),
    Decider(
        c.ImportMessages, _thread_stream, CONVERSATION, d.import_messages, also=existing_message_ids
    ),
    Decider(c.AddFiles, _thread_stream, CONVERSATION, i.add_files, also=find_imported_message),
    Decider(c.OpenImport, lambda _: IMPORTS_STREAM, IMPORTS, i.open_import),
    Decider(c.EndImport, lambda _: IMPORTS_STREAM, IMPORTS, i.end_import),
    Decider(c.OpenTopic, _thread_stream, CONVERSATION, d.open_topic),
    Decider(c.NoteTopic, _thread_stream, CONVERSATION, d.note_topic),
    Decider(c.CloseTopic, _thread_stream, CONVERSATION, d.close_topic),
    Decider(c.NoteDecision, _thread_stream, CONVERSATION, d.note_decision),
    Decider(c.NoteIntent, _thread_stream, CONVERSATION, d.note_intent),
    Decider(c.SettleIntent, _thread_stream, CONVERSATION, d.settle_intent),
    Decider(c.MarkDay, _thread_stream, CONVERSATION, d.mark_day),
    Decider(c.NoteSummary, _pyramid_stream, PYRAMID, d.note_summary),
    Decider(c.NoteNoSummary, _pyramid_stream, PYRAMID, d.note_no_summary),
    Decider(c.SetInstructions, _instructions_stream, INSTRUCTIONS, d.set_instructions),
    Decider(c.SetZone, lambda _: TIME_ZONE_STREAM, TIME_ZONE, d.set_zone),
)
