"""Fields and codes that hosts of loop-engine read, as its binary answers."""

from pathlib import Path

import pytest
from tests.interfaces.rpc.clients import Indoors, Refused, serving

from everloop.app import USER
from everloop.lessons.crew.commands import ActivateEntry, EnlistEntry
from everloop.lessons.crew.events import Skill
from everloop.lessons.model.commands import ProposeLesson, UseLesson
from everloop.lessons.model.events import MemoryEvidence
from everloop.log import Context
from everloop.memory.model.commands import RememberItem


def test_a_ledger_says_which_phases_were_logged_and_when(inside: Indoors) -> None:
    inside.call("task.log_phase", task_id="t-1", phase="learn", note="read")
    inside.call("task.log_phase", task_id="t-1", phase="code")
    ledger = inside.call("task.get_ledger", task_id="t-1")
    assert ledger["phases_logged"] == ["learn", "code"]
    for entry in ledger["entries"]:
        assert entry["logged_at"] == entry["recorded_at"]


def test_a_lesson_in_a_manifest_says_when_it_was_applied_and_for_which_skill(
    inside: Indoors,
) -> None:
    new = ProposeLesson("les-1", "Rule", "Do it.", target_skill="release-notes")
    inside.engine.lessons.propose(new, by=USER)
    inside.engine.lessons.activate("les-1", by=USER)
    [shown] = inside.call("manifest.assemble")["active_lessons"]
    assert (shown["last_applied_at"], shown["target_skill"]) == (None, "release-notes")
    inside.engine.lessons.use(UseLesson("les-1"), by=inside.host().by)
    [shown] = inside.call("manifest.assemble")["active_lessons"]
    assert shown["last_applied_at"].endswith("Z")


def _lesson(inside: Indoors, words: str) -> str:
    return str(inside.call("lesson.create", description=words, body=words)["id"])


def test_a_blocked_replacement_has_a_code(inside: Indoors) -> None:
    old, new, gone = (_lesson(inside, words) for words in ("Old", "New", "Gone"))
    inside.call("lesson.discard", id=gone)
    assert _reason(inside, old, old) == "self-reference"
    assert _reason(inside, old, "les-unknown") == "replacement-not-found"
    assert _reason(inside, old, gone) == "replacement-discarded"
    inside.call("lesson.supersede", old_id=old, new_id=new)
    assert _reason(inside, new, old) == "cycle-detected"
    assert _reason(inside, old, _lesson(inside, "Third")) == "already-superseded"


def _reason(inside: Indoors, old: str, new: str) -> str:
    with pytest.raises(Refused) as refused:
        inside.call("lesson.supersede", old_id=old, new_id=new)
    assert refused.value.code == -32004
    return str(refused.value.data["reason"])


def test_a_lesson_without_a_scope_takes_the_scope_of_what_it_cites(inside: Indoors) -> None:
    apollo = {"project": "apollo"}
    cited = [
        inside.call("memory.create", description=words, content=words, scope=scope)["id"]
        for words, scope in (("In apollo", apollo), ("In all", "global"), ("Of the user", "user"))
    ]
    for evidence, scope in (
        (cited[:1], apollo),
        (cited[:2], apollo),
        (cited[1:2], "global"),
        (cited, "user"),
        ([], "user"),
    ):
        made = inside.call(
            "lesson.create", description="Rule", body=f"On {evidence}.", evidence=evidence
        )
        assert inside.call("lesson.get", id=made["id"])["scope"] == scope
    told = inside.call(
        "lesson.create", description="Rule", body="Mine.", evidence=cited[:1], scope="user"
    )
    assert inside.call("lesson.get", id=told["id"])["scope"] == "user"


def test_a_summary_counts_the_lessons_that_stand_on_its_sources(inside: Indoors) -> None:
    texts = ("Tea is served at four in the blue room.", "Coffee is served at six in the hall.")
    ids = [inside.call("memory.create", description=t, content=t)["id"] for t in texts]
    cites = (MemoryEvidence(ids[0]),)
    new = ProposeLesson("les-1", "Rule", "Serve tea.", evidence=cites)
    inside.engine.lessons.propose(new, by=USER)
    made = inside.call("memory.compress", ids=ids)
    assert made["consumed_by_user_lessons"] == 1
    assert inside.call("memory.get", id=made["id"])["consumed_by_user_lessons"] == 1


def test_a_filter_of_no_scopes_finds_nothing(inside: Indoors) -> None:
    inside.call("memory.create", description="tea", content="Tea at four.")
    empty: dict[str, object] = {"kind": "any_of", "scopes": []}
    assert inside.call("memory.list", scope_filter=empty)["total"] == 0
    found = inside.call("memory.search", query="tea", mode="text", scope_filter=empty)
    assert found["results"] == []


def test_a_description_has_up_to_1024_characters(inside: Indoors) -> None:
    made = inside.call("memory.create", description="d" * 1_024, content="Tea at four.")
    assert len(made["description"]) == 1_024
    with pytest.raises(Refused, match="1,024"):
        inside.call("memory.create", description="d" * 1_025, content="Coffee at six.")


def test_an_agents_skill_protects_no_memory(inside: Indoors) -> None:
    agent, user = inside.host().by, Context()
    for by, name in ((agent, "agents-skill"), (user, "users-skill")):
        item = f"mem-{name}"
        inside.engine.do(RememberItem(item, f"About {name}."), by=agent)
        new = EnlistEntry("skill", name, Skill(description="Brew.", body="Brew."), evidence=(item,))
        inside.engine.crew.enlist(new, by=by)
        inside.engine.crew.change_status(ActivateEntry("skill", name), by=user)
    assert inside.call("memory.delete", id="mem-agents-skill")["ok"]
    assert inside.engine.memory.find("user", "mem-agents-skill").retired
    with pytest.raises(Refused) as refused:
        inside.call("memory.delete", id="mem-users-skill")
    assert refused.value.code == -32003


def test_two_homes_under_one_program_share_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with (
        serving(first) as one,
        serving(None, LOOP_HOME=str(second), EVERLOOP_HOME="") as other,
    ):
        for client in (one, other):
            client.wait_until_ready()
        made = one.call("memory.create", description="tea", content="Tea at four.")
        one.call("lesson.create", description="Rule", body="Serve tea.")
        one.call("task.log_phase", task_id="t-1", phase="learn")
        assert other.call("memory.list")["total"] == 0
        assert other.call("lesson.list")["total"] == 0
        assert other.call("task.get_ledger", task_id="t-1")["entries"] == []
        with pytest.raises(Refused) as refused:
            other.call("memory.get", id=made["id"])
        assert refused.value.code == -32002
    assert (second / "everloop.db").exists()
