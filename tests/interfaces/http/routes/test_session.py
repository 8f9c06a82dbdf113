"""Sessions: pairing codes, cookies, devices and the rate limit."""

from pathlib import Path

import httpx
import pytest
from tests.interfaces.http.serving import Served, served

from everloop.interfaces.http.security.middleware import SecurityRules

AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML) Chrome/140.0 Safari/537.36"


def _knock(client: httpx.Client, code: str) -> httpx.Response:
    return client.post("/api/session", json={"code": code}, headers={"user-agent": AGENT})


@pytest.mark.promise("P-HTTP-3")
def test_a_pairing_code_works_once(server: Served) -> None:
    code = server.code()
    with server.stranger() as first, server.stranger() as second:
        let_in = _knock(first, code)
        answer = let_in.json() | {"device_id": "", "since": "", "key": "", "ticket": ""}
        assert answer == {
            "device_id": "",
            "key": "",
            "ticket": "",
            "name": "Chrome on Linux",
            "way": "code",
            "since": "",
            "this": True,
            "host": "",
            "expired": False,
        }
        assert first.get("/api/threads").status_code == 401  # the cookie alone opens nothing
        key = {"x-everloop-key": let_in.json()["key"]}
        assert first.get("/api/threads", headers=key).status_code == 200
        assert _knock(second, code).status_code == 403
        assert second.get("/api/threads").status_code == 401


def test_a_pairing_code_may_be_typed_with_spaces_and_lower_case(server: Served) -> None:
    code = server.code()
    with server.stranger() as client:
        assert _knock(client, f" {code[:5].lower()}-{code[5:].lower()} ").status_code == 200


def test_a_pairing_code_expires(server: Served) -> None:
    code = server.code(lives_s=60)
    server.stage.clock.tick(seconds=61)
    with server.stranger() as client:
        refused = _knock(client, code)
    assert refused.status_code == 403
    assert "everloop pair" in refused.json()["hint"]


def test_no_code_is_accepted_before_one_was_made(server: Served) -> None:
    with server.stranger() as client:
        assert _knock(client, "ABCDEFGHJK").status_code == 403


@pytest.mark.promise("P-HTTP-3")
def test_scripts_cannot_read_the_session_cookie(server: Served) -> None:
    with server.stranger() as client:
        let_in = _knock(client, server.code())
    kept = let_in.headers["set-cookie"]
    parts = {part.strip().lower() for part in kept.split(";")}
    assert kept.startswith(f"{server.cookie_name}=")
    assert {"httponly", "samesite=strict", "path=/", "max-age=31536000"} <= parts
    assert "secure" not in parts
    assert not any(part.startswith("domain") for part in parts)
    secret = kept.partition("=")[2].partition(";")[0].partition(".")[2]
    assert len(secret) >= 21
    assert secret not in let_in.text


def test_over_tls_the_cookie_is_secure_and_bound_to_the_host(tmp_path: Path) -> None:
    with served(tmp_path, rules=SecurityRules(secure=True)) as server, server.stranger() as client:
        let_in = _knock(client, server.code())
        kept, key = let_in.headers["set-cookie"], {"x-everloop-key": let_in.json()["key"]}
        assert kept.startswith(f"__Host-{server.cookie_name}=")
        assert "; Secure" in kept
        value = kept.partition(";")[0]
        assert client.get("/api/session", headers={**key, "cookie": value}).status_code == 200
        unguarded = value.removeprefix("__Host-")
        assert client.get("/api/session", headers={**key, "cookie": unguarded}).status_code == 401


def test_no_secret_or_code_is_in_the_log_or_in_responses(server: Served) -> None:
    code = server.code()
    with server.stranger() as client:
        let_in = _knock(client, code)
        secret = let_in.headers["set-cookie"].partition(".")[2].partition(";")[0]
        client.headers["x-everloop-key"] = key = let_in.json()["key"]
        told = client.get("/api/log?limit=200").text + client.get("/api/devices").text
    folder = server.engine.log.file.path.parent
    files = b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())
    for hidden in (code, secret, key):
        assert hidden not in told
        assert hidden.encode() not in files


@pytest.mark.promise("P-HTTP-4")
def test_sign_in_is_rate_limited_to_ten_attempts_a_minute(server: Served) -> None:
    code = server.code()
    with server.stranger() as client:
        tried = [_knock(client, "WRONGCODE9").status_code for _ in range(12)]
        assert tried == [403] * 10 + [429] * 2
        refused = _knock(client, code)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
        server.stage.clock.tick(seconds=61)
        assert _knock(client, code).status_code == 200


def test_devices_are_listed_renamed_and_revoked(server: Served) -> None:
    phone = server.credential("phone")
    with server.client() as laptop, server.client(phone) as pocket:
        named = laptop.put(f"/api/devices/{phone.device_id}", json={"name": " my\n  phone "})
        assert named.json()["name"] == "my phone"
        assert [one["name"] for one in laptop.get("/api/devices").json()][-1] == "my phone"
        assert laptop.delete(f"/api/devices/{phone.device_id}").status_code == 204
        assert laptop.delete(f"/api/devices/{phone.device_id}").status_code == 204
        assert pocket.get("/api/threads").status_code == 401
        gone = laptop.put(f"/api/devices/{phone.device_id}", json={"name": "x"})
        assert gone.status_code == 404


def test_a_revocation_cannot_be_retracted(server: Served) -> None:
    phone = server.credential("phone")
    with server.client() as laptop, server.client(phone) as pocket:
        laptop.delete(f"/api/devices/{phone.device_id}")
        facts = laptop.get("/api/log").json()
        for fact in facts:
            if fact["kind"].startswith("access."):
                answer = laptop.post(f"/api/retractions/{fact['position']}", json={})
                assert answer.status_code == 403
        assert pocket.get("/api/threads").status_code == 401


def test_a_signed_in_device_can_make_a_code_for_another(server: Served) -> None:
    with server.client() as laptop, server.stranger() as phone:
        made = laptop.post("/api/devices/code").json()
        assert made["path"] == f"/#pair={made['code']}"
        assert _knock(phone, made["code"]).status_code == 200


def test_signing_out_affects_only_this_device(server: Served) -> None:
    other = server.credential()
    with server.client(server.credential()) as client, server.client(other) as stays:
        left = client.delete("/api/session")
        assert left.status_code == 204
        assert "Max-Age=0" in left.headers["set-cookie"]
        assert stays.get("/api/session").status_code == 200
        client.cookies.clear()
        assert client.get("/api/session").status_code == 401


def test_the_actor_is_the_user_whatever_a_request_claims(server: Served) -> None:
    with server.client() as client:
        said = {"title": "A thread", "actor": "agent:x", "by": "system"}
        client.post("/api/threads", json=said)
        told = client.get("/api/log").json()
    assert {fact["actor"] for fact in told if fact["kind"] == "thread.opened"} <= {"user"}


def test_health_is_the_only_public_read(server: Served) -> None:
    with server.stranger() as client:
        told = client.get("/api/health").json()
    assert set(told) == {"ok", "version"}
