"""Mutation testing of the gate: its tests kill nearly every mutant."""

from pathlib import Path

import pytest
from tests.lessons.gate.mutants import Mutant, mutants, survives

from everloop.lessons.gate import checks

SOURCE = Path(checks.__file__).read_text()
TESTS = Path(__file__).parent / "test_checks.py"
KILLED_MIN = 0.95


def lives(mutant: Mutant) -> bool:
    """Whether a mutant passes every test of the gate; one that cannot even be made does not."""
    try:
        made = mutant.module()
    except Exception:  # noqa: BLE001 - whatever it raises
        return False
    return survives(made, TESTS, "everloop.lessons.gate.checks")


@pytest.mark.promise("P-LES-1")
@pytest.mark.soak
def test_at_least_ninety_five_of_a_hundred_mutants_of_the_gate_are_noticed() -> None:
    all_of_them = list(mutants(SOURCE))
    living = [mutant.what for mutant in all_of_them if lives(mutant)]
    assert len(all_of_them) > 100
    assert len(living) <= (1 - KILLED_MIN) * len(all_of_them), living


def test_the_gate_itself_passes_where_its_mutants_are_tried() -> None:
    assert survives(checks, TESTS, "everloop.lessons.gate.checks")
