"""Lesson methods: what a host may not do. The rest is in the golden conversations."""

from typing import Any

import pytest
from tests.interfaces.rpc.clients import Indoors, Refused

from everloop.app import USER
from everloop.lessons.crew.commands import ActivateEntry, EnlistEntry
from everloop.lessons.crew.events import Skill
from everloop.lessons.model.commands import ProposeLesson
from everloop.memory.model.commands import GrantAudience, RememberItem

RULE = {"description": "Look first", "body": "Read the log before you guess."}


def test_a_skill_in_use_is_in_the_manifest(inside: Indoors) -> None:
    inside.engine.do(EnlistEntry("skill", "deploy", Skill("Ships it", "Run the checks.")), by=USER)
    inside.engine.do(ActivateEntry("skill", "deploy"), by=USER)
    told = inside.call("manifest.assemble")["active_skills"]
    assert told == [{"id": "deploy", "name": "deploy", "description": "Ships it"}]


def test_a_lesson_outside_a_hosts_scopes_is_not_found(inside: Indoors) -> None:
    inside.engine.do(GrantAudience("agent:rpc", ("user",)), by=USER)
    hidden = ProposeLesson("les-hidden", "Hidden", "The vault opens at nine.", scope="team:x")
    inside.engine.lessons.propose(hidden, by=USER)
    assert inside.call("lesson.list")["total"] == 0
    assert inside.call("lesson.recall", query="vault")["returned"] == 0
    assert inside.call("manifest.assemble", statuses=["pending"])["active_lessons"] == []
    for method in ("lesson.get", "lesson.promote", "lesson.discard", "lesson.used", "lesson.gate"):
        with pytest.raises(Refused) as refused:
            inside.call(method, id="les-hidden")
        assert (refused.value.code, refused.value.data["id"]) == (-32002, "les-hidden")


def test_being_shown_in_manifests_does_not_count_as_use(inside: Indoors) -> None:
    made = inside.call("lesson.create", **RULE)
    for _ in range(3):
        inside.call("manifest.assemble", statuses=["pending"])
    assert inside.call("lesson.get", id=made["id"])["applied_count"] == 0


def test_sessions_invented_by_a_host_count_as_one_origin(inside: Indoors) -> None:
    made = inside.call("lesson.create", **RULE)
    for number in range(5):
        inside.call("lesson.used", id=made["id"], session_id=f"made-up-{number}")
    reasons = inside.call("lesson.gate", id=made["id"])["reasons"]
    assert any(reason.startswith("insufficient-origin-diversity") for reason in reasons)
    assert not any(reason.startswith("insufficient-applied-count") for reason in reasons)


def test_a_distrusted_host_cannot_relay_the_users_words(inside: Indoors) -> None:
    made = inside.call("lesson.create", **RULE)
    inside.engine.lessons.trust("rpc", by=USER)
    inside.engine.lessons.distrust("rpc", by=USER)
    with pytest.raises(Refused) as refused:
        inside.call("lesson.activate", id=made["id"])
    assert refused.value.code == -32005


def test_a_host_without_access_sees_no_ledger(inside: Indoors) -> None:
    inside.call("task.log_phase", "squid", task_id="t-1", phase="learn")
    inside.engine.do(GrantAudience("agent:rpc", ()), by=USER)
    assert inside.call("task.get_ledger", "rpc", task_id="t-1")["entries"] == []
    assert len(inside.call("task.get_ledger", "squid", task_id="t-1")["entries"]) == 1


@pytest.mark.promise("P-MEM-6")
def test_a_host_with_access_to_some_scopes_sees_its_own_phases_only(inside: Indoors) -> None:
    inside.call("task.log_phase", "squid", task_id="t-1", phase="learn", note="secret")
    inside.engine.do(GrantAudience("agent:rpc", ("project:zoo",)), by=USER)
    inside.call("task.log_phase", "rpc", task_id="t-1", phase="code")
    assert inside.call("task.get_ledger", "rpc", task_id="t-1")["phases_logged"] == ["code"]


@pytest.mark.promise("P-MEM-6")
def test_a_hidden_memory_cannot_be_told_from_none_by_citing_it(inside: Indoors) -> None:
    inside.engine.do(RememberItem("mem-pin", "The PIN is 4711.", scope="project:bank"), by=USER)
    inside.engine.do(GrantAudience("agent:rpc", ("project:zoo",)), by=USER)
    told: list[list[str]] = []
    for cited in ("mem-pin", "mem-not"):
        text: dict[str, Any] = {"description": f"Mind {cited}", "body": "x"}
        made = inside.call("lesson.create", **text, scope={"project": "zoo"}, evidence=[cited])
        reasons = inside.call("lesson.gate", id=made["id"])["reasons"]
        told.append([reason.replace(cited, "…") for reason in reasons])
    assert told[0] == told[1]


@pytest.mark.parametrize("granted", [(), ("project:zoo",)])
def test_a_host_cannot_propose_a_lesson_in_a_scope_without_access(
    inside: Indoors, granted: tuple[str, ...]
) -> None:
    inside.engine.do(GrantAudience("agent:rpc", granted), by=USER)
    head = inside.engine.log.head
    for scope in ("user", "global", {"team": "x"}):
        with pytest.raises(Refused, match="has no access to") as refused:
            inside.call("lesson.create", description="Tea", body="At four.", scope=scope)
        assert refused.value.code == -32005
    assert inside.engine.log.head == head
