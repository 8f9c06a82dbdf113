"""Which snapshots of a long stream are kept."""

from itertools import pairwise

from everloop.log.read.folded_state import spaced


def kept_after(count: int, kept: int = 5) -> list[int]:
    """The numbers of the snapshots that are there after so many were saved, one by one."""
    there: set[int] = set()
    for number in range(1, count + 1):
        there = spaced([*there, number * 1_000 + 7], every=1_000, kept=kept)
    return sorted(version // 1_000 for version in there)


def test_the_newest_snapshots_are_kept() -> None:
    assert kept_after(4) == [1, 2, 3, 4]
    assert kept_after(200)[-5:] == [196, 197, 198, 199, 200]


def test_older_snapshots_are_kept_at_growing_distances() -> None:
    numbers = [0, *kept_after(1_000)]
    for older, newer in pairwise(numbers):
        assert newer - older <= max(1, 2 * (1_000 - older) / 5)


def test_the_number_of_snapshots_grows_with_the_logarithm_of_the_history() -> None:
    assert len(kept_after(100)) <= 20
    assert len(kept_after(1_000)) <= 30
