"""Import of conversations from other programs, as threads or into the home thread.

Idempotent: message ids are derived from the source's ids, so messages that were imported before are
skipped, whether the export is the same, overlaps, or was interrupted. Everything derives from the
event that began the import; retracting it undoes the whole import.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime

import msgspec

from everloop.log import Command, CommandBus, Context, Log, Reader, visible
from everloop.log.model.record import from_microseconds
from everloop.ports import Progress
from everloop.thread.deciders import existing_message_ids
from everloop.thread.model.commands import (
    HOME,
    HOME_TITLE,
    AddFiles,
    BeginImport,
    EndImport,
    ImportMessages,
    OpenImport,
    OpenThread,
)
from everloop.thread.model.decide_imports import IMPORTS, IMPORTS_STREAM, TEXT_MAX
from everloop.thread.model.events import Attachment, MessageImported
from everloop.thread.model.state import thread_stream
from everloop.thread.queries import threads as browsing
from everloop.thread.transfer.parsed_export import (
    ImportProblem,
    ParsedChat,
    ParsedExport,
    ParsedFile,
    ParsedMessage,
    StoreFile,
    store_no_file,
)

UNTITLED = "Untitled"
TITLE_MAX = 200
TROUBLES_MAX = 50  # reported one by one


class ImportResult(msgspec.Struct, frozen=True):
    """The result of an import. Retract `position` to undo it."""

    import_id: str
    position: int
    source: str
    name: str
    messages: int
    known: int
    threads: tuple[str, ...]
    passed_over: int
    troubles: tuple[ImportProblem, ...]
    files: int = 0
    files_missing: int = 0


class PastImport(msgspec.Struct, frozen=True):
    """An import in the list of imports."""

    import_id: str
    position: int
    source: str
    name: str
    begun_at: datetime
    ended: bool
    messages: int


class ThreadImporter:
    """Imports one export. It can be interrupted at any moment, and run again."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        by: Context,
        *,
        batch: int,
        into_home: bool = False,
        keep: StoreFile = store_no_file,
    ) -> None:
        self._log, self._bus, self._by = log, bus, by
        self._batch, self._into_home, self._keep = batch, into_home, keep
        self._files = self._files_missing = 0
        self._opened: set[str] = set()
        self._new = self._known = self._passed_over = 0
        self._troubles: list[ImportProblem] = []

    @property
    def counts(self) -> tuple[int, int]:
        """How many messages were imported so far, and how many existed before."""
        return self._new, self._known

    def run(self, export: ParsedExport, progress: Progress | None = None) -> ImportResult:
        """Import the messages that do not exist yet."""
        import_id = import_id_of(export)
        root = self._begin(import_id, export)
        waiting, count = list[ParsedChat](), 0
        for chat in export.chats():
            if isinstance(chat, ImportProblem):
                self._skip(chat)
                continue
            waiting.append(chat)
            count += len(chat.messages)
            if count >= self._batch:
                self._import_batch(waiting, import_id, root, export)
                waiting, count = [], 0
                if progress:
                    progress(chat.done, export.size)
        self._import_batch(waiting, import_id, root, export)
        self._bus.do_many([EndImport(import_id, self._count_imported(import_id))], by=self._by)
        return ImportResult(
            import_id,
            root,
            export.kind,
            export.name,
            self._new,
            self._known,
            tuple(sorted(self._opened)),
            self._passed_over,
            tuple(self._troubles),
            self._files,
            self._files_missing,
        )

    def _begin(self, import_id: str, export: ParsedExport) -> int:
        self._bus.do_many([OpenImport(import_id, export.kind, export.name)], by=self._by)
        known = self._log.state(IMPORTS, IMPORTS_STREAM)
        assert known is not None, "the import was opened just now"
        return known.known[import_id].position

    def _import_batch(
        self, chats: Sequence[ParsedChat], import_id: str, root: int, export: ParsedExport
    ) -> None:
        """Record a batch: the threads it needs, then its new messages."""
        parts = [(chat, self._messages(chat, export.kind)) for chat in chats]
        here = self._existing_ids([one for _, messages in parts for one in messages])
        commands: list[Command] = []
        for late in self._find_late_files(chats, export.kind, here):
            begin = BeginImport(late.thread_id, import_id, export.kind, export.name, (root,))
            commands += [begin, AddFiles(late.thread_id, import_id, late.message_id, late.files)]
        new: list[str] = []
        for chat, messages in parts:
            fresh = _new_messages(messages, here)
            self._known += len(messages) - len(fresh)
            self._new += len(fresh)
            if not fresh:
                continue
            fresh = self._with_files(fresh, chat)
            thread_id = fresh[0].thread_id
            if thread_id not in self._opened:
                self._opened.add(thread_id)
                new.append(thread_stream(thread_id))
                begin = BeginImport(thread_id, import_id, export.kind, export.name, (root,))
                commands += [_open_command(thread_id, chat.title, root), begin]
            commands.append(ImportMessages(thread_id, import_id, fresh))
        if new:
            self._log.create_tree(*new, actor=self._by.actor)
        if commands:
            self._bus.do_many(commands, by=self._by)

    def _messages(self, chat: ParsedChat, kind: str) -> list[MessageImported]:
        """The events for a conversation. A text that is too long is split."""
        named = chat.thread_id or f"thr-{_digest(kind, chat.external_id)}"
        thread_id = HOME if self._into_home else named
        return [
            MessageImported(
                thread_id,
                f"{_message_id(said, kind)}{suffix}",
                said.role,
                text,
                said.at,
                said.author,
                said.external_id,
                (),
            )
            for said in chat.messages
            for suffix, text in _split_text(said.text)
        ]

    def _find_late_files(
        self, chats: Sequence[ParsedChat], kind: str, here: set[str]
    ) -> list["_LateFiles"]:
        """Files in the export for messages that were imported without them."""
        known = [
            (_message_id(said, kind), said.files)
            for chat in chats
            for said in chat.messages
            if said.files and _message_id(said, kind) in here
        ]
        if not known:
            return []
        with self._log.reading() as reader:
            messages = [browsing.find_message(reader, message_id) for message_id, _ in known]
        return [
            _LateFiles(message.thread_id, message.message_id, kept)
            for message, (_, files) in zip(messages, known, strict=True)
            if (kept := self._store_missing_files(message.text, files))
        ]

    def _store_missing_files(
        self, text: str, files: Sequence[ParsedFile]
    ) -> tuple[Attachment, ...]:
        lines = text.split("\n")
        wanted = (one for one in files if browsing.missing_file_line(one.name) in lines)
        kept = tuple(here for one in wanted if (here := self._keep(one)) is not None)
        self._files += len(kept)
        return kept

    def _with_files(
        self, fresh: tuple[MessageImported, ...], chat: ParsedChat
    ) -> tuple[MessageImported, ...]:
        """The messages with their attachments; files that are missing are only named."""
        beside = {said.external_id: list(said.files) for said in chat.messages if said.files}
        return tuple(self._with_attachments(one, beside.pop(one.external_id, [])) for one in fresh)

    def _with_attachments(
        self, message: MessageImported, files: Sequence[ParsedFile]
    ) -> MessageImported:
        if not files:
            return message
        found = [(one, self._keep(one)) for one in files]
        kept = tuple(here for _, here in found if here is not None)
        missing = [browsing.missing_file_line(one.name) for one, here in found if here is None]
        self._files += len(kept)
        self._files_missing += len(missing)
        words = "\n".join([message.text, *missing]).strip()[:TEXT_MAX]
        return msgspec.structs.replace(message, text=words, attachments=kept)

    def _existing_ids(self, messages: Sequence[MessageImported]) -> set[str]:
        with self._log.reading() as reader:
            return set(existing_message_ids(reader, ImportMessages("", "", tuple(messages))))

    def _count_imported(self, import_id: str) -> int:
        with self._log.reading() as reader:
            return _count(reader, import_id)

    def _skip(self, trouble: ImportProblem) -> None:
        self._passed_over += 1
        if len(self._troubles) < TROUBLES_MAX:
            self._troubles.append(trouble)


class _LateFiles(msgspec.Struct, frozen=True):
    """Files to attach to a message that exists already."""

    thread_id: str
    message_id: str
    files: tuple[Attachment, ...]


def _message_id(said: ParsedMessage, kind: str) -> str:
    return said.message_id or f"msg-{_digest(kind, said.external_id)}"


def import_id_of(export: ParsedExport) -> str:
    """The import id of an export: the same for the same export."""
    return f"imp-{_digest(export.kind, export.identity)}"


def import_history(reader: Reader) -> list[PastImport]:
    """Every import that was not undone, the newest first."""
    return [
        PastImport(
            import_id,
            position,
            source,
            name,
            from_microseconds(at),
            bool(ended),
            _count(reader, import_id),
        )
        for import_id, position, source, name, at, ended in reader.rows(_IMPORTS)
    ]


def _count(reader: Reader, import_id: str) -> int:
    return int(reader.rows(_COUNT, (import_id,))[0][0])


def _new_messages(
    messages: Sequence[MessageImported], here: set[str]
) -> tuple[MessageImported, ...]:
    """The messages that do not exist yet; adds their ids to `here`."""
    fresh: list[MessageImported] = []
    for one in messages:
        if one.message_id not in here:
            here.add(one.message_id)
            fresh.append(one)
    return tuple(fresh)


def _open_command(thread_id: str, title: str, root: int) -> OpenThread:
    """The command that opens a thread. The home thread does not derive from an import."""
    if thread_id == HOME:
        return OpenThread(HOME, HOME_TITLE)
    return OpenThread(thread_id, _clean_title(title), (root,))


def _split_text(text: str) -> list[tuple[str, str]]:
    if len(text) <= TEXT_MAX:
        return [("", text)]
    pieces = [text[at : at + TEXT_MAX] for at in range(0, len(text), TEXT_MAX)]
    worded = [piece for piece in pieces if piece.strip()]
    return [(f"-{number}" if number else "", piece) for number, piece in enumerate(worded)]


def _clean_title(title: str) -> str:
    return " ".join(title.split())[:TITLE_MAX].strip() or UNTITLED


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


_IMPORTS = f"""
SELECT i.import_id, i.position, i.source, i.name, l.recorded_at, EXISTS (
    SELECT 1 FROM thread_imports d WHERE d.import_id = i.import_id AND d.ended AND {visible("d")})
FROM thread_imports i JOIN log l ON l.position = i.position
WHERE i.thread_id = '' AND NOT i.ended AND {visible("i")} ORDER BY i.position DESC
"""  # noqa: S608 - our own conditions
_COUNT = f"""
SELECT count(*) FROM thread_imports i JOIN log_because b ON b.source = i.position
JOIN thread_messages m ON m.position = b.dependant
WHERE i.import_id = ? AND i.thread_id <> '' AND {visible("m")}
"""  # noqa: S608 - our own condition
