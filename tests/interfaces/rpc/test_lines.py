"""Reading lines of bounded length."""

import io

import pytest

from everloop.interfaces.rpc.lines import CHUNK, LINE_TOO_LONG, read_lines


def test_blank_lines_are_skipped() -> None:
    assert list(read_lines(io.BytesIO(b"\n \n\t\r\na\n\n"), 9)) == [b"a\n"]


def test_the_last_line_needs_no_line_break() -> None:
    assert list(read_lines(io.BytesIO(b"a\nb"), 9)) == [b"a\n", b"b"]


def test_a_line_may_be_as_long_as_the_limit() -> None:
    assert list(read_lines(io.BytesIO(b"12345\n12345"), 5)) == [b"12345\n", b"12345"]


@pytest.mark.parametrize("length", [6, 7, CHUNK, 3 * CHUNK + 1])
def test_a_line_over_the_limit_is_skipped(length: int) -> None:
    stream = io.BytesIO(b"x" * length + b"\nnext\n")
    assert list(read_lines(stream, 5)) == [LINE_TOO_LONG, b"next\n"]


def test_an_overlong_last_line_counts_as_one_line() -> None:
    assert list(read_lines(io.BytesIO(b"x" * 300_000), 5)) == [LINE_TOO_LONG]
