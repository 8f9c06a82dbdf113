"""The projection of audiences: which principals may ask, and within which scopes."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec

from everloop.log import Fact, Projection, RowInsert, adds
from everloop.memory.model.events import AudienceGranted, AudienceRevoked

_encode = msgspec.json.Encoder().encode


class AudienceTable(Projection):
    """The scopes that each principal was granted, as a history of grants and revocations."""

    name = "memory_audiences"
    tables: ClassVar[tuple[str, ...]] = ("memory_audiences",)
    schema = """
    CREATE TABLE memory_audiences (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        principal TEXT NOT NULL,
        scopes    TEXT NOT NULL
    ) STRICT;
    CREATE INDEX memory_audiences_principal ON memory_audiences (principal, position);
    """

    @adds(AudienceGranted)
    def _granted(self, new: AudienceGranted, fact: Fact) -> Iterator[RowInsert]:
        return _insert_audience(fact, new.principal, new.scopes)

    @adds(AudienceRevoked)
    def _revoked(self, new: AudienceRevoked, fact: Fact) -> Iterator[RowInsert]:
        return _insert_audience(fact, new.principal, ())


def _insert_audience(fact: Fact, principal: str, scopes: Sequence[str]) -> Iterator[RowInsert]:
    row = (fact.position, fact.branch, principal, _encode(scopes).decode())
    yield "INSERT INTO memory_audiences VALUES (?, ?, ?, ?)", row
