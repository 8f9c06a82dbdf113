"""`/metrics`: who gets it, what it tells, and what never is in it."""

import json
import re
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from tests.interfaces.http.serving import Served, plain_settings, send_and_wait, served

from everloop.errors import Invalid
from everloop.settings import ObserveSettings, load

TOKEN = "a-token-for-prometheus-only"  # noqa: S105 - of this test
CANARY = "Zanzibar"
DASHBOARD = Path(__file__).parents[3] / "deploy/grafana/everloop.json"


@pytest.fixture
def observed(tmp_path: Path) -> Generator[Served]:
    """A server with `/metrics`, and a model that answers once."""
    settings = msgspec.structs.replace(
        plain_settings(tmp_path), observe=ObserveSettings(metrics_key=TOKEN)
    )
    with served(tmp_path, [f"{CANARY} is an island."], settings=settings) as server:
        yield server


def _metrics(server: Served) -> str:
    with server.stranger() as client:
        answer = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    return answer.text


@pytest.mark.promise("P-REACH-6")
def test_requests_facts_and_model_calls_are_counted(observed: Served) -> None:
    with observed.client() as client:
        send_and_wait(client, "Hello")
        client.get("/api/threads/home/messages")
    told = _metrics(observed)
    assert 'everloop_facts_total{kind="thread.answer_given"} 1.0' in told
    assert 'route="/api/threads/{thread_id}/messages",status="200"' in told
    assert "everloop_model_tokens_total" in told
    assert "everloop_background_task{" in told


@pytest.mark.promise("P-REACH-6")
def test_turns_appends_recall_and_jobs_are_measured_without_what_was_written(
    observed: Served,
) -> None:
    line = f'{{"role": "user", "text": "{CANARY} again.", "at": "2026-02-01T10:00:00Z"}}\n'
    with observed.client() as client:
        send_and_wait(client, f"Where is {CANARY}?")
        client.get("/api/recall", params={"query": CANARY}).raise_for_status()
        sent = client.post("/api/imports", params={"name": f"{CANARY}.jsonl"}, content=line)
        sent.raise_for_status()
    told = _metrics(observed)
    measured = set(
        re.findall(r'everloop_operation_duration_seconds_count{.*operation="(.+?)"', told)
    )
    assert measured == {"turn", "log.append", "memory.recall", "job"}
    assert CANARY.lower() not in told.lower()


@pytest.mark.promise("P-REACH-6")
def test_nothing_private_is_in_the_metrics(observed: Served) -> None:
    with observed.client() as client:
        send_and_wait(client, f"Where is {CANARY}?")
        client.get(f"/api/memories/{CANARY}")
        client.get(f"/{CANARY}/{CANARY}")
        client.request(CANARY.upper(), "/api/threads")
    assert CANARY.lower() not in _metrics(observed).lower()


@pytest.mark.promise("P-REACH-6")
@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", TOKEN, f"Basic {TOKEN}"])
def test_without_the_token_there_are_no_metrics(observed: Served, given: str) -> None:
    with observed.stranger() as client:
        answer = client.get("/metrics", headers={"authorization": given})
    assert answer.status_code == 401
    assert "everloop_" not in answer.text


def test_a_signed_in_device_needs_the_token_too(observed: Served) -> None:
    with observed.client() as client:
        assert client.get("/metrics").status_code == 401
        key = {"authorization": f"Bearer {TOKEN}"}
        assert client.post("/metrics", headers=key).status_code == 405


def test_without_a_token_in_the_settings_there_is_no_such_path(server: Served) -> None:
    with server.stranger() as client:
        answer = client.get("/metrics", headers={"authorization": "Bearer"})
    assert "everloop_" not in answer.text


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        load({"EVERLOOP_OBSERVE_METRICS_KEY": "short"}, home=str(tmp_path))


def test_the_dashboard_asks_for_metrics_that_exist(observed: Served) -> None:
    with observed.client() as client:
        send_and_wait(client, "Hello")
    told = _metrics(observed)
    board = json.loads(DASHBOARD.read_bytes())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    names = {name for expr in asked for name in re.findall(r"everloop_\w+", expr)}
    assert names
    assert {name for name in names if name not in told} == set()
