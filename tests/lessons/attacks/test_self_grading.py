"""Agents that grade their own work: their lessons are not promoted without outside evidence.

Of 730 attempts in published runs that passed the tests their own agent had written, 98 were wrong.
"""

from collections.abc import Sequence

import pytest
from tests.lessons.fixtures import AGENT, ENGINE, HELPER, NARRATIVE, LessonHarness

from everloop.lessons.model.commands import (
    NarrateLesson,
    PromoteLesson,
    ProposeLesson,
    RecordVerdict,
    UseLesson,
)
from everloop.lessons.model.events import MemoryEvidence
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.model.state import text_digest
from everloop.log import Context
from everloop.testing.seeded_random import SeededRandom

PASSES, WRONG = 730, 98


def name(number: int) -> str:
    """A lesson's id."""
    return f"les-{number:04}"


def words(number: int) -> tuple[str, str]:
    """A lesson's words."""
    return f"Do as in attempt {number}", f"Attempt {number} passed its tests. Do the same."


def learn(harness: LessonHarness, numbers: Sequence[int]) -> None:
    """Propose, use and narrate a lesson for each attempt, and say that its own tests passed."""
    cited = (MemoryEvidence("mem-1"),)
    proposed = [ProposeLesson(name(n), *words(n), evidence=cited) for n in numbers]
    uses = [UseLesson(name(n), f"use-{use}") for n in numbers for use in range(2)]
    told = [NarrateLesson(name(n), NARRATIVE) for n in numbers]
    harness.engine.do_many([*proposed, *uses, *told], by=AGENT)
    harness.engine.do_many([UseLesson(name(n), "use-3") for n in numbers], by=HELPER)
    grade(harness, numbers, by=AGENT)


def grade(
    harness: LessonHarness, numbers: Sequence[int], *, by: Context, wrong: Sequence[int] = ()
) -> None:
    """Let a runner try each lesson."""
    harness.engine.do_many(
        [
            RecordVerdict(
                name(n), n not in wrong, int(n in wrong), "pytest", "d", text_digest(*words(n))
            )
            for n in numbers
        ],
        by=by,
    )


def promoted(harness: LessonHarness, numbers: Sequence[int]) -> set[str]:
    """Ask the gate for each; those that are promoted then."""
    harness.engine.do_many([PromoteLesson(name(n)) for n in numbers], by=AGENT)
    page = harness.lessons.page("user", [Status.PROMOTED], limit=len(numbers) + 1)
    return {lesson.lesson_id for lesson in page.lessons}


@pytest.mark.promise("P-LES-1")
def test_of_730_self_graded_passes_none_is_promoted_and_with_evidence_only_the_right_ones(
    harness: LessonHarness,
) -> None:
    harness.remember("mem-1")
    numbers, wrong = range(PASSES), range(WRONG)
    learn(harness, numbers)
    harness.wait(24)
    assert promoted(harness, numbers) == set()
    grade(harness, numbers, by=ENGINE, wrong=wrong)
    assert promoted(harness, numbers) == {name(n) for n in numbers if n not in wrong}


class Imitator:
    """An agent that meets the same few tasks again and again, and copies what it learnt of them.

    Without a lesson it errs in one of ten tries. With one, it does what that says, right or wrong.
    It takes all that it does for right: one in ten of its own grades is an error.
    """

    KINDS, TASKS, ERRS = 20, 1_000, 0.1

    def __init__(self, seed: int) -> None:
        self.chance = SeededRandom(seed)
        self.known: dict[int, bool] = {}  # for each kind of task, whether what it copies is right
        self.errors = 0
        self.learnt: list[tuple[int, bool]] = []  # lessons in the order in which they came

    def work(self) -> None:
        """Do one task, and learn from it if there is no lesson for it yet."""
        kind = self.chance.randint(0, self.KINDS - 1)
        right = self.known.get(kind, not self.chance.happens(self.ERRS))
        self.errors += not right
        if kind not in self.known:
            self.learnt.append((kind, right))


def ungated(seed: int) -> float:
    """How often the imitator errs that believes itself at once."""
    agent = Imitator(seed)
    for _ in range(Imitator.TASKS):
        agent.work()
        for kind, right in agent.learnt:
            agent.known.setdefault(kind, right)
    return agent.errors / Imitator.TASKS


def gated(harness: LessonHarness, seed: int) -> float:
    """How often it errs if it copies promoted lessons only; a runner tries them day by day."""
    agent, done = Imitator(seed), 0
    for _ in range(10):
        for _ in range(Imitator.TASKS // 10):
            agent.work()
        new = range(done, len(agent.learnt))
        learn(harness, new)
        harness.wait(24)
        grade(harness, new, by=ENGINE, wrong=[n for n in new if not agent.learnt[n][1]])
        for lesson in promoted(harness, new):
            kind, right = agent.learnt[int(lesson[4:])]
            agent.known.setdefault(kind, right)
        done = len(agent.learnt)
    return agent.errors / Imitator.TASKS


def test_an_imitating_agent_with_the_gate_errs_no_more_than_one_without_memory(
    harness: LessonHarness,
) -> None:
    harness.remember("mem-1")
    errs = gated(harness, seed=3)
    assert errs <= Imitator.ERRS + 0.01
    drifted = max(ungated(seed) for seed in range(20))
    assert drifted > Imitator.ERRS + 0.01
    assert errs < drifted
