"""Growing files: read from where one stopped, whatever happened to them in between."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.adapters.capture.tail import read_next_chunk
from everloop.lessons.capture.entries import ReadOffset
from everloop.lessons.capture.settings import CaptureSettings

LIMITS = CaptureSettings()
SMALL = CaptureSettings(piece_bytes=1_024, line_bytes_max=4_096)


def rest(
    path: Path, mark: ReadOffset, limits: CaptureSettings = LIMITS
) -> tuple[list[bytes], ReadOffset]:
    """All lines after a mark, over as many pieces as it takes."""
    lines: list[bytes] = []
    while True:
        piece = read_next_chunk(path, mark, limits)
        lines += [line.content for line in piece.lines]
        mark = piece.mark
        if not piece.more:
            return lines, mark


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lines.jsonl"


def test_only_new_lines_are_read(path: Path) -> None:
    path.write_bytes(b"1\n2\n")
    first, mark = rest(path, ReadOffset())
    with path.open("ab") as file:
        file.write(b"3\n")
    assert (first, rest(path, mark)[0]) == ([b"1", b"2"], [b"3"])


def test_an_unfinished_line_is_left_for_the_next_read(path: Path) -> None:
    path.write_bytes(b'{"a": 1}\n{"b": ')
    first, mark = rest(path, ReadOffset())
    with path.open("ab") as file:
        file.write(b"2}\n")
    assert (first, rest(path, mark)[0]) == ([b'{"a": 1}'], [b'{"b": 2}'])


def test_a_last_line_without_a_line_break_is_read_once_it_is_complete_json(path: Path) -> None:
    path.write_bytes(b'{"a": 1}\n{"b": 2}')
    first, mark = rest(path, ReadOffset())
    with path.open("ab") as file:
        file.write(b'\n{"c": 3}\n')
    assert (first, rest(path, mark)[0]) == ([b'{"a": 1}', b'{"b": 2}'], [b'{"c": 3}'])


def test_a_truncated_file_is_read_from_its_start(path: Path) -> None:
    path.write_bytes(b"1\n2\n3\n")
    _, mark = rest(path, ReadOffset())
    path.write_bytes(b"4\n")
    assert rest(path, mark)[0] == [b"4"]


def test_a_replaced_file_is_read_from_its_start(path: Path) -> None:
    path.write_bytes(b"1\n2\n3\n")
    _, mark = rest(path, ReadOffset())
    path.rename(path.with_suffix(".old"))
    path.write_bytes(b"4\n5\n6\n7\n")
    assert rest(path, mark)[0] == [b"4", b"5", b"6", b"7"]


def test_a_file_that_did_not_change_gives_nothing(path: Path) -> None:
    path.write_bytes(b"1\n")
    _, mark = rest(path, ReadOffset())
    assert rest(path, mark) == ([], mark)


def test_an_empty_file_gives_nothing(path: Path) -> None:
    path.touch()
    assert rest(path, ReadOffset()) == ([], ReadOffset())


def test_a_line_longer_than_a_piece_is_read_whole(path: Path) -> None:
    path.write_bytes(b"x" * 3_000 + b"\n1\n")
    assert rest(path, ReadOffset(), SMALL)[0] == [b"x" * 3_000 + b"\n", b"1"]


def test_a_too_long_line_is_skipped_and_reported(path: Path) -> None:
    path.write_bytes(b"1\n" + b"x" * 9_000 + b"\n2\n")
    troubles: list[str] = []
    lines: list[bytes] = []
    mark = ReadOffset()
    for _ in range(10):
        piece = read_next_chunk(path, mark, SMALL)
        lines += [line.content for line in piece.lines]
        troubles += [trouble.problem for trouble in piece.troubles]
        mark = piece.mark
    assert lines == [b"1", b"2"]
    assert troubles == ["at byte 2: a line has more than 4,096 bytes"]


def test_an_unfinished_long_line_is_left_for_the_next_read(path: Path) -> None:
    for length in (3_000, 9_000):
        path.write_bytes(b"x" * length)
        assert rest(path, ReadOffset(), SMALL) == ([], ReadOffset())


def test_a_link_is_not_followed(path: Path) -> None:
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_bytes(b"1\n")
    os.symlink(elsewhere, path)
    with pytest.raises(OSError, match=r"link|symbolic"):
        read_next_chunk(path, ReadOffset(), LIMITS)


@given(
    lines=st.lists(
        st.binary(min_size=1, max_size=700).filter(lambda b: b"\n" not in b and b.strip())
    ),
    cuts=st.lists(st.integers(0, 20_000), max_size=5),
)
def test_every_line_of_a_growing_file_is_read_exactly_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("grow") / "f.jsonl"
    content = b"".join(b'"' + line.hex().encode() + b'"\n' for line in lines)
    seen: list[bytes] = []
    mark = ReadOffset()
    for cut in [*sorted(cuts), len(content)]:
        path.write_bytes(content[:cut])
        found, mark = rest(path, mark, SMALL)
        seen += [line.rstrip(b"\n") for line in found]
    assert seen == content.splitlines()
