"""Copying the whole log: export, import, move."""

import sys
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine


@pytest.fixture
def full(everloop: CommandLine) -> CommandLine:
    """A log with a branch, a retraction and a purge in it."""
    everloop("log", "note", "one")
    everloop("log", "note", "two", "--because", "1")
    everloop("log", "note", "erased")
    everloop("log", "fork", "other")
    everloop("log", "retract", "2", "--yes")
    everloop("log", "purge", "3", "--yes")
    return everloop


def _digests(everloop: CommandLine) -> list[str]:
    return [fact["digest"] for fact in everloop.typed("log", "tail", "--json", "-n", "99").document]


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz", "log.parquet"])
def test_an_exported_log_imports_identically(full: CommandLine, tmp_path: Path, name: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("everloop.adapters.warehouse.parquet")
    archive, other = tmp_path / name, CommandLine(tmp_path / "other")
    exported = full.typed("log", "export", str(archive), "--json").document
    assert (exported["records"], exported["file"]) == (6, str(archive))
    assert other.typed("log", "import", str(archive), "--yes", "--json").document["head"] == 6
    assert _digests(other) == _digests(full)
    assert other("verify").code == 0


def test_a_damaged_archive_is_refused_with_its_first_invalid_line(
    full: CommandLine, tmp_path: Path
) -> None:
    archive, other = tmp_path / "log.jsonl", CommandLine(tmp_path / "other")
    full.typed("log", "export", str(archive))
    lines = archive.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace("two", "ten")
    archive.write_text("".join(lines))
    answer = other.typed("log", "import", str(archive), "--yes")
    assert answer.code == 70
    assert "line 3" in answer.err
    assert _digests(other) == []


@pytest.mark.parametrize("name", ["at-all.jsonl", "at-all.parquet"])
def test_a_missing_archive_is_reported_before_the_question(full: CommandLine, name: str) -> None:
    answer = full.typed("log", "import", f"/nowhere/{name}", answers="y\n")
    assert answer.code == 3
    assert f"/nowhere/{name}" in answer.err
    assert "hint:" in answer.err
    assert "[y/N]" not in answer.err


def test_exporting_to_a_missing_folder_is_refused_with_a_hint(full: CommandLine) -> None:
    answer = full.typed("log", "export", "/nowhere/log.jsonl")
    assert answer.code == 69
    assert "hint:" in answer.err


def test_an_archive_is_not_imported_into_a_different_log(full: CommandLine, tmp_path: Path) -> None:
    archive, other = tmp_path / "log.jsonl", CommandLine(tmp_path / "other")
    full.typed("log", "export", str(archive))
    other("log", "note", "something else")
    assert other.typed("log", "import", str(archive), "--yes").code == 4


def test_missing_pyarrow_is_reported_with_the_install_command(
    full: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if the extra were not installed
    monkeypatch.delitem(sys.modules, "everloop.adapters.warehouse.parquet", raising=False)
    answer = full.typed("log", "export", str(tmp_path / "log.parquet"))
    assert answer.code == 69
    assert "pip install 'everloop[parquet]'" in answer.err


def test_a_log_is_copied_to_another_data_home_and_continues_there(
    full: CommandLine, tmp_path: Path
) -> None:
    other = CommandLine(tmp_path / "other")
    moved = full.typed("move", str(full.home), str(other.home), "--json").document
    assert moved == {"records": 6, "head": 6, "files": 0, "files_missing": 0}
    assert _digests(other) == _digests(full)
    full("log", "note", "later")
    assert full.typed("move", str(full.home), str(other.home), "--json").document["records"] == 1
    assert full.typed("move", str(full.home), str(full.home)).code == 4


def test_a_missing_log_is_not_moved(full: CommandLine, tmp_path: Path) -> None:
    answer = full.typed("move", str(tmp_path / "mistyped"), str(tmp_path / "other"))
    assert answer.code == 3
    assert "mistyped" in answer.err
    assert not (tmp_path / "mistyped").exists()
    assert not (tmp_path / "other").exists()


def test_a_log_is_not_copied_onto_a_different_one(full: CommandLine, tmp_path: Path) -> None:
    other = CommandLine(tmp_path / "other")
    other("log", "note", "mine")
    assert full.typed("move", str(full.home), str(other.home)).code == 4
