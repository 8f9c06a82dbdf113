"""Full disk or read-only folder: reads continue, appends fail clearly, and all recovers."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.faults.workload import ACTOR, LIMITS, VIEWS
from tests.log.samples import Said

from everloop.errors import Unavailable
from everloop.log import Log
from everloop.log.maintenance.backup import make_backup
from everloop.log.transfer.archive import export_jsonl
from everloop.testing.deterministic import NEW_YEAR, DeterministicPorts
from everloop.testing.faulty_disk import faulty_disk
from everloop.testing.log_audit import audit

NOBODY = 65_534
DISK_BYTES = 2_000_000


def append(log: Log, number: int) -> int:
    receipt = log.append(
        "s", [Said(f"{number} " + "x" * 1_000)], actor=ACTOR, request_id=f"request-{number}"
    )
    return receipt.position


def fill(log: Log) -> int:
    """Append until the disk is full and stays so; the number of the append that failed.

    A checkpoint makes room for a few more, and the log's own thread may be about to make one.
    """
    number = refused = 0
    while refused < 3:
        try:
            append(log, number)
            number, refused = number + 1, 0
        except Unavailable:
            log.maintenance.checkpoint()
            refused += 1
    return number


def reads_go_on(log: Log, count: int) -> None:
    """Assert that reads still work and show all acknowledged appends."""
    assert log.head == count
    assert len(list(log.read("s"))) == count
    with log.reading() as reader:
        assert reader.rows("SELECT count(*) FROM sayings") == [(count,)]


def cannot_append(log: Log, number: int, match: str) -> None:
    for _ in range(3):
        with pytest.raises(Unavailable, match=match) as refused:
            append(log, number)
        assert refused.value.hint


# -- simulated: everywhere, also without the right to mount ----------------------------------------


def test_a_full_disk_stops_appends_but_not_reads_and_recovers_without_a_restart(
    tmp_path: Path,
) -> None:
    path = tmp_path / "everloop.db"
    with faulty_disk() as disk, closing(DeterministicPorts(vfs=disk.name).open(path, VIEWS)) as log:
        assert [append(log, number) for number in range(5)] == [1, 2, 3, 4, 5]
        disk.full = True
        cannot_append(log, 5, "no space left")
        reads_go_on(log, 5)
        disk.heal()
        assert [append(log, number) for number in range(5, 8)] == [6, 7, 8]
    assert audit(path, VIEWS) == []


def test_a_read_only_disk_stops_appends_but_not_reads_and_recovers_without_a_restart(
    tmp_path: Path,
) -> None:
    path = tmp_path / "everloop.db"
    with faulty_disk() as disk, closing(DeterministicPorts(vfs=disk.name).open(path, VIEWS)) as log:
        assert [append(log, number) for number in range(5)] == [1, 2, 3, 4, 5]
        disk.read_only = True
        cannot_append(log, 5, "cannot be written|disk I/O error")
        reads_go_on(log, 5)
        disk.heal()
        assert [append(log, number) for number in range(5, 8)] == [6, 7, 8]
    assert audit(path, VIEWS) == []


# -- real ------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk() -> Generator[Path]:
    """A real file system of two megabytes."""
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root may mount a small disk; the simulated one was tested")
    folder = Path(tempfile.mkdtemp(prefix="everloop-small-"))
    options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    mounted = subprocess.run([mount, *options], capture_output=True, check=False)  # noqa: S603
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S603, S607
        folder.rmdir()


def test_a_really_full_disk_stops_appends_but_not_reads_until_there_is_space(
    small_disk: Path,
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(500_000))
    path = small_disk / "everloop.db"
    with closing(DeterministicPorts().open(path, VIEWS, limits=LIMITS)) as log:
        failed = fill(log)
        assert failed > 10
        cannot_append(log, failed, "no space left")
        reads_go_on(log, failed)
        ballast.unlink()
        assert append(log, failed) == failed + 1
        assert append(log, failed + 1) == failed + 2
    assert audit(path, VIEWS) == []


def test_a_backup_on_a_full_disk_names_its_own_folder_and_the_log_keeps_working(
    small_disk: Path, tmp_path: Path
) -> None:
    (small_disk / "ballast").write_bytes(bytes(DISK_BYTES - 20_000))
    with closing(DeterministicPorts().open(tmp_path / "everloop.db", VIEWS)) as log:
        for number in range(40):
            append(log, number)
        with pytest.raises(Unavailable, match="no backup can be written") as backup:
            make_backup(log.file, small_disk / "copies", NEW_YEAR)
        assert str(small_disk) in str(backup.value)
        with pytest.raises(Unavailable, match="cannot be written") as archive:
            export_jsonl(log, small_disk / "log.jsonl")
        assert backup.value.hint
        assert archive.value.hint
        assert append(log, 40) == 41
    assert list((small_disk / "copies").iterdir()) == []


@contextmanager
def without_privileges(folder: Path) -> Generator[None]:
    """Run as a user to whom permissions apply: root drops its privileges meanwhile."""
    if os.geteuid() != 0:
        yield
        return
    shutil.chown(folder, NOBODY, NOBODY)
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def own_folder() -> Generator[Path]:
    """A folder of the current user, to whom permissions apply."""
    with tempfile.TemporaryDirectory(prefix="everloop-locked-") as name:
        folder = Path(name)
        with without_privileges(folder):
            yield folder
            permit(folder, writing=True)


def permit(folder: Path, *, writing: bool) -> None:
    """Allow or forbid writing to a folder and all in it."""
    folder.chmod(0o755 if writing else 0o555)
    for path in folder.iterdir():
        path.chmod(0o644 if writing else 0o444)


def test_a_really_read_only_folder_can_be_read_and_later_written_again(
    own_folder: Path,
) -> None:
    path = own_folder / "everloop.db"
    with closing(DeterministicPorts().open(path, VIEWS)) as before:
        assert [append(before, number) for number in range(5)] == [1, 2, 3, 4, 5]
        permit(own_folder, writing=False)
        with closing(DeterministicPorts().open(path, VIEWS)) as log:
            cannot_append(log, 5, "read-only")
            reads_go_on(log, 5)
            permit(own_folder, writing=True)
    with closing(DeterministicPorts().open(path, VIEWS)) as log:
        assert append(log, 5) == 6
    assert audit(path, VIEWS) == []


@pytest.mark.parametrize("scrubbed", [False, True])
def test_an_open_log_recovers_after_its_folder_was_read_only(
    own_folder: Path, scrubbed: bool
) -> None:
    path = own_folder / "everloop.db"
    with closing(DeterministicPorts().open(path, VIEWS)) as log:
        append(log, 0)
        permit(own_folder, writing=False)
        log.transactions.close()  # as after an error: the file is opened again
        cannot_append(log, 1, "read-only")
        if scrubbed:
            with pytest.raises(Unavailable, match="read-only"):
                log.scrub()
        assert log.head == 1
        permit(own_folder, writing=True)
        assert append(log, 1) == 2
    assert audit(path, VIEWS) == []


def test_opening_a_log_in_a_read_only_folder_is_a_clear_error(own_folder: Path) -> None:
    path = own_folder / "everloop.db"
    DeterministicPorts().open(path, VIEWS).close()
    permit(own_folder, writing=False)
    with pytest.raises(Unavailable) as refused:
        DeterministicPorts().open(path, VIEWS)
    assert refused.value.hint
