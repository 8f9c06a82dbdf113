"""Property tests of the gate: in any order of operations, only outside evidence promotes.

A machine does everything that users, hosts and runners can do, and holds the gate against a naive
model: they must agree both ways, after every step.
"""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.lessons.attacks.schemes import WRAPPINGS
from tests.lessons.fixtures import ENGINE, USER, LessonHarness
from tests.lessons.gate.naive_gate import NaiveItem, NaiveLesson, NaiveWorld, Wording

from everloop.errors import EverloopError
from everloop.lessons.model.commands import (
    DiscardLesson,
    EditLesson,
    GiveFeedback,
    ProposeLesson,
    RecordVerdict,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.events import MemoryEvidence, Narrative
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.settings import LessonSettings
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience, RememberItem, RetireItem, ReviseItem
from everloop.settings import Settings

AGENTS = [
    Context(actor=actor, session=session)
    for actor in ("agent:a", "agent:b")
    for session in ("s1", "s1/child", "s2", "s3", "")
]
LESSONS = 4
SLOTS = range(3)
agents = st.sampled_from(AGENTS)
people = st.sampled_from([USER, USER, *AGENTS])
runners = st.sampled_from([USER, ENGINE, ENGINE, *AGENTS[:3]])
lessons = st.sampled_from([f"les-{number}" for number in range(LESSONS)])
slots = st.sampled_from(SLOTS)
texts = st.sampled_from(["Do this.", "Do that."])
confidences = st.sampled_from(["inferred", "inferred", "observed", "speculative"])


class GateMachine(RuleBasedStateMachine):
    """A harness, and the naive model of what happened in it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        # The limit on relayed praise has tests of its own.
        many = Settings(lessons=LessonSettings(relayed_per_day_max=1_000))
        self.harness = LessonHarness(Path(self.folder.name) / "harness", many)
        self.naive = NaiveWorld()
        self.steps = 0
        self.opened: set[str] = set()
        self.dress = "{}"  # what words are wrapped in

    def teardown(self) -> None:
        """Close the harness."""
        self.harness.close()
        self.folder.cleanup()

    def tries(self, act: Any, *args: Any, **named: Any) -> bool:
        """Do something; whether that was possible."""
        self.steps += 1
        try:
            act(*args, **named)
        except EverloopError:
            return False
        return True

    @initialize(who=people)
    def begin(self, who: Context) -> None:
        """There is a memory to begin with."""
        self.remember(who, 0, None)

    @rule(who=people, slot=slots, source=st.none() | slots)
    def remember(self, who: Context, slot: int, source: int | None) -> None:
        """Somebody takes something in; perhaps it is made from something else."""
        item, made_from = f"mem-{slot}", f"mem-{source}"
        sources = (made_from,) if made_from in self.naive.items and made_from != item else ()
        words = self.dress.format(f"{item} of {self.steps}")
        new = RememberItem(item, words, derived_from=sources)
        known = item in self.naive.items
        if self.tries(self.harness.engine.do, new, by=who) and not known:
            self.naive.items[item] = NaiveItem([who], self.steps, sources)

    @rule(who=people, slot=slots)
    def revise(self, who: Context, slot: int) -> None:
        """Somebody rewords a memory; of which run they are is not known of that."""
        new = ReviseItem(f"mem-{slot}", text=f"Reworded at {self.steps}")
        if self.tries(self.harness.engine.do, new, by=who):
            item = self.naive.items[f"mem-{slot}"]
            item.hands.append(Context(actor=who.actor))
            item.order = self.steps

    @rule(slot=slots)
    def retire(self, slot: int) -> None:
        """The user lets a memory go, on a bad day."""
        item = self.naive.items.get(f"mem-{slot}")
        if item is None or self.steps % 7:
            return
        if self.tries(self.harness.engine.do, RetireItem(f"mem-{slot}", "", force=True), by=USER):
            item.gone = True

    @rule(
        who=people, lesson=lessons, text=texts, cites=st.sets(slots), author=st.sampled_from("au")
    )
    def propose(self, who: Context, lesson: str, text: str, cites: set[int], author: str) -> None:
        """Somebody proposes a lesson, perhaps in the user's name."""
        text, named = self.dress.format(text), {f"mem-{slot}" for slot in cites}
        new = ProposeLesson(
            lesson, "Rule", text,
            author="user" if author == "u" else "agent",
            evidence=tuple(MemoryEvidence(item) for item in sorted(named)),
        )  # fmt: skip
        known = lesson in self.naive.lessons
        if not self.tries(self.harness.lessons.propose, new, by=who) or known:
            return
        by = [who, USER] if author == "u" else [who]
        words = [Wording(text, each, self.now, self.steps) for each in by]
        self.naive.lessons[lesson] = NaiveLesson(words, named)

    @rule(who=people, lesson=lessons, text=texts)
    def edit(self, who: Context, lesson: str, text: str) -> None:
        """Somebody changes its words."""
        text = self.dress.format(text)
        if self.tries(self.harness.lessons.edit, EditLesson(lesson, body=text), by=who):
            known = self.naive.lessons[lesson]
            if known.text != text:
                known.words.append(Wording(text, who, self.now, self.steps))
                self.opened.discard(lesson)

    @rule(who=agents, lesson=lessons, use=st.integers(0, 3))
    def use(self, who: Context, lesson: str, use: int) -> None:
        """An agent says that it used it."""
        command = UseLesson(lesson, f"use-{use}")
        if self.tries(self.harness.lessons.use, command, by=who):
            known = self.naive.lessons[lesson]
            known.uses.add((who.actor, who.session, command.use_id, known.text))

    @rule(lesson=lessons)
    def used_by_many(self, lesson: str) -> None:
        """It is used in several sessions."""
        for who in (AGENTS[0], AGENTS[2], AGENTS[8]):
            self.use(who, lesson, 9)

    @rule(who=agents, slot=slots, by=st.sampled_from([USER, ENGINE, AGENTS[0], AGENTS[5]]))
    def go_well(self, who: Context, slot: int, by: Context) -> None:
        """All that a new lesson needs; whether that is enough depends on what happened before."""
        lesson = f"les-{min(len(self.naive.lessons), LESSONS - 1)}"
        self.remember(USER, slot, None)
        self.propose(who, lesson, "Do this.", {slot}, "a")
        self.used_by_many(lesson)
        self.narrate(who, lesson, "inferred", slot)
        if by == ENGINE:
            self.verdict(by, lesson, True)
        else:
            self.judge(by, lesson, True)
        self.wait(24)
        self.promote(who, lesson)

    @rule(who=people, lesson=lessons, helpful=st.sampled_from([True, True, True, False]))
    def judge(self, who: Context, lesson: str, helpful: bool) -> None:
        """Somebody praises or blames it, the user or in their name."""
        signal, words = f"sig-{self.steps}", f"It works {self.steps} times."
        heard = who.actor in self.naive.trusted and bool(who.session)
        if who is not USER and self.steps % 3:
            self.tries(self.harness.hear, words, by=who)
        else:
            heard = False
        command = GiveFeedback(lesson, helpful, signal, words=words)
        if self.tries(self.harness.lessons.feedback, command, by=who):
            known = self.naive.lessons[lesson]
            if helpful:
                known.praise.append((signal, who, known.text, heard))
            else:
                known.blame.add(signal)

    @rule(who=st.sampled_from([USER, USER, AGENTS[0]]), lesson=lessons)
    def withdraw(self, who: Context, lesson: str) -> None:
        """Somebody takes the newest signal back."""
        known = self.naive.lessons.get(lesson)
        signals = [*sorted(known.blame), *(one[0] for one in known.praise)] if known else []
        if not signals:
            return
        signal = max(signals, key=lambda name: int(name[4:]))
        command = WithdrawFeedback(lesson, signal)
        if known and self.tries(self.harness.lessons.withdraw, command, by=who):
            known.blame.discard(signal)
            known.praise = [one for one in known.praise if one[0] != signal]

    @rule(who=runners, lesson=lessons, passed=st.booleans())
    def verdict(self, who: Context, lesson: str, passed: bool) -> None:
        """A runner tries it."""
        command = RecordVerdict(lesson, passed, int(not passed), "make test", "d", "")
        if self.tries(self.harness.lessons.verdict, command, by=who) and who in (USER, ENGINE):
            known = self.naive.lessons[lesson]
            known.verdicts.append((known.text, passed))

    @rule(who=people, lesson=lessons, confidence=confidences, slot=st.none() | slots)
    def narrate(self, who: Context, lesson: str, confidence: str, slot: int | None) -> None:
        """Somebody says why it holds."""
        failure = "Potential: it broke." if confidence == "speculative" else "It broke."
        evidence = () if slot is None else (MemoryEvidence(f"mem-{slot}"),)
        told = Narrative(
            self.dress.format("A build."), failure, "It was mended.", confidence, evidence
        )
        if self.tries(self.harness.lessons.narrate, lesson, by=who, narrative=told):
            known = self.naive.lessons[lesson]
            known.told = (known.text, confidence, slot is not None)
            known.cites |= {each.item_id for each in evidence}

    @rule(who=st.sampled_from([USER, AGENTS[0]]), trusted=st.booleans())
    def trust(self, who: Context, trusted: bool) -> None:
        """The user trusts a host, or no longer; or the host says so itself."""
        act = self.harness.lessons.trust if trusted else self.harness.lessons.distrust
        if self.tries(act, "b", by=who):
            self.naive.trusted = {"agent:b"} if trusted else set()

    @rule(hours=st.sampled_from([1, 24, 24]))
    def wait(self, hours: int) -> None:
        """Time passes."""
        self.harness.wait(hours)

    @rule(lesson=lessons)
    def discard(self, lesson: str) -> None:
        """The user lets it go, on a bad day."""
        if self.steps % 5:
            return
        command = DiscardLesson(lesson, force=True)
        if self.tries(self.harness.lessons.discard, command, by=USER):
            self.naive.lessons[lesson].gone = True

    @rule(who=people, lesson=lessons)
    def promote(self, who: Context, lesson: str) -> None:
        """Somebody asks the gate."""
        if self.tries(self.harness.promote, lesson, by=who) and self.naive.open(lesson, self.now):
            self.opened.add(lesson)
            assert self.harness.status(lesson) is Status.PROMOTED

    @property
    def now(self) -> Any:
        """The time."""
        return self.harness.stage.clock.now()

    @invariant()
    def the_gate_and_the_model_agree(self) -> None:
        """The gate is open exactly if outside evidence says so."""
        for lesson in self.naive.lessons:
            codes = self.harness.codes(lesson)
            assert (not codes) == self.naive.open(lesson, self.now), codes

    @invariant()
    def nothing_is_promoted_that_the_gate_was_not_open_for(self) -> None:
        """There is no other way."""
        promoted = self.harness.lessons.page("user", [Status.PROMOTED]).lessons
        assert {lesson.lesson_id for lesson in promoted} <= self.opened


@pytest.mark.promise("P-LES-1")
@pytest.mark.timeout(3600)
def test_the_gate_agrees_with_a_naive_model(soaking: bool) -> None:
    examples = 1_500 if soaking else 30
    run_state_machine_as_test(
        GateMachine, settings=settings(max_examples=examples, stateful_step_count=40)
    )


# -- what happens twice, with one difference -------------------------------------------------------

Step = tuple[str, dict[str, Any]]
Outcome = dict[str, tuple[Status, list[str]]]


def step(name: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    """Something that happens, with what it is done to."""
    return st.tuples(st.just(name), st.fixed_dictionaries(arguments))


helpful = st.sampled_from([True, True, False])
poisons = st.one_of(
    step("use", who=agents, lesson=lessons, use=st.integers(0, 3)),
    step("judge", who=people, lesson=lessons, helpful=helpful),
    step("verdict", who=runners, lesson=lessons, passed=st.booleans()),
    step("narrate", who=agents, lesson=lessons, confidence=confidences, slot=st.none()),
)
others = st.one_of(
    step("go_well", who=agents, slot=slots, by=st.sampled_from([USER, ENGINE])),
    step("edit", who=agents, lesson=lessons, text=texts),
    step("revise", who=people, slot=slots),
    step("wait", hours=st.just(24)),
    step("promote", who=agents, lesson=lessons),
)
scripts = st.lists(st.tuples(st.booleans(), poisons) | st.tuples(st.just(False), others))


def begun(dress: str = "{}") -> GateMachine:
    """A machine with a lesson that was promoted."""
    machine = GateMachine()
    machine.dress = dress
    machine.go_well(AGENTS[2], 0, USER)
    return machine


def outcome(machine: GateMachine) -> Outcome:
    """Status and standing of every lesson, after the gate was asked about each once more."""
    for lesson in machine.naive.lessons:
        machine.tries(machine.harness.promote, lesson, by=USER)
    return {
        lesson: (machine.harness.status(lesson), machine.harness.codes(lesson))
        for lesson in machine.naive.lessons
    }


def played(script: list[tuple[bool, Step]], dress: str = "{}") -> Outcome:
    """What a script leads to."""
    machine = begun(dress)
    for _, (name, arguments) in script:
        getattr(machine, name)(**arguments)
    found = outcome(machine)
    machine.teardown()
    return found


@pytest.mark.promise("P-LES-1")
@settings(max_examples=15)
@given(script=scripts, wrapping=st.sampled_from(sorted(WRAPPINGS)))
def test_the_wording_of_a_lesson_never_matters(
    script: list[tuple[bool, Step]], wrapping: str
) -> None:
    assert played(script) == played(script, dress=WRAPPINGS[wrapping].body)


@pytest.mark.promise("P-LES-3")
@settings(max_examples=25)
@given(script=scripts)
def test_after_a_retraction_the_state_is_as_if_the_fact_never_happened(
    script: list[tuple[bool, Step]],
) -> None:
    machine = begun()
    poisoned: list[int] = []
    for poison, (name, arguments) in script:
        before = machine.harness.log.head
        getattr(machine, name)(**arguments)
        if poison:
            poisoned += range(before + 1, machine.harness.log.head + 1)
    for position in reversed(poisoned):
        machine.tries(machine.harness.log.retract, [position], reason="poison", actor="user")
    found = outcome(machine)
    machine.teardown()
    assert found == played([each for each in script if not each[0]])


@pytest.mark.promise("P-LES-3")
@pytest.mark.parametrize("harm", ["blame", "verdict", "withdrawal", "edit", "memory"])
def test_retracting_one_harm_does_not_promote_a_lesson_that_has_another(
    harness: LessonHarness, harm: str
) -> None:
    harness.promoted()
    harness.thumb(up=False, by=AGENTS[0], signal="poison")
    poison = harness.log.head - 1
    match harm:
        case "blame":
            harness.thumb(up=False, signal="real")
        case "verdict":
            harness.verdict(passed=False)
        case "withdrawal":
            harness.lessons.withdraw(WithdrawFeedback("les-1", "praise"), by=USER)
        case "memory":
            harness.engine.do(RetireItem("mem-of-les-1", "it was wrong"), by=USER)
        case _:
            harness.lessons.edit(EditLesson("les-1", body="Other words."), by=USER)
    harness.log.retract([poison], reason="poison", actor="user")
    assert harness.codes()
    assert harness.status() is Status.ACTIVE


@pytest.mark.promise("P-LES-3")
def test_a_verdict_counts_only_for_the_text_that_was_tried(harness: LessonHarness) -> None:
    harness.lessons.trust(AGENTS[2].actor.removeprefix("agent:"), by=USER)
    harness.promoted()
    for body in ("Other words.", "Clear the cache before you build. "):
        harness.lessons.edit(EditLesson("les-1", body=body), by=AGENTS[2])
    harness.verdict(passed=True)
    assert "missing-external-signal-sources" not in harness.codes()
    harness.lessons.edit(
        EditLesson("les-1", body="Clear the cache before you build!"), by=AGENTS[2]
    )
    assert "missing-external-signal-sources" in harness.codes()


@pytest.mark.promise("P-LES-5")
def test_a_promotion_on_one_branch_is_not_one_on_another(harness: LessonHarness) -> None:
    harness.ready()
    harness.log.fork(name="aside", actor="user")
    harness.log.switch_branch("aside", actor="user")
    assert harness.promote().passed
    assert harness.status() is Status.PROMOTED
    harness.log.switch_branch("main", actor="user")
    assert harness.status() is Status.PENDING
    assert harness.lessons.page("user", [Status.PROMOTED]).total == 0


@pytest.mark.promise("P-LES-5")
@given(scopes=st.sets(st.sampled_from(["user", "global", "project:x", "project:y"])))
@settings(max_examples=10)
def test_promoted_lessons_are_visible_only_in_their_scope(scopes: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        harness = LessonHarness(Path(folder) / "harness")
        for scope in ("user", "global", "project:x", "project:y"):
            new = ProposeLesson(f"les-{scope[-1]}", f"Rule of {scope}", "Look.", scope=scope)
            harness.lessons.propose(new, by=USER)
        harness.engine.do(GrantAudience("agent:guest", tuple(sorted(scopes))))
        seen = harness.lessons.page("agent:guest").lessons
        found = harness.lessons.recall("agent:guest", "rule look", limit=9)
        harness.close()
    assert {lesson.scope for lesson in seen} == scopes
    assert {hit.lesson.scope for hit in found} == scopes
