"""Tasks over several nodes: each runs on one of them, and what a dead one leaves is found."""

from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.nodes.cluster import Cluster, cluster, until
from tests.workers.rig import survivors

ENDED = ("done", "failed", "uncertain")
pytestmark = pytest.mark.timeout(300)


def start(client: httpx.Client, script: str, **more: Any) -> str:
    """Start a command as the user; returns the task's id."""
    body = {"title": "A command", "runner": "command", "command": ["sh", "-c", script]}
    made = client.post("/api/tasks", json={**body, "sandbox": "off", **more})
    return str(made.raise_for_status().json()["task_id"])


def state(client: httpx.Client, name: str) -> str:
    """The state of a task, as this node sees it."""
    return str(client.get(f"/api/tasks/{name}").raise_for_status().json()["state"])


def until_state(client: httpx.Client, name: str, *states: str) -> str:
    """Wait for one of these states."""
    return str(until(lambda: state(client, name), lambda seen: seen in states))


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    until(path.exists)


def holding(folder: Path, name: str) -> str:
    """A script that says that it began, and ends when it is let go."""
    began, go = folder / f"{name}-began", folder / f"{name}-go"
    return f"echo x >> {began}; while [ ! -e {go} ]; do sleep 0.05; done; echo let go"


@pytest.mark.promise("P-WORK-8")
def test_each_task_runs_on_one_of_three_nodes(postgres_url: str, tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    with cluster(postgres_url, tmp_path, EVERLOOP_WORKERS_PARALLEL_MAX="2") as nodes:
        for _ in range(3):
            nodes.start()
        with nodes.client(nodes.nodes[0].url) as client:
            script = f"echo {{}} >> {effects}; sleep 0.3"
            names = [start(client, script.format(index)) for index in range(12)]
            assert {until_state(client, name, *ENDED) for name in names} == {"done"}
        ran = Counter(name for node in nodes.nodes for name in node.tasks())
        assert ran == Counter(names)
        assert sum(bool(node.tasks()) for node in nodes.nodes) > 1
    assert sorted(effects.read_text().split()) == sorted(str(index) for index in range(12))


@pytest.mark.promise("P-WORK-8")
def test_what_a_killed_node_ran_is_uncertain_and_what_waited_is_taken_over(
    postgres_url: str, tmp_path: Path
) -> None:
    tried = tmp_path / "tried"
    limits = {"EVERLOOP_WORKERS_NODE_LOST_S": "2", "EVERLOOP_WORKERS_PARALLEL_MAX": "1"}
    with cluster(postgres_url, tmp_path, **limits) as nodes:
        first = nodes.start()
        with nodes.client(first.url) as client:
            failed = start(client, f"[ -e {tried} ] || {{ touch {tried}; exit 1; }}")
            assert until_state(client, failed, *ENDED) == "failed"
            running = start(client, holding(tmp_path, "running"))
            wait_for(tmp_path / "running-began")
            waiting = start(client, "true")
            client.post(f"/api/tasks/{failed}/retry").raise_for_status()
        first.kill()
        second = nodes.start()
        with nodes.client(second.url) as client:
            assert until_state(client, waiting, *ENDED) == "done"
            assert until_state(client, failed, *ENDED) == "done"
            assert until_state(client, running, *ENDED) == "uncertain"
            assert client.get(f"/api/tasks/{running}").json()["attempts"] == 1
            items = client.get("/api/inbox").json()
            assert "uncertain" in str(items)
        assert second.tasks() == {waiting, failed}
        assert survivors(first.home) != []  # its server was killed, its processes were not
        first.start_again()
        until(lambda: survivors(first.home) == [])
    assert (tmp_path / "running-began").read_text() == "x\n"


@pytest.mark.promise("P-WORK-8")
def test_a_node_that_comes_back_goes_on_with_what_it_ran(postgres_url: str, tmp_path: Path) -> None:
    with cluster(postgres_url, tmp_path, EVERLOOP_WORKERS_NODE_LOST_S="600") as nodes:
        first = nodes.start()
        with nodes.client(first.url) as client:
            name = start(client, holding(tmp_path, "task"), check=["true"])
            wait_for(tmp_path / "task-began")
        second = nodes.start()
        first.kill()
        with nodes.client(second.url) as client:
            assert state(client, name) == "running"
            first.start_again()
            (tmp_path / "task-go").touch()
            assert until_state(client, name, *ENDED) == "done", client.get(
                f"/api/tasks/{name}"
            ).text
            shown = client.get(f"/api/tasks/{name}/transcript").text
        assert (shown.count("let go"), second.tasks()) == (1, set())
    assert (tmp_path / "task-began").read_text() == "x\n"


@pytest.mark.promise("P-WORK-8")
def test_a_task_is_cancelled_through_a_node_that_does_not_run_it(
    postgres_url: str, tmp_path: Path
) -> None:
    with cluster(postgres_url, tmp_path) as nodes:
        first = nodes.start()
        with nodes.client(first.url) as client:
            name = start(client, holding(tmp_path, "task"))
            wait_for(tmp_path / "task-began")
        _cancel_elsewhere(nodes, name)
        assert survivors(first.home) == []


def _cancel_elsewhere(nodes: Cluster, name: str) -> None:
    with nodes.client(nodes.start().url) as client:
        client.post(f"/api/tasks/{name}/cancel").raise_for_status()
        until_state(client, name, "cancelled")
