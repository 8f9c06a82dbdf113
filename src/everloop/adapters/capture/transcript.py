"""Parses Claude Code transcripts (JSON Lines): user and assistant messages, and interrupts.

Corrections are captured only from text that the user typed. Skipped are notes of the host,
sub-agents, tool results, slash commands, and text that the host inserted (in tags).
"""

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final, Literal, cast

import msgspec

from everloop.errors import Invalid
from everloop.lessons.capture.corrections import corrections
from everloop.lessons.capture.entries import CaptureEntry, project_scope, truncate_first_line
from everloop.lessons.feedback.pretrigger import is_interrupt

USE_TOOL: Final = "__report_use"  # suffix of our tool in hosts: `mcp__everloop__report_use`

_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_COMMAND: Final = re.compile(r"[/!]\w|<[a-zA-Z]|Caveat: The messages below")


class TranscriptMessage(msgspec.Struct, frozen=True):
    """A message or interrupt of a transcript. `answered`: it follows another message.

    `lesson_ids` are the lessons that an assistant reported to have used.
    """

    kind: Literal["user", "assistant", "interrupt"]
    text: str
    turn_id: str
    session: str
    at: str
    folder: str
    version: str
    answered: bool
    lesson_ids: tuple[str, ...] = ()


class _Message(msgspec.Struct):
    role: str = ""
    content: str | list[dict[str, Any]] = ""


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    message: _Message | None = None
    uuid: str = ""
    parent_uuid: str | None = None
    session_id: str = ""
    timestamp: str = ""
    cwd: str = ""
    version: str = ""
    is_meta: bool = False
    is_sidechain: bool = False
    is_compact_summary: bool = False
    agent_id: str | None = None
    tool_use_result: Any = None


class _Kind(msgspec.Struct):
    type: str = ""


def parse_transcript_line(line: bytes) -> TranscriptMessage | None:
    """Parse a line; None if it is not a message of user or assistant.

    Raises:
        Invalid: it is not a line of a transcript.
    """
    try:
        if msgspec.json.decode(line, type=_Kind).type not in ("user", "assistant"):
            return None
        read = msgspec.json.decode(line, type=_Line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise Invalid(f"not readable: {problem}", hint="It was skipped.") from problem
    if read.message is None or _is_from_host(read):
        return None
    text = _text(read.message)
    lessons = _reported_lessons(read.message) if read.type == "assistant" else ()
    return _to_spoken(read, text, lessons) if text or lessons else None


def correction_entries(
    said: Iterable[TranscriptMessage], *, scope: str, characters_max: int
) -> list[CaptureEntry]:
    """The corrections in user messages, as entries."""
    found: list[CaptureEntry] = []
    for each in said:
        if each.kind != "user":
            continue
        among = corrections(each.text, answered=each.answered, characters_max=characters_max)
        for number, correction in enumerate(among):
            found.append(_entry(each, f"{each.turn_id}#{number}", correction.quote, scope))
    return found


def _entry(said: TranscriptMessage, key: str, quote: str, scope: str) -> CaptureEntry:
    return CaptureEntry(
        key=key,
        description=truncate_first_line(quote),
        body=quote,
        scope=scope or project_scope(said.folder),
        quote=quote,
        message=said.text,
        session=said.session,
        folder=said.folder,
        said_at=said.at,
    )


def _is_from_host(line: _Line) -> bool:
    return (
        line.is_meta
        or line.is_sidechain
        or line.is_compact_summary
        or line.agent_id is not None
        or line.tool_use_result is not None
    )


def _text(message: _Message) -> str:
    """The text of a message; empty if it has a tool result."""
    content = message.content
    if isinstance(content, str):
        return _REMINDER.sub("", content).strip()
    if any(block.get("type") == "tool_result" for block in content):
        return ""
    texts = [str(block.get("text", "")) for block in content if block.get("type") == "text"]
    return _REMINDER.sub("", "\n".join(texts)).strip()


def _reported_lessons(message: _Message) -> tuple[str, ...]:
    """The lesson ids in calls of our tool."""
    blocks = message.content if isinstance(message.content, list) else []
    calls = [
        cast("dict[str, Any]", block["input"])
        for block in blocks
        if block.get("type") == "tool_use"
        and str(block.get("name", "")).endswith(USE_TOOL)
        and isinstance(block.get("input"), dict)
    ]
    return tuple(str(call["id"]) for call in calls if call.get("id"))


def _to_spoken(line: _Line, text: str, lessons: tuple[str, ...]) -> TranscriptMessage | None:
    if line.type == "assistant":
        kind: Literal["user", "assistant", "interrupt"] = "assistant"
    elif is_interrupt(text):
        kind = "interrupt"
    elif _COMMAND.match(text):
        return None
    else:
        kind = "user"
    return TranscriptMessage(
        kind=kind,
        text=text,
        turn_id=line.uuid,
        session=line.session_id,
        at=_moment(line.timestamp),
        folder=_folder_name(line.cwd),
        version=line.version,
        answered=line.parent_uuid is not None,
        lesson_ids=lessons,
    )


def _moment(timestamp: str) -> str:
    """The timestamp as written, if it is valid and has a time zone; else empty."""
    try:
        return timestamp if datetime.fromisoformat(timestamp).tzinfo else ""
    except ValueError:
        return ""


def _folder_name(cwd: str) -> str:
    """The last component of a path: full paths are never recorded."""
    windows = "\\" in cwd and "/" not in cwd
    return (PureWindowsPath(cwd) if windows else PurePosixPath(cwd)).name
