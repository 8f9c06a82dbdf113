"""The cached visibility mask always equals what access control in SQL decides."""

from pathlib import Path

import numpy as np
import pytest
from tests.memory.random_worlds import PRINCIPALS, World

from everloop.memory.index.passage_index import PassageIndex
from everloop.memory.index.visibility_mask import Visibility, VisibilityCache, filtered_view
from everloop.memory.projections.queries import Filter, load_viewer

STEPS = 60


def visibilities(
    world: World, register: PassageIndex, standings: VisibilityCache
) -> list[Visibility]:
    """The visibility masks of everyone, from the caches given."""
    found: list[Visibility] = []
    with world.log.reading() as reader:
        sight = world.log.sight(reader)
        for principal in ("user", *PRINCIPALS):
            who = load_viewer(reader, principal)
            found.extend(
                standings.get(reader, sight, who, register, only)
                for only in (Filter(), Filter(retired=True), Filter(stepped_back=True))
            )
    return found


def check_neighbours(standing: Visibility) -> None:
    """The precomputed neighbours of a view equal those that the passage table finds."""
    roster, allowed = standing.table, standing.allowed
    rows = allowed[:-1].nonzero()[0]
    seen = filtered_view(standing, Filter())
    assert np.array_equal(seen.before(rows), roster.before(rows, allowed))
    assert np.array_equal(seen.after(rows), roster.after(rows, allowed))
    pairs = {
        (taker, int(rows[giver]))
        for takers, givers in seen.followers(rows)
        for taker, giver in zip(takers.tolist(), givers.tolist(), strict=True)
    }
    said_before = zip(rows.tolist(), seen.before(rows).tolist(), strict=True)
    assert pairs == {(row, before) for row, before in said_before if before}
    lengths = roster.length.all[rows] + roster.length.all[roster.before(rows, allowed)]
    assert np.array_equal(seen.lengths(rows), lengths)
    assert seen.split_items == (len(rows) - 1 > standing.item_count)


@pytest.mark.parametrize("seed", range(8))
def test_an_updated_visibility_mask_equals_a_recomputed_one(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    register, standings = PassageIndex(), VisibilityCache()
    for _ in range(STEPS):
        world.live(1)
        kept = visibilities(world, register, standings)
        recomputed = visibilities(world, PassageIndex(), VisibilityCache())
        roster, fresh = kept[0].table, recomputed[0].table
        for old, new in zip(kept, recomputed, strict=True):
            assert old.item_count == new.item_count
            for name in ("allowed", "rated", "pinned"):
                assert np.array_equal(getattr(old, name), getattr(new, name))
            check_neighbours(old)
        assert np.array_equal(roster.passage.all, fresh.passage.all)
        everything = np.ones(len(roster), np.bool_)
        rows = np.arange(len(roster))
        assert np.array_equal(roster.before(rows, everything), fresh.before(rows, everything))
        assert np.array_equal(roster.after(rows, everything), fresh.after(rows, everything))
        assert np.array_equal(roster.prior.all, roster.newest.all[roster.follows.all])
        assert np.array_equal(roster.next.all, roster.opener.all[roster.group.all])
    world.close()
