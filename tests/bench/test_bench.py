"""The bench works; how fast anything is, no test says."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: it declares events, and other tests ask which there are."""
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603


def test_a_tiny_run_prints_a_table_and_writes_figures_and_a_plot(tmp_path: Path) -> None:
    ran = _bench("append", "replay", "retract", "--scale", "tiny", "--into", str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert "bare apsw loop" in ran.stdout
    figures = json.loads((tmp_path / "log.json").read_text())
    assert [outcome["name"] for outcome in figures["outcomes"]] == ["append", "replay", "retract"]
    assert all(outcome["ratio"] > 0 for outcome in figures["outcomes"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.json", "log.png", "log.svg"]


def test_the_peer_is_measured_with_the_same_durability(tmp_path: Path) -> None:
    ran = _bench("peer-append", "--scale", "tiny", "--into", str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    note = json.loads((tmp_path / "log.json").read_text())["outcomes"][0]["note"]
    assert "synchronous=FULL" in note


def test_an_unknown_measure_is_refused_with_the_names_there_are() -> None:
    ran = _bench("nothing")
    assert ran.returncode == 2
    assert "no measure 'nothing'" in ran.stderr
