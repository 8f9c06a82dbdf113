"""The quill turns drafts into records: it checks them, says them as text, and chains them.

Positions and versions follow what the scribe found in the file; nothing is written here.
"""

from collections.abc import Sequence

from everloop.errors import Invalid
from everloop.log.event import encode
from everloop.log.record import SALT_BYTES, Fact, Record, encode_positions, sealed
from everloop.log.work import Desk, Draft, Work
from everloop.ports import Entropy


class Quill:
    """What a scribe writes with."""

    def __init__(self, entropy: Entropy, *, event_bytes_max: int) -> None:
        self._entropy = entropy
        self._event_bytes_max = event_bytes_max

    def write(
        self, work: Work, desk: Desk, drafts: Sequence[Draft], head: int, tail: tuple[int, bytes]
    ) -> tuple[list[Record], list[Fact]]:
        """The records that drafts become after `head`, chained in their stream, and the facts.

        Raises:
            Invalid: a draft cannot be recorded as it is.
            Conflict: a draft comes from something that does not count where it would stand.
        """
        salts = self._entropy.draw(SALT_BYTES * len(drafts))
        stream, branch, actor, request = work.stream, desk.branch.name, work.actor, work.request_id
        position, (version, digest), now_us = head, tail, desk.now_us
        records: list[Record] = []
        facts: list[Fact] = []
        for at, draft in enumerate(drafts):
            text = self._checked(desk, draft)
            happened, because = draft.event, draft.because
            position, version = position + 1, version + 1
            envelope = (
                position, stream, branch, version, happened.wire, happened.schema,
                actor, encode_positions(because) if because else None, request, now_us,
            )  # fmt: skip
            record = sealed(digest, envelope, text, salts[SALT_BYTES * at : SALT_BYTES * (at + 1)])
            digest = record.digest
            records.append(record)
            facts.append(
                Fact(happened, position, stream, branch, version, actor, because, request, now_us)
            )
        return records, facts

    def _checked(self, desk: Desk, draft: Draft) -> str:
        """The draft as text, once it is sure that it may be recorded."""
        text = encode(draft.event)
        most = self._event_bytes_max
        if len(text) > most // 4 and len(text.encode()) > most:  # a character has up to four bytes
            raise Invalid(
                f"{draft.event.wire} is larger than {most:,} bytes",
                hint="Store large content as an attachment, or raise `event_bytes_max`.",
            )
        if draft.because:
            desk.check_sources(draft)
        return text
