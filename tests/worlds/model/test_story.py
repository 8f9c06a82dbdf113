"""Decisions about activities, feelings, story events, props, plot threads, time and lore."""

import pytest
from tests.worlds.model.situations import BASKET, EATING, PICNIC, PLAYING, SCENE, after

from everloop.errors import Conflict, Invalid, NotFound
from everloop.testing.deterministic import given
from everloop.worlds.model import commands as c
from everloop.worlds.model import decide_people as p
from everloop.worlds.model import decide_story as d
from everloop.worlds.model import events as e
from everloop.worlds.model import story_commands as s
from everloop.worlds.model import story_events as se
from everloop.worlds.model.state import LORE
from everloop.worlds.model.values import Activity, Condition, Trigger

DRIVING = e.ActivityChanged("w", "ada", Activity("driver", "driving", (), "the road"))


def test_an_occupied_or_blocked_slot_is_refused_with_its_reason() -> None:
    driving = c.ChangeActivity("w", "ada", DRIVING.activity)
    assert after(*PLAYING).when(p.change_activity, driving) == [DRIVING]
    with pytest.raises(Conflict, match="'driver' is taken by Ada"):
        after(*PLAYING, DRIVING).when(
            p.change_activity, c.ChangeActivity("w", "you", Activity("driver"))
        )
    with pytest.raises(Conflict, match="it is shut"):
        after(*PLAYING).when(p.change_activity, c.ChangeActivity("w", "you", Activity("boot")))
    with pytest.raises(Invalid) as refused:
        after(*PLAYING).when(p.change_activity, c.ChangeActivity("w", "you", Activity("roof")))
    assert refused.value.hint == "It has: driver, passenger, boot."


def test_who_is_not_in_the_scene_does_nothing_in_it() -> None:
    with pytest.raises(Conflict, match="Ben is not in this scene"):
        after(*PLAYING).when(p.change_activity, c.ChangeActivity("w", "ben", Activity()))


def test_a_new_scene_keeps_what_is_held_and_not_what_was_done_in_the_last() -> None:
    held = e.ActivityChanged("w", "ada", Activity("driver", "driving", ("a letter",)))
    closed = e.SceneClosed("w", "s1", "")
    opened = e.SceneOpened("w", "s2", "park", ("you", "ada"), "", "")
    for happened in ((closed,), (closed, opened)):
        state = after(*PLAYING, held, *happened).state
        assert state
        assert state.activities["ada"] == Activity(holding=("a letter",))


def test_feelings_move_by_small_steps_within_bounds() -> None:
    command = c.ShiftEdge("w", "ada", "you", 40, -3, "a kind word")
    shifted = e.EdgeShifted("w", "ada", "you", 10, -3, "a kind word")
    assert after(*PLAYING).when(p.shift_edge, command) == [shifted]
    assert after(*PLAYING).when(p.shift_edge, c.ShiftEdge("w", "ada", "you")) == []
    state = after(*PLAYING, *[shifted] * 12).state
    assert state
    assert (state.edge("ada", "you").affinity, state.edge("ada", "you").trust) == (100, -36)
    assert state.edge("you", "ada").affinity == 0  # feelings are not mutual
    with pytest.raises(Invalid):
        after(*PLAYING).when(p.shift_edge, c.ShiftEdge("w", "ada", "ada", 1))


def test_edges_and_the_group_are_summed_up_per_scene() -> None:
    command = c.RewriteEdge("w", "ada", "you", "Trusts Robin.", ("Robin sings.", "Robin sings."))
    rewritten = e.EdgeRewritten("w", "ada", "you", "Trusts Robin.", ("Robin sings.",))
    assert after(*PLAYING).when(p.rewrite_edge, command) == [rewritten]
    assert after(*PLAYING, rewritten).when(p.rewrite_edge, command) == []
    group = e.GroupRewritten("w", "Old friends.")
    assert after(*PLAYING).when(p.rewrite_group, c.RewriteGroup("w", "Old friends.")) == [group]
    with pytest.raises(Conflict, match="no group"):
        after(*PLAYING, e.CastLeft("w", "ben")).when(p.rewrite_group, c.RewriteGroup("w", "Two."))


def test_a_condition_changes_only_when_it_differs() -> None:
    tired = Condition("tired", ("sleep",))
    changed = e.ConditionChanged("w", "ben", tired)
    assert after(*PLAYING).when(p.change_condition, c.ChangeCondition("w", "ben", tired)) == [
        changed
    ]
    assert (
        after(*PLAYING, changed).when(p.change_condition, c.ChangeCondition("w", "ben", tired))
        == []
    )


def test_an_event_is_planned_started_and_completed_once() -> None:
    planning = s.PlanEvent(
        "w", "picnic", "A picnic", "lunch outside", Trigger(at="2026-05-03T12:00:00+00:00")
    )
    assert after(*PLAYING).when(d.plan_event, planning) == [PICNIC]
    assert after(*PLAYING, PICNIC).when(d.plan_event, planning) == []
    assert after(*PLAYING, PICNIC).when(d.start_event, s.StartEvent("w", "picnic")) == [
        se.EventStarted("w", "picnic")
    ]
    acquired = (se.Acquired("corkscrew", "ada"),)
    done = se.EventCompleted("w", "picnic", "They ate by the lake.", acquired, ("you", "ada"))
    command = s.CompleteEvent("w", "picnic", "They ate by the lake.", acquired)
    assert after(*EATING).when(d.complete_event, command) == [done]
    over = after(*EATING, done)
    with pytest.raises(Conflict, match="is completed"):
        over.when(d.complete_event, command)
    with pytest.raises(Conflict, match="is completed"):
        over.when(d.start_event, s.StartEvent("w", "picnic"))
    with pytest.raises(Conflict, match="is completed"):
        over.when(d.cancel_event, s.CancelEvent("w", "picnic"))
    with pytest.raises(Conflict, match="is completed"):
        over.when(d.introduce_prop, s.IntroduceProp("w", "cup", "cup", "picnic"))


def test_props_go_with_their_event_except_what_someone_acquired() -> None:
    acquired = (se.Acquired("corkscrew", "ada"),)
    during = after(*EATING).state
    done = se.EventCompleted("w", "picnic", "", acquired, ("you", "ada"))
    afterwards = after(*EATING, done).state
    assert during
    assert afterwards
    assert during.holding("ada") == ("picnic basket",)
    assert afterwards.holding("ada") == ("corkscrew",)
    assert afterwards.props == {}
    for ended in (se.EventCancelled("w", "picnic", ""), se.EventExpired("w", "picnic")):
        state = after(*EATING, ended).state
        assert state
        assert state.holding("ada") == ()


def test_a_prop_moves_while_its_event_is_open() -> None:
    moved = se.PropMoved("w", "basket", "you", "")
    assert after(*EATING).when(d.move_prop, s.MoveProp("w", "basket", "you")) == [moved]
    assert after(*EATING, moved).when(d.move_prop, s.MoveProp("w", "basket", "you")) == []
    done = se.EventCompleted("w", "picnic", "", (), ())
    with pytest.raises(NotFound, match="in play"):
        after(*EATING, done).when(d.move_prop, s.MoveProp("w", "basket", "you"))
    with pytest.raises(NotFound):
        after(*PLAYING).when(d.introduce_prop, s.IntroduceProp("w", "basket", "basket", "picnic"))


def test_a_belonging_can_be_lost() -> None:
    acquired = (se.Acquired("corkscrew", "ada"), se.Acquired("corkscrew", "ada"))
    done = se.EventCompleted("w", "picnic", "", acquired, ())
    dropped = se.BelongingDropped("w", "ada", "corkscrew")
    assert after(*EATING, done).when(
        d.drop_belonging, s.DropBelonging("w", "ada", "corkscrew")
    ) == [dropped]
    state = after(*EATING, done, dropped).state
    assert state
    assert state.holding("ada") == ("corkscrew",)


def test_a_plot_thread_is_known_to_those_present() -> None:
    opened = se.PlotOpened("w", "debt", "The debt", "Ben owes money.", ("you", "ada"))
    command = s.OpenPlot("w", "debt", "The debt", "Ben owes money.")
    assert after(*PLAYING).when(d.open_plot, command) == [opened]
    assert after(*PLAYING, opened).when(
        d.update_plot, s.UpdatePlot("w", "debt", "Paid half.", ("you", "ben"))
    ) == [se.PlotUpdated("w", "debt", "Paid half.", ("you", "ben"))]
    closed = se.PlotClosed("w", "debt", "Paid.")
    assert after(*PLAYING, opened).when(d.close_plot, s.ClosePlot("w", "debt", "Paid.")) == [closed]
    assert after(*PLAYING, opened, closed).when(d.close_plot, s.ClosePlot("w", "debt")) == []
    with pytest.raises(NotFound):
        after(*PLAYING).when(d.close_plot, s.ClosePlot("w", "debt"))


def test_elision_keeps_scene_and_cast() -> None:
    elided = se.TimeElided("w", "2026-05-01T18:20:00+00:00", "They drive on.")
    command = s.ElideTime("w", 20, "They drive on.")
    assert after(*PLAYING).when(d.elide_time, command) == [elided]
    state = after(*PLAYING, elided).state
    assert state
    assert state.scene
    assert state.clock == elided.clock
    with pytest.raises(Invalid, match="forward"):
        after(*PLAYING).when(d.elide_time, s.ElideTime("w", 0))


def test_a_jump_closes_the_scene_and_lets_missed_plans_expire() -> None:
    command = s.JumpTime("w", "2026-05-08T18:00", "A week later.")
    assert after(*PLAYING, PICNIC).when(d.jump_time, command) == [
        e.SceneClosed("w", "s1", "time went by"),
        se.TimeJumped("w", "2026-05-08T18:00:00+00:00", "A week later."),
        se.EventExpired("w", "picnic"),
    ]
    with pytest.raises(Invalid, match="forward"):
        after(*PLAYING).when(d.jump_time, s.JumpTime("w", "2026-04-01T00:00"))
    turn = e.TurnRecorded("w", "t1", "m1", "ada", "")
    with pytest.raises(Conflict, match="still speaking"):
        after(*PLAYING, turn).when(d.jump_time, command)


def test_an_event_that_is_happening_does_not_expire() -> None:
    started = se.EventStarted("w", "picnic")
    with pytest.raises(Conflict, match="is happening"):
        after(*PLAYING, PICNIC, started).when(d.expire_event, s.ExpireEvent("w", "picnic"))
    assert after(*PLAYING, PICNIC).when(d.expire_event, s.ExpireEvent("w", "picnic")) == [
        se.EventExpired("w", "picnic")
    ]


def test_offstage_memories_belong_to_one_person() -> None:
    assert after(*PLAYING).when(
        d.remember_offstage, s.RememberOffstage("w", "ben", "Fixed the boat.")
    ) == [se.OffstageRemembered("w", "ben", "Fixed the boat.", "2026-05-01T18:00:00+00:00")]


def test_lore_is_set_changed_and_removed() -> None:
    entry = se.LoreEntry("1", "The lake is haunted.", keys=("lake",))
    added = se.LoreEntrySet("w", entry)
    assert given(LORE).when(d.set_lore_entry, s.SetLoreEntry("w", entry)) == [added]
    assert given(LORE, added).when(d.remove_lore_entry, s.RemoveLoreEntry("w", "1")) == [
        se.LoreEntryRemoved("w", "1")
    ]
    assert given(LORE).when(d.remove_lore_entry, s.RemoveLoreEntry("w", "1")) == []
    too_long = se.LoreEntry("1", "x" * 150_001)
    with pytest.raises(Invalid, match="150,000"):
        given(LORE).when(d.set_lore_entry, s.SetLoreEntry("w", too_long))


def test_the_basket_needs_an_open_event() -> None:
    introduced = after(*PLAYING, PICNIC).when(
        d.introduce_prop, s.IntroduceProp("w", "basket", "picnic basket", "picnic", "ada")
    )
    assert introduced == [BASKET]
    assert SCENE.present == ("you", "ada")
