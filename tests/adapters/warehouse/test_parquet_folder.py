"""A copy of the log as a folder of Parquet files, and the queries of docs/warehouse.md on it."""

import re
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import duckdb
import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.adapters.warehouse.background_copy import WarehouseCopyTask, copy_table
from everloop.adapters.warehouse.parquet_folder import ParquetFolder
from everloop.errors import Corrupt, Unavailable
from everloop.log import Log, Record, WarehouseSync
from everloop.log.model.facts import NoteWritten
from everloop.log.transfer.warehouse import CopyEnd, SinkLimits
from everloop.testing.deterministic import DeterministicPorts

PAGE = Path(__file__).parents[3] / "docs/warehouse.md"
SMALL = SinkLimits(rows_max=2)


@pytest.fixture
def stage() -> DeterministicPorts:
    """A world whose clock a test can move."""
    return DeterministicPorts()


@pytest.fixture
def log(stage: DeterministicPorts, tmp_path: Path) -> Log:
    """A log with three notes in two months."""
    log = stage.open(tmp_path / "a.db")
    log.append("notes", [NoteWritten("one"), NoteWritten("secret")], actor="user")
    stage.clock.tick(days=40)
    log.append("notes", [NoteWritten("three")], actor="user")
    return log


def _texts(folder: Path) -> list[Any]:
    asked = "SELECT position, data ->> '$.text' FROM read_parquet(?) ORDER BY position"
    return duckdb.execute(asked, [f"{folder}/*/*.parquet"]).fetchall()


@pytest.mark.promise("P-SINK-1")
def test_every_record_is_copied_once_and_by_month(log: Log, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    sync = WarehouseSync(log, ParquetFolder(folder), SMALL)
    assert sync.catch_up().records == 3
    assert WarehouseSync(log, ParquetFolder(folder), SMALL).catch_up().records == 0
    assert ParquetFolder(folder).load(list(log.records())) == 3
    assert _texts(folder) == [(1, "one"), (2, "secret"), (3, "three")]
    assert len(list(folder.glob("month=*"))) == 2


@pytest.mark.promise("P-SINK-1")
def test_a_purge_erases_the_text_from_the_files(log: Log, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    sync = WarehouseSync(log, ParquetFolder(folder), SMALL)
    sync.catch_up()
    log.purge([2], reason="privacy", actor="user")
    assert sync.catch_up().erased == 1
    assert dict(_texts(folder))[2] is None
    assert all(b"secret" not in path.read_bytes() for path in folder.glob("*/*"))
    assert ParquetFolder(folder).erase([2]) == 0


def test_a_killed_write_leaves_nothing_that_is_read(log: Log, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    WarehouseSync(log, ParquetFolder(folder), SMALL).catch_up()
    (month, *_) = folder.glob("month=*")
    (month / "000000000004-000000000009.partial").write_bytes(b"half")
    assert ParquetFolder(folder).end().position == 3


def test_a_missing_file_is_told_and_not_filled_over(log: Log, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    WarehouseSync(log, ParquetFolder(folder), SMALL).catch_up()
    min(folder.glob("*/*.parquet")).unlink()
    with pytest.raises(Corrupt, match="lacks the positions"):
        ParquetFolder(folder).end()


@pytest.mark.promise("P-SINK-1")
def test_the_queries_of_the_page_answer_in_duckdb(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path / "home", {"EVERLOOP_MEMORY_EMBEDDER": "none"})
    cli.typed("remember", "Anna is allergic to nuts.")
    wrong = cli.typed("remember", "Anna likes nuts.", "--json").document
    cli.typed("forget", wrong["item_id"], "--yes")
    cli.typed("lessons", "propose", "Ask before you cook", "--body", "Allergies.")
    cli.typed("grants", "allow", "agent:cli", "*")
    cli("chat", piped="What is Anna allergic to?")
    assert cli.typed("log", "sink", "parquet", str(tmp_path / "copy")).code == 0
    answers = _run_page(tmp_path / "copy")
    spent, talked, learned = answers[-3:]
    assert [row[1] for row in spent] == ["offline"]
    assert {row[0]: row[2] for row in talked} == {"agent:cli": "1", "offline": "1"}
    assert [row[2] for row in learned] == ["Anna is allergic to nuts.", "Ask before you cook"]


def _run_page(folder: Path) -> list[list[Any]]:
    """The rows of every statement on the page, run in order."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    statements = [one for block in blocks for one in block.split(";") if one.strip()]
    with duckdb.connect() as db:
        return [db.execute(_as_text(one, folder)).fetchall() for one in statements]


def _as_text(statement: str, folder: Path) -> str:
    """A statement of the page on this folder; a question's rows as text, times included."""
    said = statement.strip().replace("FOLDER", str(folder))
    if said.startswith("CREATE"):
        return said
    return f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({said})"  # noqa: S608 - our own page


def test_a_script_may_not_copy_what_it_may_not_read(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path / "home", {"EVERLOOP_MEMORY_EMBEDDER": "none"})
    cli.typed("remember", "Anna is allergic to nuts.")
    assert cli("log", "sink", "parquet", str(tmp_path / "copy")).code == 5
    assert not (tmp_path / "copy").exists()


class _Failing(ParquetFolder):
    """A warehouse that does not answer at first."""

    def end(self) -> CopyEnd:
        """Fail."""
        raise Unavailable("no answer", hint="Try later.")


def test_the_background_copy_tells_its_problem_and_then_goes_on(log: Log, tmp_path: Path) -> None:
    done = Event()

    class Told(ParquetFolder):
        def load(self, records: Sequence[Record]) -> int:
            end = super().load(records)
            done.set()
            return end

    places: list[ParquetFolder] = [_Failing(tmp_path / "copy"), Told(tmp_path / "copy")]
    failed: list[str] = []

    def connect() -> ParquetFolder:
        failed.append(task.health().problem)
        return places.pop(0)

    task = WarehouseCopyTask(log, connect, SinkLimits())
    task.start()
    assert done.wait(60)
    task.stop()
    assert len(failed) == 2
    assert len(_texts(tmp_path / "copy")) == 3


def test_each_tenant_has_its_own_table() -> None:
    assert copy_table(Path("home/everloop.db")) == "log"
    assert copy_table(Path("home/tenants/acme/everloop.db")) == "log_acme"
