"""The quill turns drafts into rows of the log: it checks them, says them as text, and chains them.

Positions and versions follow what the scribe found in the file; nothing is written here. Most
appends hold one event and some hold very many, so there is a short way for the one; the many are
written column by column, which the interpreter does several times faster than row by row.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import repeat

from everloop.errors import Invalid
from everloop.log.model.event import Event, encode, encode_all
from everloop.log.model.record import SALT_BYTES, Fact, encode_positions, link, links, seals_of
from everloop.log.sql_rows import Row
from everloop.log.write.append import Desk, Draft, Work
from everloop.ports import Entropy

SALTS_DRAWN = 64

Drafts = Sequence[Event | Draft]  # a bare event is a draft that was derived from nothing
Because = tuple[int, ...]
Text = str | None
Written = tuple[tuple[Row, ...], tuple[Fact, ...], bytes]  # rows, facts, and the last digest


class Quill:
    """What a scribe writes with."""

    def __init__(self, entropy: Entropy, *, event_bytes_max: int) -> None:
        self._entropy = entropy
        self._event_bytes_max = event_bytes_max
        self._salts: list[bytes] = []

    def write(
        self, work: Work, desk: Desk, drafts: Drafts, head: int, tail: tuple[int, bytes]
    ) -> Written:
        """The rows that drafts become after `head`, the facts, and the last digest.

        Raises:
            Invalid: a draft cannot be recorded as it is.
            Conflict: a draft comes from something that does not count where it would stand.
        """
        if len(drafts) != 1:
            return self._write_many(work, desk, drafts, head, tail) if drafts else ((), (), tail[1])
        stream, branch, actor, request = work.stream, desk.branch.name, work.actor, work.request_id
        position, (version, digest), now_us = head + 1, tail, desk.now_us
        draft = drafts[0]
        happened = draft.event if type(draft) is Draft else draft
        because, sources = _UNDERIVED if happened is draft else _sources(draft, desk, head, 0)
        data = encode(happened)
        if len(data) > self._event_bytes_max:
            raise _too_large(happened, self._event_bytes_max)
        kind, schema, salt = happened.wire, happened.schema, (self._salts or self._draw()).pop()
        version += 1
        digest = link((
            digest, position, stream, branch, version, kind, schema,
            actor, sources, request, now_us, sha256(salt + data).digest(),  # as `seal_of`, in place
        ))  # fmt: skip
        row = (
            position, stream, branch, version, kind, schema, data.decode(),
            actor, sources, request, now_us, salt, None, digest,
        )  # fmt: skip
        fact = Fact(happened, position, stream, branch, version, actor, because, request, now_us)
        return (row,), (fact,), digest

    def _write_many(
        self, work: Work, desk: Desk, drafts: Drafts, head: int, tail: tuple[int, bytes]
    ) -> Written:
        stream, branch, actor, request = work.stream, desk.branch.name, work.actor, work.request_id
        (version, digest), now_us, count = tail, desk.now_us, len(drafts)
        events = [draft.event if type(draft) is Draft else draft for draft in drafts]
        data, salts = self._encode(events), self._draw(count)[-count:]
        del self._salts[-count:]
        because, sources = _all_sources(drafts, desk, head)
        kinds, schemas = _all_kinds(events)
        positions = range(head + 1, head + 1 + count)
        versions = range(version + 1, version + 1 + count)
        digests = links(
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

    def _draw(self, count: int = 1) -> list[bytes]:
        """At least so many salts, drawn many at a time: each draw is a call to the system."""
        salts = self._salts
        while len(salts) < count:
            drawn = self._entropy.draw(SALT_BYTES * SALTS_DRAWN)
            salts += [drawn[at : at + SALT_BYTES] for at in range(0, len(drawn), SALT_BYTES)]
        return salts


_UNDERIVED: tuple[Because, Text] = ((), None)


# Columns for many drafts: where all are alike, the same value over and over.


def _all_kinds(events: Sequence[Event]) -> tuple[Iterable[str], Iterable[int]]:
    if len(set(map(type, events))) == 1:
        return repeat(events[0].wire), repeat(events[0].schema)
    return [event.wire for event in events], [event.schema for event in events]


def _all_sources(drafts: Drafts, desk: Desk, head: int) -> tuple[Iterable[Because], Iterable[Text]]:
    if Draft not in set(map(type, drafts)):
        return repeat(()), repeat(None)
    found = [_sources(draft, desk, head, place) for place, draft in enumerate(drafts)]
    return [because for because, _ in found], [text for _, text in found]


def _sources(draft: Event | Draft, desk: Desk, head: int, place: int) -> tuple[Because, Text]:
    """What a draft is derived from, as positions and as text, once it is sure that it counts."""
    # Not `isinstance`: it is slow on classes that have a metaclass, as events do.
    if type(draft) is not Draft or not (draft.because or draft.beside):
        return _UNDERIVED
    assert all(0 <= one < place for one in draft.beside), "beside names an earlier draft"
    if draft.because:
        desk.check_sources(draft)
    because = draft.because + tuple(head + 1 + one for one in draft.beside)
    return because, encode_positions(because)


def _too_large(happened: Event, bytes_max: int) -> Invalid:
    return Invalid(
        f"{happened.wire} is larger than {bytes_max:,} bytes",
        hint="Store large content as an attachment, or raise `event_bytes_max`.",
    )
