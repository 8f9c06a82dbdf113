"""No read without an audience: hidden items are not returned, counted or guessable."""

from pathlib import Path
from typing import get_args

import msgspec
import pytest
from tests.memory.random_worlds import COMMON, PRINCIPALS, STRANGER, World

from everloop.errors import NotFound
from everloop.memory.index.vector_index import EXACT_MAX
from everloop.memory.projections.queries import count_items, list_items, load_viewer
from everloop.memory.retrieval.results import SearchMode, SearchQuery

BY_SIGNS = 16  # vectors that are searched exactly: so few that signs always come first
EVERYONE = ("user", *PRINCIPALS, STRANGER)


def check_everyone(world: World, mode: SearchMode) -> int:
    """Ask every question as every principal; returns the number of questions."""
    asked = 0
    for principal in EVERYONE:
        theirs = {i for i in world.versions if world.may_see(principal, i)}
        recalled = {i for i in theirs if not world.is_retired(i)}
        secrets = _canaries(world) - {v.canary for i in theirs if (v := world.newest(i))}
        for item_id, versions in world.versions.items():
            for version in versions:
                answer = world.keeper.recall(
                    principal, SearchQuery(version.canary, limit=20, mode=mode)
                )
                # One word of five may be too little for a hit; then it is among the closest.
                hits = {hit.item.item_id for hit in (*answer.hits, *answer.closest)}
                asked += 1
                assert hits <= recalled, f"seed {world.seed}: {principal} got {hits - recalled}"
                _no_secret(world, msgspec.json.encode(answer).decode(), secrets)
                newest = world.newest(item_id)
                if item_id in recalled and newest is not None and newest == version:
                    assert item_id in hits, f"seed {world.seed}: {principal} misses {item_id}"
        asked += _check_lists(world, principal, theirs, recalled, secrets)
    return asked


def _check_lists(
    world: World, principal: str, theirs: set[str], recalled: set[str], secrets: set[str]
) -> int:
    with world.log.reading() as reader:
        who = load_viewer(reader, principal)
        listed = list_items(reader, who, limit=1_000)
        assert {item.item_id for item in listed} == recalled
        assert count_items(reader, who) == len(recalled)
        _no_secret(world, msgspec.json.encode(listed).decode(), secrets)
    for item_id in world.versions:
        why = world.keeper.why_not(principal, item_id, SearchQuery(" ".join(COMMON), limit=3))
        _no_secret(world, msgspec.json.encode(why).decode(), secrets)
        if item_id in theirs:
            assert world.keeper.find(principal, item_id).item_id == item_id
            continue
        with pytest.raises(NotFound) as refusal:
            world.keeper.find(principal, item_id)
        assert str(refusal.value) == f"no item {item_id!r}"
        if principal != "user":
            assert why.reason == "unknown"
    return 2 * len(world.versions)


def _canaries(world: World) -> set[str]:
    return {version.canary for versions in world.versions.values() for version in versions}


def _no_secret(world: World, text: str, secrets: set[str]) -> None:
    leaked = [canary for canary in secrets if f"{canary} " in text]
    assert not leaked, f"seed {world.seed}: {leaked} leaked"


@pytest.mark.promise("P-MEM-1")
@pytest.mark.parametrize("seed", range(24))
def test_nobody_gets_what_they_did_not_witness_and_everybody_gets_what_they_did(
    tmp_path: Path, seed: int
) -> None:
    world = World(tmp_path, seed)
    world.live(110)
    assert check_everyone(world, "text") > 300
    world.close()


@pytest.mark.promise("P-MEM-1")
@pytest.mark.parametrize("exact_max", [EXACT_MAX, BY_SIGNS])
@pytest.mark.parametrize("seed", range(100, 104))
def test_semantic_search_leaks_no_more_than_keyword_search(
    tmp_path: Path, seed: int, exact_max: int
) -> None:
    world = World(tmp_path, seed, exact_max)
    world.live(80)
    check_everyone(world, "hybrid")
    check_everyone(world, "semantic")
    world.close()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_400))
def test_nobody_gets_what_they_did_not_witness_in_millions_of_questions(
    tmp_path: Path, seed: int
) -> None:
    world = World(tmp_path, seed, EXACT_MAX if seed % 2 else BY_SIGNS)
    world.live(250)
    for mode in get_args(SearchMode):
        check_everyone(world, mode)
    world.close()


def test_a_principal_without_a_grant_gets_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, 7)
    world.live(30)
    assert world.keeper.recall(STRANGER, SearchQuery(" ".join(COMMON), limit=50)).hits == ()
    assert world.keeper.recall("", SearchQuery(" ".join(COMMON), limit=50)).hits == ()
    world.close()


@pytest.mark.promise("P-MEM-3")
@pytest.mark.parametrize("limit", [1, 3, 10, 40])
def test_the_requested_number_of_hits_is_returned_if_there_are_enough(
    tmp_path: Path, limit: int
) -> None:
    world = World(tmp_path, 8)
    world.live(80)
    for principal in ("user", *PRINCIPALS):
        theirs = [
            item_id
            for item_id in world.versions
            if world.may_see(principal, item_id) and not world.is_retired(item_id)
        ]
        answer = world.keeper.recall(
            principal, SearchQuery(" ".join(COMMON), limit=limit, mode="text")
        )
        assert len(answer.hits) == min(limit, len(theirs))
    world.close()


@pytest.mark.promise("P-MEM-3")
def test_the_same_question_gives_the_same_answer_every_time(tmp_path: Path) -> None:
    world = World(tmp_path, 9)
    world.live(60)
    first = world.keeper.recall("user", SearchQuery("garden meeting coffee", limit=30))
    again = world.keeper.recall("user", SearchQuery("garden meeting coffee", limit=30))
    assert first == again
    world.close()
