"""Attachments are copied along with their log."""

import json
import re
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine
from tests.thread.fixtures import PICTURE, show_picture

from everloop.app import Engine
from everloop.settings import Settings
from everloop.testing.postgres import PostgresServer
from everloop.thread.model.events import Attachment


@pytest.fixture
def picture(everloop: CommandLine) -> Attachment:
    """A picture attached to a message."""
    with Engine.open(everloop.home) as engine:
        return show_picture(engine)[1]


def _read(home: Path, file: Attachment) -> bytes | None:
    with Engine.open(home) as engine:
        return engine.files.read(file)


@pytest.mark.parametrize("name", ["log.jsonl.gz", "log.parquet"])
def test_an_archive_includes_attachments_in_a_folder_next_to_it(
    everloop: CommandLine, picture: Attachment, tmp_path: Path, name: str
) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("everloop.adapters.warehouse.parquet")
    archive, other = tmp_path / name, CommandLine(tmp_path / "other")
    assert everloop.typed("log", "export", str(archive), "--json").document["files"] == 1
    assert "Included 1 attachment" in other.typed("log", "import", str(archive), "--yes").out
    assert _read(other.home, picture) == PICTURE


def test_a_move_copies_attachments(
    everloop: CommandLine, picture: Attachment, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    moved = everloop.typed("move", str(everloop.home), str(other), "--json").document
    assert (moved["files"], moved["files_missing"]) == (1, 0)
    assert _read(other, picture) == PICTURE


def test_moving_a_backup_copies_attachments_from_its_data_home(
    everloop: CommandLine, picture: Attachment, tmp_path: Path
) -> None:
    copy = everloop("backup", "--json").document["path"]
    other = tmp_path / "other"
    assert everloop.typed("move", copy, str(other), "--json").document["files"] == 1
    assert _read(other, picture) == PICTURE


def test_a_backup_in_another_folder_restores_attachments(
    everloop: CommandLine, picture: Attachment, tmp_path: Path
) -> None:
    disk, other = str(tmp_path / "disk"), CommandLine(tmp_path / "other")
    assert everloop.typed("backup", "--folder", disk, "--json").document["files"] == 1
    assert other.typed("restore", "--folder", disk, "--yes", "--json").document["files"] == 1
    assert _read(other.home, picture) == PICTURE


def test_missing_and_damaged_attachments_are_reported_and_not_copied(
    everloop: CommandLine, picture: Attachment, tmp_path: Path
) -> None:
    with Engine.open(everloop.home) as engine:
        engine.files.path(picture.digest).write_bytes(b"flipped")
    other = tmp_path / "other"
    answer = everloop.typed("move", str(everloop.home), str(other))
    assert "1 attachment not found" in answer.out
    assert _read(other, picture) is None
    assert [path.name for path in (other / "files").iterdir()] == []


def test_a_purge_keeps_attachments_of_another_log_in_the_same_folder(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with postgres.fresh_database() as store:
        settings = Settings(home=str(tmp_path), store=store)
        mine = Engine.open(settings=settings, tenant="mine")
        yours = Engine.open(settings=settings, tenant="yours")
        with mine, yours:
            show_picture(yours)
            position, kept = show_picture(mine)
            mine.purge([position], reason="a slip", actor="user")
            assert (mine.files.read(kept), yours.files.read(kept)) == (None, PICTURE)


def test_exported_conversations_include_attachments_and_import_them_again(
    everloop: CommandLine, picture: Attachment, tmp_path: Path
) -> None:
    folder, other = tmp_path / "talk", CommandLine(tmp_path / "other")
    everloop.typed("threads", "export", str(folder))
    (page,) = folder.glob("*.md")
    (shown,) = re.findall(r"!\[cat\.png\]\((.+)\)", page.read_text())
    assert (folder / shown).read_bytes() == PICTURE
    everloop.typed("threads", "export", str(folder), "--format", "jsonl")
    (lines,) = folder.glob("*.jsonl")
    done = other.typed("threads", "import", str(lines), "--yes", "--json").document
    assert (done["files"], done["files_missing"]) == (1, 0)
    assert _read(other.home, picture) == PICTURE


def test_a_message_with_only_an_attachment_is_exported(
    everloop: CommandLine, tmp_path: Path
) -> None:
    with Engine.open(everloop.home) as engine:
        show_picture(engine, "")
    everloop.typed("threads", "export", str(tmp_path / "talk"), "--format", "jsonl")
    (lines,) = (tmp_path / "talk").glob("*.jsonl")
    assert json.loads(lines.read_text())["attachments"][0]["name"] == "cat.png"


def test_an_attached_json_file_is_not_imported_as_a_conversation(
    everloop: CommandLine, tmp_path: Path
) -> None:
    with Engine.open(everloop.home) as engine:
        show_picture(engine, "Look.", "settings.json")
    folder, other = tmp_path / "talk", CommandLine(tmp_path / "other")
    everloop.typed("threads", "export", str(folder), "--format", "jsonl")
    done = other.typed("threads", "import", str(folder), "--yes", "--json").document
    assert (done["messages"], done["passed_over"], done["files"]) == (1, 0, 1)


def test_a_backup_repairs_a_damaged_attachment_copy(
    everloop: CommandLine, picture: Attachment, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    everloop.typed("backup", "--folder", str(disk))
    (disk / "files" / picture.digest).write_bytes(b"flipped")
    everloop.typed("backup", "--folder", str(disk))
    assert (disk / "files" / picture.digest).read_bytes() == PICTURE


def test_an_overwritten_archive_keeps_no_purged_attachment(
    everloop: CommandLine, tmp_path: Path
) -> None:
    archive, beside = tmp_path / "log.jsonl", tmp_path / "log.jsonl.files"
    with Engine.open(everloop.home) as engine:
        position, _ = show_picture(engine)
        everloop.typed("log", "export", str(archive))
        (beside / "notes.txt").write_text("mine")
        engine.purge([position], reason="a slip", actor="user")
    everloop.typed("log", "export", str(archive), "--yes")
    assert [path.name for path in beside.iterdir()] == ["notes.txt"]


def test_exporting_conversations_reports_a_damaged_attachment_and_omits_it(
    everloop: CommandLine, picture: Attachment, tmp_path: Path
) -> None:
    with Engine.open(everloop.home) as engine:
        engine.files.path(picture.digest).write_bytes(b"flipped")
    answer = everloop.typed("threads", "export", str(tmp_path / "talk"))
    assert "1 attachment not found" in answer.out
    assert not list((tmp_path / "talk").rglob(f"{picture.digest}*"))


def test_an_attachment_damaged_in_the_export_is_not_imported(
    everloop: CommandLine, picture: Attachment, tmp_path: Path
) -> None:
    folder, other = tmp_path / "talk", CommandLine(tmp_path / "other")
    everloop.typed("threads", "export", str(folder), "--format", "jsonl")
    (folder / "files" / f"{picture.digest}.png").write_bytes(b"flipped")
    done = other.typed("threads", "import", str(folder), "--yes", "--json").document
    assert (done["files"], done["files_missing"]) == (0, 1)
