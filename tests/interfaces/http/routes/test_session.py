"""Coming in and going out: codes, cookies, devices, and how often one may try."""

from pathlib import Path

import httpx
import pytest
from tests.interfaces.http.serving import Served, served

from everloop.interfaces.http.security.middleware import COOKIE, Rules

AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML) Chrome/140.0 Safari/537.36"


def _knock(client: httpx.Client, code: str) -> httpx.Response:
    return client.post("/api/session", json={"code": code}, headers={"user-agent": AGENT})


@pytest.mark.promise("P-HTTP-3")
def test_a_code_lets_one_device_in_once(house: Served) -> None:
    code = house.code()
    with house.stranger() as first, house.stranger() as second:
        let_in = _knock(first, code)
        assert let_in.json() | {"device_id": "", "since": ""} == {
            "device_id": "",
            "name": "Chrome on Linux",
            "way": "code",
            "since": "",
            "this": True,
            "host": "",
            "expired": False,
        }
        assert first.get("/api/threads").status_code == 200
        assert _knock(second, code).status_code == 403
        assert second.get("/api/threads").status_code == 401


def test_a_code_may_be_typed_with_spaces_and_small_letters(house: Served) -> None:
    code = house.code()
    with house.stranger() as client:
        assert _knock(client, f" {code[:5].lower()}-{code[5:].lower()} ").status_code == 200


def test_a_code_holds_only_for_a_while(house: Served) -> None:
    code = house.code(lives_s=60)
    house.stage.clock.tick(seconds=61)
    with house.stranger() as client:
        refused = _knock(client, code)
    assert refused.status_code == 403
    assert "everloop pair" in refused.json()["hint"]


def test_before_any_code_was_made_no_code_opens(house: Served) -> None:
    with house.stranger() as client:
        assert _knock(client, "ABCDEFGHJK").status_code == 403


@pytest.mark.promise("P-HTTP-3")
def test_no_script_can_read_what_a_device_keeps(house: Served) -> None:
    with house.stranger() as client:
        let_in = _knock(client, house.code())
    kept = let_in.headers["set-cookie"]
    parts = {part.strip().lower() for part in kept.split(";")}
    assert kept.startswith(f"{COOKIE}=")
    assert {"httponly", "samesite=strict", "path=/", "max-age=31536000"} <= parts
    assert "secure" not in parts
    assert not any(part.startswith("domain") for part in parts)
    secret = kept.partition("=")[2].partition(";")[0].partition(".")[2]
    assert len(secret) >= 43
    assert secret not in let_in.text


def test_over_tls_the_cookie_is_for_this_host_and_tls_alone(tmp_path: Path) -> None:
    with served(tmp_path, rules=Rules(secure=True)) as house, house.stranger() as client:
        kept = _knock(client, house.code()).headers["set-cookie"]
        assert kept.startswith(f"__Host-{COOKIE}=")
        assert "; Secure" in kept
        value = kept.partition(";")[0]
        assert client.get("/api/session", headers={"cookie": value}).status_code == 200
        unguarded = value.removeprefix("__Host-")
        assert client.get("/api/session", headers={"cookie": unguarded}).status_code == 401


def test_no_secret_and_no_code_is_in_the_log_or_in_what_is_shown(house: Served) -> None:
    code = house.code()
    with house.stranger() as client:
        secret = _knock(client, code).headers["set-cookie"].partition(".")[2].partition(";")[0]
        told = client.get("/api/log?limit=200").text + client.get("/api/devices").text
    folder = house.engine.log.file.path.parent
    files = b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())
    for hidden in (code, secret):
        assert hidden not in told
        assert hidden.encode() not in files


@pytest.mark.promise("P-HTTP-4")
def test_after_ten_tries_in_a_minute_a_peer_must_wait(house: Served) -> None:
    code = house.code()
    with house.stranger() as client:
        tried = [_knock(client, "WRONGCODE9").status_code for _ in range(12)]
        assert tried == [403] * 10 + [429] * 2
        refused = _knock(client, code)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
        house.stage.clock.tick(seconds=61)
        assert _knock(client, code).status_code == 200


def test_devices_are_listed_renamed_and_revoked(house: Served) -> None:
    phone = house.credential("phone")
    with house.client() as laptop, house.client(phone) as pocket:
        named = laptop.put(f"/api/devices/{phone.device_id}", json={"name": " my\n  phone "})
        assert named.json()["name"] == "my phone"
        assert [one["name"] for one in laptop.get("/api/devices").json()][-1] == "my phone"
        assert laptop.delete(f"/api/devices/{phone.device_id}").status_code == 204
        assert laptop.delete(f"/api/devices/{phone.device_id}").status_code == 204
        assert pocket.get("/api/threads").status_code == 401
        gone = laptop.put(f"/api/devices/{phone.device_id}", json={"name": "x"})
        assert gone.status_code == 404


def test_a_revocation_is_not_taken_back(house: Served) -> None:
    phone = house.credential("phone")
    with house.client() as laptop, house.client(phone) as pocket:
        laptop.delete(f"/api/devices/{phone.device_id}")
        facts = laptop.get("/api/log").json()
        for fact in facts:
            if fact["kind"].startswith("access."):
                answer = laptop.post(f"/api/retractions/{fact['position']}", json={})
                assert answer.status_code == 403
        assert pocket.get("/api/threads").status_code == 401


def test_a_signed_in_device_lets_the_next_one_in(house: Served) -> None:
    with house.client() as laptop, house.stranger() as phone:
        made = laptop.post("/api/devices/code").json()
        assert made["path"] == f"/#pair={made['code']}"
        assert _knock(phone, made["code"]).status_code == 200


def test_signing_out_is_for_this_device_alone(house: Served) -> None:
    other = house.credential()
    with house.client(house.credential()) as client, house.client(other) as stays:
        left = client.delete("/api/session")
        assert left.status_code == 204
        assert "Max-Age=0" in left.headers["set-cookie"]
        assert stays.get("/api/session").status_code == 200
        client.cookies.clear()
        assert client.get("/api/session").status_code == 401


def test_the_user_speaks_whatever_a_request_says(house: Served) -> None:
    with house.client() as client:
        said = {"title": "A thread", "actor": "agent:x", "by": "system"}
        client.post("/api/threads", json=said)
        told = client.get("/api/log").json()
    assert {fact["actor"] for fact in told if fact["kind"] == "thread.opened"} <= {"user"}


def test_anybody_may_ask_whether_it_runs_and_nothing_else(house: Served) -> None:
    with house.stranger() as client:
        told = client.get("/api/health").json()
    assert set(told) == {"ok", "version"}
