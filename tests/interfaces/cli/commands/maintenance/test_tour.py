"""The tour really runs every step."""

from tests.interfaces.cli.commandline import CommandLine


def test_the_tour_runs_every_step_and_leaves_nothing_behind(everloop: CommandLine) -> None:
    answer = everloop("tour")
    assert answer.code == 0, answer.err
    for title in ("Append", "Repeat", "Branch", "Rewind", "Retract", "Purge", "Verify"):
        assert f". {title}  " in answer.out
    assert "← current branch" in answer.out
    assert not everloop.home.exists()


def test_the_tour_reports_its_steps_as_json(everloop: CommandLine) -> None:
    steps = {step["step"]: step for step in everloop("tour", "--json").document}
    assert [touched["position"] for touched in steps["retract"]["impact"]["hides"]] == [1, 3]
    assert [touched["position"] for touched in steps["retract"]["undone"]["restores"]] == [1, 3]
    before, after = steps["purge"]["occurrences"]
    assert before > 0
    assert after == 0
    assert steps["verify"]["ok"]
    assert [damage["first"] for damage in steps["verify"]["damage_in_copy"]] == [3]
