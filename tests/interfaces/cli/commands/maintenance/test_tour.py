"""The tour: everything it shows really happens."""

from tests.interfaces.cli.commandline import CommandLine


def test_the_tour_shows_the_log_at_work_and_leaves_nothing_behind(everloop: CommandLine) -> None:
    answer = everloop("tour")
    assert answer.code == 0, answer.err
    for title in ("Append", "Repeat", "Branch", "Rewind", "Retract", "Purge", "Verify"):
        assert f". {title}  " in answer.out
    assert "← you stand here" in answer.out
    assert not everloop.home.exists()


def test_the_tour_tells_machines_what_happened(everloop: CommandLine) -> None:
    steps = {step["step"]: step for step in everloop("tour", "--json").document}
    assert [touched["position"] for touched in steps["retract"]["impact"]["hides"]] == [1, 3]
    assert [touched["position"] for touched in steps["retract"]["undone"]["restores"]] == [1, 3]
    before, after = steps["purge"]["occurrences"]
    assert before > 0
    assert after == 0
    assert steps["verify"]["ok"]
    assert [damage["first"] for damage in steps["verify"]["damage_in_copy"]] == [3]
