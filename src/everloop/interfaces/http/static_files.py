"""The web UI's files: one page for every address, and assets that never change.

The build lies inside the package. Without it, a plain page says what to do.
"""

import base64
import re
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.datastructures import Headers

from everloop.errors import NotFound
from everloop.interfaces.http.security.middleware import POLICY

INDEX = "index.html"
ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
MISSING = """<!doctype html><meta charset="utf-8"><title>Everloop</title>
<p>Everloop runs. Its web pages are not built here: run <code>make web</code>.</p>"""
NO_PAGES = ("api/", "mcp", ".well-known/")  # where programs look, who would not know a page
_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def built() -> Path | None:
    """Where the build is, if there is one."""
    folder = Path(str(files("everloop"))) / "web"
    return folder if (folder / INDEX).is_file() else None


def policy_of(page: bytes) -> str:
    """What a browser may run and load for a page: its own first scripts too, and no others."""
    scripts = (base64.b64encode(sha256(one).digest()).decode() for one in _INLINE.findall(page))
    return POLICY.format(scripts="".join(f" 'sha256-{script}'" for script in scripts))


def serve_pages(app: FastAPI, folder: Path | None) -> None:
    """Give out the build: its files by name, and its one page for every other address."""

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str, request: Request) -> Response:
        if path == "api" or path.startswith(NO_PAGES):
            raise NotFound("no such address", hint="See /openapi.json.")
        found = _file(folder, path) or _file(folder, INDEX) if folder else None
        if found is None:  # there is no build, or it is being replaced just now
            return HTMLResponse(MISSING)
        return _given(found, request.headers, path)


def _file(folder: Path, path: str) -> Path | None:
    """The file of that name, if it lies inside and is no other thing."""
    if "\0" in path or path.endswith((".br", ".gz")):
        return None
    try:
        found = (folder / path).resolve()
        inside = found.is_relative_to(folder.resolve()) and found.is_file()
    except OSError:  # a name that is too long, or a link that leads in circles
        return None
    return found if inside else None


def _given(found: Path, headers: Headers, path: str) -> Response:
    kind = TYPES.get(found.suffix, "application/octet-stream")
    fixed = path.startswith("_app/immutable/") and found.name != INDEX
    caching = "public, max-age=31536000, immutable" if fixed else "no-cache"
    told = {"Cache-Control": caching, "Vary": "Accept-Encoding"}
    if found.name == INDEX:  # read each time: a newer build may have come
        told["Content-Security-Policy"] = policy_of(found.read_bytes())
    accepted = headers.get("accept-encoding", "")
    for name, suffix in ENCODINGS:
        packed = found.with_name(found.name + suffix)
        if name in accepted and packed.is_file():
            return FileResponse(packed, media_type=kind, headers={**told, "Content-Encoding": name})
    return FileResponse(found, media_type=kind, headers=told)
