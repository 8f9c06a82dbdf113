"""Reciprocal rank fusion, weighted by evidence, with neighbours and boosts."""

from typing import NamedTuple

import numpy as np
import pytest

from everloop.memory.index.row_sets import SPARSE_FROM
from everloop.memory.retrieval.fusion import NEIGHBOUR_SHARE, Keys, RankedList, best_per_group, fuse
from everloop.memory.retrieval.results import RetrieverScore


class Hit(NamedTuple):
    """A key with its explanation."""

    key: int
    points: float
    found: tuple[RetrieverScore, ...]
    boosts: tuple[tuple[str, float], ...]


def leg(
    name: str, weight: float, scores: dict[int, float], floor: float | None = None
) -> RankedList:
    """The ranked list of a retriever from scores by key."""
    found = np.array(list(scores.values()))
    return RankedList(name, weight, keys(*scores), found, found, floor)


def keys(*numbers: int) -> Keys:
    return np.array(numbers, np.int64)


def ranked(
    *legs: RankedList,
    near: dict[int, list[int]] | None = None,
    boosts: dict[str, dict[int, float]] | None = None,
) -> list[Hit]:
    """The hits, best first."""
    givers = keys(*(near or {}))
    width = max((len(takers) for takers in (near or {}).values()), default=0)
    padded = [[*takers, *[0] * (width - len(takers))] for takers in (near or {}).values()]
    takers = np.array(padded, np.int64).reshape(len(givers), width).T.ravel()
    given = boosts or {}
    every = [leg.keys for leg in legs] + [takers] + [keys(*points) for points in given.values()]
    among = np.unique(np.concatenate([keys(0), *every]))
    dense = {
        reason: np.array([points.get(key, 0.0) for key in among.tolist()])
        for reason, points in given.items()
    }
    fused = fuse(among, legs, neighbours=(givers, takers), boosts=dense)
    places = np.arange(len(fused))
    both = zip(fused.keys(places).tolist(), fused.explain(places), strict=True)
    return [Hit(key, why.points, why.legs, why.boosts) for key, why in both]


WORDS = leg("words", 1.0, {1: 9.0, 2: 6.0, 3: 3.0}, floor=0.0)


def test_a_single_retriever_keeps_its_order() -> None:
    assert [hit.key for hit in ranked(WORDS)] == [1, 2, 3]


def test_the_best_word_hit_is_worth_one_point() -> None:
    assert ranked(WORDS)[0].points == 1.0


def test_a_weak_retriever_cannot_overturn_a_strong_one_by_rank_alone() -> None:
    guesses = leg("meaning", 0.5, {3: 0.31, 2: 0.30, 1: 0.29, 4: 0.0})
    assert ranked(WORDS, guesses)[0].key == 1


def test_a_clear_hit_of_the_second_retriever_raises_an_item() -> None:
    clear = leg("meaning", 0.5, {2: 0.9, 5: 0.31, 1: 0.30})
    assert [hit.key for hit in ranked(WORDS, clear)][:2] == [2, 1]


def test_a_hit_at_the_floor_is_listed_without_points() -> None:
    last = ranked(leg("meaning", 0.5, {1: 0.9, 2: 0.3}))[-1]
    assert (last.key, last.points, last.found[0].rank) == (2, 0.0, 2)


def test_a_single_hit_has_full_evidence() -> None:
    assert ranked(leg("meaning", 0.5, {7: 0.4}))[0].points == 0.5


def test_a_hit_gains_a_share_of_its_neighbours_points() -> None:
    hits = ranked(WORDS, near={1: [3], 2: [3]})
    third = next(hit for hit in hits if hit.key == 3)
    own = {hit.key: hit.found[0].points for hit in hits}
    ((reason, points),) = third.boosts
    assert reason == "neighbours"
    assert points == pytest.approx(NEIGHBOUR_SHARE * (own[1] + own[2]), abs=0.001)


def test_a_neighbour_of_a_hit_is_ranked_without_matching() -> None:
    beside = ranked(WORDS, near={1: [4]})[-1]
    assert (beside.key, beside.found, beside.points) == (4, (), NEIGHBOUR_SHARE)


def test_a_boosted_item_is_ranked_without_matching() -> None:
    hits = ranked(WORDS, boosts={"time": {3: 1.0, 8: 0.9}})
    assert [hit.key for hit in hits] == [3, 1, 8, 2]


def test_every_point_is_explained() -> None:
    near = {1: [2], 2: [1, 3], 3: [2, 4]}
    meaning = leg("meaning", 0.5, {3: 0.8, 1: 0.2})
    for hit in ranked(WORDS, meaning, near=near, boosts={"named": {2: 0.2}}):
        explained = sum(entry.points for entry in hit.found) + sum(
            points for _, points in hit.boosts
        )
        assert hit.points == pytest.approx(explained, abs=0.003)


def test_ties_are_broken_by_key_in_any_input_order() -> None:
    for points in ({2: 1.0, 1: 1.0}, {1: 1.0, 2: 1.0}):
        assert [hit.key for hit in ranked(leg("words", 1.0, {}), boosts={"named": points})] == [
            1,
            2,
        ]


def test_no_hits_give_an_empty_ranking() -> None:
    assert ranked(leg("words", 1.0, {}, floor=0.0)) == []


def test_a_group_has_the_rank_of_its_best_hit() -> None:
    assert best_per_group(keys(7, 5, 7, 5, 6)).tolist() == [0, 1, 4]


def test_large_keys_are_ranked_like_small_ones() -> None:
    far = SPARSE_FROM
    meaning = {3: 0.8, 1: 0.2}
    near, named = {1: [2], 2: [1, 3], 3: [2, 4]}, {2: 0.2}
    small = ranked(WORDS, leg("meaning", 0.5, meaning), near=near, boosts={"named": named})
    large = ranked(
        leg("words", 1.0, {1 + far: 9.0, 2 + far: 6.0, 3 + far: 3.0}, floor=0.0),
        leg("meaning", 0.5, {key + far: score for key, score in meaning.items()}),
        near={key + far: [each + far for each in some] for key, some in near.items()},
        boosts={"named": {key + far: points for key, points in named.items()}},
    )
    assert [hit._replace(key=hit.key - far) for hit in large] == small
