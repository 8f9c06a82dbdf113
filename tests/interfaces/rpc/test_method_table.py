"""The method table: lazy imports, and no parameters cause an internal error."""

import ast
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.interfaces.rpc.clients import Indoors, indoors

from everloop.interfaces.rpc import method_table
from everloop.interfaces.rpc.method_table import ADDED_METHODS, LOOP_ENGINE_METHODS, METHODS

ODD = ["\x00", "'; --", "*", '"', " ", "(", "NOT", "last week", "é😀", "# head\n", "a" * 5_000]
WORDS = st.sampled_from(["the nightly build", "mem-", *ODD]) | st.text(max_size=12)
MEMORIES = st.sampled_from(["mem-a", "mem-b", "mem-c", "mem-none"])
LESSONS = st.sampled_from(["les-a", "les-b", "les-none"])
SCOPES = st.sampled_from(["user", "global"]) | st.dictionaries(
    st.sampled_from(["team", "project", "skill", "x"]), WORDS, max_size=2
)
FILTERS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["exact", "kind", "any_of", "x"])},
    optional={
        "scope": SCOPES,
        "kind_name": st.sampled_from(["user", "team", "x"]),
        "scopes": st.lists(SCOPES, max_size=2),
    },
)
COUNTS = st.sampled_from([-1, 0, 1, 5, 500, 10**9])
STATUSES = st.sampled_from(["pending", "active", "promoted", "discarded", "superseded", "x"])
ORIGINS = st.dictionaries(st.sampled_from(["host", "session_id", "model", "written_at"]), WORDS)
NARRATIVES = st.fixed_dictionaries(
    dict.fromkeys(("trigger", "failure_mode", "correction"), WORDS)
    | {"confidence": st.sampled_from(["observed", "inferred", "x"])},
    optional={"evidence": st.lists(MEMORIES | WORDS, max_size=2)},
)
FITTING: dict[str, st.SearchStrategy[Any]] = {
    "id": MEMORIES | LESSONS,
    "ids": st.lists(MEMORIES, max_size=3),
    "old_id": LESSONS,
    "new_id": LESSONS,
    "scope": SCOPES,
    "scope_filter": FILTERS,
    "memory_scope_filter": FILTERS,
    "statuses": st.lists(STATUSES, max_size=3),
    "evidence": st.lists(MEMORIES | WORDS, max_size=3),
    "origin": ORIGINS,
    "narrative": NARRATIVES,
    "mode": st.sampled_from(["text", "semantic", "hybrid"]),
    "polarity": st.sampled_from(["up", "down", "+"]),
    "phase": st.sampled_from(["learn", "code"]),
    "authored_by": st.sampled_from(["user", "pack", "agent", "x"]),
    **dict.fromkeys(("limit", "offset", "recall_k", "max_tokens", "lesson_limit"), COUNTS),
    **dict.fromkeys(("memory_limit", "body_preview_len"), COUNTS),
    **dict.fromkeys(("temperature", "min_similarity"), st.floats(-1, 3)),
    **dict.fromkeys(("force", "include_body", "seed_as_promoted"), st.booleans()),
    **dict.fromkeys(("annotate_with_gate", "record_applied"), st.booleans()),
}
UNFIT = WORDS | SCOPES | COUNTS | st.booleans() | st.none() | st.lists(WORDS, max_size=2)


@st.composite
def _requests(draw: st.DrawFn) -> dict[str, Any]:
    """A request with mostly valid parameters."""
    name = draw(st.sampled_from(sorted(METHODS)))
    params: dict[str, Any] = {}
    for field in msgspec.structs.fields(METHODS[name].params):
        if field.required or draw(st.booleans()):
            fits = draw(st.integers(0, 9)) > 0
            params[field.name] = draw(FITTING.get(field.name, WORDS) if fits else UNFIT)
    return {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Generator[Indoors]:
    """An engine with a few memories and lessons, shared by all examples."""
    with indoors(tmp_path_factory.mktemp("home")) as inside:
        for name in ("a", "b", "c"):
            text = f"The nightly build of {name} fails when disk {name} is full."
            inside.remember(f"mem-{name}", text)
        inside.propose("les-a", "The nightly build needs room.", "mem-a")
        inside.propose("les-b", "Look at the disk first.", "mem-b")
        yield inside


@settings(max_examples=300)
@given(_requests())
def test_no_parameters_cause_an_internal_error(crowded: Indoors, request: dict[str, Any]) -> None:
    answer = json.loads(crowded.talk().respond(json.dumps(request).encode()) or b"")
    error = answer.get("error", {})
    assert crowded.said == []
    assert error.get("code") != -32603 or error["data"]["retry"]  # a model may fail


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_without_its_parameters_says_which_are_missing(
    crowded: Indoors, name: str
) -> None:
    fields = msgspec.structs.fields(METHODS[name].params)
    required = [field.name for field in fields if field.required]
    request = {"jsonrpc": "2.0", "id": 1, "method": name}
    answer = json.loads(crowded.talk().respond(json.dumps(request).encode()) or b"")
    if required:
        assert answer["error"]["code"] == -32602
        assert required[0] in answer["error"]["message"]
    else:
        assert "result" in answer


def test_import_linter_sees_the_module_of_every_row() -> None:
    source = ast.parse(Path(method_table.__file__).read_bytes())
    (block,) = [
        node
        for node in source.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imported = {
        f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    rows = (LOOP_ENGINE_METHODS | ADDED_METHODS).values()
    assert imported == {f"{method_table.PACKAGE}.{row.module}" for row in rows}
