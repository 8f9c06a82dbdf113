"""GitHub's webhook: a signature instead of a device, bounded, and each delivery once."""

import hashlib
import hmac
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from tests.interfaces.http.serving import Served, plain_settings, served

from everloop.settings import Settings
from everloop.workers import GitHubSettings, RepositorySettings

SECRET = "a secret of sixteen"  # noqa: S105 - of a test
PATH = "/api/webhooks/github"
NOWHERE = "http://127.0.0.1:9"  # nothing listens there


def with_webhook(folder: Path) -> Settings:
    """Settings with a repository, a webhook, and a GitHub that cannot be reached."""
    repositories = {"shop": RepositorySettings("octo/shop", str(folder))}
    chosen = GitHubSettings(repositories, NOWHERE, token_key=SECRET, webhook_key=SECRET)
    return msgspec.structs.replace(plain_settings(folder), github=chosen)


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A server with a webhook."""
    folder = tmp_path_factory.mktemp("webhook")
    with served(folder, settings=with_webhook(folder)) as server:
        yield server


def deliver(
    client: httpx.Client, payload: dict[str, Any], delivery: str = "delivery-1", **more: str
) -> httpx.Response:
    """Send a delivery as GitHub does."""
    body = json.dumps(payload).encode()
    signed = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "x-hub-signature-256": f"sha256={signed}",
        "x-github-delivery": delivery,
        "x-github-event": "issue_comment",
        "content-type": "application/json",
        **more,
    }
    return client.post(PATH, content=body, headers=headers)


def received(server: Served) -> list[str]:
    """The ids of the deliveries on record."""
    records = server.engine.log.records()
    found = [one.data for one in records if one.kind == "github.delivery_received"]
    return [json.loads(data or "{}")["delivery_id"] for data in found]


COMMENT = {"repository": {"full_name": "Octo/Shop"}, "issue": {"number": 12}}


@pytest.mark.promise("P-GITHUB-7")
def test_a_signed_delivery_is_recorded_once_however_often_it_is_sent(hooked: Served) -> None:
    with hooked.stranger() as client:
        answers = [deliver(client, COMMENT, "delivery-a") for _ in range(3)]
    assert [one.status_code for one in answers] == [202] * 3
    assert [one.json() for one in answers] == [{"taken": True}] * 3
    assert received(hooked).count("delivery-a") == 1


@pytest.mark.promise("P-GITHUB-7")
@pytest.mark.parametrize(
    "signature", ["", "sha256=", "sha256=" + "0" * 64, "sha1=abc", "sha256=é", "0" * 64]
)
def test_a_delivery_without_the_right_signature_is_refused(hooked: Served, signature: str) -> None:
    before = hooked.engine.log.head
    with hooked.stranger() as client:
        body = json.dumps(COMMENT).encode()
        headers = [
            (b"x-hub-signature-256", signature.encode()),
            (b"x-github-delivery", b"delivery-b"),
        ]
        answer = client.post(PATH, content=body, headers=headers)
    assert answer.status_code == 403
    assert hooked.engine.log.head == before
    assert SECRET not in answer.text


@pytest.mark.promise("P-GITHUB-7")
def test_a_devices_credential_is_no_signature(hooked: Served) -> None:
    with hooked.client() as client:
        assert client.post(PATH, content=b"{}").status_code == 403


@pytest.mark.promise("P-GITHUB-7")
def test_a_delivery_that_is_too_large_is_refused_before_it_is_read(hooked: Served) -> None:
    with hooked.stranger() as client:
        assert client.post(PATH, content=b"x" * 2_000_001).status_code == 413


def test_deliveries_of_other_repositories_and_events_are_not_recorded(hooked: Served) -> None:
    other = {"repository": {"full_name": "octo/other"}}
    with hooked.stranger() as client:
        assert deliver(client, other, "delivery-c").json() == {"taken": False}
        ping = deliver(client, COMMENT, "delivery-d", **{"x-github-event": "ping"})
        assert ping.json() == {"taken": False}
        assert deliver(client, COMMENT, "no").status_code == 422
    assert not {"delivery-c", "delivery-d", "no"} & set(received(hooked))


def test_without_a_secret_there_is_no_webhook(shared: Served) -> None:
    with shared.stranger() as client:
        assert deliver(client, COMMENT).status_code == 404
