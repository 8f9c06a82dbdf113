"""Export of threads: Markdown for people, JSON Lines for programs.

Importing the JSON Lines again gives the same threads, messages and times. The Markdown has the
current branch and lists the other branches at its end. The caller supplies a function that stores
attachments next to the export.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo

import msgspec

from everloop.log import Log, Reader
from everloop.thread.model.events import Attachment
from everloop.thread.queries import threads
from everloop.thread.queries.branches import ThreadBranch, thread_branches
from everloop.thread.queries.files import FILES_FOLDER
from everloop.thread.queries.threads import Thread, ThreadMessage

PAGE = 500
NAMES = {"user": "You", "assistant": "Assistant"}
ENDINGS = {"markdown": "md", "jsonl": "jsonl"}
PutFile = Callable[
    [Attachment], str
]  # stores a file with the export; returns its relative path, or ""
NOT_WHOLE = ("stopped", "failed", "uncertain", "purged")


class ExportLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message as a line of JSON Lines."""

    thread: str
    title: str
    id: str
    role: str
    text: str
    at: datetime
    author: str = ""
    state: str = ""
    attachments: tuple[Attachment, ...] = ()


class _Author(msgspec.Struct):
    author: str = ""
    model: str = ""


_ENDING = re.compile(
    r"\.(?!jsonl?$)[a-z0-9]{1,10}$", re.IGNORECASE
)  # but not .json or .jsonl: an import takes those for conversations
_BRACKETS = re.compile(r"[\[\]\\]")
_decode_author = msgspec.json.Decoder(_Author).decode


def threads_to_export(reader: Reader, thread_ids: list[str]) -> list[Thread]:
    """The threads to export; all of them, archived ones included, if none is named.

    Raises:
        NotFound: one of them does not exist.
    """
    if thread_ids:
        return [threads.find_thread(reader, thread_id) for thread_id in thread_ids]
    return sorted(threads.list_threads(reader, archived=True), key=lambda one: one.opened_at)


def export_file_name(thread: Thread, form: str) -> str:
    """A readable and stable file name for a thread."""
    words = re.sub(r"[^\w]+", "-", thread.title.casefold()).strip("-")[:50].strip("-")
    return (
        f"{words}{'-' if words else ''}{thread.thread_id}.{ENDINGS[form]}"  # the id makes it unique
    )


def attachment_path(file: Attachment) -> str:
    """The path of an attachment in an export: its digest, with the file extension."""
    ending = _ENDING.search(file.name)
    return f"{FILES_FOLDER}/{file.digest}{ending.group() if ending else ''}"


def without_files(_: Attachment) -> str:
    """Export without attachments."""
    return ""


def export_thread(
    log: Log, thread: Thread, form: str, put_file: PutFile = without_files
) -> Iterator[bytes]:
    """A thread in the format `form`, in chunks."""
    if form == "jsonl":
        return to_jsonl(log, thread, put_file)
    return (piece.encode() for piece in to_markdown(log, thread, put_file=put_file))


def to_jsonl(log: Log, thread: Thread, put_file: PutFile = without_files) -> Iterator[bytes]:
    """A thread as JSON Lines, one line at a time."""
    for message in _messages(log, thread.thread_id):
        for file in message.attachments:
            put_file(file)
        if message.text.strip() or message.attachments:
            yield msgspec.json.encode(_to_line(log, thread, message)) + b"\n"


def to_markdown(
    log: Log, thread: Thread, zone: tzinfo | None = None, put_file: PutFile = without_files
) -> Iterator[str]:
    """A thread as Markdown, in chunks. Times are in `zone`, or else in local time."""
    yield f"# {thread.title}\n"
    day = ""
    for message in _messages(log, thread.thread_id):
        at = message.said_at.astimezone(zone)
        if day != (new := f"{at:%Y-%m-%d}"):
            day = new
            yield f"\n## {day}\n"
        yield f"\n**{_heading(message)}** · {at:%H:%M}{_marks(message)}\n\n{message.text}\n"
        for file in message.attachments:
            yield f"\n{_attachment_markdown(file, put_file(file))}\n"
    yield from _branches(log, thread)


def _messages(log: Log, thread_id: str) -> Iterator[ThreadMessage]:
    """All messages in order. Each page has its own transaction, so an export blocks nothing."""
    after: str | None = None
    while True:
        with log.reading() as reader:
            page = threads.messages_around(reader, thread_id, after, PAGE, "after").messages
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].message_id


def _to_line(log: Log, thread: Thread, message: ThreadMessage) -> ExportLine:
    record = log.record(message.position)
    said = _decode_author(record.data) if record.data is not None else _Author()
    return ExportLine(
        thread.thread_id,
        thread.title,
        message.message_id,
        message.role,
        message.text,
        message.said_at,
        said.author or said.model if message.role == "assistant" else "",
        message.state if message.state in NOT_WHOLE else "",
        message.attachments,
    )


def _attachment_markdown(file: Attachment, place: str) -> str:
    if not place:
        return f"> attached: {file.name} ({file.media_type}, {file.size:,} bytes)"
    sign = "!" if file.media_type.startswith("image/") else ""
    return f"{sign}[{_BRACKETS.sub('', file.name)}]({place})"


def _heading(message: ThreadMessage) -> str:
    name = NAMES.get(message.role, message.role)
    return f"{name} ({message.model})" if message.model else name


def _marks(message: ThreadMessage) -> str:
    state = message.state if message.state in NOT_WHOLE else ""
    marks = [state, "hidden" if message.hidden else ""]
    return "".join(f" · {mark}" for mark in marks if mark)


def _branches(log: Log, thread: Thread) -> Iterator[str]:
    others = [line for line in thread_branches(log, thread.thread_id) if not line.standing]
    if others:
        yield "\n## Other branches\n\n"
    for line in others:
        yield f"- {_branch(line)}\n"


def _branch(line: ThreadBranch) -> str:
    own = f"{line.own} message{'' if line.own == 1 else 's'} of its own"
    if line.newest is None:
        return f"`{line.branch}`: {own}"
    words = " ".join(line.newest.text.split())[:120]
    return f"`{line.branch}`: {own}; it ends with: {words}"
