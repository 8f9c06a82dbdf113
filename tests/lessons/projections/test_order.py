"""The cached order of lessons always equals the order of the tables."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloop.app import Engine
from everloop.errors import Rejected
from everloop.lessons.model.commands import (
    ActivateLesson,
    DiscardLesson,
    EditLesson,
    ProposeLesson,
    UseLesson,
)
from everloop.lessons.projections.order import LessonOrder
from everloop.lessons.projections.queries import lesson_page
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience
from everloop.memory.projections.queries import load_viewer
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

USER = Context()
AGENT = Context(actor="agent:x", session="s1")
STATUSES = ("pending", "active", "discarded")
PRINCIPALS = ("user", "agent:x", "agent:p", "agent:none")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path, ports=DeterministicPorts().ports) as opened:
        yield opened


def in_order(engine: Engine, order: LessonOrder, principal: str) -> tuple[list[int], int]:
    """The cached order, and the order sorted from all lessons."""
    with engine.reading() as reader:
        who = load_viewer(reader, principal)
        sight = engine.log.sight(reader)
        found = order.first(reader, sight, who, STATUSES, 1_000)
        listed = lesson_page(reader, who, STATUSES, limit=1_000)
    lessons = sorted(listed.lessons, key=lambda each: each.lesson_id)
    lessons.sort(key=lambda each: each.created_at, reverse=True)
    used = [each for each in lessons if each.last_used_at]
    used.sort(key=lambda each: each.last_used_at or each.created_at, reverse=True)
    unused = [each for each in lessons if not each.last_used_at]
    assert found == ([each.position for each in used + unused], listed.total)
    return found


def act(engine: Engine, stage: DeterministicPorts, step: tuple[str, int]) -> None:
    """One thing that may happen to one of a few lessons; what is refused changes nothing."""
    what, number = step
    name = f"les-{number % 5}"
    scope = ("user", "project:p", "global")[number % 3]
    stage.clock.tick(seconds=number % 2)
    match what:
        case "propose":
            engine.do(ProposeLesson(name, f"Rule {number}", "b", scope=scope), by=AGENT)
        case "activate":
            engine.do(ActivateLesson(name), by=USER)
        case "use":
            engine.do(UseLesson(name, f"use-{number}"), by=AGENT)
        case "edit":
            engine.do(EditLesson(name, body=f"body {number}"), by=AGENT)
        case "discard":
            engine.do(DiscardLesson(name), by=AGENT)
        case "retract":
            engine.log.retract([number % engine.log.head + 1], reason="r", actor="user")
        case "rewind":
            engine.log.rewind(number % engine.log.head + 1, actor="user")
        case _:
            engine.log.switch_branch("main", actor="user")


steps = st.tuples(
    st.sampled_from(
        (
            "propose",
            "propose",
            "activate",
            "use",
            "use",
            "edit",
            "discard",
            "retract",
            "rewind",
            "main",
        )
    ),
    st.integers(0, 40),
)


@given(st.lists(steps, min_size=5, max_size=20))
@settings(max_examples=30)
def test_the_cached_order_equals_the_order_of_the_tables(
    happened: list[tuple[str, int]],
) -> None:
    stage, order = DeterministicPorts(), LessonOrder()
    with TemporaryDirectory() as folder, Engine.open(folder, ports=stage.ports) as engine:
        engine.do(GrantAudience("agent:p", ("project:*",)), by=USER)
        for step in happened:
            try:
                act(engine, stage, step)
            except Rejected:
                continue
            for principal in PRINCIPALS:
                in_order(engine, order, principal)


def test_a_past_position_has_its_own_order(engine: Engine) -> None:
    order = LessonOrder()
    for number in range(3):
        engine.do(ProposeLesson(f"les-{number}", f"Rule {number}", "b"), by=AGENT)
    then = engine.log.head
    engine.do(UseLesson("les-2", "u"), by=AGENT)
    now, _ = in_order(engine, order, "user")
    with engine.reading(as_of=then) as reader:
        sight = engine.log.sight(reader, as_of=then)
        before, _ = order.first(reader, sight, load_viewer(reader, "user"), STATUSES, 10)
    assert set(before) == set(now)
    assert before != now


def test_a_restored_log_rebuilds_the_cache(engine: Engine, tmp_path: Path) -> None:
    order = LessonOrder()
    engine.do(ProposeLesson("les-a", "Rule", "b"), by=AGENT)
    in_order(engine, order, "user")
    with Engine.open(
        tmp_path / "other", settings=Settings(), ports=DeterministicPorts().ports
    ) as other:
        other.do(ProposeLesson("les-z", "Other", "b"), by=AGENT)
        other.do(ProposeLesson("les-y", "Third", "b"), by=AGENT)
        assert in_order(other, order, "user")[1] == 2
