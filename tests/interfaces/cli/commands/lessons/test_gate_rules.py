"""`everloop lessons rules`: what the settings and the log say, and adopting the settings."""

import pytest
from tests.interfaces.cli.commandline import CommandLine

IN_FILE = "[lessons]\nage_hours_min = 0\nuses_min = 1\n"


@pytest.mark.promise("P-TRUST-5")
def test_at_a_terminal_the_user_sees_both_and_adopts_those_of_the_settings(
    everloop: CommandLine,
) -> None:
    everloop.typed("lessons", "propose", "Lock first", "--body", "Run the lock.")
    (everloop.home / "settings.toml").write_text(IN_FILE)
    before = everloop.typed("lessons", "rules", "--json").document
    assert (before["settings"]["uses_min"], before["log"]["uses_min"]) == (1, 3)
    assert before["in_effect"]["age_hours_min"] == 24
    assert "lessons rules --adopt" in everloop.typed("lessons", "rules").out
    assert everloop("lessons", "rules", "--adopt").code == 5
    after = everloop.typed("lessons", "rules", "--adopt", "--json").document
    assert after["changed"]
    assert after["in_effect"]["age_hours_min"] == 0


@pytest.mark.promise("P-TRUST-5")
def test_only_the_user_takes_adopted_rules_back(everloop: CommandLine) -> None:
    everloop.typed("lessons", "propose", "Lock first", "--body", "Run the lock.")
    facts = everloop.typed("log", "tail", "--json").document
    [at] = [fact["position"] for fact in facts if fact["kind"] == "lessons.gate_rules_set"]
    back = (("retract", str(at)), ("rewind", str(at - 1)))
    assert [everloop("log", *words, "--yes").code for words in back] == [5, 5]
    assert everloop.typed("log", *back[0], "--yes").code == 0
    assert everloop.typed("lessons", "rules", "--json").document["log"] is None
