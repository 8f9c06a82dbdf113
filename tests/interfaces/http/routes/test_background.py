"""Background tasks and jobs over HTTP."""

from tests.interfaces.http.serving import Served


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
