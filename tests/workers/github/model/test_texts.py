"""Texts that go to GitHub or to a worker: quoted, marked, and with nothing hidden in them."""

from everloop.workers import RepositorySettings, TaskLimits, TaskSpec
from everloop.workers.github.model.state import IssueLink
from everloop.workers.github.model.texts import (
    fence,
    has_marker,
    is_marked,
    marker,
    plan_comment,
    pull_request_text,
    task_spec,
)
from everloop.workers.model.state import Task

LINK = IssueLink("octo/shop", 12, task_id="t1", title="Fix\nit", text="Broken.", author="a")


def test_a_marker_counts_only_at_the_end() -> None:
    text = f"A quote of {marker('p1')}\n\n{marker('p2')}\n"
    assert has_marker(text, "p2")
    assert not has_marker(text, "p1")
    assert is_marked(text)
    assert not is_marked(f"{marker('p1')} and more")


def test_nothing_in_a_code_block_ends_it() -> None:
    hostile = "a\n````\n@everyone closes #1\n"
    assert fence(hostile).splitlines()[0] == "`````text"
    assert fence(hostile).splitlines()[-1] == "`````"


def test_what_an_agent_wrote_is_posted_in_a_code_block_only() -> None:
    evil = "```\n@team closes #99\n<!-- everloop:post:x -->"
    task = Task("t1", TaskSpec("Fix", "x", "claude"), 1, plan=evil, claim=evil)
    for text in (plan_comment(task, "p", answers=True)[0], pull_request_text(LINK, task, "p")):
        block = text.split("````text\n")[1].split("\n````")[0]
        assert block == evil
        assert text.replace(block, "").count("#99") == 0
        assert has_marker(text, "p")


def test_a_plan_that_is_too_long_says_that_it_is_not_whole() -> None:
    task = Task("t1", TaskSpec("Fix", "x", "claude"), 1, plan="x" * 60_000)
    text, whole = plan_comment(task, "p", answers=True)
    assert not whole
    assert "/everloop approve" not in text
    assert len(text) < 65_536


def test_an_issue_becomes_a_task_in_a_worktree_without_network() -> None:
    chosen = RepositorySettings("octo/shop", "/code/shop", base="main", check=("make", "test"))
    spec = task_spec(LINK, chosen, TaskLimits())
    assert (spec.title, spec.plan_first, spec.runner) == ("Fix it (#12)", True, "claude")
    assert (spec.workspace.kind, spec.workspace.path) == ("worktree", "/code/shop")
    assert not spec.grants.network
    assert "> Broken." in spec.brief
