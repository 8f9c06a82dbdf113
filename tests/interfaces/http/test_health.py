"""The health check."""

from pathlib import Path
from shutil import disk_usage

from tests.interfaces.http.serving import Served, served
from tests.mounted import mounted

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


def test_health_is_not_ok_while_the_disk_is_full(tmp_path: Path) -> None:
    with (
        mounted(tmp_path / "disk", 64) as disk,
        served(disk) as server,
        server.stranger() as client,
    ):
        assert client.get("/api/health").json()["ok"] is True
        full = disk / "full"
        full.write_bytes(bytes(disk_usage(disk).free))
        assert client.get("/api/health").json()["ok"] is False
        full.unlink()
        assert client.get("/api/health").json()["ok"] is True
