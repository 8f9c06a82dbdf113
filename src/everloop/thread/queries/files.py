"""Which files stand beside messages, and the name of the folder that has them."""

from collections.abc import Iterable, Sequence

import msgspec

from everloop.log import Fact, Reader
from everloop.thread.model.events import Attachment, FilesFound, MessageImported, MessageSent

FILES = "files"


class _Beside(msgspec.Struct):
    attachments: list[Attachment] = []


_read = msgspec.json.Decoder(_Beside).decode
BRINGING = (MessageSent, MessageImported, FilesFound)
_KINDS = ", ".join(f"'{event.wire}'" for event in BRINGING)
_SAID = f"SELECT data FROM log WHERE position = ? AND kind IN ({_KINDS})"  # noqa: S608 - our kinds
_ALL = f"SELECT data FROM log WHERE kind IN ({_KINDS}) AND data LIKE '%\"digest\"%'"  # noqa: S608 - ours


def all_files(reader: Reader) -> set[str]:
    """The digests of the files beside any message, on any branch."""
    found = reader.rows(_ALL)
    return {one.digest for (data,) in found for one in _read(data).attachments}


def files_of(facts: Iterable[Fact]) -> set[str]:
    """The digests of the files that facts bring."""
    said = (fact.event for fact in facts)
    brought = (one.attachments for one in said if isinstance(one, BRINGING))
    return {file.digest for files in brought for file in files}


def files_beside(reader: Reader, positions: Sequence[int]) -> set[str]:
    """The digests of the files beside messages at these positions."""
    found = (row for at in positions for row in reader.rows(_SAID, (at,)))
    return {one.digest for (data,) in found if data is not None for one in _read(data).attachments}
