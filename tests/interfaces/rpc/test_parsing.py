"""The strict JSON parser."""

import json

import pytest
from tests.interfaces.rpc.hostile import LINES, VALID

from everloop.interfaces.rpc.parsing import InvalidJson, parse_json

DEPTH = 64


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_line_that_is_not_strict_json_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidJson):
        parse_json(line, DEPTH)


@pytest.mark.parametrize("line", VALID, ids=range(len(VALID)))
def test_a_strict_json_line_is_parsed_like_the_standard_library(line: bytes) -> None:
    assert parse_json(line, DEPTH) == json.loads(line)


def test_there_are_hundreds_of_hostile_lines() -> None:
    assert len(LINES) > 250
