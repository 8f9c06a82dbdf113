"""A purge reaches what lies beside the log: uploads, copies of killed processes, open archives."""

import os
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from tests.interfaces.http.routes.test_imports import begin, lines, until
from tests.interfaces.http.serving import Served

from everloop.app import Engine
from everloop.log.maintenance.backup import PARTIAL
from everloop.log.model.facts import NoteWritten

WORD = b"qxheliotrope"


def _files_with_word(folder: Path) -> list[str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path.name for path in files if WORD in path.read_bytes()]


def _purge_something(engine: Engine) -> None:
    noted = engine.log.append("notes", [NoteWritten("a slip")], actor="user")
    engine.purge([noted.position], reason="private", actor="user")


@pytest.mark.promise("P-LOG-13")
def test_a_purge_erases_uploads_of_imports_that_were_broken_off(server: Served) -> None:
    imports = server.running.imports
    broken_off = imports.upload_path("old.jsonl")
    broken_off.write_bytes(lines(2, WORD.decode()))
    (broken_off.parent / imports.complete).write_bytes(b"{}")
    stalled = imports.upload_path("half.jsonl")
    stalled.write_bytes(WORD)
    os.utime(stalled, (0, 0))
    _purge_something(server.engine)
    assert _files_with_word(server.engine.log.file.path.parent) == []


def test_a_purge_leaves_an_upload_that_is_under_way(server: Served) -> None:
    coming = server.running.imports.upload_path("coming.jsonl")
    later = server.stage.clock.time.timestamp()
    os.utime(coming, (later, later))
    _purge_something(server.engine)
    assert coming.exists()


@pytest.mark.promise("P-LOG-13")
def test_a_purge_erases_partial_backups_of_killed_processes(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        assert engine.log.backups is not None
        folder = engine.log.backups.folder
        folder.mkdir()
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        names = (f"{PARTIAL}20260101T000000Z.db", f"{PARTIAL}20260101T000000Z-{gone.pid}.db")
        for name in names:
            (folder / name).write_bytes(WORD)
        alive = folder / f"{PARTIAL}20260101T000000Z-{os.getpid()}.db"
        alive.write_bytes(b"another backup is being made")
        _purge_something(engine)
        assert _files_with_word(tmp_path) == []
        assert alive.exists()


@pytest.mark.promise("P-LOG-13")
def test_a_finished_import_holds_no_file_open(server: Served) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("old.jsonl", lines(3))
    with server.client() as client:
        begun = begin(client, packed.getvalue(), "old.zip")
        assert until(client, begun["import_id"])["state"] == "done"
        job = server.running.imports.job(begun["import_id"])
        assert job is not None
        assert job.over.wait(30)
        held = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
        assert not [name for name in held if "old.zip" in name]
        assert client.get(f"/api/imports/{begun['import_id']}").json()["name"] == "old.zip"
