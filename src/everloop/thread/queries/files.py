"""Which files are attached to messages, and the name of their folder."""

from collections.abc import Iterable, Sequence

import msgspec

from everloop.log import Fact, Reader
from everloop.thread.model.events import Attachment, FilesFound, MessageImported, MessageSent

FILES_FOLDER = "files"


class _Attachments(msgspec.Struct):
    attachments: list[Attachment] = []


_decode_attachments = msgspec.json.Decoder(_Attachments).decode
BRINGING = (MessageSent, MessageImported, FilesFound)
_KINDS = ", ".join(f"'{event.wire}'" for event in BRINGING)
_AT_POSITION = f"SELECT data FROM log WHERE position = ? AND kind IN ({_KINDS})"  # noqa: S608 - our kinds
_ALL = f"SELECT data FROM log WHERE kind IN ({_KINDS}) AND data LIKE '%\"digest\"%'"  # noqa: S608 - ours


def all_attachment_digests(reader: Reader) -> set[str]:
    """The digests of all attached files, on any branch."""
    found = reader.rows(_ALL)
    return {one.digest for (data,) in found for one in _decode_attachments(data).attachments}


def attachment_digests(facts: Iterable[Fact]) -> set[str]:
    """The digests of the files attached by these facts."""
    said = (fact.event for fact in facts)
    brought = (one.attachments for one in said if isinstance(one, BRINGING))
    return {file.digest for files in brought for file in files}


def attachment_digests_at(reader: Reader, positions: Sequence[int]) -> set[str]:
    """The digests of the files attached to the messages at these positions."""
    found = (row for at in positions for row in reader.rows(_AT_POSITION, (at,)))
    return {
        one.digest
        for (data,) in found
        if data is not None
        for one in _decode_attachments(data).attachments
    }
