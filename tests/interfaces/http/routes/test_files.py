"""Attachments, exports and imports: their names and content stay inert."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from tests.interfaces.http.serving import Served, served
from tests.thread.fixtures import PICTURE, show_picture

from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.thread.settings import ThreadSettings

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    '"; filename="evil.html',
    "a\r\nSet-Cookie: x=1",
    "../../etc/passwd",
    "..\\..\\boot.ini",
    "‮gnp.exe",
    "line\u2028end\u2029",
    "' OR 1=1 --",
    "{{7*7}}",
    "%00%0d%0a",
]


@pytest.mark.promise("P-HTTP-10")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_returned_unchanged_and_inert(shared: Served, text: str) -> None:
    with shared.client() as client:
        made = client.post("/api/threads", json={"title": text})
        shown = client.get(f"/api/threads/{made.json()['thread_id']}")
        for answer in (made, shown):
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "set-cookie" not in answer.headers
        said = client.post("/api/memories", json={"text": f"{text} {len(text)}", "title": text})
        life = client.get(f"/api/memories/{said.json()['item_id']}").json()
        assert life["item"]["text"] == f"{text} {len(text)}"
        missing = client.get("/api/messages/1", params={"branch": text})
        assert missing.headers["content-type"] == "application/json"
        exported = client.get("/api/export", params={"thread": made.json()["thread_id"]})
        assert exported.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
        assert "set-cookie" not in exported.headers


@pytest.mark.promise("P-HTTP-10")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_is_downloaded_and_never_executed_whatever_its_name(
    shared: Served, name: str
) -> None:
    page = b"<script>alert(1)</script>"
    with shared.client() as client:
        headers = {"content-type": "text/html"}
        kept = client.put("/api/files", params={"name": name}, content=page, headers=headers).json()
        assert not set(kept["name"]) & set("/\\\r\n\0\u202e\u2028")
        given = client.get(
            f"/api/files/{kept['digest']}", params={"name": name, "media_type": "text/html"}
        )
        assert given.content == page
        assert given.headers["content-type"] == "application/octet-stream"
        assert given.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in given.headers["content-security-policy"]
        disposition = given.headers["content-disposition"]
        assert disposition.startswith("attachment; filename*=UTF-8''")
        assert not set(disposition.partition("''")[2]) & set("\"';/\\ \r\n<>")
        assert "set-cookie" not in given.headers


def test_only_images_are_shown_inline(shared: Served) -> None:
    picture = b"\x89PNG\r\n\x1a\n"
    with shared.client() as client:
        kept = client.put(
            "/api/files?name=p.png", content=picture, headers={"content-type": "image/png"}
        ).json()
        for kind, way in (("image/png", "inline"), ("image/svg+xml", "attachment")):
            given = client.get(f"/api/files/{kept['digest']}", params={"media_type": kind})
            assert given.headers["content-disposition"].startswith(way)


def test_a_file_may_not_exceed_the_configured_size(tmp_path: Path) -> None:
    thread = ThreadSettings(attachment_bytes_max=1_000)
    settings = Settings(home=str(tmp_path), memory=MemorySettings(embedder="none"), thread=thread)
    with served(tmp_path, settings=settings) as server, server.client() as client:
        kept = client.put("/api/files", params={"name": "a.bin"}, content=b"a" * 1_000)
        again = client.put("/api/files", params={"name": "b.bin"}, content=b"a" * 1_000)
        assert (kept.status_code, again.json()["digest"]) == (201, kept.json()["digest"])
        refused = client.put("/api/files", params={"name": "c.bin"}, content=b"a" * 1_001)
        assert (refused.status_code, "1,000" in refused.text) == (422, True)
        assert len(list((tmp_path / "files").rglob("*"))) == 1


@pytest.mark.parametrize(
    "digest", ["0" * 64, "x" * 64, "..%2f..%2feverloop.db", "%2e%2e", "A" * 64]
)
def test_a_malformed_digest_is_not_found(shared: Served, digest: str) -> None:
    with shared.client() as client:
        assert client.get(f"/api/files/{digest}").status_code == 404


def test_a_file_is_attached_to_a_message(server: Served) -> None:
    with server.client() as client:
        kept = client.put(
            "/api/files?name=n.txt", content=b"notes", headers={"content-type": "text/plain"}
        ).json()
        sent = client.post(
            "/api/threads/home/messages", json={"text": "See.", "attachments": [kept]}
        ).json()
        said = client.get(f"/api/messages/{sent['message_id']}").json()
        assert (kept.pop("problem"), kept.pop("cut")) == ("", False)
        assert said["attachments"] == [kept]


def test_conversations_are_exported_imported_and_an_import_is_undone(server: Served) -> None:
    lines = [
        {"thread": "old", "title": "Old talk", "role": role, "text": text, "at": at}
        for role, text, at in (
            ("user", "Is it raining?", "2020-05-01T10:00:00Z"),
            ("assistant", "A little.", "2020-05-01T10:00:05Z"),
        )
    ]
    body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    with server.client() as client:
        done = client.post("/api/imports?name=old.jsonl", content=body).json()
        assert (done["messages"], done["known"]) == (2, 0)
        again = client.post("/api/imports?name=old.jsonl", content=body).json()
        assert (again["messages"], again["known"]) == (0, 2)
        (thread,) = done["threads"]
        page = client.get(f"/api/threads/{thread}/messages").json()
        assert [one["text"] for one in page["messages"]] == ["Is it raining?", "A little."]
        markdown = client.get("/api/export", params={"thread": thread})
        assert markdown.text.startswith("# Old talk\n")
        out = client.get("/api/export", params={"thread": thread, "format": "jsonl"})
        assert [json.loads(line)["text"] for line in out.text.splitlines()] == [
            "Is it raining?",
            "A little.",
        ]
        (past,) = client.get("/api/imports").json()
        client.post(f"/api/retractions/{past['position']}", json={})
        assert client.get("/api/imports").json() == []
        assert client.get(f"/api/threads/{thread}").status_code == 404


def test_a_zip_of_all_conversations_has_their_files_and_can_be_imported(
    server: Served, tmp_path: Path
) -> None:
    with server.client() as client:
        _, picture = show_picture(server.engine)
        zipped = client.get("/api/export", params={"format": "zip"})
        assert zipped.headers["content-disposition"].endswith("Home.zip")
    with zipfile.ZipFile(io.BytesIO(zipped.content)) as archive:
        assert archive.testzip() is None
        place = f"files/{picture.digest}.png"
        assert archive.namelist() == ["home-home.md", "home-home.jsonl", place]
        assert f"![cat.png]({place})" in archive.read("home-home.md").decode()
        assert archive.read(place) == PICTURE
    with served(tmp_path / "other") as other, other.client() as client:
        done = client.post("/api/imports?name=all.zip", content=zipped.content).json()
        assert (done["messages"], done["files"], done["files_missing"]) == (1, 1, 0)
        got = client.get(f"/api/files/{picture.digest}")
        assert got.content == PICTURE


def test_a_zip_has_no_link_to_a_file_that_is_damaged(server: Served) -> None:
    with server.client() as client:
        _, picture = show_picture(server.engine)
        server.running.files.path(picture.digest).write_bytes(b"flipped")
        zipped = client.get("/api/export", params={"format": "zip"})
    with zipfile.ZipFile(io.BytesIO(zipped.content)) as archive:
        assert archive.namelist() == ["home-home.md", "home-home.jsonl"]
        assert "> attached: cat.png" in archive.read("home-home.md").decode()


@pytest.mark.parametrize("body", [b"", b"{}", b"[1, 2", b"\0\xff", b"PK\x03\x04 no zip"])
def test_an_unreadable_import_is_refused_and_leaves_nothing(shared: Served, body: bytes) -> None:
    with shared.client() as client:
        for name in ("x.jsonl", "x.json", "x.zip", "..", "/etc/passwd", "\0"):
            answer = client.post("/api/imports", params={"name": name}, content=body)
            assert answer.status_code in (201, 404, 422), (name, answer.text)
        assert all(one["messages"] == 0 for one in client.get("/api/imports").json())
