"""Decisions about worlds, casts, places and scenes."""

import pytest
from tests.worlds.model.situations import ADA, BEGUN, BEN, CAR, OPENED, PARK, PLAYING, SCENE, after

from everloop.errors import Conflict, EverloopError, Forbidden, Invalid, NotFound
from everloop.log import Command
from everloop.testing.deterministic import given
from everloop.worlds.deciders import WORLD_DECIDERS
from everloop.worlds.exchange.model import commands as x
from everloop.worlds.model import commands as c
from everloop.worlds.model import decide_characters as dc
from everloop.worlds.model import decide_scenes as d
from everloop.worlds.model import effect_commands
from everloop.worlds.model import events as e
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.state import CHARACTER
from everloop.worlds.model.values import AuthorNote, CharacterSheet, Place, Slot, Style

ADA_SHEET = CharacterSheet("Ada", "A pilot.")


def test_every_command_has_one_decider() -> None:
    named = {
        value
        for module in (c, s, x, effect_commands)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Command) and value is not Command
    }
    assert {decider.command for decider in WORLD_DECIDERS} == named
    assert len(WORLD_DECIDERS) == len(named)


def test_a_character_is_authored_revised_removed_and_restored() -> None:
    authored = e.CharacterAuthored("ada", ADA_SHEET)
    assert given(CHARACTER).when(dc.author_character, c.AuthorCharacter("ada", ADA_SHEET)) == [
        authored
    ]
    older = CharacterSheet("Ada", "A pilot, now retired.")
    there = given(CHARACTER, authored)
    revised = e.CharacterRevised("ada", older)
    assert there.when(dc.revise_character, c.ReviseCharacter("ada", older)) == [revised]
    assert there.when(dc.revise_character, c.ReviseCharacter("ada", ADA_SHEET)) == []
    removed = e.CharacterRemoved("ada")
    assert there.when(dc.remove_character, c.RemoveCharacter("ada")) == [removed]
    assert given(CHARACTER, authored, removed).when(
        dc.restore_character, c.RestoreCharacter("ada")
    ) == [e.CharacterRestored("ada")]


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (c.AuthorCharacter("you", ADA_SHEET), Invalid),
        (c.AuthorCharacter("ada", CharacterSheet(" ")), Invalid),
        (c.AuthorCharacter("ada", CharacterSheet("Ada", card="x" * 2_000_001)), Invalid),
    ],
)
def test_a_character_without_a_usable_name_or_too_large_is_refused(
    command: c.AuthorCharacter, problem: type[EverloopError]
) -> None:
    with pytest.raises(problem):
        given(CHARACTER).when(dc.author_character, command)


def test_an_agent_changes_neither_worlds_nor_characters() -> None:
    with pytest.raises(Forbidden):
        given(CHARACTER).when(
            dc.author_character, c.AuthorCharacter("ada", ADA_SHEET), actor="agent:x"
        )
    with pytest.raises(Forbidden):
        after(*PLAYING).when(d.close_scene, c.CloseScene("w", "s1"), actor="agent:x")


def test_a_world_opens_once_at_its_own_time() -> None:
    command = c.OpenWorld("w", " Summer ", "Robin", "2026-05-01T20:00:00+02:00")
    assert after().when(d.open_world, command) == [OPENED]
    assert after(OPENED).when(d.open_world, command) == []
    with pytest.raises(Invalid, match="not a time"):
        after().when(d.open_world, c.OpenWorld("w", "Summer", "Robin", "Friday"))


def test_a_third_character_is_refused_with_the_choice_of_whom_to_replace() -> None:
    command = c.JoinCast("w", "cleo", "Cleo")
    with pytest.raises(Conflict) as refused:
        after(*BEGUN).when(d.join_cast, command)
    assert refused.value.hint == "Choose whom Cleo replaces: ada (Ada) or ben (Ben)."
    replacing = c.JoinCast("w", "cleo", "Cleo", "At the airfield.", "ben")
    assert after(*BEGUN).when(d.join_cast, replacing)[:2] == [
        e.CastLeft("w", "ben"),
        e.CastJoined("w", "cleo", "Cleo", "At the airfield."),
    ]


def test_who_is_in_the_open_scene_is_not_replaced_silently() -> None:
    with pytest.raises(Conflict, match="Ada is in the open scene"):
        after(*PLAYING).when(d.join_cast, c.JoinCast("w", "cleo", "Cleo", "", "ada"))


def test_who_leaves_in_a_scene_closes_it_and_the_rest_go_on() -> None:
    assert after(*PLAYING).when(d.leave_cast, c.LeaveCast("w", "ada", "s2")) == [
        e.SceneClosed("w", "s1", "Ada left"),
        e.CastLeft("w", "ada"),
        e.SceneOpened("w", "s2", "car", ("you",), "A drive.", "rain"),
    ]
    assert after(*PLAYING).when(d.leave_cast, c.LeaveCast("w", "ben")) == [e.CastLeft("w", "ben")]


def test_a_scene_opens_at_a_known_place_with_people_of_the_cast() -> None:
    opening = c.OpenScene("w", "s1", "car", ("ada", "you"), "A drive.", "rain")
    assert after(*BEGUN).when(d.open_scene, opening) == [SCENE]
    assert after(*PLAYING).when(d.open_scene, opening) == []
    for wrong, problem in [
        (c.OpenScene("w", "s1", "moon", ("you",)), NotFound),
        (c.OpenScene("w", "s1", "car", ("you", "zoe")), NotFound),
        (c.OpenScene("w", "s1", "car", ()), Invalid),
    ]:
        with pytest.raises(problem):
            after(*BEGUN).when(d.open_scene, wrong)
    with pytest.raises(Conflict, match="a scene is open"):
        after(*PLAYING).when(d.open_scene, c.OpenScene("w", "s2", "car", ("you",)))


def test_a_scene_without_the_player_is_a_meanwhile_scene() -> None:
    state = after(*BEGUN, e.SceneOpened("w", "s1", "park", ("ada", "ben"), "", "")).state
    assert state
    assert state.scene
    assert state.scene.is_meanwhile


def test_presence_changes_and_the_scene_stays() -> None:
    changed = e.PresenceChanged("w", "s1", ("you", "ada", "ben"))
    assert after(*PLAYING).when(
        d.change_presence, c.ChangePresence("w", ("ben", "ada", "you"))
    ) == [changed]
    assert (
        after(*PLAYING, changed).when(
            d.change_presence, c.ChangePresence("w", ("you", "ada", "ben"))
        )
        == []
    )
    with pytest.raises(Invalid, match="nobody"):
        after(*PLAYING).when(d.change_presence, c.ChangePresence("w", ()))


def test_a_scene_closes_once() -> None:
    closed = e.SceneClosed("w", "s1", "They arrived.")
    command = c.CloseScene("w", "s1", "They arrived.")
    assert after(*PLAYING).when(d.close_scene, command) == [closed]
    assert after(*PLAYING, closed).when(d.close_scene, command) == []
    turn = e.TurnRecorded("w", "t1", "m1", "ada", "")
    with pytest.raises(Conflict, match="still speaking"):
        after(*PLAYING, turn).when(d.close_scene, command)


def test_only_a_closed_scene_is_summarised() -> None:
    command = c.SummariseScene("w", "s1", "ada", "We drove to the park.", ("Robin is tired.",))
    with pytest.raises(Conflict):
        after(*PLAYING).when(d.summarise_scene, command)
    closed = e.SceneClosed("w", "s1", "")
    assert after(*PLAYING, closed).when(d.summarise_scene, command) == [
        e.SceneSummarised("w", "s1", "ada", "We drove to the park.", ("Robin is tired.",), "")
    ]
    with pytest.raises(Invalid, match="200"):
        after(*PLAYING, closed).when(d.record_digest, c.RecordDigest("w", "s1", "x" * 201))


def test_a_place_has_slots_with_names_of_their_own() -> None:
    assert after(OPENED).when(d.define_place, c.DefinePlace("w", CAR)) == [e.PlaceDefined("w", CAR)]
    assert after(*BEGUN).when(d.define_place, c.DefinePlace("w", PARK)) == []
    twice = Place("x", "X", "", (Slot("seat"), Slot("seat")))
    with pytest.raises(Invalid, match="names of their own"):
        after(OPENED).when(d.define_place, c.DefinePlace("w", twice))


def test_title_style_note_and_archive_are_recorded_only_when_they_change() -> None:
    world = after(OPENED, ADA, BEN)
    assert world.when(d.rename_world, c.RenameWorld("w", "Summer")) == []
    assert world.when(d.rename_world, c.RenameWorld("w", "Autumn")) == [
        e.WorldRenamed("w", "Autumn")
    ]
    assert world.when(d.set_style, c.SetStyle("w", Style())) == []
    terse = Style("Terse.", 200)
    assert world.when(d.set_style, c.SetStyle("w", terse)) == [e.StyleSet("w", terse)]
    with pytest.raises(Invalid, match="temperature"):
        world.when(d.set_style, c.SetStyle("w", Style(temperature=3)))
    note = AuthorNote("Keep it light.", 2)
    assert world.when(d.set_author_note, c.SetAuthorNote("w", note)) == [e.AuthorNoteSet("w", note)]
    archived = e.WorldArchived("w")
    assert world.when(d.archive_world, c.ArchiveWorld("w")) == [archived]
    assert after(OPENED, archived).when(d.restore_world, c.RestoreWorld("w")) == [
        e.WorldRestored("w")
    ]


def test_scene_texts_are_edited_one_by_one() -> None:
    assert after(*PLAYING).when(d.describe_scene, c.DescribeScene("w", weather="sun")) == [
        e.SceneDescribed("w", "s1", "A drive.", "sun")
    ]
    assert after(*PLAYING).when(d.describe_scene, c.DescribeScene("w", weather="rain")) == []


def test_who_has_met_before_begins_with_a_relationship() -> None:
    ben = c.JoinCast("w", "ben", "Ben", "Ada and Ben were at school together.")
    liked = e.EdgeShifted("w", "ada", "ben", 5, 0, "a kind word")
    met = "Ada and Ben were at school together."
    assert after(OPENED, ADA, liked).when(d.join_cast, ben) == [
        e.CastJoined("w", "ben", "Ben", met),
        e.EdgeRewritten("w", "ben", "you", met, ()),
        e.EdgeRewritten("w", "you", "ben", met, ()),
        e.EdgeRewritten("w", "ben", "ada", met, ()),
    ]
