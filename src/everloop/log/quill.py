"""The quill turns drafts into rows of the log: it checks them, says them as text, and chains them.

Positions and versions follow what the scribe found in the file; nothing is written here.
"""

from collections.abc import Sequence

from everloop.errors import Invalid
from everloop.log.event import encode
from everloop.log.record import SALT_BYTES, Fact, encode_positions, link, seal_of
from everloop.log.sql import Row
from everloop.log.work import Desk, Draft, Work
from everloop.ports import Entropy

SALTS_DRAWN = 64


class Quill:
    """What a scribe writes with."""

    def __init__(self, entropy: Entropy, *, event_bytes_max: int) -> None:
        self._entropy = entropy
        self._event_bytes_max = event_bytes_max
        self._salts: list[bytes] = []  # drawn many at a time: each draw is a call to the system

    def write(
        self, work: Work, desk: Desk, drafts: Sequence[Draft], head: int, tail: tuple[int, bytes]
    ) -> tuple[list[Row], list[Fact], bytes]:
        """The rows that drafts become after `head`, the facts, and the last digest.

        Raises:
            Invalid: a draft cannot be recorded as it is.
            Conflict: a draft comes from something that does not count where it would stand.
        """
        stream, branch, actor, request = work.stream, desk.branch.name, work.actor, work.request_id
        position, (version, digest), now_us = head, tail, desk.now_us
        salts = self._salts
        rows: list[Row] = []
        facts: list[Fact] = []
        for draft in drafts:
            happened, because = draft.event, draft.because
            data = encode(happened)
            if len(data) > self._event_bytes_max:
                raise _too_large(draft, self._event_bytes_max)
            if because:
                desk.check_sources(draft)
            if draft.beside:
                because += _positions(draft, head, len(rows))
            sources = encode_positions(because)
            if not salts:
                self._draw()
            kind, schema, salt = happened.wire, happened.schema, salts.pop()
            position, version = position + 1, version + 1
            digest = link((
                digest, position, stream, branch, version, kind, schema,
                actor, sources, request, now_us, seal_of(salt, data),
            ))  # fmt: skip
            rows.append((
                position, stream, branch, version, kind, schema, data.decode(),
                actor, sources, request, now_us, salt, None, digest,
            ))  # fmt: skip
            facts.append(
                Fact(happened, position, stream, branch, version, actor, because, request, now_us)
            )
        return rows, facts, digest

    def _draw(self) -> None:
        drawn = self._entropy.draw(SALT_BYTES * SALTS_DRAWN)
        self._salts += [drawn[at : at + SALT_BYTES] for at in range(0, len(drawn), SALT_BYTES)]


def _too_large(draft: Draft, bytes_max: int) -> Invalid:
    return Invalid(
        f"{draft.event.wire} is larger than {bytes_max:,} bytes",
        hint="Store large content as an attachment, or raise `event_bytes_max`.",
    )


def _positions(draft: Draft, head: int, written: int) -> tuple[int, ...]:
    """Where the drafts beside it will stand: only earlier ones can carry it."""
    assert all(0 <= place < written for place in draft.beside), "beside names an earlier draft"
    return tuple(head + 1 + place for place in draft.beside)
