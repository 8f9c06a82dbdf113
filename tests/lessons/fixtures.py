"""A classroom to test lessons in: an engine in a still world, an agent, a helper, and the user."""

from pathlib import Path

import msgspec

from everloop.app import PROJECTIONS, Engine
from everloop.lessons.model.commands import GiveFeedback, ProposeLesson, RecordVerdict, UseLesson
from everloop.lessons.model.events import MemoryEvidence, Narrative
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.service import Promotion, Proposed, Teacher
from everloop.log import Context, Log
from everloop.memory.model.commands import GrantAudience, RememberItem
from everloop.settings import Settings
from everloop.testing.deterministic import Stage

USER = Context()
ENGINE = Context(actor="engine")
AGENT = Context(actor="agent:a", session="s1")
HELPER = Context(actor="agent:b", session="s2")
NARRATIVE = Narrative("A build.", "The cache was stale.", "Clear it first.", "inferred")
SHORT = ProposeLesson("", "Clear the cache", "Clear the cache before you build.")


class Classroom:
    """An engine, and what happens to lessons again and again."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.stage = Stage()
        self.log: Log = self.stage.open(folder / "everloop.db", [view() for view in PROJECTIONS])
        self.engine = Engine(self.log, self.stage.world, settings or Settings())
        self.teacher: Teacher = self.engine.lessons
        for principal in (AGENT.actor, HELPER.actor):
            self.engine.do(GrantAudience(principal, ("*",)))

    def wait(self, hours: float) -> None:
        """Let time pass."""
        self.stage.clock.tick(hours=hours)

    def remember(
        self, item_id: str = "mem-1", *, by: Context = USER, scope: str = "user", text: str = ""
    ) -> int:
        """Take a memory in; returns where it is."""
        said = text or f"The build of {item_id} failed because the cache was stale."
        return self.engine.do(RememberItem(item_id, said, scope=scope), by=by).position

    def propose(
        self, *cites: str, by: Context = AGENT, new: ProposeLesson = SHORT, lesson_id: str = "les-1"
    ) -> Proposed:
        """Put a lesson forward that stands on memories."""
        evidence = tuple(MemoryEvidence(item_id) for item_id in cites)
        named = new.lesson_id or ("" if new.external_id else lesson_id)
        command = msgspec.structs.replace(new, lesson_id=named, evidence=evidence or new.evidence)
        return self.teacher.propose(command, by=by)

    def use(self, lesson_id: str = "les-1", times: int = 3) -> None:
        """Use it, in turn by the agent and by the helper."""
        for number in range(times):
            by = HELPER if number % 2 else AGENT
            self.teacher.use(UseLesson(lesson_id, f"use-{number}"), by=by)

    def narrate(self, lesson_id: str = "les-1", by: Context = AGENT) -> None:
        """Say why it holds."""
        self.teacher.narrate(lesson_id, by=by, narrative=NARRATIVE)

    def thumb(
        self, *, up: bool, by: Context = USER, lesson_id: str = "les-1", signal: str = ""
    ) -> Status:
        """Praise it or blame it; returns its status then."""
        return self.teacher.feedback(GiveFeedback(lesson_id, up, signal), by=by).status

    def verdict(
        self, *, passed: bool, by: Context = ENGINE, lesson_id: str = "les-1", digest: str = ""
    ) -> Status:
        """Let a runner try it; returns its status then."""
        command = RecordVerdict(lesson_id, passed, 0 if passed else 1, "make test", "d", digest)
        return self.teacher.verdict(command, by=by).status

    def ready(self, lesson_id: str = "les-1") -> Proposed:
        """A lesson that lacks nothing: it may be promoted now."""
        self.remember(f"mem-of-{lesson_id}")
        proposed = self.propose(f"mem-of-{lesson_id}", lesson_id=lesson_id)
        self.use(lesson_id)
        self.narrate(lesson_id)
        self.thumb(up=True, lesson_id=lesson_id, signal="praise")
        self.wait(24)
        return proposed

    def promoted(self, lesson_id: str = "les-1") -> Proposed:
        """A lesson that the gate let through."""
        proposed = self.ready(lesson_id)
        assert self.promote(lesson_id).passed
        return proposed

    def promote(self, lesson_id: str = "les-1", by: Context = AGENT) -> Promotion:
        """Ask the gate."""
        return self.teacher.promote(lesson_id, by=by)

    def status(self, lesson_id: str = "les-1") -> Status:
        """How far it has come."""
        return self.teacher.find("user", lesson_id).status

    def codes(self, lesson_id: str = "les-1") -> list[str]:
        """The codes of what stands in its way."""
        standing = self.teacher.standing("user", lesson_id)
        return [found.code for check in standing.checks for found in check.violations]

    def kinds(self, lesson_id: str = "les-1") -> list[str]:
        """The kinds of facts in its stream, without their area."""
        facts = self.log.read(f"lesson:{lesson_id}")
        return [fact.event.wire.partition(".")[2] for fact in facts]

    def close(self) -> None:
        """Close the log."""
        self.log.close()
