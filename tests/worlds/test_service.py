"""Playing in a world on a real log: versions, rewinding and branches leave nothing behind."""

from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from everloop.app import USER, Engine
from everloop.errors import Conflict, NotFound, Unavailable
from everloop.log import Command, Context, Receipt
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.worlds.browse.branches import world_branches
from everloop.worlds.browse.relationships import relationship_history
from everloop.worlds.exchange.model.commands import ImportedMessage, ImportMessages
from everloop.worlds.model import commands as c
from everloop.worlds.model.values import CharacterSheet, Place
from everloop.worlds.queries import (
    StoryMessage,
    list_characters,
    list_worlds,
    story_messages,
    timeline,
)
from everloop.worlds.service import Opening, WorldService

ENGINE = Context(actor="engine")
CAFE = Place("cafe", "The café")


class CutOff(Unavailable):
    """The process ended."""


class EndingBus:
    """A command bus whose process ends after some commands."""

    def __init__(self, engine: Engine, left: int) -> None:
        self._engine, self._left = engine, left

    def do(self, command: Command, **options: Any) -> Receipt:
        if not self._left:
            raise CutOff("the process ended", hint="Start it again.")
        self._left -= 1
        return self._engine.do(command, **options)

    def do_many(self, commands: Sequence[Command], *, by: Context) -> list[Receipt]:
        return [self.do(command, by=by) for command in commands]

    def do_each(self, asked: Sequence[tuple[Command, Context]]) -> list[Receipt]:
        return [self.do(command, by=by) for command, by in asked]


class Play:
    """A world with Ada, at a café, and hands to play in it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.service = engine.worlds
        self.ada = self.service.author(CharacterSheet("Ada"), USER)
        opening = Opening("Evening", "Robin", "2026-05-01T18:00", CAFE, (self.ada,))
        self.world_id = self.service.open(opening, USER)

    def say(self, message_id: str, text: str) -> None:
        self.engine.do(c.WriteMessage(self.world_id, message_id, "you", text))

    def reply(self, message_id: str, text: str, turn: str = "") -> int:
        """Ada replies; returns where her choice of words is recorded."""
        turn_id = turn or f"turn-{message_id}"
        if not turn:
            self.engine.do(c.RecordTurn(self.world_id, turn_id, message_id, self.ada))
        version = f"v-{turn_id}"
        sending = c.BeginSending(self.world_id, turn_id, version, "model", "ctx", "here")
        self.engine.do(sending, by=ENGINE)
        done = self.engine.do(c.FinishTurn(self.world_id, turn_id, text, "model"), by=ENGINE)
        return done.facts[-1].position

    def warm(self, because: int) -> None:
        shift = c.ShiftEdge(self.world_id, self.ada, "you", 5, because=(because,))
        self.engine.do(shift, by=ENGINE)

    @property
    def messages(self) -> list[StoryMessage]:
        with self.engine.reading() as reader:
            return story_messages(reader, self.world_id)

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    @property
    def affinity(self) -> int:
        return self.service.world(self.world_id).edge(self.ada, "you").affinity


@pytest.fixture
def play(tmp_path: Path) -> Generator[Play]:
    with Engine.open(tmp_path) as engine:
        yield Play(engine)


def test_a_world_opens_with_a_character_in_its_first_scene(play: Play) -> None:
    world = play.service.world(play.world_id)
    assert world.cast == {play.ada: "Ada"}
    assert world.scene
    assert world.scene.present == ("you", play.ada)
    with play.engine.reading() as reader:
        assert [one.title for one in list_worlds(reader)] == ["Evening"]
        assert [one.sheet.name for one in list_characters(reader)] == ["Ada"]
    with pytest.raises(NotFound):
        play.service.world("elsewhere")


def test_how_they_met_lies_before_the_first_scene(play: Play) -> None:
    opening = Opening("Noon", "Robin", "2026-05-01T12:00", CAFE, (play.ada,), met="At school.")
    world_id = play.service.open(opening, USER)
    with play.engine.reading() as reader:
        history = relationship_history(reader, world_id)
    assert [one.number for one in history] == [0, 1]
    assert history[0].edges[f"{play.ada}>you"].summary == "At school."


def test_another_version_takes_back_what_came_of_the_first(play: Play) -> None:
    play.say("m1", "Coffee?")
    play.warm(play.reply("m2", "With pleasure."))
    assert play.affinity == 5
    turn = play.service.request_version(play.world_id, "m2", "", USER)
    assert play.affinity == 0
    play.reply("m2", "Leave me alone.", turn)
    assert play.texts == ["Coffee?", "Leave me alone."]
    assert [one.text for one in play.messages[1].versions] == ["With pleasure.", "Leave me alone."]
    assert play.affinity == 0


def test_an_earlier_version_can_be_chosen_again(play: Play) -> None:
    play.say("m1", "Coffee?")
    play.reply("m2", "With pleasure.")
    play.reply("m2", "No.", play.service.request_version(play.world_id, "m2", "", USER))
    play.service.choose_version(play.world_id, "m2", "v-turn-m2", USER)
    assert play.texts == ["Coffee?", "With pleasure."]
    head = play.engine.log.head
    play.service.choose_version(play.world_id, "m2", "v-turn-m2", USER)
    assert play.engine.log.head == head


def test_only_the_newest_reply_gets_another_version(play: Play) -> None:
    play.reply("m1", "Hello.")
    play.say("m2", "Hi.")
    with pytest.raises(Conflict, match="newest"):
        play.service.choose_version(play.world_id, "m1", "v-turn-m1", USER)


def test_rewinding_takes_back_a_turn_and_all_that_followed(play: Play) -> None:
    play.say("m1", "Coffee?")
    play.warm(play.reply("m2", "With pleasure."))
    play.say("m3", "Sugar?")
    impact = play.service.preview_rewind(play.world_id, "m2")
    assert impact.hides
    play.service.rewind(play.world_id, "m2", USER)
    assert (play.texts, play.affinity) == (["Coffee?"], 0)
    play.reply("m4", "No, thank you.")
    assert play.texts == ["Coffee?", "No, thank you."]


def test_a_branch_keeps_what_was_said_up_to_it(play: Play) -> None:
    play.say("m1", "Coffee?")
    play.warm(play.reply("m2", "With pleasure."))
    play.say("m3", "Sugar?")
    play.service.branch_after(play.world_id, "m2", USER)
    assert play.texts == ["Coffee?", "With pleasure."]
    assert play.affinity == 0  # what followed from the reply is recorded after it


def test_a_branch_begins_as_the_story_up_to_it_reads_now(play: Play) -> None:
    for number, text in enumerate(("Coffe?", "A secret.", "Sugar?", "Milk?"), 1):
        play.say(f"m{number}", text)
    play.service.edit(play.world_id, "m1", "Coffee?", USER)
    play.service.correct_witnesses(c.CorrectWitnesses(play.world_id, "m2", ("you",)), USER)
    play.service.hide(play.world_id, "m3", USER)
    left = play.messages
    asking = Context(request="try-another-course")
    assert play.service.branch_after(play.world_id, "m3", asking) == play.service.branch_after(
        play.world_id, "m3", asking
    )
    assert play.messages == left[:3]
    play.say("m5", "Honey?")
    assert play.texts == ["Coffee?", "A secret.", "Sugar?", "Honey?"]


def test_a_branch_that_is_cut_off_is_gone_to_once_it_hides_what_was_hidden(play: Play) -> None:
    for number, text in enumerate(("A zephyr.", "A secret.", "Sugar?"), 1):
        play.say(f"m{number}", text)
    play.service.edit(play.world_id, "m1", "Nothing.", USER)
    play.service.correct_witnesses(c.CorrectWitnesses(play.world_id, "m2", ("you",)), USER)
    play.service.hide(play.world_id, "m3", USER)
    left, asking = play.messages, Context(request="try-another-course")
    appends = 0
    for appends in range(9):
        service = WorldService(
            play.engine.log, EndingBus(play.engine, appends), lambda: play.engine.memory
        )
        with suppress(CutOff):
            service.branch_after(play.world_id, "m3", asking)
            break
        assert play.messages == left
    assert appends >= 2
    assert play.messages == left
    play.say("m4", "Milk?")
    assert play.texts == ["Nothing.", "A secret.", "Sugar?", "Milk?"]
    assert len(world_branches(play.engine.log, play.world_id)) == 2


def test_a_branch_hides_a_line_that_only_someone_who_came_later_heard(play: Play) -> None:
    for number, text in enumerate(("Coffee?", "A secret."), 1):
        play.say(f"m{number}", text)
    ben = play.service.author(CharacterSheet("Ben"), USER)
    play.engine.do(c.JoinCast(play.world_id, ben, "Ben"))
    play.service.correct_witnesses(c.CorrectWitnesses(play.world_id, "m1", (ben,)), USER)
    play.service.edit(play.world_id, "m2", "No secret.", USER)
    play.service.branch_after(play.world_id, "m2", USER)
    assert [(one.text, one.hidden) for one in play.messages] == [
        ("Coffee?", True),
        ("No secret.", False),
    ]


def test_a_branch_from_a_line_that_came_in_hidden_keeps_it_hidden(play: Play) -> None:
    line = ImportedMessage("m1", play.ada, "A secret.", ("you",), hidden=True)
    play.engine.do(ImportMessages(play.world_id, (line,)), by=USER)
    play.say("m2", "Coffee?")
    branched = play.service.branch_after(play.world_id, "m1", USER)
    assert play.messages[0].hidden
    assert play.engine.log.head == branched  # the branch has the mark; none was made after it


def test_edits_hiding_and_witnesses_show_in_the_story(play: Play) -> None:
    play.say("m1", "Coffe?")
    play.engine.do(c.EditMessage(play.world_id, "m1", "", "Coffee?"))
    play.engine.do(c.CorrectWitnesses(play.world_id, "m1", ("you",)))
    (message,) = play.messages
    assert (message.text, message.edited, message.witnesses) == ("Coffee?", True, ("you",))
    assert not message.reaches(play.ada)
    play.engine.do(c.HideMessage(play.world_id, "m1"))
    assert play.messages[0].hidden
    play.engine.do(c.UnhideMessage(play.world_id, "m1"))
    assert not play.messages[0].hidden


def test_a_message_id_is_used_once(play: Play) -> None:
    play.say("m1", "Coffee?")
    with pytest.raises(Conflict, match="exists"):
        play.say("m1", "Tea?")


def test_the_views_rebuilt_equal_the_live_ones(play: Play) -> None:
    play.say("m1", "Coffee?")
    play.warm(play.reply("m2", "With pleasure."))
    with play.engine.reading() as reader:
        before = story_messages(reader, play.world_id), timeline(reader, play.world_id)
    rebuild_projections(play.engine.log, ["worlds"])
    with play.engine.reading() as reader:
        assert (story_messages(reader, play.world_id), timeline(reader, play.world_id)) == before


def test_the_dialogue_of_a_world_is_its_own(play: Play) -> None:
    play.say("m1", "Coffee?")
    other = Play(play.engine)
    for number in range(80):
        other.say(f"x{number}", "Elsewhere.")
    assert play.texts == ["Coffee?"]
