"""Logs of every released version still load, fold to the same state, and keep unknown events."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from everloop.app import PROJECTIONS
from everloop.log import Log, Unknown, catalogue
from everloop.log.integrity.verify import verify_log
from everloop.log.model.record import fact_of
from everloop.log.transfer.archive import export_jsonl, import_jsonl
from everloop.testing.deterministic import DeterministicPorts

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.jsonl"))


class Expected(msgspec.Struct):
    """The expected result of loading a golden log."""

    records: int
    views: str


def views_digest(log: Log) -> str:
    """One digest over every row of every view."""
    with log.reading() as reader:
        rows = [list(view.dump(reader.db)) for view in log.file.views.all]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def import_golden_log(path: Path, tmp_path: Path) -> Log:
    """Import a golden log into a file."""
    log = DeterministicPorts().open(tmp_path / "everloop.db", [view() for view in PROJECTIONS])
    import_jsonl(log, path)
    return log


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
@pytest.mark.promise("P-LOG-18")
def test_a_log_of_a_released_version_loads_and_folds_to_the_same_state(
    path: Path, tmp_path: Path
) -> None:
    expected = msgspec.json.decode(path.with_suffix(".expected.json").read_bytes(), type=Expected)
    log = import_golden_log(path, tmp_path)
    assert verify_log(log).ok
    assert log.head == expected.records
    assert views_digest(log) == expected.views
    log.close()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
@pytest.mark.promise("P-LOG-18")
def test_a_log_of_a_released_version_is_exported_byte_for_byte_with_unknown_events(
    path: Path, tmp_path: Path
) -> None:
    log = import_golden_log(path, tmp_path)
    export_jsonl(log, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
    unknown = [r for r in log.records() if isinstance(fact_of(r).event, Unknown) and not r.purged]
    assert [record.kind for record in unknown] == ["future.thing_happened"]
    log.close()


def test_the_newest_golden_log_contains_every_kind(tmp_path: Path) -> None:
    log = import_golden_log(GOLDEN[-1], tmp_path)
    kinds = {record.kind for record in log.records()}
    ours = {wire for wire in catalogue() if not wire.startswith("sample.")}
    assert kinds >= ours
    log.close()
