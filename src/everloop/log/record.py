"""A record is an event with its envelope and its proof; a fact is what folds see of it.

Each record's digest covers its whole envelope, a commitment to its payload (the seal) and the
digest of the record before it in its stream. `verify.py` recomputes all of them. The seal is
salted, and salt and payload go together when a record is purged: the chain still verifies, and the
erased text cannot be confirmed by guessing.
"""

import hashlib
from datetime import UTC, datetime, timedelta

import msgspec

from everloop.errors import Corrupt
from everloop.log.event import Event, Unknown, decode

GENESIS = bytes(32)
SALT_BYTES = 16
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_encode = msgspec.json.Encoder().encode
_decode_positions = msgspec.json.Decoder(tuple[int, ...]).decode


class Record(msgspec.Struct, frozen=True):
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


class Fact(msgspec.Struct, frozen=True):
    """An event as recorded: what folds and views are given."""

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
        """When the store took it in, in UTC."""
        return moment(self.recorded_us)


def seal_of(salt: bytes, data: str) -> bytes:
    """The commitment to a payload that the digest covers."""
    return hashlib.sha256(salt + data.encode()).digest()


def chain(previous: bytes, record: Record) -> bytes:
    """The digest of `record`, given the digest before it in its stream.

    Raises:
        Corrupt: the record has neither payload nor seal.
    """
    seal = record.seal
    if record.data is not None and record.salt is not None:
        seal = seal_of(record.salt, record.data)
    if seal is None:
        raise Corrupt(f"record {record.position} has neither payload nor seal")
    return link(previous, record, seal)


def link(previous: bytes, record: Record, seal: bytes) -> bytes:
    """The digest over an envelope whose seal is known."""
    covered = (
        previous,
        record.position,
        record.stream,
        record.branch,
        record.version,
        record.kind,
        record.schema,
        record.actor,
        record.because,
        record.request_id,
        record.recorded_us,
        seal,
    )
    return hashlib.sha256(_encode(covered)).digest()


def sealed(record: Record, digest: bytes) -> Record:
    """The record with its digest."""
    return msgspec.structs.replace(record, digest=digest)


def fact_of(record: Record) -> Fact:
    """The fact a record states. Of a purged one only the envelope is known."""
    return Fact(
        Unknown(kind=record.kind, kind_schema=record.schema)
        if record.data is None
        else decode(record.kind, record.schema, record.data),
        record.position,
        record.stream,
        record.branch,
        record.version,
        record.actor,
        positions(record.because),
        record.request_id,
        record.recorded_us,
    )


def positions(text: str | None) -> tuple[int, ...]:
    """The positions a stored `because` names."""
    return _decode_positions(text) if text else ()


def encode_positions(because: tuple[int, ...]) -> str | None:
    """Positions as they are stored."""
    return _encode(because).decode() if because else None


def moment(microseconds: int) -> datetime:
    """A stored time as an aware datetime."""
    return EPOCH + timedelta(microseconds=microseconds)


def microseconds(at: datetime) -> int:
    """An aware datetime as the log stores it."""
    return (at - EPOCH) // timedelta(microseconds=1)
