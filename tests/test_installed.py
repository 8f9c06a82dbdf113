"""The wheel as a user gets it: in an empty virtualenv, without Node, make or a compiler."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import msgspec
import pytest
from tests.interfaces.http.process import server_process, signed_in
from tests.interfaces.http.serving import frames

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "src/everloop/web/index.html"
LOCK = ROOT / "requirements/dev.lock.txt"
UV = Path(sys.executable).parent / "uv"
OFFLINE = {"EVERLOOP_MODELS_NARRATIVE": "offline", "EVERLOOP_MODELS_CLASSIFIER": "offline"}


def _run(*words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    handed = {**os.environ, **more}  # noqa: TID251 - handed on, not read
    handed.pop("PYTHONPATH", None)
    return subprocess.run(words, env=handed, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - fixed commands


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a virtualenv in which only `everloop[app]` was installed, from its wheel."""
    if not PAGES.is_file():
        pytest.skip("the web pages are not built: make web")
    place = tmp_path_factory.mktemp("installed")
    built = _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place)
    assert built.returncode == 0, built.stderr
    (wheel,) = place.glob("*.whl")
    assert _run(UV, "venv", "--python", sys.executable, place / "venv").returncode == 0
    asked = [
        *("pip", "install", "--python", str(place / "venv/bin/python")),
        *("--constraint", str(LOCK), f"everloop[app] @ {wheel.as_uri()}"),
    ]
    if (done := _run(UV, "--offline", *asked)).returncode:  # what make setup left in uv's cache
        done = _run(UV, *asked)
    assert done.returncode == 0, done.stderr
    return place / "venv/bin"


@pytest.mark.promise("P-REACH-1")
@pytest.mark.timeout(300)
def test_the_installed_wheel_serves_the_pages_and_answers(programs: Path, tmp_path: Path) -> None:
    home, program = tmp_path / "home", str(programs / "everloop")
    alone = {"PATH": str(programs), "HOME": str(tmp_path), "PYTHONPATH": "", **OFFLINE}
    with (
        server_process(
            home, {**alone, "EVERLOOP_MEMORY_EMBEDDER": "none"}, program=(program,)
        ) as server,
        signed_in(server, dict[str, str]()) as client,
    ):
        assert "<html" in client.get("/").text
        assert _say(client, "Good morning!")
    told = _run(program, "--home", home, "doctor", "--json", **alone)
    findings = msgspec.json.decode(told.stdout)["findings"]
    assert told.returncode == 0
    assert [one for one in findings if one["verdict"] == "broken"] == []
    verdicts = {one["topic"]: one["verdict"] for one in findings}
    assert (verdicts["embedder"], verdicts["Node"]) == ("fine", "absent")


def _say(client: httpx.Client, text: str) -> str:
    """Send a message and return the answer, once no turn is open any more."""
    with client.stream("GET", "/api/stream") as stream:
        client.post("/api/threads/home/messages", json={"text": text}).raise_for_status()
        for heard in frames(stream):
            if heard.event == "fact" and not client.get("/api/threads/home/turns").json():
                break
    said = client.get("/api/threads/home/messages").json()["messages"]
    return str(said[-1]["text"])
