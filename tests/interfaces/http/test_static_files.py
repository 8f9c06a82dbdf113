"""Static files: one page for every address, immutable assets, no path traversal."""

import asyncio
import base64
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from everloop.interfaces.http.errors import register_error_handlers
from everloop.interfaces.http.static_files import add_page_route

SCRIPT = b"\n\tstart();\n"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A web build, and a private file next to it."""
    folder = tmp_path / "web"
    assets = folder / "_app" / "immutable"
    assets.mkdir(parents=True)
    page = b"<!doctype html><script>" + SCRIPT + b'</script><script src="/x.js"></script>'
    (folder / "index.html").write_bytes(page)
    (assets / "a1b2.js").write_text("plain")
    (assets / "a1b2.js.br").write_text("brotli")
    (assets / "a1b2.js.gz").write_text("gzip")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def _pages(folder: Path | None) -> FastAPI:
    app = FastAPI()
    register_error_handlers(app)
    add_page_route(app, folder)
    return app


def _got(folder: Path | None, path: str, accepted: str = "") -> httpx.Response:
    return _asked(_pages(folder), path, accepted)


def _asked(app: FastAPI, path: str, accepted: str = "") -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path, headers={"accept-encoding": accepted})

    return asyncio.run(asked())


def _scripts(given: httpx.Response) -> list[str]:
    policy = given.headers["content-security-policy"]
    return policy.partition("script-src ")[2].partition(";")[0].split()


def _digest(script: bytes) -> str:
    return base64.b64encode(sha256(script).digest()).decode()


@pytest.mark.parametrize("path", ["/", "/t/home", "/memory/mem-1", "/settings", "/index.html"])
def test_every_address_serves_the_page(build: Path, path: str) -> None:
    given = _got(build, path)
    assert given.content == (build / "index.html").read_bytes()
    assert given.headers["content-type"] == "text/html; charset=utf-8"
    assert given.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("accepted", "body"), [("", "plain"), ("gzip", "gzip"), ("br, gzip", "brotli")]
)
def test_an_asset_is_immutable_and_served_compressed(build: Path, accepted: str, body: str) -> None:
    packed = _raw(build, "/_app/immutable/a1b2.js", accepted)
    assert packed.text == body
    assert "immutable" in packed.headers["cache-control"]
    assert packed.headers["vary"] == "Accept-Encoding"
    assert packed.headers["content-type"] == "text/javascript; charset=utf-8"


def _raw(build: Path, path: str, accepted: str) -> httpx.Response:
    """A raw response: the compressed files of the test are not really compressed."""
    app = FastAPI()
    add_page_route(app, build)

    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
            client.stream("GET", path, headers={"accept-encoding": accepted}) as given,
        ):
            raw = b"".join([part async for part in given.aiter_raw()])
            headers = [(n, v) for n, v in given.headers.items() if n != "content-encoding"]
            return httpx.Response(given.status_code, headers=headers, content=raw)

    return asyncio.run(asked())


@pytest.mark.parametrize(
    "path",
    [
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/_app/..%2f..%2fsecret.txt",
        "/link.txt",
        "/%2fetc%2fpasswd",
        "/a%00b",
        f"/{'x' * 5_000}",
        "/_app",
    ],
)
def test_no_file_outside_the_build_is_served(build: Path, path: str) -> None:
    assert _got(build, path).content == (build / "index.html").read_bytes()


def test_the_policy_allows_only_the_pages_own_scripts(build: Path) -> None:
    allowed = _scripts(_got(build, "/t/home"))
    assert allowed == ["'self'", f"'sha256-{_digest(SCRIPT)}'"]
    assert "content-security-policy" not in _got(build, "/_app/immutable/a1b2.js").headers


def test_a_build_replaced_while_serving_gets_a_policy_for_its_own_script(
    build: Path,
) -> None:
    app = _pages(build)
    before = _scripts(_asked(app, "/"))
    (build / "index.html").write_bytes(b"<script>another()</script>")
    after = _scripts(_asked(app, "/"))
    assert before != after == ["'self'", f"'sha256-{_digest(b'another()')}'"]


def test_without_a_build_a_plain_page_says_how_to_make_one(build: Path) -> None:
    assert "make web" in _got(None, "/").text
    (build / "index.html").unlink()
    assert "make web" in _got(build, "/t/home").text


@pytest.mark.parametrize("folder", [True, False])
def test_an_api_address_never_serves_the_page(build: Path, *, folder: bool) -> None:
    answer = _got(build if folder else None, "/api/nothing")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/json"
