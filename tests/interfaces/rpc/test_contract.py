"""What hosts written for loop-engine expect: parameters, defaults, result shapes, error codes.

The tables here are written by hand from that contract, not from our code. Additions of ours are
optional parameters and fields that are named.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from tests.interfaces.rpc.clients import Indoors, Refused
from tests.interfaces.rpc.golden import FOLDER

from everloop.app import USER
from everloop.interfaces.rpc.method_table import METHODS
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.model.events import MemoryEvidence

NONE = object()  # absent without a value of its own

PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {  # required ones; the others with defaults
    "ping": ("", {}),
    "lesson.create": (
        "description body",
        {
            "evidence": (),
            "authored_by": "agent",
            "pack_id": NONE,
            "external_id": NONE,
            "seed_as_promoted": False,
        },
    ),
    "lesson.recall": ("query", {"limit": 5}),
    "lesson.promote": ("id", {}),
    "lesson.discard": ("id", {"reason": NONE, "force": False}),
    "lesson.list": ("", {"statuses": NONE, "limit": 50, "offset": 0}),
    "lesson.capture_feedback": ("id polarity", {"source_signal_id": NONE}),
    "lesson.supersede": ("old_id new_id", {"force": False}),
    "memory.create": (
        "description content",
        {"scope": "user", "origin": NONE, "authored_by": NONE},
    ),
    "memory.search": (
        "query",
        {
            "limit": 5,
            "include_body": False,
            "scope_filter": NONE,
            "mode": "semantic",
            "min_similarity": 0,
        },
    ),
    "memory.get": ("id", {}),
    "memory.list": ("", {"scope_filter": NONE, "limit": 50, "offset": 0}),
    "memory.update": ("id", {"description": NONE, "content": NONE, "scope": NONE}),
    "memory.delete": ("id", {"force": False}),
    "memory.compress": ("ids", {"max_tokens": NONE, "temperature": NONE}),
    "memory.consolidate": ("ids", {"max_tokens": NONE, "temperature": NONE, "recall_k": 5}),
    "memory.recompute_citations": ("", {}),
    "manifest.assemble": (
        "",
        {
            "statuses": ("active",),
            "lesson_limit": 5,
            "body_preview_len": 200,
            "annotate_with_gate": True,
            "record_applied": True,
            "memory_query": NONE,
            "memory_limit": 5,
            "memory_scope_filter": NONE,
        },
    ),
    "task.log_phase": ("task_id phase", {"note": NONE}),
    "task.get_ledger": ("task_id", {}),
}

PAGE = "total limit offset returned results"
LISTED_LESSON = (
    "id description status authored_by pack_id external_id applied_count thumbs_up_count"
    " thumbs_down_count created_at updated_at"
)
SHAPES: dict[str, tuple[str, str]] = {  # what is always there; what may be there
    "ping": ("ok version", ""),
    "lesson.create": (
        "id status authored_by created_at updated",
        "pack_id external_id withheld",
    ),
    "lesson.recall": ("query returned results", ""),
    "lesson.promote": ("ok id gate status from cited_memory_ids", ""),
    "lesson.discard": ("ok id status from reason", ""),
    "lesson.list": (PAGE, ""),
    "lesson.capture_feedback": (
        "ok id status thumbs_up_count thumbs_down_count external_signal_sources",
        "",
    ),
    "lesson.supersede": ("ok old_id new_id old_status", ""),
    "memory.create": ("id description created_at scope origin", ""),
    "memory.search": ("query returned results", "notes"),
    "memory.get": (
        "id description content created_at scope origin consumed_by_user_lessons derived_from",
        "",
    ),
    "memory.list": (PAGE, ""),
    "memory.update": ("ok id description created_at updated_at scope origin", ""),
    "memory.delete": ("ok id forced", ""),
    "memory.compress": ("id description derived_from consumed_by_user_lessons", ""),
    "memory.consolidate": ("mc_id deleted kept_immune verified", ""),
    "memory.recompute_citations": (
        "lessons_scanned memories_recomputed counters_repaired orphan_citations",
        "",
    ),
    "manifest.assemble": (
        "active_lessons memories active_skills active_personas active_teams assembly_stats",
        "",
    ),
    "task.log_phase": ("ok task_id phase newly_recorded", ""),
    "task.get_ledger": ("task_id phases_logged entries", ""),
}
INNER: dict[tuple[str, str], str] = {  # the fields of what stands in a result
    ("lesson.recall", "results"): (
        "kind id description status body_preview similarity applied_count"
    ),
    ("lesson.list", "results"): LISTED_LESSON,
    ("memory.search", "results"): "kind id description body_preview similarity source",
    ("memory.list", "results"): (
        "id description scope origin created_at updated_at consumed_by_user_lessons"
    ),
    ("manifest.assemble", "active_lessons"): (
        "id description status body_preview applied_count last_applied_at target_skill gate"
    ),
    ("manifest.assemble", "memories"): "id description body_preview similarity",
    ("task.get_ledger", "entries"): "phase logged_at recorded_at note",
}
STATISTICS = (
    "assembled_at total_listed skipped_count gate_skip_count record_applied_failures"
    " memories_returned memory_search_failures session_section_skips"
)


def answers() -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Every result in the recorded conversations: method, parameters, result."""
    for path in sorted(FOLDER.glob("*.txt")):
        for asked, answer in pairwise(path.read_text().splitlines()):
            if asked.startswith("> {") and answer.startswith("< {") and '"result"' in answer:
                request = json.loads(asked[2:])
                yield (
                    request["method"],
                    request.get("params", {}),
                    json.loads(answer[2:])["result"],
                )


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_each_method_has_the_parameters_and_defaults_of_the_contract(name: str) -> None:
    required, optional = PARAMETERS[name]
    fields = {one.name: one for one in msgspec.structs.fields(METHODS[name].params)}
    assert {one.name for one in fields.values() if one.required} == set(required.split())
    for parameter, default in optional.items():
        assert default is NONE or fields[parameter].default == default, parameter


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_each_result_has_the_fields_of_the_contract(name: str) -> None:
    always, sometimes = (set(told.split()) for told in SHAPES[name])
    found = [(asked, result) for method, asked, result in answers() if method == name]
    assert found
    for asked, result in found:
        assert always <= set(result) <= always | sometimes, asked


@pytest.mark.parametrize(("name", "part"), sorted(INNER))
def test_nested_results_have_the_fields_of_the_contract(name: str, part: str) -> None:
    wanted = set(INNER[name, part].split())
    shown = [
        (asked, each) for method, asked, told in answers() if method == name for each in told[part]
    ]
    assert shown
    for asked, each in shown:
        given = wanted if asked.get("annotate_with_gate", True) else wanted - {"gate"}
        assert given <= set(each) <= wanted, each


def test_a_manifest_has_gate_results_and_statistics() -> None:
    made = [
        result
        for method, asked, result in answers()
        if method == "manifest.assemble" and asked.get("annotate_with_gate", True)
    ]
    gates = [one["gate"] for result in made for one in result["active_lessons"]]
    assert gates
    assert all(set(gate) == {"kind", "reason_count"} for gate in gates)
    assert {gate["kind"] for gate in gates} <= {"promote", "block"}
    for result in made:
        assert set(result["assembly_stats"]) == set(STATISTICS.split())


@pytest.mark.parametrize(
    ("polarity", "ups"),
    [("thumbs_up", 1), ("up", 1), ("+", 1), ("thumbs_down", 0), ("down", 0), ("-", 0)],
)
def test_feedback_accepts_three_spellings_per_polarity(
    inside: Indoors, polarity: str, ups: int
) -> None:
    made = inside.call("lesson.create", description="x", body="y")
    told = inside.call("lesson.capture_feedback", id=made["id"], polarity=polarity)
    assert (told["thumbs_up_count"], told["thumbs_down_count"]) == (ups, 1 - ups)


def test_a_page_has_50_results_by_default_and_500_at_most(inside: Indoors) -> None:
    for method in ("lesson.list", "memory.list"):
        assert inside.call(method)["limit"] == 50
        assert inside.call(method, limit=10**6)["limit"] == 500


REFUSALS: list[tuple[str, dict[str, Any], int]] = [
    ("lesson.create", {"description": "", "body": "y"}, -32602),
    ("lesson.create", {"description": "x", "body": ""}, -32602),
    ("lesson.create", {"description": "x", "body": "y", "authored_by": "pack"}, -32602),
    ("lesson.create", {"description": "x", "body": "y", "seed_as_promoted": True}, -32602),
    ("lesson.recall", {"query": ""}, -32602),
    ("lesson.promote", {"id": "les-none"}, -32002),
    ("lesson.discard", {"id": "les-none"}, -32002),
    ("lesson.list", {"statuses": ["lost"]}, -32602),
    ("lesson.list", {"offset": 2**63}, -32602),
    ("memory.list", {"offset": 2**63}, -32602),
    ("lesson.capture_feedback", {"id": "les-mine", "polarity": "meh"}, -32602),
    ("lesson.capture_feedback", {"id": "les-none", "polarity": "up"}, -32002),
    ("memory.create", {"description": "x", "content": "y", "scope": {"planet": "mars"}}, -32602),
    ("memory.search", {"query": "x", "scope_filter": {"kind": "nearby"}}, -32602),
    ("memory.search", {"query": "x", "mode": "psychic"}, -32602),
    ("memory.get", {"id": "mem-none"}, -32002),
    ("memory.update", {"id": "mem-none", "content": "y"}, -32002),
    ("memory.update", {"id": "mem-free"}, -32602),
    ("memory.compress", {"ids": []}, -32602),
    ("manifest.assemble", {"statuses": []}, -32602),
    ("task.log_phase", {"task_id": "t", "phase": "sleep"}, -32602),
    ("task.log_phase", {"task_id": "no such id", "phase": "code"}, -32602),
]


@pytest.mark.parametrize(("method", "params", "code"), REFUSALS)
def test_each_refusal_has_the_error_code_of_the_contract(
    inside: Indoors, method: str, params: dict[str, Any], code: int
) -> None:
    inside.remember("mem-free", "The gate is green.")
    inside.propose("les-mine", "Look at the gate.", "mem-free")
    with pytest.raises(Refused) as refused:
        inside.call(method, **params)
    assert refused.value.code == code
    if code == -32002:
        assert refused.value.data["id"] == params["id"]


def test_a_users_lesson_is_immune_and_so_is_the_memory_it_cites(inside: Indoors) -> None:
    inside.remember("mem-held", "The gate is green.")
    mine = ProposeLesson(
        "les-user", "Look.", "At the gate.", evidence=(MemoryEvidence("mem-held"),)
    )
    inside.engine.lessons.propose(mine, by=USER)
    with pytest.raises(Refused) as refused:
        inside.call("lesson.discard", id="les-user")
    assert (refused.value.code, refused.value.data["lesson_id"]) == (-32001, "les-user")
    with pytest.raises(Refused) as refused:
        inside.call("memory.delete", id="mem-held")
    assert refused.value.code == -32003
    assert (refused.value.data["memory_id"], refused.value.data["cited_by"]) == ("mem-held", 1)


def test_a_lesson_is_not_superseded_by_itself_by_nothing_or_in_a_circle(inside: Indoors) -> None:
    for name in ("les-a", "les-b"):
        inside.propose(name, f"Look at {name}.", "mem-free")
    inside.call("lesson.supersede", old_id="les-a", new_id="les-b")
    for old, new in (("les-b", "les-b"), ("les-b", "les-none"), ("les-b", "les-a")):
        with pytest.raises(Refused) as refused:
            inside.call("lesson.supersede", old_id=old, new_id=new)
        assert refused.value.code == -32004
        assert refused.value.data["reason"]


def test_deleting_is_idempotent(inside: Indoors) -> None:
    made = inside.call("memory.create", description="x", content="A note of one day.")
    for _ in range(2):
        told = inside.call("memory.delete", id=made["id"])
        assert told == {"ok": True, "id": made["id"], "forced": False}
