"""The domain of worlds, as the engine knows it."""

from everloop.domain import Domain
from everloop.worlds.deciders import WORLD_DECIDERS
from everloop.worlds.exchange.projections import ExchangeTables
from everloop.worlds.projections import WorldTables

WORLDS = Domain("worlds", WORLD_DECIDERS, (WorldTables, ExchangeTables))
