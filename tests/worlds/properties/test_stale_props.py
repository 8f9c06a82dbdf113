"""Stale props: after the picnic, no basket is in any prompt, unless someone took it home."""

from pathlib import Path

import pytest
from tests.worlds.simulation import Simulation, simulation

from everloop.app import USER
from everloop.worlds import (
    Acquired,
    Activity,
    CancelEvent,
    ChangeActivity,
    CompleteEvent,
    IntroduceProp,
    MoveProp,
    PlanEvent,
    StartEvent,
    TimeSkip,
)

BASKET = "wicker basket"
VARIANTS = (
    "completed",
    "cancelled",
    "handed over",
    "put down",
    "spoken of",
    "held by name",
    "after a jump",
    "acquired",
)


def picnic(sim: Simulation, variant: str, *, ends: bool) -> None:
    """A picnic with a basket, in one of its variants."""
    for command in (
        PlanEvent(sim.id, "picnic", "A picnic", "lunch outside"),
        StartEvent(sim.id, "picnic"),
        IntroduceProp(sim.id, "b", BASKET, "picnic", sim.ada),
    ):
        sim.do(command)
    match variant:
        case "handed over":
            sim.do(MoveProp(sim.id, "b", sim.ben))
        case "put down":
            sim.do(MoveProp(sim.id, "b", "", "the meadow"))
        case "spoken of":
            sim.say(f"What a fine {BASKET} you brought along, Ada.")
            sim.say("The lemonade is cold today.")
        case "held by name":
            held = Activity("", f"carrying the {BASKET}", (BASKET,), f"the {BASKET}")
            sim.do(ChangeActivity(sim.id, sim.ada, held))
        case _:
            pass
    if not ends:
        return
    kept = (Acquired(BASKET, sim.ben),) if variant == "acquired" else ()
    if variant == "cancelled":
        sim.do(CancelEvent(sim.id, "picnic", "it rained"))
    elif variant != "after a jump":
        sim.do(CompleteEvent(sim.id, "picnic", "They had lunch outside.", kept))
    else:
        sim.worlds.skip_time(sim.id, TimeSkip(10_000), USER)
        sim.do(CompleteEvent(sim.id, "picnic", "They had lunch outside."))


def told_next_day(sim: Simulation) -> str:
    """What everyone is told in the next scene, while they talk of lunch."""
    sim.next_scene()
    sim.say("Do you remember the lemonade and our lunch outside?")
    return "\n".join(sim.all_told().values())


@pytest.mark.promise("P-WORLD-3")
@pytest.mark.parametrize("variant", VARIANTS)
def test_after_the_picnic_the_basket_is_gone_unless_it_was_taken_home(
    tmp_path: Path, variant: str
) -> None:
    with simulation(tmp_path, reading=False) as sim:
        picnic(sim, variant, ends=True)
        assert (BASKET in told_next_day(sim)) is (variant == "acquired")


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_its_end_the_basket_would_still_be_told(tmp_path: Path, variant: str) -> None:
    with simulation(tmp_path, reading=False) as sim:
        picnic(sim, variant, ends=False)
        assert BASKET in told_next_day(sim)


def test_who_asks_for_the_basket_by_name_is_remembered_it(tmp_path: Path) -> None:
    with simulation(tmp_path, reading=False) as sim:
        picnic(sim, "spoken of", ends=True)
        sim.next_scene()
        sim.say(f"Whatever became of the fine {BASKET} that Ada brought along?")
        assert "What a fine wicker basket" in sim.told(sim.ada)
