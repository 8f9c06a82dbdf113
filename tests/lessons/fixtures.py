"""A test harness for lessons: an engine with deterministic ports, two agents, and the user."""

from pathlib import Path

import msgspec

from everloop.app import PROJECTIONS, Engine
from everloop.lessons.model.commands import (
    GiveFeedback,
    HearWords,
    ProposeLesson,
    RecordVerdict,
    UseLesson,
)
from everloop.lessons.model.events import MemoryEvidence, Narrative
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.service import LessonService, Promotion, ProposalResult
from everloop.log import Context, Log
from everloop.memory.model.commands import GrantAudience, RememberItem
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

USER = Context()
ENGINE = Context(actor="engine")
AGENT = Context(actor="agent:a", session="s1")
HELPER = Context(actor="agent:b", session="s2")
NARRATIVE = Narrative("A build.", "The cache was stale.", "Clear it first.", "inferred")
SHORT = ProposeLesson("", "Clear the cache", "Clear the cache before you build.")


class LessonHarness:
    """An engine, with shortcuts for the common operations on lessons."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.stage = DeterministicPorts()
        self.log: Log = self.stage.open(folder / "everloop.db", [view() for view in PROJECTIONS])
        self.engine = Engine(self.log, self.stage.ports, settings or Settings())
        self.lessons: LessonService = self.engine.lessons
        for principal in (AGENT.actor, HELPER.actor):
            self.engine.do(GrantAudience(principal, ("*",)))

    def wait(self, hours: float) -> None:
        """Advance the clock."""
        self.stage.clock.tick(hours=hours)

    def remember(
        self, item_id: str = "mem-1", *, by: Context = USER, scope: str = "user", text: str = ""
    ) -> int:
        """Remember an item; returns its position."""
        said = text or f"The build of {item_id} failed because the cache was stale."
        return self.engine.do(RememberItem(item_id, said, scope=scope), by=by).position

    def propose(
        self, *cites: str, by: Context = AGENT, new: ProposeLesson = SHORT, lesson_id: str = "les-1"
    ) -> ProposalResult:
        """Propose a lesson that cites memories."""
        evidence = tuple(MemoryEvidence(item_id) for item_id in cites)
        named = new.lesson_id or ("" if new.external_id else lesson_id)
        command = msgspec.structs.replace(new, lesson_id=named, evidence=evidence or new.evidence)
        return self.lessons.propose(command, by=by)

    def use(self, lesson_id: str = "les-1", times: int = 3) -> None:
        """Record uses, alternating between the two agents."""
        for number in range(times):
            by = HELPER if number % 2 else AGENT
            self.lessons.use(UseLesson(lesson_id, f"use-{number}"), by=by)

    def narrate(self, lesson_id: str = "les-1", by: Context = AGENT) -> None:
        """Record a narrative."""
        self.lessons.narrate(lesson_id, by=by, narrative=NARRATIVE)

    def thumb(
        self, *, up: bool, by: Context = USER, lesson_id: str = "les-1", signal: str = ""
    ) -> Status:
        """Give feedback; returns the status afterwards."""
        return self.lessons.feedback(GiveFeedback(lesson_id, up, signal), by=by).status

    def relay(
        self, words: str, *, by: Context = HELPER, lesson_id: str = "les-1", signal: str = ""
    ) -> Status:
        """Relay praise in words that the hook of the host hears the user say."""
        self.hear(words, by=by)
        return self.lessons.feedback(
            GiveFeedback(lesson_id, True, signal, words=words), by=by
        ).status

    def hear(self, words: str, *, by: Context = HELPER) -> None:
        """The hook of a host hears the user say something."""
        self.engine.do(HearWords(by.actor.removeprefix("agent:"), by.session, words), by=by)

    def verdict(
        self, *, passed: bool, by: Context = ENGINE, lesson_id: str = "les-1", digest: str = ""
    ) -> Status:
        """Record a verdict; returns the status afterwards."""
        command = RecordVerdict(lesson_id, passed, 0 if passed else 1, "make test", "d", digest)
        return self.lessons.verdict(command, by=by).status

    def ready(self, lesson_id: str = "les-1") -> ProposalResult:
        """A lesson that meets every requirement of the gate."""
        self.remember(f"mem-of-{lesson_id}")
        proposed = self.propose(f"mem-of-{lesson_id}", lesson_id=lesson_id)
        self.use(lesson_id)
        self.narrate(lesson_id)
        self.thumb(up=True, lesson_id=lesson_id, signal="praise")
        self.wait(24)
        return proposed

    def promoted(self, lesson_id: str = "les-1") -> ProposalResult:
        """A promoted lesson."""
        proposed = self.ready(lesson_id)
        assert self.promote(lesson_id).passed
        return proposed

    def promote(self, lesson_id: str = "les-1", by: Context = AGENT) -> Promotion:
        """Ask the gate to promote it."""
        return self.lessons.promote(lesson_id, by=by)

    def status(self, lesson_id: str = "les-1") -> Status:
        """Its status."""
        return self.lessons.find("user", lesson_id).status

    def codes(self, lesson_id: str = "les-1") -> list[str]:
        """The codes of its violations."""
        standing = self.lessons.gate_result("user", lesson_id)
        return [found.code for check in standing.checks for found in check.violations]

    def kinds(self, lesson_id: str = "les-1") -> list[str]:
        """The kinds of facts in its stream, without the domain prefix."""
        facts = self.log.read(f"lesson:{lesson_id}")
        return [fact.event.wire.partition(".")[2] for fact in facts]

    def close(self) -> None:
        """Close the log."""
        self.log.close()
