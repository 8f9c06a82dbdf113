"""The JSON-RPC 2.0 protocol: requests, notifications, batches, ids and errors."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.interfaces.rpc.hostile import LINES

from everloop.errors import (
    Conflict,
    Corrupt,
    EverloopError,
    Forbidden,
    Invalid,
    ModelFailed,
    NotFound,
    Unavailable,
)
from everloop.interfaces.rpc.connection import RpcConnection, RpcMethod
from everloop.interfaces.rpc.lines import LINE_TOO_LONG
from everloop.settings import DoorSettings


class Difference(msgspec.Struct, frozen=True):
    """Two numbers."""

    minuend: int
    subtrahend: int = 1


class Failing(msgspec.Struct, frozen=True):
    """How to fail."""

    id: str


class Calculator:
    """The object that the test methods act on."""

    def __init__(self) -> None:
        self.calls = 0

    def subtract(self, asked: Difference) -> dict[str, Any]:
        """The difference."""
        self.calls += 1
        return {"difference": asked.minuend - asked.subtrahend}

    def fail(self, asked: Failing) -> dict[str, Any]:
        """Raise one of our errors, or an unexpected one."""
        kinds = {kind.__name__: kind for kind in (*ERRORS, EverloopError)}
        raise kinds[asked.id]("it failed", hint="Try something else.")


ERRORS = (Invalid, NotFound, Conflict, Forbidden, Unavailable, ModelFailed, Corrupt)
METHODS: dict[str, RpcMethod[Calculator]] = {
    "subtract": RpcMethod(Difference, Calculator.subtract),
    "fail": RpcMethod(Failing, Calculator.fail),
}
LIMITS = DoorSettings(batch_max=5)


@pytest.fixture
def calculator() -> Calculator:
    return Calculator()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def talk(calculator: Calculator, said: list[str]) -> RpcConnection[Calculator]:
    return RpcConnection(calculator, METHODS, LIMITS, said.append)


def _ask(talk: RpcConnection[Calculator], asked: Any) -> Any:
    answer = talk.respond(json.dumps(asked).encode())
    if answer is None:
        return None
    assert answer.endswith(b"\n")
    assert answer.count(b"\n") == 1
    return json.loads(answer)


def _request(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42}, **members}


@pytest.mark.parametrize(
    "params", [{"minuend": 42, "subtrahend": 23}, {"subtrahend": 23, "minuend": 42}, [42, 23]]
)
def test_parameters_are_accepted_by_name_or_position(
    talk: RpcConnection[Calculator], params: Any
) -> None:
    answer = _ask(talk, _request(id=1, params=params))
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {"difference": 19}}


@pytest.mark.parametrize("name", [1, -7, 2**64 - 1, 1.5, "a", "", "1", "é😀", None])
def test_a_response_has_the_id_of_its_request(talk: RpcConnection[Calculator], name: Any) -> None:
    assert _ask(talk, _request(id=name))["id"] == name


def test_a_null_parameter_counts_as_absent(talk: RpcConnection[Calculator]) -> None:
    params = {"minuend": 42, "subtrahend": None}
    assert _ask(talk, _request(id=1, params=params))["result"] == {"difference": 41}


def test_unknown_parameters_are_ignored(talk: RpcConnection[Calculator]) -> None:
    params = {"minuend": 42, "trace": "abc"}
    assert _ask(talk, _request(id=1, params=params))["result"] == {"difference": 41}


def test_a_notification_is_executed_without_a_response(
    talk: RpcConnection[Calculator], calculator: Calculator
) -> None:
    assert _ask(talk, _request()) is None
    assert calculator.calls == 1


@pytest.mark.parametrize("members", [{"method": "nothing"}, {"params": {}}, {"method": "fail"}])
def test_a_failing_notification_gets_no_response(
    talk: RpcConnection[Calculator], members: dict[str, Any]
) -> None:
    assert _ask(talk, _request(**members)) is None


def test_a_batch_response_keeps_the_order_and_omits_notifications(
    talk: RpcConnection[Calculator],
) -> None:
    batch = [_request(id="1"), _request(), 1, _request(id="2", method="x"), {"id": "3"}]
    answers = _ask(talk, batch)
    assert [answer.get("id") for answer in answers] == ["1", None, "2", "3"]
    assert [answer.get("error", {}).get("code") for answer in answers] == [
        None,
        -32600,
        -32601,
        -32600,
    ]


def test_a_batch_of_notifications_gets_no_response(talk: RpcConnection[Calculator]) -> None:
    assert _ask(talk, [_request(), _request()]) is None


@pytest.mark.parametrize("length", [0, 6])
def test_a_batch_that_is_empty_or_too_long_is_one_invalid_request(
    talk: RpcConnection[Calculator], length: int
) -> None:
    answer = _ask(talk, [_request(id=1)] * length)
    assert answer["error"]["code"] == -32600
    assert "id" not in answer


@pytest.mark.parametrize("asked", [1, "a", None, True, {}, {"id": True}, {"id": []}, {"id": {}}])
def test_an_invalid_request_is_answered_without_an_id(
    talk: RpcConnection[Calculator], asked: Any
) -> None:
    answer = _ask(talk, asked)
    assert answer["error"]["code"] == -32600
    assert "id" not in answer


@pytest.mark.parametrize(
    "members",
    [
        {"jsonrpc": "1.0"},
        {"jsonrpc": 2.0},
        {"jsonrpc": None},
        {"method": 1},
        {"method": None},
        {"params": 1},
        {"params": "a"},
        {"params": True},
    ],
)
def test_a_malformed_request_is_invalid(
    talk: RpcConnection[Calculator], members: dict[str, Any]
) -> None:
    answer = _ask(talk, _request(id=1, **members))
    assert (answer["id"], answer["error"]["code"]) == (1, -32600)


@pytest.mark.parametrize(
    "params", [{}, [], None, {"minuend": "42"}, {"minuend": 1.5}, {"minuend": True}, [1, 2, 3]]
)
def test_malformed_parameters_are_invalid(talk: RpcConnection[Calculator], params: Any) -> None:
    assert _ask(talk, _request(id=1, params=params))["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["", "Subtract", "subtract ", "rpc.discover", "__init__", "é"])
def test_an_unknown_method_has_its_own_code(talk: RpcConnection[Calculator], method: str) -> None:
    assert _ask(talk, _request(id=1, method=method))["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        ("Invalid", -32602, {}),
        ("Conflict", -32602, {}),
        ("NotFound", -32002, {"id": "NotFound"}),
        ("Forbidden", -32005, {}),
        ("Unavailable", -32603, {"retry": True}),
        ("ModelFailed", -32603, {"retry": True}),
        ("Corrupt", -32603, {}),
        ("EverloopError", -32603, {}),
    ],
)
def test_each_error_has_its_code_and_hint(
    talk: RpcConnection[Calculator], error: str, code: int, data: dict[str, Any]
) -> None:
    answer = _ask(talk, _request(id=1, method="fail", params={"id": error}))
    hint = {"hint": "Try something else."}
    assert answer["error"] == {"code": code, "message": "it failed", "data": {**data, **hint}}


def test_an_internal_error_is_reported_briefly_and_logged_in_full(
    talk: RpcConnection[Calculator], said: list[str]
) -> None:
    answer = _ask(talk, _request(id=1, method="fail", params={"id": "secret"}))
    assert answer["error"]["code"] == -32603
    assert "secret" not in answer["error"]["message"]
    assert "KeyError: 'secret'" in said[0]


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_hostile_line_gets_an_error_and_the_next_line_an_answer(
    talk: RpcConnection[Calculator], line: bytes
) -> None:
    answer = json.loads(talk.respond(line) or b"")
    assert answer["error"]["code"] == -32700
    assert "id" not in answer
    assert _ask(talk, _request(id=1))["result"] == {"difference": 41}


def test_a_too_long_line_gets_an_error(talk: RpcConnection[Calculator]) -> None:
    answer = json.loads(talk.respond(LINE_TOO_LONG) or b"")
    assert answer["error"] == {
        "code": -32700,
        "message": "parse error: the line is longer than 10,000,000 bytes",
    }


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)
_REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | _JSON,
        "id": _JSON,
        "method": st.sampled_from(["subtract", "fail", "x"]) | _JSON,
        "params": st.fixed_dictionaries({"minuend": st.integers(0, 9)}) | _JSON,
    },
)


@pytest.mark.promise("P-RPC-2")
@given(
    st.binary() | (_JSON | _REQUESTS | st.lists(_REQUESTS)).map(lambda v: json.dumps(v).encode())
)
def test_every_response_is_json_rpc_whatever_the_input(line: bytes) -> None:
    said: list[str] = []
    answer = RpcConnection(Calculator(), METHODS, LIMITS, said.append).respond(line)
    if answer is None:
        return
    batch = answer if answer.startswith(b"[") else b"[%s]" % answer
    for each in json.loads(batch):
        assert each["jsonrpc"] == "2.0"
        assert ("result" in each) != ("error" in each)
        assert set(each) <= {"jsonrpc", "id", "result", "error"}
