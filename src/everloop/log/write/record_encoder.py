"""Validates, serialises and hash-chains events into log rows.

Positions and versions continue from what the caller found in the file; nothing is written here.
Most appends have one event and some have very many. One event takes a fast path; many are encoded
column by column, which is several times faster in Python than row by row.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import repeat

from everloop.errors import Invalid
from everloop.log.model.event import Event, encode, encode_all
from everloop.log.model.record import (
    SALT_BYTES,
    Fact,
    chain_digests,
    digest_of,
    encode_positions,
    seals_of,
)
from everloop.log.sql_rows import Row
from everloop.log.write.append import AppendRequest, Draft, TransactionContext
from everloop.ports import Entropy

SALTS_DRAWN = 64

Drafts = Sequence[Event | Draft]  # a bare event is a draft without sources
Because = tuple[int, ...]
Text = str | None
Encoded = tuple[tuple[Row, ...], tuple[Fact, ...], bytes]  # rows, facts, and the last digest


class RecordEncoder:
    """Turns the drafts of an append into rows and facts."""

    def __init__(self, entropy: Entropy, *, event_bytes_max: int) -> None:
        self._entropy = entropy
        self._event_bytes_max = event_bytes_max
        self._salts: list[bytes] = []

    def encode(
        self,
        work: AppendRequest,
        desk: TransactionContext,
        drafts: Drafts,
        head: int,
        tail: tuple[int, bytes],
    ) -> Encoded:
        """Encode drafts as the rows after `head`; returns rows, facts and the last digest.

        Raises:
            Invalid: a draft cannot be recorded as it is.
            Conflict: a draft is derived from a fact that does not count on its branch.
        """
        if len(drafts) != 1:
            return self._write_many(work, desk, drafts, head, tail) if drafts else ((), (), tail[1])
        stream, branch, actor, request = work.stream, desk.branch.name, work.actor, work.request_id
        position, (version, digest), now_us = head + 1, tail, desk.now_us
        draft = drafts[0]
        happened = draft.event if type(draft) is Draft else draft
        because, sources = _NO_SOURCES if happened is draft else _sources(draft, desk, head, 0)
        data = encode(happened)
        if len(data) > self._event_bytes_max:
            raise _too_large(happened, self._event_bytes_max)
        kind, schema, salt = (
            happened.wire,
            happened.schema,
            (self._salts or self._draw_salts()).pop(),
        )
        version += 1
        digest = digest_of((
            digest, position, stream, branch, version, kind, schema,
            actor, sources, request, now_us, sha256(salt + data).digest(),  # `seal_of`, inlined
        ))  # fmt: skip
        row = (
            position, stream, branch, version, kind, schema, data.decode(),
            actor, sources, request, now_us, salt, None, digest,
        )  # fmt: skip
        fact = Fact(happened, position, stream, branch, version, actor, because, request, now_us)
        return (row,), (fact,), digest

    def _write_many(
        self,
        work: AppendRequest,
        desk: TransactionContext,
        drafts: Drafts,
        head: int,
        tail: tuple[int, bytes],
    ) -> Encoded:
        stream, branch, actor, request = work.stream, desk.branch.name, work.actor, work.request_id
        (version, digest), now_us, count = tail, desk.now_us, len(drafts)
        events = [draft.event if type(draft) is Draft else draft for draft in drafts]
        data, salts = self._encode(events), self._draw_salts(count)[-count:]
        del self._salts[-count:]
        because, sources = _all_sources(drafts, desk, head)
        kinds, schemas = _all_kinds(events)
        positions = range(head + 1, head + 1 + count)
        versions = range(version + 1, version + 1 + count)
        digests = chain_digests(
            (digest, stream, branch, actor, request, now_us),
            zip(positions, versions, kinds, schemas, sources, seals_of(salts, data), strict=False),
        )
        rows = zip(
            positions, repeat(stream), repeat(branch), versions, kinds, schemas,
            map(bytes.decode, data), repeat(actor), sources, repeat(request), repeat(now_us),
            salts, repeat(None), digests,
        )  # fmt: skip
        facts = map(
            Fact, events, positions, repeat(stream), repeat(branch), versions,
            repeat(actor), because, repeat(request), repeat(now_us),
        )  # fmt: skip
        return tuple(rows), tuple(facts), digests[-1]

    def _encode(self, events: Sequence[Event]) -> list[bytes]:
        data = encode_all(events)
        sizes = list(map(len, data))
        if max(sizes) > self._event_bytes_max:
            raise _too_large(events[sizes.index(max(sizes))], self._event_bytes_max)
        return data

    def _draw_salts(self, count: int = 1) -> list[bytes]:
        """At least `count` salts, drawn in batches: each draw is a system call."""
        salts = self._salts
        while len(salts) < count:
            drawn = self._entropy.draw(SALT_BYTES * SALTS_DRAWN)
            salts += [drawn[at : at + SALT_BYTES] for at in range(0, len(drawn), SALT_BYTES)]
        return salts


_NO_SOURCES: tuple[Because, Text] = ((), None)


# Columns for many drafts: `repeat` where all values are equal.


def _all_kinds(events: Sequence[Event]) -> tuple[Iterable[str], Iterable[int]]:
    if len(set(map(type, events))) == 1:
        return repeat(events[0].wire), repeat(events[0].schema)
    return [event.wire for event in events], [event.schema for event in events]


def _all_sources(
    drafts: Drafts, desk: TransactionContext, head: int
) -> tuple[Iterable[Because], Iterable[Text]]:
    if Draft not in set(map(type, drafts)):
        return repeat(()), repeat(None)
    sources = [_sources(draft, desk, head, index) for index, draft in enumerate(drafts)]
    return [because for because, _ in sources], [text for _, text in sources]


def _sources(
    draft: Event | Draft, desk: TransactionContext, head: int, index: int
) -> tuple[Because, Text]:
    """The sources of a draft, as positions and as text, after checking that they count."""
    # Not `isinstance`: it is slow on classes with a metaclass, such as events.
    if type(draft) is not Draft or not (draft.because or draft.beside):
        return _NO_SOURCES
    assert all(0 <= other < index for other in draft.beside), (
        "`beside` refers to earlier drafts only"
    )
    if draft.because:
        desk.check_sources(draft)
    because = draft.because + tuple(head + 1 + other for other in draft.beside)
    return because, encode_positions(because)


def _too_large(happened: Event, bytes_max: int) -> Invalid:
    return Invalid(
        f"{happened.wire} is larger than {bytes_max:,} bytes",
        hint="Store large content as an attachment, or raise `event_bytes_max`.",
    )
