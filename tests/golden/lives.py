"""Everything that can happen to lessons, conversations and devices, for the golden log."""

from datetime import timedelta

import msgspec

from everloop.access.commands import (
    AddPasskey,
    AllowModelService,
    MakeCode,
    PairDevice,
    RemovePasskey,
    RenameDevice,
    RevokeDevice,
    UsePasskey,
    WithdrawModelService,
)
from everloop.app import Engine
from everloop.inbox import (
    AnswerRequest,
    Choice,
    ExpireRequest,
    RaiseRequest,
    ReadRequest,
    SnoozeRequest,
    WithdrawRequest,
)
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
    HearWords,
    LogPhase,
    NarrateLesson,
    PromoteLesson,
    ProposeLesson,
    RecordVerdict,
    RefuseNarrative,
    SetGateRules,
    ShowManifest,
    SupersedeLesson,
    TrustHost,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.events import MemoryEvidence, Narrative
from everloop.lessons.settings import GateRules
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.notifications import RecordDelivery, RemoveSubscription, Subscribe
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.model import commands as t
from everloop.thread.model.events import Attachment, MessageImported
from everloop.thread.model.state import thread_stream
from everloop.usage.commands import RecordModelCall
from everloop.workers import CheckFiles, StartRule, TaskSpec, Timing, TranscriptEntry, Workspace
from everloop.workers.automation.model import commands as a
from everloop.workers.model import commands as w
from everloop.workers.routing.commands import SettleRouting, SuggestRouting

USER, ENGINE = Context(actor="user"), Context(actor="engine")
AGENT = Context(actor="agent:x", session="s1")
OTHER = Context(actor="agent:y", session="s2")


def fill_lessons(engine: Engine, stage: DeterministicPorts) -> None:
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
    do(HearWords("x", "s9", "Well done."), by=Context(actor="agent:x", session="s9"))
    do(DistrustHost("x"), by=USER)
    do(SetGateRules(GateRules(uses_min=4)), by=USER)
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


def fill_conversations(engine: Engine, stage: DeterministicPorts) -> None:
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
    do(t.PinThread("side"), by=USER)
    do(t.UnpinThread("side"), by=USER)
    do(t.SetInstructions("", "Answer in German."), by=USER)
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
            do(t.RecordReasoning("home", "t0", "Hm."), by=ENGINE)
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


def note(engine: Engine, stage: DeterministicPorts) -> None:
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
    do(AllowModelService("endpoint", "http://127.0.0.1:9"), by=USER)
    do(WithdrawModelService("endpoint"), by=USER)


def fill_inbox(engine: Engine, stage: DeterministicPorts) -> None:
    """Everything that can happen to requests for a person."""
    do = engine.do
    choices = (Choice("approve", "Approve"), Choice("deny", "Deny"))
    for name in ("r1", "r2", "r3"):
        do(
            RaiseRequest(
                name, "approval", "Run it?", "ls", choices, lives_s=60, expiry_choice="deny"
            ),
            by=ENGINE,
        )
    do(ReadRequest("r1"), by=USER)
    do(SnoozeRequest("r1", stage.clock.now_us() + 1_000_000), by=USER)
    do(AnswerRequest("r1", "approve", engine.inbox.find("r1").digest), by=USER)
    do(WithdrawRequest("r2", "no longer needed"), by=ENGINE)
    stage.clock.tick(minutes=2)
    do(ExpireRequest("r3"), by=ENGINE)


def fill_tasks(engine: Engine) -> None:
    """Everything that can happen to tasks."""
    do = engine.do
    worktree = Workspace("worktree", "repository")
    spec = TaskSpec("Fix it", "Fix the test.", "claude", plan_first=True, workspace=worktree)
    do(w.ProposeTask("t0", TaskSpec("List", command=("ls",))), by=AGENT)
    do(w.DismissTask("t0"), by=USER)
    do(w.ProposeTask("t1", spec), by=AGENT)
    do(w.StartTask("t1"), by=USER)
    run_attempt(engine, 1, "succeeded", plan="1. Look.")
    settle(engine, "revise", "Smaller.")
    run_attempt(engine, 2, "succeeded", plan="1. Look closely.")
    settle(engine, "approve")
    do(w.BeginAttempt("t1", 3, "here"), by=ENGINE)
    do(w.NoteSession("t1", 3, "session"), by=ENGINE)
    entries = (TranscriptEntry("text", "Looking."),)
    do(w.RecordTranscript("t1", 3, 10, entries), by=Context(actor="worker:t1"))
    do(w.RecordSpending("t1", 3, 0.5, 100), by=ENGINE)
    do(w.SteerTask("t1", "m1", "Use ruff."), by=USER)
    do(w.NoteDelivered("t1", "m1", 3), by=ENGINE)
    do(w.AskQuestion("t1", 3, "t1.c1", "c1", ()), by=ENGINE)
    do(w.SettleRequest("t1", "t1.c1", "answer"), by=ENGINE)
    do(w.RequestApproval("t1", 3, "t1.c2", "c2", "Bash", "ls"), by=ENGINE)
    do(w.SettleRequest("t1", "t1.c2", "approve"), by=ENGINE)
    do(w.EndAttempt("t1", 3, "paused", limit="cost"), by=ENGINE)
    settle(engine, "continue")
    run_attempt(engine, 4, "succeeded", claim="Fixed.")
    settle(engine, "merge")
    do(w.SettleDisposition("t1", "merge", done=False, detail="a conflict"), by=ENGINE)
    settle(engine, "revise", "Resolve it.")
    run_attempt(engine, 5, "uncertain")
    do(w.RetryTask("t1"), by=USER)
    run_attempt(engine, 6, "succeeded")
    settle(engine, "keep")
    do(w.SettleDisposition("t1", "keep", done=True, detail="Kept."), by=ENGINE)
    do(w.NoteWorktreeRemoved("t1", "The work is on its branch."), by=ENGINE)
    fill_other_tasks(engine)
    fill_automation(engine)
    route_message(engine)


def fill_other_tasks(engine: Engine) -> None:
    """Tasks that end in other ways."""
    do = engine.do
    checked = TaskSpec("Check it", command=("ls",), check=("true",))
    do(w.ProposeTask("t2", checked, start=True), by=USER)
    do(w.BeginAttempt("t2", 1, "here"), by=ENGINE)
    do(w.EndAttempt("t2", 1, "succeeded"), by=ENGINE)
    do(w.BeginAttempt("t2", 2, "here"), by=ENGINE)
    changed = CheckFiles("changed", ("tests/test_a.py",), 1)
    do(w.CompareCheckFiles("t2", 2, changed), by=ENGINE)
    do(w.EndAttempt("t2", 2, "succeeded"), by=ENGINE)
    do(w.ProposeTask("t3", TaskSpec("Wait", command=("sleep", "9")), start=True), by=USER)
    do(w.BeginAttempt("t3", 1, "here"), by=ENGINE)
    do(w.CancelTask("t3"), by=USER)
    do(w.EndAttempt("t3", 1, "cancelled"), by=ENGINE)
    do(w.ProposeTask("t4", TaskSpec("Fail", command=("false",)), start=True), by=USER)
    do(w.BeginAttempt("t4", 1, "here"), by=ENGINE)
    do(w.EndAttempt("t4", 1, "failed", 1), by=ENGINE)
    planned = TaskSpec("Plan", "Plan it.", "claude", plan_first=True)
    do(w.ProposeTask("t5", planned, start=True), by=USER)
    do(w.BeginAttempt("t5", 1, "here"), by=ENGINE)
    do(w.EndAttempt("t5", 1, "succeeded", plan="A plan."), by=ENGINE)
    do(w.SettleRequest("t5", "t5.plan.1", "skip"), by=ENGINE)


def route_message(engine: Engine) -> None:
    """A message that seems to belong to a running task, and where it was sent."""
    do = engine.do
    spec = TaskSpec(
        "Fix the flaky login test", "Fix it.", "claude", workspace=Workspace("folder", "/c/shop")
    )
    do(w.ProposeTask("t8", spec, start=True), by=USER)
    text = "The flaky login test in shop: fix it"
    do(SuggestRouting("home", "m-route", text), by=ENGINE)
    do(SettleRouting("home", "m-route", ""), by=USER)


def fill_automation(engine: Engine) -> None:
    """Everything that can happen to schedules and start rules."""
    do = engine.do
    timing = Timing("cron", "0 9 * * mon", "Europe/Berlin")
    do(a.SetSchedule("s1", timing, TaskSpec("Report", command=("ls",)), watch=True), by=USER)
    due_us = 4_000_000_000_000_000
    do(a.SkipSchedule("s1", due_us, 2, "nothing ran at that time"), by=ENGINE)
    do(a.FireSchedule("s1", due_us + 1, "s1-1"), by=ENGINE)
    do(a.RemoveSchedule("s1"), by=USER)
    do(a.SetStartRule("r1", StartRule(AGENT.actor, per_day=1)), by=USER)
    for name in ("t6", "t7"):
        do(w.ProposeTask(name, TaskSpec("Look", "Look at it.", "claude")), by=AGENT)
    do(a.RemoveStartRule("r1"), by=USER)


def run_attempt(engine: Engine, number: int, outcome: str, **more: str) -> None:
    """One attempt of the first task."""
    engine.do(w.BeginAttempt("t1", number, "here"), by=ENGINE)
    end = msgspec.structs.replace(w.EndAttempt("t1", number, "succeeded"), outcome=outcome, **more)
    engine.do(end, by=ENGINE)


def settle(engine: Engine, choice: str, text: str = "") -> None:
    """The answer to the one request that the first task waits for."""
    (name,) = engine.workers.find("t1").task.requests
    engine.do(w.SettleRequest("t1", name, choice, text=text), by=ENGINE)


def notify(engine: Engine) -> None:
    """A device that is told, and then no longer."""
    endpoint = "https://push.example.org/a"
    engine.do(Subscribe("dev-1", endpoint, "key", "secret", ("needs_you",)), by=USER)
    limited = RecordDelivery("dev-1", "r1", "approval", "limited", 429, attempts_max=3)
    engine.do(limited, by=ENGINE)
    engine.do(RecordDelivery("dev-1", "r1", "approval", "delivered", 201), by=ENGINE)
    engine.do(RemoveSubscription("dev-1"), by=USER)
