"""The health check."""

from tests.interfaces.http.serving import Served

from everloop.errors import Unavailable


def test_a_background_failure_makes_health_not_ok_without_details(
    server: Served,
) -> None:
    trouble: list[Unavailable] = []
    server.engine.log.health_checks.append(lambda: trouble[0] if trouble else None)
    with server.stranger() as client:
        assert client.get("/api/health").json()["ok"] is True
        trouble.append(Unavailable("the server of secret.example is away"))
        answer = client.get("/api/health")
    assert (answer.status_code, answer.json()["ok"]) == (200, False)
    assert "secret" not in answer.text
