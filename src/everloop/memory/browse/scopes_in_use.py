"""The scopes that contain items visible to an asker."""

from everloop.log import Reader
from everloop.memory.model.scopes import Asker
from everloop.memory.projections.queries import Filter, Sieve


def scopes(reader: Reader, who: Asker) -> list[str]:
    """The scopes that contain items visible to this asker, by name."""
    rows = Sieve(who, Filter(retired=True)).rows(reader, "DISTINCT v.scope", rest="ORDER BY 1")
    return [str(row[0]) for row in rows]


def inhabited(reader: Reader, who: Asker, scope: str) -> bool:
    """Whether a scope contains an item visible to this asker."""
    sieve = Sieve(who, Filter(scopes=(scope,), retired=True))
    return bool(sieve.rows(reader, "1", rest="LIMIT 1"))
