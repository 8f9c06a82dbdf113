"""Background tasks and jobs over HTTP."""

from pathlib import Path

from tests.interfaces.http.serving import Served, send_and_wait, served

from everloop.errors import ModelFailed


def test_tasks_and_jobs_are_listed_with_their_state(server: Served) -> None:
    with server.client() as client:
        told = client.get("/api/background").json()
        names = [one["name"] for one in told["tasks"]]
        assert {"reactions", "memory", "summaries", "imports", "turns"} <= set(names)
        assert told["jobs"] == []
        line = b'{"role": "user", "text": "Hello.", "at": "2026-02-01T10:00:00Z"}\n'
        sent = client.post("/api/imports", params={"name": "a.jsonl"}, content=line)
        assert sent.status_code == 201
        (job,) = client.get("/api/background").json()["jobs"]
        assert (job["kind"], job["title"], job["state"]) == ("import", "a.jsonl", "done")
        assert job["done"] == job["total"] == len(line)


def test_the_health_report_names_a_model_error_with_its_next_step(tmp_path: Path) -> None:
    away = ModelFailed("the model is away", hint="Start Ollama.")
    with served(tmp_path, [away]) as server, server.client() as client:
        before = client.get("/api/health/report").json()
        verdicts = {one["topic"]: one["verdict"] for one in before["findings"]}
        assert {"jobs", "model errors", "backup", "disk"} <= set(verdicts)
        assert verdicts["model errors"] == "fine"
        send_and_wait(client, "Hello.")
        told = client.get("/api/health/report").json()
    (found,) = [one for one in told["findings"] if one["topic"] == "model errors"]
    assert (found["verdict"], found["next_step"]) == ("attention", "Start Ollama.")
    assert "the model is away" in found["words"]
    bad = [one["topic"] for one in told["findings"] if one["verdict"] in ("attention", "broken")]
    assert (told["problems"], "model errors" in bad) == (len(bad), True)
    assert {"answers", "workers", "jobs", "inbox"} <= {one["name"] for one in told["queues"]}


def test_the_health_report_needs_a_credential_and_the_health_check_tells_nothing(
    server: Served,
) -> None:
    with server.stranger() as client:
        assert client.get("/api/health/report").status_code == 401
        assert set(client.get("/api/health").json()) == {"ok", "version"}
