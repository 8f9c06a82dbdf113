"""Everything that can happen in a world, for the golden log."""

from everloop.app import Engine
from everloop.log import Context
from everloop.worlds.exchange.model import commands as x
from everloop.worlds.exchange.model.events import ImportNote
from everloop.worlds.model import commands as c
from everloop.worlds.model import effect_commands as f
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.effect_events import ProposedWitnesses
from everloop.worlds.model.story_events import Acquired, LoreEntry
from everloop.worlds.model.values import (
    Activity,
    AuthorNote,
    CharacterSheet,
    Condition,
    Place,
    Slot,
    Style,
)

ENGINE = Context(actor="engine")
W = "w1"


def fill_worlds(engine: Engine) -> None:
    """Append every kind of event of worlds."""
    _library(engine)
    _begin(engine)
    _messages(engine)
    _people(engine)
    _story(engine)
    _imports(engine)
    _end(engine)


def _library(engine: Engine) -> None:
    for name in ("ada", "ben", "cleo"):
        engine.do(c.AuthorCharacter(name, CharacterSheet(name.title(), "A pilot.")))
    engine.do(c.ReviseCharacter("ada", CharacterSheet("Ada", "A pilot, retired.")))
    engine.do(c.RemoveCharacter("ada"))
    engine.do(c.RestoreCharacter("ada"))


def _begin(engine: Engine) -> None:
    engine.log.create_tree(f"world:{W}", actor="user")
    for command in (
        c.OpenWorld(W, "Summer", "Robin", "2026-05-01T18:00"),
        c.RenameWorld(W, "A summer"),
        c.ArchiveWorld(W),
        c.RestoreWorld(W),
        c.SetStyle(W, Style("Terse.")),
        c.SetAuthorNote(W, AuthorNote("Keep it light.")),
        c.JoinCast(W, "ada", "Ada"),
        c.JoinCast(W, "ben", "Ben", "At school."),
        c.DefinePlace(W, Place("car", "The car", "", (Slot("driver"), Slot("back", 2)))),
        c.OpenScene(W, "s1", "car", ("you", "ada")),
        c.DescribeScene(W, "A drive.", "rain"),
        c.ChangePresence(W, ("you", "ada", "ben")),
        s.SetLoreEntry(W, LoreEntry("1", "The lake is haunted.", keys=("lake",))),
        s.SetLoreEntry(W, LoreEntry("2", "The car is old.", keys=("car",))),
        s.RemoveLoreEntry(W, "2"),
    ):
        engine.do(command)


def effects(message_id: str, version_id: str) -> f.RecordEffects:
    """What was read from a message."""
    return f.RecordEffects(
        W,
        "s1",
        message_id,
        version_id,
        ("m1", message_id),
        "model",
        (),
        1,
        "they said goodbye",
        "ben",
        (ProposedWitnesses("m1", ("you", "ada")),),
    )


def _messages(engine: Engine) -> None:
    engine.do(c.WriteMessage(W, "m1", "you", "Hello."))
    engine.do(c.EditMessage(W, "m1", "", "Hello, Ada."))
    engine.do(c.HideMessage(W, "m1"))
    engine.do(c.UnhideMessage(W, "m1"))
    engine.do(c.CorrectWitnesses(W, "m1", ("you", "ada"), {"ada": "overheard"}))
    for turn in ("t1", "t2", "t3"):
        engine.do(c.RecordTurn(W, turn, f"m-{turn}", "ada"))
        engine.do(c.BeginSending(W, turn, f"v-{turn}", "model", "ctx", "here"), by=ENGINE)
        engine.do(c.BeginStreaming(W, turn), by=ENGINE)
        if turn == "t1":
            engine.do(c.SaveReply(W, turn, "Hi"), by=ENGINE)
            engine.do(c.FinishTurn(W, turn, "Hi!", "model"), by=ENGINE)
            engine.do(effects("m-t1", "v-t1"), by=ENGINE)
            engine.do(f.RecordRefusedEffects(W, "m-t1", ("no such slot",), ()), by=ENGINE)
            failed = f.RecordFailedExtraction(W, "s1", "m1", "", ("m1",), "gone", ())
            engine.do(failed, by=ENGINE)
        elif turn == "t2":
            engine.do(c.FailTurn(W, turn, "gone"), by=ENGINE)
        else:
            engine.do(c.LeaveUncertain(W, turn), by=ENGINE)


def _people(engine: Engine) -> None:
    for command in (
        c.ChangeActivity(W, "ada", Activity("driver", "driving", ("a map",))),
        c.ChangeCondition(W, "ada", Condition("calm", ("arrive",))),
        c.ShiftEdge(W, "ada", "you", 5, 1, "a kind word"),
        c.RewriteEdge(W, "ada", "you", "Likes Robin.", ("Robin sings.",)),
        c.RewriteGroup(W, "Old friends."),
    ):
        engine.do(command, by=ENGINE)


def _story(engine: Engine) -> None:
    for name in ("picnic", "swim", "race"):
        engine.do(s.PlanEvent(W, name, name.title()), by=ENGINE)
    for command in (
        s.StartEvent(W, "picnic"),
        s.IntroduceProp(W, "basket", "basket", "picnic", "ada"),
        s.MoveProp(W, "basket", "you"),
        s.CompleteEvent(W, "picnic", "They ate.", (Acquired("corkscrew", "ada"),)),
        s.DropBelonging(W, "ada", "corkscrew"),
        s.CancelEvent(W, "swim", "too cold"),
        s.ExpireEvent(W, "race"),
        s.OpenPlot(W, "debt", "The debt", "Ben owes money."),
        s.UpdatePlot(W, "debt", "Paid half."),
        s.ClosePlot(W, "debt", "Paid."),
        s.ElideTime(W, 20, "They drive on."),
    ):
        engine.do(command, by=ENGINE)


def _imports(engine: Engine) -> None:
    said = x.ImportedMessage("m-old", "ada", "Hi.", ("you", "ada"), "2023-06-19T14:20:00Z", "{}")
    for command in (
        x.BeginImport("wim-1", "chat", "old.jsonl"),
        x.AddLorebook("bok-1", "Coast", "book", "{}"),
        x.ImportChat(W, "wim-1", "old.jsonl", "{}"),
        x.ImportMessages(W, (said,)),
        x.EndImport("wim-1", (ImportNote("kept", "old.jsonl"),)),
    ):
        engine.do(command)


def _end(engine: Engine) -> None:
    for command in (
        s.JumpTime(W, "2026-05-08T18:00", "A week later."),
        s.RememberOffstage(W, "ben", "Fixed the boat."),
        c.SummariseScene(W, "s1", "ada", "We drove.", ("Robin sings.",), "Warmer."),
        c.OpenScene(W, "s2", "car", ("ada", "ben")),
        c.CloseScene(W, "s2"),
        c.RecordDigest(W, "s2", "They talked."),
        c.LeaveCast(W, "ben"),
    ):
        engine.do(command, by=ENGINE)
