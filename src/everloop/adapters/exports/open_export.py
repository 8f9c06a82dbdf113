"""Opens an export and detects its format from its content."""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Final, cast

import msgspec

from everloop.adapters.exports import chatgpt, claude
from everloop.adapters.exports.attachments import store_file, store_text
from everloop.adapters.exports.files import (
    UNPACKING_ERRORS,
    ExportPart,
    attachment_parts,
    export_fingerprint,
    json_parts,
)
from everloop.adapters.exports.json_stream import list_elements
from everloop.adapters.exports.jsonl import (
    CLAUDE_CODE,
    JSONL,
    PartContext,
    is_transcript,
    parse_jsonl,
    parse_transcript,
)
from everloop.adapters.files.store import FileStore
from everloop.errors import Invalid
from everloop.thread.model.events import Attachment
from everloop.thread.settings import ImportLimits
from everloop.thread.transfer.parsed_export import ImportProblem, ParsedChat, ParsedFile, StoreFile

CONVERSATIONS: Final = re.compile(r"conversations(-\d+)?\.json")
HINT: Final = "docs/import.md lists the supported formats."

Read = Callable[[bytes, str, int], Iterator[ParsedChat | ImportProblem]]


class _FormatProbe(msgspec.Struct):
    mapping: msgspec.Raw = msgspec.Raw()
    chat_messages: msgspec.Raw = msgspec.Raw()


class OpenedExport:
    """An export on disk."""

    def __init__(
        self, path: Path, kind: str, parts: list[ExportPart], limits: ImportLimits
    ) -> None:
        self.kind, self.name = kind, path.name
        self.identity = export_fingerprint(parts)
        self.size = sum(part.size for part in parts)
        self._path, self._parts, self._limits = path, parts, limits

    @cached_property
    def _others(self) -> dict[str, Callable[[], ExportPart]]:
        return attachment_parts(self._path, self._limits)

    def close(self) -> None:
        """Let go of the file. Name, kind and size can still be read."""
        self._parts = []
        self.__dict__.pop("_others", None)

    def file_storer(self, store: FileStore) -> StoreFile:
        """A function that stores attachments of the export; it returns None for a missing one."""

        def keep(wanted: ParsedFile) -> Attachment | None:
            known = store.describe(wanted.digest, wanted.name, wanted.media_type)
            if known is not None:
                return known
            names = (wanted.digest,) if wanted.digest else (wanted.file_id, wanted.name)
            found = next((self._others[name] for name in names if name in self._others), None)
            try:
                if found is not None:
                    file = store_file(store, wanted, found())
                    return file if wanted.digest in ("", file.digest) else None
                return store_text(store, wanted) if wanted.text else None
            except (Invalid, *UNPACKING_ERRORS):
                return None  # too large, empty or broken: treated as missing

        return keep

    def chats(self) -> Iterator[ParsedChat | ImportProblem]:
        """The conversations and problems, one at a time."""
        before = 0
        for part in self._parts:
            with _open_part(part) as file:
                if self.kind in (CLAUDE_CODE, JSONL):
                    yield from self._parse_lines(part, file, before)
                else:
                    yield from self._parse_list(part, file, before)
            before += part.size

    def _parse_lines(
        self, part: ExportPart, file: IO[bytes], before: int
    ) -> Iterator[ParsedChat | ImportProblem]:
        bound, batch = self._limits.conversation_bytes_max, self._limits.batch
        read = parse_transcript if self.kind == CLAUDE_CODE else parse_jsonl
        return read(file, PartContext(part.name, before, bound, batch))

    def _parse_list(
        self, part: ExportPart, file: IO[bytes], before: int
    ) -> Iterator[ParsedChat | ImportProblem]:
        read: Read = _READERS[self.kind]
        for number, (end, element) in enumerate(_elements(part, file, self._limits), start=1):
            place = f"{part.name}, conversation {number}"
            try:
                yield from read(element, place, before + end)
            except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
                yield ImportProblem(place, f"not readable: {problem}")


_READERS: Final[dict[str, Read]] = {
    claude.KIND: claude.parse_conversation,
    chatgpt.KIND: chatgpt.parse_conversation,
}


def open_export(path: Path, limits: ImportLimits) -> OpenedExport:
    """Open the export at a path.

    Raises:
        Invalid: its format is not supported.
        NotFound: the path does not exist.
    """
    parts = json_parts(path, limits)
    lists = [p for p in parts if CONVERSATIONS.fullmatch(PurePosixPath(p.name).name)]
    if not lists and len(parts) == 1 and not parts[0].name.endswith(".jsonl"):
        lists = parts
    lines = [part for part in parts if part.name.endswith(".jsonl")]
    if lists:
        return OpenedExport(path, _list_format(lists, limits), lists, limits)
    if lines:
        return OpenedExport(path, _lines_format(lines), lines, limits)
    raise Invalid(f"{path.name} contains no conversations", hint=HINT)


def _list_format(parts: list[ExportPart], limits: ImportLimits) -> str:
    for part in parts:
        with _open_part(part) as file:
            for _, element in _elements(part, file, limits):
                if kind := _detect_format(element):
                    return kind
    raise Invalid(f"{parts[0].name} contains no conversations", hint=HINT)


def _detect_format(element: bytes) -> str:
    try:
        sign = msgspec.json.decode(element, type=_FormatProbe)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    if bytes(sign.mapping):
        return chatgpt.KIND
    return claude.KIND if bytes(sign.chat_messages) else ""


def _lines_format(parts: list[ExportPart]) -> str:
    for part in parts:
        with _open_part(part) as file:
            first = next((line for line in file if line.strip()), b"")
        if first:
            return CLAUDE_CODE if is_transcript(first) else JSONL
    raise Invalid(f"{parts[0].name} is empty", hint=HINT)


def _elements(
    part: ExportPart, file: IO[bytes], limits: ImportLimits
) -> Iterator[tuple[int, bytes]]:
    bound, depth = limits.conversation_bytes_max, limits.depth_max
    return list_elements(cast("BinaryIO", file), part.name, bytes_max=bound, depth_max=depth)


@contextmanager
def _open_part(part: ExportPart) -> Generator[IO[bytes]]:
    try:
        with part.open() as file:
            yield file
    except UNPACKING_ERRORS as problem:
        raise Invalid(f"{part.name} cannot be unpacked: {problem}") from problem
