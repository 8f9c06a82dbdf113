"""Prompts of worlds: each speaker is told what it knows, in a fixed order, within its budget."""

from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest

from everloop.app import USER, Engine
from everloop.errors import Invalid
from everloop.log import Command, Context
from everloop.memory.token_counts import estimate_tokens
from everloop.ports import Text
from everloop.worlds.message_parsing import parse_message
from everloop.worlds.model import commands as c
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.story_events import Acquired, LoreEntry, LoreLogic
from everloop.worlds.model.values import (
    Activity,
    AuthorNote,
    CharacterSheet,
    Place,
    Slot,
    Style,
)
from everloop.worlds.prompt.assemble import (
    NARRATION,
    RULES,
    PromptLimits,
    WorldPrompt,
    assemble,
)
from everloop.worlds.prompt.point_of_view import KnownText, point_of_view
from everloop.worlds.queries import find_character
from everloop.worlds.service import Opening

ENGINE = Context(actor="engine")
CAR = Place("car", "The car", "", (Slot("driver"), Slot("passenger"), Slot("back", 2)))


class Stage:
    """A world with Ada and Ben in a car, and the prompts of both."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.service = engine, engine.worlds
        ada = CharacterSheet("Ada", "{{char}} is a pilot who likes {{USER}}.", instructions="Purr.")
        self.ada = self.service.author(ada, USER)
        self.ben = self.service.author(CharacterSheet("Ben", "A sailor."), USER)
        opening = Opening(
            "Trip", "Robin", "2026-05-01T18:00", CAR, (self.ada, self.ben), premise="A long drive."
        )
        self.id = self.service.open(opening, USER)
        self.number = 0

    def do(self, command: Command) -> int:
        return self.engine.do(command, by=ENGINE).position

    def say(self, text: str, speaker: str = "you", witnesses: tuple[str, ...] = ()) -> str:
        self.number += 1
        name = f"m{self.number}"
        passages = parse_message(text)
        self.do(c.WriteMessage(self.id, name, speaker, text, passages, "", witnesses))
        return name

    def prompt(
        self,
        who: str,
        memories: tuple[KnownText, ...] = (),
        limits: PromptLimits = PromptLimits(),  # noqa: B008 - immutable
    ) -> WorldPrompt:
        world = self.service.world(self.id)
        assert world.scene
        with self.engine.reading() as reader:
            view = point_of_view(reader, self.id, world, world.scene, who)
            sheet = find_character(reader, who).sheet
        return assemble(view, sheet, memories, limits, estimate_tokens)

    def text(self, who: str) -> str:
        return whole(self.prompt(who))


def whole(prompt: WorldPrompt) -> str:
    """Everything that the model is sent."""
    parts = [part for message in prompt.prompt.messages for part in message.parts]
    return "\n".join([prompt.prompt.system, *(one.text for one in parts if isinstance(one, Text))])


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    with Engine.open(tmp_path) as engine:
        yield Stage(engine)


def test_the_background_is_what_is_told_beside_dialogue_and_samples(stage: Stage) -> None:
    ada = CharacterSheet("Ada", "A pilot.", voice_samples=("The wind sings when it is ready.",))
    stage.engine.do(c.ReviseCharacter(stage.ada, ada), by=USER)
    stage.say("Is the engine hot?")
    prompt = stage.prompt(stage.ada)
    assert "The wind sings" in whole(prompt)
    assert "A pilot." in prompt.background
    assert "Write what Ada says and does next." in prompt.background
    assert "The wind sings" not in prompt.background
    assert "engine" not in prompt.background


def test_the_speaker_is_told_who_it_is_where_and_with_whom(stage: Stage) -> None:
    stage.do(c.ChangeActivity(stage.id, stage.ada, Activity("driver", "driving", ("a map",))))
    text = stage.text(stage.ada)
    assert "Ada is a pilot who likes Robin." in text
    assert "Time: Friday, 01 May 2026, 18:00." in text
    assert "Present: Robin, Ada, Ben." in text
    assert "Ada now: at driver, driving, has a map." in text
    assert "A sailor." not in text  # another's sheet is not the speaker's to know


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("the window", "at the window"),
        ("an old bench", "at an old bench"),
        ("on the wall", "on the wall"),
        ("Im Garten", "Im Garten"),
    ],
)
def test_a_place_that_brings_its_preposition_gets_no_other(where: str, said: str) -> None:
    assert Activity(where).whereabouts == said
    assert Activity().whereabouts == ""


@pytest.mark.parametrize("rules", [RULES, NARRATION])
def test_the_rules_are_one_paragraph_as_a_player_reads_them(rules: str) -> None:
    assert "\n" not in rules
    assert "  " not in rules


def test_a_whisper_reaches_its_witnesses_alone(stage: Stage) -> None:
    stage.say("zephyr-417", witnesses=(stage.ada,))
    assert "zephyr-417" in stage.text(stage.ada)
    assert "zephyr-417" not in stage.text(stage.ben)


def test_who_was_away_does_not_know_what_was_said_meanwhile(stage: Stage) -> None:
    stage.do(c.ChangePresence(stage.id, ("you", stage.ada)))
    stage.say("The secret is quartz.")
    stage.do(c.ChangePresence(stage.id, ("you", stage.ada, stage.ben)))
    stage.say("Welcome back.")
    assert "quartz" in stage.text(stage.ada)
    assert "quartz" not in stage.text(stage.ben)
    assert "Welcome back." in stage.text(stage.ben)


def test_who_came_later_does_not_know_the_premise(stage: Stage) -> None:
    stage.do(c.CloseScene(stage.id, stage.service.world(stage.id).scene.scene_id))  # type: ignore[union-attr]
    stage.do(c.OpenScene(stage.id, "s2", "car", ("you", stage.ada), "They plan a surprise."))
    stage.do(c.ChangePresence(stage.id, ("you", stage.ada, stage.ben)))
    assert "surprise" in stage.text(stage.ada)
    assert "surprise" not in stage.text(stage.ben)


def test_words_outside_the_story_direct_the_teller_and_are_no_dialogue(stage: Stage) -> None:
    stage.say("Hello. ((Let it rain.))")
    prompt = stage.prompt(stage.ada)
    dialogue = [one.text for one in prompt.fitted.kept if one.kind == "dialogue"]
    assert dialogue == ["Robin: Hello."]
    assert any("Let it rain." in one.text for one in prompt.fitted.kept if one.kind == "direction")
    stage.say("Well?")
    assert "Let it rain." not in stage.text(stage.ada)  # it was for one reply


def test_feelings_and_thoughts_of_others_stay_theirs(stage: Stage) -> None:
    stage.do(c.RewriteEdge(stage.id, stage.ada, stage.ben, "Despises Ben.", ("Ben lied.",)))
    stage.do(
        c.ChangeActivity(stage.id, stage.ada, Activity("driver", "driving", (), "her revenge"))
    )
    assert "Despises Ben." in stage.text(stage.ada)
    assert "her revenge" in stage.text(stage.ada)
    assert "Despises" not in stage.text(stage.ben)
    assert "revenge" not in stage.text(stage.ben)
    assert "driving." in stage.text(stage.ben)


def test_summaries_digests_plots_events_and_offstage_memories_have_one_owner(stage: Stage) -> None:
    scene = stage.service.world(stage.id).scene
    assert scene
    knows = ("you", stage.ada)
    stage.do(s.OpenPlot(stage.id, "p", "The cobalt debt", "", knows))
    stage.do(s.PlanEvent(stage.id, "e", "The cobalt picnic", "", known_to=knows))
    stage.do(c.CloseScene(stage.id, scene.scene_id))
    stage.do(c.SummariseScene(stage.id, scene.scene_id, stage.ada, "The cobalt drive."))
    stage.do(s.RememberOffstage(stage.id, stage.ada, "Painted it cobalt."))
    stage.do(c.OpenScene(stage.id, "s2", "car", (stage.ada,)))
    stage.do(c.CloseScene(stage.id, "s2"))
    stage.do(c.RecordDigest(stage.id, "s2", "Ada bought cobalt."))
    stage.do(c.OpenScene(stage.id, "s3", "car", ("you", stage.ada, stage.ben)))
    told = [one for one in stage.prompt(stage.ada).fitted.kept if "cobalt" in one.text]
    assert {one.kind for one in told} == {"plot", "event", "summary", "offstage", "digest"}
    assert "cobalt" not in stage.text(stage.ben)


def test_a_finished_picnic_leaves_no_basket_in_any_prompt(stage: Stage) -> None:
    for command in (
        s.PlanEvent(stage.id, "picnic", "A picnic", "lunch outside"),
        s.StartEvent(stage.id, "picnic"),
        s.IntroduceProp(stage.id, "b", "wicker basket", "picnic", stage.ada),
        s.IntroduceProp(stage.id, "k", "corkscrew", "picnic", stage.ada),
    ):
        stage.do(command)
    assert "wicker basket" in stage.text(stage.ben)  # the control: it would be there
    kept = (Acquired("corkscrew", stage.ada),)
    stage.do(s.CompleteEvent(stage.id, "picnic", "They ate by the lake.", kept))
    for who in (stage.ada, stage.ben):
        assert "wicker basket" not in stage.text(who)
        assert "corkscrew" in stage.text(who)


def test_lore_comes_in_by_its_keys_for_its_audience(stage: Stage) -> None:
    entries = (
        LoreEntry("1", "The lake is haunted by Mira.", keys=("lake",)),
        LoreEntry("2", "Mira drowned in 1901.", keys=("Mira",)),
        LoreEntry("3", "Ben is the heir.", keys=("lake",), audience=(stage.ben,)),
        LoreEntry("4", "Wind.", keys=("(a+)+$",), regex=True),
    )
    for entry in entries:
        stage.do(s.SetLoreEntry(stage.id, entry))
    assert "haunted" not in stage.text(stage.ada)
    stage.say("Let us go to the LAKE. " + "a" * 40 + "!")
    ada = stage.text(stage.ada)
    assert "haunted" in ada
    assert "1901" in ada  # mentioned by the first entry
    assert "heir" not in ada
    assert "heir" in stage.text(stage.ben)


def test_style_and_note_are_told_and_card_instructions_only_if_allowed(stage: Stage) -> None:
    stage.engine.do(c.SetAuthorNote(stage.id, AuthorNote("Keep it light.")))
    stage.engine.do(c.SetStyle(stage.id, Style("Write tersely.")))
    text = stage.text(stage.ada)
    assert "Keep it light." in text
    assert "Write tersely." in text
    assert "Purr." not in text
    stage.engine.do(c.SetStyle(stage.id, Style(card_instructions=True)))
    assert "Purr." in stage.text(stage.ada)


def test_the_least_important_segments_are_left_out_first(stage: Stage) -> None:
    scene = stage.service.world(stage.id).scene
    assert scene
    stage.do(c.CloseScene(stage.id, scene.scene_id))
    for number in range(3):
        stage.do(c.SummariseScene(stage.id, scene.scene_id, stage.ada, f"Old news {number}."))
    stage.do(c.OpenScene(stage.id, "s2", "car", ("you", stage.ada, stage.ben)))
    stage.do(c.RewriteGroup(stage.id, "Three friends."))
    for number in range(30):
        stage.say(f"Line {number}: " + "word " * 20)
    memories = tuple(KnownText(f"Fact {number}.", ()) for number in range(4))
    everything = stage.prompt(stage.ada, memories, PromptLimits(9_000, 9_000))
    assert everything.fitted.dropped == ()
    seen: list[str] = []
    for soft in range(everything.fitted.tokens, 0, -7):
        for one in stage.prompt(stage.ada, memories, PromptLimits(soft, 9_000)).fitted.dropped:
            name = f"{one.segment.kind}:{one.segment.tier.name}"
            if name not in seen:
                seen.append(name)
    assert seen == ["summary:NICE", "memory:NICE", "dialogue:NICE", "group:SHOULD",
                    "memory:SHOULD", "summary:SHOULD"]  # fmt: skip
    with pytest.raises(Invalid, match="tokens"):
        stage.prompt(stage.ada, (), PromptLimits(10, 10))


def test_a_line_that_is_too_long_is_cut_and_the_story_goes_on(stage: Stage) -> None:
    for text in ("It began. " + "word " * 15_000 + "It ended.", "Well?"):
        stage.say(text)
    prompt = stage.prompt(stage.ada)
    assert prompt.fitted.tokens <= PromptLimits().hard
    (line,) = [one for one in prompt.fitted.kept if "[…]" in one.text]
    assert "It began." in line.text
    assert "It ended." in line.text
    assert line.tokens > 900
    assert "Well?" in whole(prompt)


def test_two_prompts_in_a_row_share_what_is_stable(stage: Stage) -> None:
    for number in range(20):
        stage.say(f"Line {number}.")
    first = whole(stage.prompt(stage.ada))
    stage.say("One more line.")
    second = whole(stage.prompt(stage.ada))
    shared = next(at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    assert first[:shared].endswith("Line 19.\n")


@pytest.mark.parametrize(
    ("logic", "said", "comes"),
    [
        ("and_any", "The lake in fog.", True),
        ("and_any", "The lake.", False),
        ("and_all", "The lake in fog.", False),
        ("and_all", "The lake in fog at night.", True),
        ("not_any", "The lake in fog.", False),
        ("not_any", "The lake.", True),
        ("not_all", "The lake in fog.", True),
        ("not_all", "The lake in fog at night.", False),
    ],
)
def test_secondary_keys_decide_by_their_logic(
    stage: Stage, logic: LoreLogic, said: str, comes: bool
) -> None:
    entry = LoreEntry("1", "It is haunted.", keys=("lake",), secondary_keys=("fog", "night"))
    stage.do(s.SetLoreEntry(stage.id, msgspec.structs.replace(entry, logic=logic)))
    stage.say(said)
    assert ("It is haunted." in str(stage.prompt(stage.ada).prompt)) == comes


def test_lore_looks_as_far_back_as_it_says_and_recurses_where_it_may(stage: Stage) -> None:
    entries = (
        LoreEntry("far", "Gulls nest there.", keys=("lighthouse",), scan_depth=20),
        LoreEntry("near", "It is red.", keys=("lighthouse",)),
        LoreEntry("second", "Gulls are loud.", keys=("gulls",)),
        LoreEntry("alone", "Nobody counts gulls.", keys=("gulls",), recursed=False),
    )
    for entry in entries:
        stage.do(s.SetLoreEntry(stage.id, entry))
    stage.say("See the lighthouse?")
    for _ in range(6):
        stage.say("Yes.")
    told = str(stage.prompt(stage.ada).prompt)
    assert "Gulls nest there." in told
    assert "Gulls are loud." in told
    assert "It is red." not in told
    assert "Nobody counts gulls." not in told
