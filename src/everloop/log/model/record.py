"""Records and facts: a record is a log row with its hash chain, a fact is what folds receive of it.

A record's digest covers its whole envelope, a commitment to its payload (the seal), and the digest
of the record before it in its stream. `integrity/verify.py` recomputes all of them. The seal is
salted, and a purge erases the salt together with the payload: the chain still verifies, and nobody
can confirm a guess of the erased text.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import msgspec

from everloop.errors import RESTORE_HINT, Corrupt
from everloop.log.model.event import (
    DECODE_ERRORS,
    Event,
    Unknown,
    decode,
    decode_error,
    decoder_for,
)
from everloop.log.sql_rows import Row

GENESIS = bytes(32)
SALT_BYTES = 16
FACT_COLUMNS = "kind, schema, data, position, version, actor, because, request_id, recorded_at"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

_encode = msgspec.json.Encoder().encode
_decode_positions = msgspec.json.Decoder(tuple[int, ...]).decode


# There are thousands of records and facts and they form no reference cycles, so the garbage
# collector can skip them (`gc=False`).

# What a digest covers, in this order: previous digest, position, stream, branch, version,
# kind, schema, actor, because, request id, time and seal.
Envelope = tuple[bytes, int, str, str, int, str, int, str, str | None, str, int, bytes]
# The same for many records of one append. Shared: the digest before the first, stream, branch,
# actor, request id and time. The rest: position, version, kind, schema, because and seal.
Shared = tuple[bytes, str, str, str, str, int]
Rest = tuple[int, int, str, int, str | None, bytes]


class Record(msgspec.Struct, frozen=True, gc=False):
    """One row of the log, exactly as stored."""

    position: int
    stream: str
    branch: str
    version: int
    kind: str
    schema: int
    data: str | None
    actor: str
    because: str | None
    request_id: str
    recorded_us: int
    salt: bytes | None
    seal: bytes | None
    digest: bytes

    @property
    def purged(self) -> bool:
        """Whether the payload was erased."""
        return self.data is None


class Fact(msgspec.Struct, frozen=True, gc=False):
    """A recorded event with its envelope: the input of folds and projections."""

    event: Event
    position: int
    stream: str
    branch: str
    version: int
    actor: str
    because: tuple[int, ...]
    request_id: str
    recorded_us: int

    @property
    def recorded_at(self) -> datetime:
        """When the store recorded it, in UTC."""
        return from_microseconds(self.recorded_us)


def seal_of(salt: bytes, data: bytes) -> bytes:
    """The salted hash of a payload, which the digest covers."""
    return sha256(salt + data).digest()


def digest_of(envelope: Envelope) -> bytes:
    """The digest of a record, from its envelope."""
    return sha256(_encode(envelope)).digest()


def seals_of(salts: Iterable[bytes], data: Iterable[bytes]) -> list[bytes]:
    """Like `seal_of`, for many payloads."""
    return [sha256(salt + text).digest() for salt, text in zip(salts, data, strict=True)]


def chain_digests(shared: Shared, envelopes: Iterable[Rest]) -> list[bytes]:
    """Like `link`, for many records of one append, each chained to the one before it."""
    digest, stream, branch, actor, request, now_us = shared
    digests: list[bytes] = []
    for position, version, kind, schema, because, seal in envelopes:
        digest = sha256(_encode((
            digest, position, stream, branch, version, kind, schema,
            actor, because, request, now_us, seal,
        ))).digest()  # fmt: skip
        digests.append(digest)
    return digests


def expected_digest(previous: bytes, record: Record) -> bytes:
    """The digest that a stored record must have, given the previous one in its stream.

    Raises:
        Corrupt: the record has neither payload nor seal.
    """
    seal = record.seal
    if record.data is not None and record.salt is not None:
        seal = seal_of(record.salt, record.data.encode())
    if seal is None:
        raise Corrupt(f"record {record.position} has neither payload nor seal", hint=RESTORE_HINT)
    return digest_of((
        previous, record.position, record.stream, record.branch, record.version, record.kind,
        record.schema, record.actor, record.because, record.request_id, record.recorded_us, seal,
    ))  # fmt: skip


def fact_of(record: Record) -> Fact:
    """Decode a record into a fact."""
    return Fact(
        _event_of(record),
        record.position,
        record.stream,
        record.branch,
        record.version,
        record.actor,
        decode_positions(record.because),
        record.request_id,
        record.recorded_us,
    )


def _event_of(record: Record) -> Event:
    """The event of a record; `Unknown` if its payload was purged."""
    if record.data is None:
        return Unknown(kind=record.kind, kind_schema=record.schema)
    return decode(record.kind, record.schema, record.data)


def decode_facts(rows: Iterable[Row], stream: str, branch: str) -> Iterator[Fact]:
    """Decode rows of `FACT_COLUMNS`, all of one stream on one branch, into facts.

    Every replay passes here, so no `Record` is built in between, and the decoder is looked up only
    when the kind changes.
    """
    known_kind, known_schema, read = "", 0, decoder_for("", 0)
    for kind, schema, data, position, version, actor, because, request_id, recorded_us in rows:
        if kind != known_kind or schema != known_schema:
            known_kind, known_schema, read = kind, schema, decoder_for(kind, schema)
        try:
            happened = Unknown(kind=kind, kind_schema=schema) if data is None else read(data)
        except DECODE_ERRORS as problem:
            raise decode_error(kind, schema, problem) from problem
        yield Fact(
            happened,
            position,
            stream,
            branch,
            version,
            actor,
            decode_positions(because) if because else (),
            request_id,
            recorded_us,
        )


def decode_positions(text: str | None) -> tuple[int, ...]:
    """Decode the positions of a stored `because`.

    Raises:
        Corrupt: the text is not a list of positions.
    """
    try:
        return _decode_positions(text) if text else ()
    except (msgspec.MsgspecError, TypeError) as problem:
        raise Corrupt(
            f"the `because` of a record cannot be decoded: {problem}", hint=RESTORE_HINT
        ) from problem


def encode_positions(because: tuple[int, ...]) -> str | None:
    """Encode positions for the `because` column; None if there are none."""
    return _encode(because).decode() if because else None


def from_microseconds(microseconds: int) -> datetime:
    """Convert a stored time to an aware datetime."""
    return EPOCH + timedelta(microseconds=microseconds)


def to_microseconds(at: datetime) -> int:
    """Convert an aware datetime to microseconds, as the log stores it."""
    return (at - EPOCH) // MICROSECOND
