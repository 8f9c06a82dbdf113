"""Grouping of hits that contradict each other."""

from datetime import UTC, datetime

from everloop.memory.model.events import Origin
from everloop.memory.projections.queries import Item
from everloop.memory.retrieval.grouping import group_contradictions
from everloop.memory.retrieval.results import RankExplanation, SearchHit

OLD, NEW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)


def hit(name: str, at: datetime, similarity: float, points: float, **boosts: float) -> SearchHit:
    """A hit of the item `old` or `new`, which contradict each other."""
    others = {"old": ("new",), "new": ("old",)}
    item = Item(
        1, 1, name, name, name, "fact", "user", "user", Origin(), "told", at, at, None, "",
        contradicts=others.get(name, ()),
    )  # fmt: skip
    return SearchHit(
        item, similarity, "both", RankExplanation(1, points, (), tuple(boosts.items()))
    )


def shown(*hits: SearchHit) -> list[str]:
    return [each.item.item_id for group in group_contradictions(hits) for each in group.hits]


def test_among_equally_good_matches_the_newest_comes_first() -> None:
    hits = hit("old", OLD, 0.82, 1.0), hit("new", NEW, 0.81, 0.4)
    assert shown(*hits) == ["new", "old"]
    (group,) = group_contradictions(hits)
    assert group.newest_first


def test_a_much_weaker_match_comes_last() -> None:
    hits = hit("old", OLD, 1.0, 1.0), hit("new", NEW, 0.4, 0.9)
    assert shown(*hits) == ["old", "new"]
    (group,) = group_contradictions(hits)
    assert not group.newest_first


def test_a_hit_in_the_requested_time_comes_first() -> None:
    assert shown(hit("old", OLD, 0.8, 1.8, time=1.0), hit("new", NEW, 0.8, 0.8)) == ["old", "new"]
    assert shown(hit("old", OLD, 0.8, 0.8), hit("new", NEW, 0.8, 0.3, expired=-0.5)) == [
        "old",
        "new",
    ]


def test_grouping_is_idempotent() -> None:
    hits = hit("old", OLD, 0.82, 1.0), hit("else", OLD, 0.5, 0.5), hit("new", NEW, 0.4, 0.4)
    assert shown(*hits) == ["old", "new", "else"]
    again = tuple(each for group in group_contradictions(hits) for each in group.hits)
    assert shown(*again) == ["old", "new", "else"]
