"""Serves the web UI: one HTML page for every address, and immutable assets.

The build is part of the package. If it is missing, a plain page says how to make it.
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
from everloop.interfaces.http.security.middleware import CONTENT_SECURITY_POLICY

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
NO_BUILD_PAGE = """<!doctype html><meta charset="utf-8"><title>Everloop</title>
<p>Everloop is running, but its web pages are not built. Run <code>make web</code>.</p>"""
PATHS_WITHOUT_PAGE = (
    "api/",
    "mcp",
    ".well-known/",
)  # paths that programs request: they need a 404, not the page
_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def find_build() -> Path | None:
    """The folder of the web build, or None if there is none."""
    folder = Path(str(files("everloop"))) / "web"
    return folder if (folder / INDEX).is_file() else None


def page_policy(page: bytes) -> str:
    """The Content-Security-Policy of a page, which allows its own inline scripts by hash."""
    scripts = (base64.b64encode(sha256(one).digest()).decode() for one in _INLINE.findall(page))
    return CONTENT_SECURITY_POLICY.format(
        scripts="".join(f" 'sha256-{script}'" for script in scripts)
    )


def add_page_route(app: FastAPI, folder: Path | None) -> None:
    """Add a route that serves the build's files, and its page for every other address."""

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str, request: Request) -> Response:
        if path == "api" or path.startswith(PATHS_WITHOUT_PAGE):
            raise NotFound(
                "there is nothing at this address", hint="/openapi.json lists every route."
            )
        found = _file(folder, path) or _file(folder, INDEX) if folder else None
        if found is None:  # there is no build, or it is being replaced right now
            return HTMLResponse(NO_BUILD_PAGE)
        return _file_response(found, request.headers, path)


def _file(folder: Path, path: str) -> Path | None:
    """The file at a path, if it is a regular file inside the folder."""
    if "\0" in path or path.endswith((".br", ".gz")):
        return None
    try:
        found = (folder / path).resolve()
        inside = found.is_relative_to(folder.resolve()) and found.is_file()
    except OSError:  # the name is too long, or there is a symlink loop
        return None
    return found if inside else None


def _file_response(found: Path, headers: Headers, path: str) -> Response:
    kind = TYPES.get(found.suffix, "application/octet-stream")
    fixed = path.startswith("_app/immutable/") and found.name != INDEX
    caching = "public, max-age=31536000, immutable" if fixed else "no-cache"
    response_headers = {"Cache-Control": caching, "Vary": "Accept-Encoding"}
    if found.name == INDEX:  # read every time: the build may have been replaced
        response_headers["Content-Security-Policy"] = page_policy(found.read_bytes())
    accepted = headers.get("accept-encoding", "")
    for name, suffix in ENCODINGS:
        packed = found.with_name(found.name + suffix)
        if name in accepted and packed.is_file():
            response_headers["Content-Encoding"] = name
            return FileResponse(packed, media_type=kind, headers=response_headers)
    return FileResponse(found, media_type=kind, headers=response_headers)
