"""Which scopes there is something in, for one asker. Both questions pass through the sieve."""

from everloop.log import Reader
from everloop.memory.model.scopes import Asker
from everloop.memory.projections.queries import Filter, Sieve


def scopes(reader: Reader, who: Asker) -> list[str]:
    """The scopes in which there is something for this asker, by name."""
    rows = Sieve(who, Filter(retired=True)).rows(reader, "DISTINCT v.scope", rest="ORDER BY 1")
    return [str(row[0]) for row in rows]


def inhabited(reader: Reader, who: Asker, scope: str) -> bool:
    """Whether there is something for this asker in a scope."""
    sieve = Sieve(who, Filter(scopes=(scope,), retired=True))
    return bool(sieve.rows(reader, "1", rest="LIMIT 1"))
