"""The thresholds of the gate are in the log: no settings file beside it makes them looser."""

from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, ENGINE, SHORT, USER, LessonHarness

from everloop.errors import Forbidden, Invalid
from everloop.lessons.decide.gate_rules import set_gate_rules
from everloop.lessons.manifest.manifest import ManifestRequest
from everloop.lessons.model.commands import PromoteLesson, SetGateRules
from everloop.lessons.model.events import PromotionRefused
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.model.state import RULES_STREAM
from everloop.lessons.settings import RULE_NAMES, GateRules, LessonSettings, strictest_rules
from everloop.log import DecisionContext
from everloop.settings import Settings
from everloop.testing.deterministic import NEW_YEAR

LOOSE = GateRules(age_hours_min=0, uses_min=1, supports_min=1, origins_min=1, relayed_per_day_max=9)
STRICT = GateRules(
    age_hours_min=48, uses_min=9, supports_min=2, origins_min=3, relayed_per_day_max=0,
    citations_min=2,
)  # fmt: skip


def decided(rules: GateRules | None, wanted: GateRules, actor: str) -> list[GateRules]:
    by = msgspec.structs.replace(USER, actor=actor)
    events = set_gate_rules(rules, SetGateRules(wanted), DecisionContext(by, NEW_YEAR))
    return [GateRules(**msgspec.structs.asdict(event)) for event in events]


def test_the_engine_sets_the_rules_once() -> None:
    assert decided(None, LOOSE, "engine") == [LOOSE]
    assert decided(STRICT, LOOSE, "engine") == []


def test_only_the_user_changes_them_later() -> None:
    assert decided(STRICT, LOOSE, "user") == [LOOSE]
    assert decided(LOOSE, LOOSE, "user") == []
    for rules in (None, STRICT):
        with pytest.raises(Forbidden, match="may not change the rules"):
            decided(rules, LOOSE, "agent:a")


@pytest.mark.parametrize("name", RULE_NAMES)
def test_for_each_threshold_the_strictest_counts(name: str) -> None:
    raised = msgspec.structs.replace(GateRules(), **{name: getattr(STRICT, name)})
    assert strictest_rules(GateRules(), raised) == raised
    assert strictest_rules(raised, GateRules()) == raised
    assert strictest_rules(raised, None) == raised


@pytest.fixture
def first(tmp_path: Path) -> Generator[LessonHarness]:
    """A home with the rules as shipped, and a lesson that is too young and used once."""
    made = LessonHarness(tmp_path / "first")
    made.remember()
    made.propose("mem-1")
    made.narrate()
    made.use(times=1)
    made.thumb(up=True, signal="praise")
    yield made
    made.close()


@pytest.fixture
def second(first: LessonHarness, tmp_path: Path) -> Generator[LessonHarness]:
    """Another home with a link to the same log, and loose settings of its own."""
    folder = tmp_path / "second"
    folder.mkdir()
    (folder / "everloop.db").symlink_to(first.log.file.path)
    made = LessonHarness(folder, Settings(lessons=LessonSettings(**msgspec.structs.asdict(LOOSE))))
    yield made
    made.close()


@pytest.mark.promise("P-TRUST-5")
def test_a_second_home_with_loose_settings_promotes_nothing_that_the_first_refuses(
    first: LessonHarness, second: LessonHarness
) -> None:
    refused = second.engine.do(PromoteLesson("les-1"), by=AGENT)
    assert [type(fact.event) for fact in refused.facts] == [PromotionRefused]
    for by in (AGENT, USER):
        elsewhere, here = second.promote(by=by), first.promote(by=by)
        assert not elsewhere.passed
        assert elsewhere.reasons == here.reasons
    assert first.codes() == second.codes() == ["time-floor", *first.codes()[1:]]
    assert first.status() is second.status() is Status.PENDING


@pytest.mark.promise("P-TRUST-5")
def test_checklist_and_manifest_show_the_strictest_rules(second: LessonHarness) -> None:
    shown = second.lessons.gate_result("user", "les-1")
    uses = next(check for check in shown.checks if check.name == "uses")
    assert (uses.count, uses.required) == (1, 3)
    manifest = second.engine.manifests.build(ManifestRequest(("pending",)), by=USER)
    [listed] = manifest.lessons
    assert listed.gate is not None
    assert listed.gate.reasons == shown.reasons


@pytest.mark.promise("P-TRUST-5")
def test_what_the_user_adopts_or_takes_back_counts_everywhere(
    first: LessonHarness, second: LessonHarness
) -> None:
    with pytest.raises(Forbidden):
        second.lessons.adopt_rules(by=AGENT)
    assert second.lessons.adopt_rules(by=USER)
    assert second.lessons.gate_rules().in_effect == LOOSE
    assert first.lessons.gate_rules().in_effect == GateRules()  # its own settings are stricter
    adopted = first.log.head
    first.log.retract([adopted], reason="no", actor="user")
    assert second.lessons.gate_rules().in_effect == GateRules()
    assert second.promote().passed is False


def test_the_engine_records_the_rules_at_the_first_proposal(first: LessonHarness) -> None:
    [recorded] = first.log.read(RULES_STREAM)
    assert recorded.actor == ENGINE.actor
    assert first.lessons.gate_rules().log == GateRules()


def test_a_refused_proposal_records_no_rules(harness: LessonHarness) -> None:
    with pytest.raises(Invalid):
        harness.propose(new=msgspec.structs.replace(SHORT, scope="no such scope"))
    assert harness.lessons.gate_rules().log is None
