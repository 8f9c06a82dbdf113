"""Makes the golden log of this version. Run once, before a release: `python -m tests.golden.make`.

A released golden log is never made again.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from tests.golden.calls import fill_calls
from tests.golden.issues import fill_issues
from tests.golden.lives import (
    fill_conversations,
    fill_devices,
    fill_inbox,
    fill_lessons,
    fill_tasks,
    notify,
)
from tests.golden.worlds import fill_worlds
from tests.log.test_golden import Expected, views_digest

from everloop import __version__
from everloop.app import PROJECTIONS, Engine
from everloop.log import Context, Draft, Event, Log, event
from everloop.log.model.facts import NoteWritten
from everloop.log.transfer.archive import export_jsonl
from everloop.memory.model.commands import (
    CiteItem,
    CloseCitation,
    DemoteItem,
    GrantAudience,
    KeepContext,
    KeepPromptTexts,
    PinItem,
    PromptText,
    RateItem,
    RelateItems,
    RememberItem,
    RepeatItem,
    RetireItem,
    ReviseItem,
    RevokeAudience,
    UnpinItem,
)
from everloop.memory.model.events import (
    CompressionRefused,
    ConsolidationAsked,
    ConsolidationSettled,
    Ledger,
    LedgerEntry,
    LedgerSection,
    Origin,
)
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.workers import GitHubSettings


def make() -> None:
    """Write the golden log and its expected result next to this file."""
    target = Path(__file__).parent / f"{__version__}.jsonl"
    with TemporaryDirectory() as folder:
        stage = DeterministicPorts()
        log = stage.open(Path(folder) / "everloop.db", [view() for view in PROJECTIONS])
        fill(log, stage)
        export_jsonl(log, target)
        expected = Expected(log.head, views_digest(log))
        log.close()
    target.with_suffix(".expected.json").write_bytes(msgspec.json.encode(expected) + b"\n")


def fill(log: Log, stage: DeterministicPorts) -> None:
    """Append every kind of event."""
    log.append("notes", [NoteWritten(f"note {number}") for number in range(990)], actor="user")
    log.append("notes", [Draft(NoteWritten("derived"), (1, 2))], actor="agent:x")
    log.create_tree("tree", actor="user")
    log.append("tree:leaf", [NoteWritten("a leaf"), NoteWritten("é\u202e\x00")], actor="user")
    log.rewind(993, tree="tree", actor="user")
    retraction = log.retract([2], reason="slip", actor="user")
    log.retract([retraction.position], reason="no slip", actor="user")
    log.purge([5], reason="privacy", actor="user")
    github = GitHubSettings(owner="octo", comment_answers=True)
    settings = Settings(memory=MemorySettings(pins_max=1), github=github)
    engine = Engine(log, stage.ports, settings)
    remember(log, engine)
    fill_lessons(engine, stage)
    fill_conversations(engine, stage)
    fill_devices(engine)
    fill_inbox(engine, stage)
    notify(engine)
    fill_tasks(engine)
    fill_issues(engine)
    fill_worlds(engine)
    fill_calls(engine)
    log.append("future", [from_the_future()], actor="engine")


def remember(log: Log, engine: Engine) -> None:
    """Append every kind of memory event."""
    origin = Origin("host", "session", "model", "folder")
    engine.do(GrantAudience("agent:x", ("project:*", "user")))
    engine.do(RememberItem("one", "The garden gate is green.", origin=origin))
    engine.do(RememberItem("two", "The gate is red.", follows="one", witnesses=("agent:x",)))
    engine.do(RelateItems("two", "one", "contradicts"))
    engine.do(RepeatItem("one", "the garden gate is green", 0.97))
    engine.do(ReviseItem("one", text="The garden gate is blue.", scope="project:garden"))
    engine.do(RateItem("one", 3))
    engine.do(PinItem("one"))
    engine.do(UnpinItem("one"))
    engine.do(CiteItem("one", "lesson:1", by_user=True))
    engine.do(CloseCitation("one", "lesson:1"))
    head = log.head
    old = engine.do(RememberItem("three", "An old hat."), by=Context(actor="agent:x")).position
    summary = RememberItem(
        "gist", "A hat.", kind="summary", derived_from=("three",), because=(old,)
    )
    position = engine.do(summary, by=Context(actor="engine")).position
    engine.do(DemoteItem("three", "gist", (position,)), by=Context(actor="engine"))
    engine.do(RetireItem("two", "no longer so", force=True))
    log.append("compression:x", [CompressionRefused(("one",), "one is enough")], actor="engine")
    asked = ConsolidationAsked(("three",), ("engine",), 500, 5)
    at = log.append("consolidation:x", [Draft(asked, (old,))], actor="engine").position
    settled = Draft(ConsolidationSettled("gist", verified=True), (at,))
    log.append("consolidation:x", [settled], actor="engine")
    entry = LedgerEntry("one", 12, (head,), "")
    section = LedgerSection("memories", "should", 12, 100, (entry,))
    ledger = Ledger("user", 12, 50, 100, "estimate", False, (section,))
    engine.do(KeepContext("c1", ledger))
    texts = (PromptText("system", "You are the assistant. A hat.", (head,)),)
    kept = engine.do(KeepPromptTexts("home", texts)).position
    engine.do(KeepContext("c2", ledger, (head,), {"system": kept}))
    engine.do(RevokeAudience("agent:x"))
    for name in ("four", "five"):  # there is a place for one of them
        engine.do(RememberItem(name, f"{name} matters most."))
        engine.do(RateItem(name, 3))


def from_the_future() -> Event:
    """An event of a kind that is not declared when the log is read."""

    @event("future.thing_happened", schema=3)
    class ThingHappened(Event, frozen=True):
        """Something new."""

        shape: tuple[int, ...]

    return ThingHappened(shape=(1, 2, 3))


if __name__ == "__main__":
    make()
