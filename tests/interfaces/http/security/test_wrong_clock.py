"""A clock that was far ahead stretches no code and no device."""

from datetime import timedelta

import pytest
from tests.interfaces.http.serving import Served

from everloop.doctor import check_open_log

YEARS = timedelta(days=14 * 365)


@pytest.mark.promise("P-LOG-19")
def test_codes_and_devices_do_not_outlive_a_wrong_clock(server: Served) -> None:
    with server.stranger() as client:
        server.stage.clock.time += YEARS
        code, device = server.code(), server.credential()
        server.stage.clock.time -= YEARS
        assert client.post("/api/session", json={"code": code}).status_code == 403
        old = {"authorization": f"Bearer {device.text}"}
        assert client.get("/api/session", headers=old).status_code == 401

        made = server.code(lives_s=60)  # the log's time is years ahead now
        fresh = {"authorization": f"Bearer {server.credential().text}"}
        assert client.get("/api/session", headers=fresh).status_code == 200
        server.stage.clock.tick(seconds=61)
        assert client.post("/api/session", json={"code": made}).status_code == 403
        server.stage.clock.tick(days=366)
        assert client.get("/api/session", headers=fresh).status_code == 401


@pytest.mark.promise("P-LOG-19")
def test_the_doctor_says_that_the_log_is_ahead_of_the_clock(server: Served) -> None:
    assert not [one for one in check_open_log(server.engine) if one.topic == "clock"]
    server.stage.clock.time += YEARS
    server.code()
    server.stage.clock.time -= YEARS
    (finding,) = [one for one in check_open_log(server.engine) if one.topic == "clock"]
    assert (finding.verdict, "ahead of the clock" in finding.words) == ("attention", True)
