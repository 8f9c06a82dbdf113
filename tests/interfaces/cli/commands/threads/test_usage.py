"""`everloop usage`."""

from pathlib import Path

from tests.interfaces.cli.commandline import CommandLine

from everloop.app import Engine
from everloop.ports import Usage


def test_usage_shows_calls_tokens_and_how_much_was_cached(tmp_path: Path) -> None:
    everloop = CommandLine(tmp_path / "home")
    assert "No model was called yet." in everloop.typed("usage").out
    with Engine.open(tmp_path / "home") as engine:
        engine.usage.record("answer", Usage("m", 1_000, 50, 0.5, 900))
        engine.usage.record("answer", Usage("m", 1_000, 50, None, 600))
    (row,) = everloop.typed("usage", "--by", "month", "--json").document["usage"]
    assert (row["calls"], row["tokens_in"], row["tokens_cached"]) == (2, 2_000, 1_500)
    shown = everloop.typed("usage").out
    assert "75%" in shown
    assert "$0.50 + unknown" in shown
