"""Everything that can happen to lessons, conversations and devices, for the golden log."""

from datetime import timedelta

from everloop.access.commands import (
    AddPasskey,
    MakeCode,
    PairDevice,
    RemovePasskey,
    RenameDevice,
    RevokeDevice,
    UsePasskey,
)
from everloop.app import Engine
from everloop.lessons.capture.commands import NoteEntry, NoteRead
from everloop.lessons.capture.entries import CaptureSource as Source
from everloop.lessons.capture.entries import ReadOffset
from everloop.lessons.crew.commands import (
    ActivateEntry,
    ArchiveEntry,
    EnlistEntry,
    RemoveEntry,
)
from everloop.lessons.crew.events import Persona
from everloop.lessons.feedback.commands import WeighTurn
from everloop.lessons.model.commands import (
    ActivateLesson,
    DemoteLesson,
    DiscardLesson,
    DistrustHost,
    EditLesson,
    GiveFeedback,
    LogPhase,
    NarrateLesson,
    PromoteLesson,
    ProposeLesson,
    RecordVerdict,
    RefuseNarrative,
    ShowManifest,
    SupersedeLesson,
    TrustHost,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.events import MemoryEvidence, Narrative
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.testing.deterministic import DeterministicWorld
from everloop.thread.model import commands as t
from everloop.thread.model.events import Attachment, MessageImported
from everloop.thread.model.state import thread_stream
from everloop.usage.commands import RecordModelCall

USER, ENGINE = Context(actor="user"), Context(actor="engine")
AGENT = Context(actor="agent:x", session="s1")
OTHER = Context(actor="agent:y", session="s2")


def fill_lessons(engine: Engine, stage: DeterministicWorld) -> None:
    """Everything that can happen to lessons, skills and hosts."""
    do = engine.do
    do(RememberItem("seen", "The build broke because the lock was stale."), by=OTHER)
    stage.clock.tick(hours=1)
    evidence = (MemoryEvidence("seen"),)
    do(ProposeLesson("les-1", "Lock first", "Run the lock.", evidence=evidence), by=AGENT)
    do(EditLesson("les-1", body="Run the lock before the build."), by=AGENT)
    narrative = Narrative("a build", "a stale lock", "lock first", "inferred", evidence)
    do(NarrateLesson("les-1", narrative), by=AGENT)
    do(RefuseNarrative("les-1", "no idea", "model"), by=ENGINE)
    do(PromoteLesson("les-1"), by=AGENT)
    do(ActivateLesson("les-1"), by=USER)
    do(ShowManifest(("les-1",), "c1"), by=AGENT)
    for number, by in enumerate((AGENT, OTHER, OTHER)):
        do(UseLesson("les-1", f"use-{number}"), by=by)
    do(GiveFeedback("les-1", True, "sig-1"), by=USER)
    do(GiveFeedback("les-1", False, "sig-2"), by=AGENT)
    do(WithdrawFeedback("les-1", "sig-2"), by=USER)
    digest = engine.lessons.find("user", "les-1").digest
    do(RecordVerdict("les-1", True, 0, "make build", "0" * 64, digest), by=USER)
    stage.clock.tick(days=2)
    assert engine.lessons.promote("les-1", by=AGENT).passed
    do(DemoteLesson("les-1", "to see"), by=USER)
    pack = ProposeLesson(
        "les-2", "From a pack", "Words.", author="pack", pack_id="p", external_id="1",
        seed_as_promoted=True,
    )  # fmt: skip
    do(pack, by=USER)
    do(ProposeLesson("les-3", "Another", "Words."), by=AGENT)
    do(SupersedeLesson("les-3", "les-1"), by=USER)
    do(ProposeLesson("les-4", "A third", "Words."), by=AGENT)
    do(DiscardLesson("les-4", "wrong"), by=USER)
    do(TrustHost("x"), by=USER)
    do(DistrustHost("x"), by=USER)
    do(LogPhase("task-1", "code", "begun"), by=AGENT)
    fill_crew(engine)


def fill_crew(engine: Engine) -> None:
    """Every event of the crew, of sources and of evaluated turns."""
    do = engine.do
    persona = Persona(title="Ada", description="She checks.", body="Be exact.")
    do(EnlistEntry("persona", "ada", persona, evidence=("seen",), draft=True), by=USER)
    do(ActivateEntry("persona", "ada"), by=USER)
    do(ArchiveEntry("persona", "ada", "for now", force=True), by=USER)
    do(RemoveEntry("persona", "ada", "gone", force=True), by=USER)
    source = Source("learnings_md", "learnings.md", "src-1")
    do(NoteEntry(source, "0", "d" * 16, "Lock first", "les-1"), by=AGENT)
    do(NoteRead(source, ReadOffset(120, "h" * 16)), by=AGENT)
    do(WeighTurn("s1", "turn-1", "e" * 16, ("les-1",), reasons=("sarcasm",)), by=AGENT)


def fill_conversations(engine: Engine, stage: DeterministicWorld) -> None:
    """Everything that can happen in a conversation."""
    do, log = engine.do, engine.log
    do(t.SetZone("Europe/Berlin"), by=USER)
    log.create_tree(thread_stream("home"), actor="user")
    do(t.OpenThread("home", "Home"), by=USER)
    log.create_tree(thread_stream("side"), actor="user")
    do(t.OpenThread("side", "Side"), by=USER)
    do(t.RenameThread("side", "Aside"), by=USER)
    do(t.ArchiveThread("side"), by=USER)
    do(t.RestoreThread("side"), by=USER)
    picture = Attachment("a" * 64, "cat.png", "image/png", 12)
    for number in range(4):
        do(
            t.SendMessage("home", f"m{number}", f"Question {number}", f"t{number}", (picture,)),
            by=USER,
        )
        do(t.BeginSending("home", f"t{number}", f"a{number}", "model", "c1", "me"), by=ENGINE)
        do(t.BeginStreaming("home", f"t{number}"), by=ENGINE)
        do(t.SaveAnswer("home", f"t{number}", "So "), by=ENGINE)
        if number == 0:
            do(t.RecordToolUse("home", "t0", "c", "recall", "{}", "nothing"), by=ENGINE)
            do(t.GiveAnswer("home", "t0", "So it is.", "model"), by=ENGINE)
        elif number == 1:
            do(t.StopTurn("home", "t1", "So"), by=USER)
        elif number == 2:
            do(t.FailTurn("home", "t2", "So", "the line is dead", "Try again."), by=ENGINE)
        else:
            do(t.LeaveUncertain("home", "t3"), by=ENGINE)
    do(RecordModelCall("answer", "model", 10, 5, 0.01, 1.5, "t0"), by=ENGINE)
    do(t.HideMessage("home", "m1"), by=USER)
    do(t.UnhideMessage("home", "m1"), by=USER)
    note(engine, stage)


def note(engine: Engine, stage: DeterministicWorld) -> None:
    """Every event of topics, decisions, intents, summaries and imports."""
    do = engine.do
    do(t.OpenTopic("home", "top", "Garden"), by=USER)
    do(t.NoteTopic("home", "top", "The gate sticks."), by=USER)
    do(t.CloseTopic("home", "top"), by=USER)
    do(t.NoteDecision("home", "dec", "We paint it."), by=USER)
    do(t.NoteIntent("home", "int", "Buy paint."), by=USER)
    do(t.SettleIntent("home", "int"), by=USER)
    do(t.MarkDay("home", "2026-01-01"), by=USER)
    do(t.OpenImport("imp", "jsonl", "old.jsonl"), by=USER)
    do(t.BeginImport("home", "imp", "jsonl", "old.jsonl"), by=USER)
    said = stage.clock.time - timedelta(days=400)
    old = MessageImported("home", "i1", "user", "Long ago.", said.isoformat(), "me", "1", ())
    do(t.ImportMessages("home", "imp", (old,)), by=USER)
    letter = Attachment("0" * 64, "letter.txt", "text/plain", 12)
    do(t.AddFiles("home", "imp", "i1", (letter,)), by=USER)
    do(t.EndImport("imp", 1), by=USER)
    gist = RememberItem("day", "A day.", kind="summary", derived_from=("i1",))
    at = do(gist, by=ENGINE).position
    do(t.NoteSummary("home", "day:2024-11-29", "day", at - 1, (at,)), by=ENGINE)
    do(t.NoteNoSummary("home", "week:2024-11-25", at - 1, "the model is away"), by=ENGINE)


def fill_devices(engine: Engine) -> None:
    """Everything that can happen to devices."""
    do = engine.do
    engine.log.create_tree("access", actor="user")
    do(MakeCode("c" * 64), by=USER)
    do(PairDevice("dev-1", "Phone", "s" * 64, "code", "c" * 64), by=USER)
    do(RenameDevice("dev-1", "Old phone"), by=USER)
    do(AddPasskey("key", "public", 0, "Laptop", "localhost"), by=USER)
    do(UsePasskey("key", 1), by=USER)
    do(RemovePasskey("key"), by=USER)
    do(RevokeDevice("dev-1"), by=USER)
