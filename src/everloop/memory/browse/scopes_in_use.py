"""The scopes that contain items visible to an asker."""

from everloop.log import Reader
from everloop.memory.model.scopes import Viewer
from everloop.memory.projections.queries import Filter, VisibilityQuery


def visible_scopes(reader: Reader, who: Viewer) -> list[str]:
    """The scopes that contain items visible to this asker, by name."""
    rows = VisibilityQuery(who, Filter(retired=True)).rows(
        reader, "DISTINCT v.scope", rest="ORDER BY 1"
    )
    return [str(row[0]) for row in rows]


def scope_has_items(reader: Reader, who: Viewer, scope: str) -> bool:
    """Whether a scope contains an item visible to this asker."""
    sieve = VisibilityQuery(who, Filter(scopes=(scope,), retired=True))
    return bool(sieve.rows(reader, "1", rest="LIMIT 1"))
