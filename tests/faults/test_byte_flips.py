"""One flipped byte in the file: verify reports which records are damaged."""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest
from tests.faults.places import scratch_folder
from tests.faults.workload import ACTOR, LIMITS, VIEWS, open_engine, workload
from tests.log.samples import WORDS, Said

from everloop.errors import Corrupt, EverloopError
from everloop.log import Log, Record
from everloop.log.integrity.verify import Verification, verify_log
from everloop.log.transfer.archive import export_jsonl
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.log_audit import audit, read_records
from everloop.testing.seeded_random import SeededRandom
from everloop.testing.sqlite_pages import ByteRange, row_byte_ranges


@dataclass(frozen=True)
class Specimen:
    """An intact log in a closed file, and its content."""

    content: bytes
    records: list[Record]
    lines: dict[int, bytes]  # of its export, by position
    extents: list[ByteRange]


@pytest.fixture(scope="module")
def specimen(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    path = tmp_path_factory.mktemp("specimen") / "everloop.db"
    engine = open_engine(path)
    for step in workload():
        step.act(engine, step.request)
    for number in range(60):
        text = f"{number} " + "long " * (2_000 if number % 20 == 7 else number)
        engine.log.append("long", [Said(text)], actor=ACTOR)
    lines = exported(engine.log, path.with_suffix(".jsonl"))
    engine.close()
    assert audit(path, VIEWS) == []
    return Specimen(path.read_bytes(), read_records(path), lines, row_byte_ranges(path, "log"))


def exported(log: Log, path: Path) -> dict[int, bytes]:
    """The lines of an export, by the position of their record."""
    with suppress(Corrupt):
        export_jsonl(log, path)
    lines = path.read_bytes().splitlines()[1:-1]
    return {int(line.split(b",")[0].removeprefix(b'{"position":')): line for line in lines}


@dataclass
class Flipped:
    """A log with one byte flipped, as far as it can be opened."""

    folder: Path
    offset: int
    flip: int

    def open(self, content: bytes) -> Log:
        damaged = bytearray(content)
        damaged[self.offset] ^= self.flip
        path = self.folder / "everloop.db"
        path.write_bytes(damaged)
        return DeterministicPorts().open(path, VIEWS, limits=LIMITS)


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch_folder() as scratch:
        yield scratch


def missed_damage(specimen: Specimen, flipped: Flipped, position: int) -> list[str]:
    """What `verify` and `export` got wrong about a log whose record at `position` was damaged."""
    with closing(flipped.open(specimen.content)) as log:
        found = verify_log(log)
        if found.ok:  # a byte that nobody reads
            return [] if list(log.records()) == specimen.records else ["not found"]
        rest = exported(log, flipped.folder / "rest.jsonl")
    wrong = [] if reports_position(found, position) else [f"not named: {found.damage}"]
    spoiled = {position, *(d.first for d in found.damage if d.first == d.last)}
    for other, line in specimen.lines.items():
        if other not in spoiled and rest.get(other) != line:
            wrong.append(f"position {other} was not exported as it is")
    return wrong


def reports_position(found: Verification, position: int) -> bool:
    """Whether verify reports a position by itself and not only as part of the whole file."""
    return any(d.first <= position <= d.last and d.last - d.first < 3 for d in found.damage)


@pytest.mark.parametrize("flips", [1_000, pytest.param(20_000, marks=pytest.mark.soak)])
@pytest.mark.promise("P-LOG-14")
def test_every_flipped_byte_of_a_record_is_found_and_the_rest_can_be_exported(
    specimen: Specimen, folder: Path, chance: SeededRandom, flips: int
) -> None:
    wrong: dict[tuple[int, ...], object] = {}
    for _ in range(flips):
        extent = chance.choice(specimen.extents)
        offset = extent.start + chance.randrange(extent.length)
        flipped = Flipped(folder, offset, 1 << chance.randrange(8))
        if problems := missed_damage(specimen, flipped, extent.rowid):
            wrong[offset, flipped.flip, extent.rowid] = problems
    assert wrong == {}


def test_a_record_with_a_position_beyond_the_end_hides_no_other_record(
    specimen: Specimen, folder: Path
) -> None:
    wrong: dict[tuple[int, ...], object] = {}
    heads = [(each, at) for each in specimen.extents[-6:] for at in range(4)]  # positions are there
    for extent, at in heads:
        for bit in range(8):
            flipped = Flipped(folder, extent.start + at, 1 << bit)
            if problems := missed_damage(specimen, flipped, extent.rowid):
                wrong[extent.rowid, at, bit] = problems
    assert wrong == {}


def undetected_changes(specimen: Specimen, flipped: Flipped) -> str:
    """How a flipped byte changed the content of the log without being detected."""
    try:
        with closing(flipped.open(specimen.content)) as log:
            if verify_log(log).ok and list(log.records()) != specimen.records:
                return "the log says something else"
    except EverloopError as noticed:
        return "" if noticed.hint else f"no hint: {noticed!r}"
    return ""


def test_a_name_of_a_view_that_is_no_text_any_more_is_said_to_be_damage(
    specimen: Specimen, folder: Path
) -> None:
    path = folder / "everloop.db"
    path.write_bytes(specimen.content)
    with closing(apsw.Connection(str(path))) as db:
        newest = "name = (SELECT max(name) FROM views)"
        db.execute(f"UPDATE views SET name = CAST(X'e96e' AS TEXT) WHERE {newest}")  # noqa: S608
    with pytest.raises(Corrupt, match="is damaged"):
        DeterministicPorts().open(path, VIEWS, limits=LIMITS)


@pytest.mark.parametrize("flips", [300, pytest.param(20_000, marks=pytest.mark.soak)])
def test_a_flipped_byte_anywhere_is_found_or_changes_no_content(
    specimen: Specimen, folder: Path, chance: SeededRandom, flips: int
) -> None:
    wrong: dict[tuple[int, ...], object] = {}
    for _ in range(flips):
        flipped = Flipped(folder, chance.randrange(len(specimen.content)), 1 << chance.randrange(8))
        if problem := undetected_changes(specimen, flipped):
            wrong[flipped.offset, flipped.flip] = problem
    assert wrong == {}


def read_everything(log: Log) -> None:
    """Ask for all that a log can say, and append to it."""
    for stream in ("s0", "s1", "s2", "s3", "long"):
        list(log.read(stream))
        log.state(WORDS, stream)
        log.append(stream, [Said("more")], actor=ACTOR)
    list(log.records())
    with log.reading() as reader:
        reader.rows("SELECT * FROM sayings")


def unexpected_errors(specimen: Specimen, flipped: Flipped) -> str:
    """Errors other than ours when a log with a flipped byte is read."""
    try:
        with closing(flipped.open(specimen.content)) as log:
            read_everything(log)
    except Corrupt as clear:
        return "" if clear.hint else f"no hint: {clear!r}"
    except Exception as problem:  # noqa: BLE001 - that is what we look for
        return repr(problem)
    return ""


@pytest.mark.parametrize("flips", [150, pytest.param(20_000, marks=pytest.mark.soak)])
def test_reading_a_flipped_byte_of_a_record_raises_corrupt(
    specimen: Specimen, folder: Path, chance: SeededRandom, flips: int
) -> None:
    wrong: dict[tuple[int, ...], object] = {}
    for _ in range(flips):
        extent = chance.choice(specimen.extents)
        offset = extent.start + chance.randrange(extent.length)
        flipped = Flipped(folder, offset, 1 << chance.randrange(8))
        if problem := unexpected_errors(specimen, flipped):
            wrong[offset, flipped.flip, extent.rowid] = problem
    assert wrong == {}
