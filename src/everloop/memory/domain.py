"""The memory domain, as the engine knows it."""

from everloop.domain import Deciders, Domain
from everloop.memory.deciders import MEMORY_DECIDERS, rating_decider
from everloop.memory.projections.audiences import AudienceTable
from everloop.memory.projections.fts_index import PassageTable
from everloop.memory.projections.items import ItemTable
from everloop.memory.settings import MemorySettings


def _configured(settings: MemorySettings) -> Deciders:
    return (rating_decider(settings.pins_max),)


MEMORY = Domain(
    "memory",
    MEMORY_DECIDERS,
    (PassageTable, ItemTable, AudienceTable),
    configured=_configured,
)
