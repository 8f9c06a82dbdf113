"""Every method and every error, as recorded conversations."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from tests.interfaces.rpc.clients import Indoors
from tests.interfaces.rpc.golden import FOLDER, played

from everloop.interfaces.rpc.method_table import METHODS

RECORDINGS = sorted(FOLDER.glob("*.txt"))


@pytest.mark.promise("P-RPC-4")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_conversation_matches_its_recording(inside: Indoors, path: Path) -> None:
    recording = path.read_text()
    assert played(inside, recording) == recording


@pytest.mark.promise("P-RPC-4")
def test_every_method_is_recorded_with_a_result() -> None:
    answered: set[str] = set()
    for path in RECORDINGS:
        lines = path.read_text().splitlines()
        for asked, answer in pairwise(lines):
            if asked.startswith("> {") and answer.startswith("< {") and '"result"' in answer:
                answered.add(json.loads(asked[2:]).get("method"))
    assert set(METHODS) - answered == set()


def test_every_error_code_is_recorded() -> None:
    said = "\n".join(path.read_text() for path in RECORDINGS)
    codes = (-32700, -32600, -32601, -32602, -32000, -32001, -32002, -32003, -32004, -32005)
    assert [code for code in codes if f'"code":{code},' not in said] == []
