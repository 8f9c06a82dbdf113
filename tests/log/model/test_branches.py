"""Lineages: what a branch sees."""

import pytest

from everloop.errors import NotFound
from everloop.log.model.branches import POSITION_MAX, Branches


def tree() -> Branches:
    """Main → early (at 10) → late (at 20), and late → again (at 5, before it began)."""
    branches = Branches()
    branches.add_fork("early", "main", 10)
    branches.add_fork("late", "early", 20)
    branches.add_fork("again", "late", 5)
    return branches


def test_a_branch_sees_itself_and_its_ancestors_up_to_where_it_left_them() -> None:
    assert list(tree()["late"].lineage()) == [("late", POSITION_MAX), ("early", 20), ("main", 10)]


def test_a_fork_before_its_parent_began_gets_the_ancestor_as_parent() -> None:
    assert list(tree()["again"].lineage()) == [("again", POSITION_MAX), ("main", 5)]


def test_repeated_rewinds_to_one_position_do_not_deepen_the_lineage() -> None:
    branches = Branches()
    name = "main"
    for number in range(1_000):
        branches.add_fork(f"b{number}", name, 7)
        name = f"b{number}"
    assert len(list(branches[name].lineage())) == 2


def test_a_stream_belongs_to_the_tree_named_after_it_or_to_main() -> None:
    branches = Branches()
    branches.add_root("thread:home")
    assert branches.root_of("thread:home") == "thread:home"
    assert branches.root_of("thread:home:topics") == "thread:home"
    assert branches.root_of("thread:homely") == "main"
    assert branches.root_of("lessons") == "main"


def test_switching_the_branch_of_one_tree_leaves_the_other_trees_alone() -> None:
    branches = tree()
    branches.add_root("world")
    branches.switch("early")
    assert branches.sight().caps == {"early": POSITION_MAX, "main": 10, "world": POSITION_MAX}
    assert branches.sight_from("world").caps == {
        "early": POSITION_MAX,
        "main": 10,
        "world": POSITION_MAX,
    }


def test_a_read_as_of_a_position_is_limited_to_it_on_every_branch() -> None:
    assert tree().sight(["late"], upto=15).caps == {"late": 15, "early": 15, "main": 10}


def test_an_unknown_branch_is_not_found_and_the_hint_says_how_to_list_them() -> None:
    with pytest.raises(NotFound, match="nowhere") as refusal:
        tree()["nowhere"]
    assert "branches" in refusal.value.hint
