"""Running a command that a person gave."""

import hashlib
import sys
from pathlib import Path

import pytest

from everloop.adapters.processes.run_command import LINE_BYTES_MAX, CommandResult, run_command
from everloop.errors import Invalid


def python(program: str) -> tuple[str, ...]:
    """A command that runs a program of ours."""
    return (sys.executable, "-c", program)


def test_what_is_printed_is_shown_and_digested_in_its_order() -> None:
    shown: list[str] = []
    program = "import sys; print('one', flush=True); print('two', file=sys.stderr); sys.exit(4)"
    ran = run_command(python(program), shown.append)
    assert shown == ["one", "two"]
    digest = hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert ran == CommandResult(ran.command, 4, digest)


def test_no_shell_reads_the_words() -> None:
    shown: list[str] = []
    ran = run_command((*python("import sys; print(sys.argv[1])"), "$HOME; exit 3"), shown.append)
    assert (shown, ran.exit_code) == (["$HOME; exit 3"], 0)
    assert ran.command.endswith("'$HOME; exit 3'")


def test_nothing_can_be_typed_into_it() -> None:
    shown: list[str] = []
    run_command(python("import sys; print(repr(sys.stdin.read()))"), shown.append)
    assert shown == ["''"]


def test_a_line_without_end_is_shown_in_parts() -> None:
    shown: list[str] = []
    run_command(python(f"print('x' * {2 * LINE_BYTES_MAX}, end='')"), shown.append)
    assert [len(part) for part in shown] == [LINE_BYTES_MAX] * 2


def test_bytes_that_are_no_text_are_shown_somehow() -> None:
    shown: list[str] = []
    run_command(python("import sys; sys.stdout.buffer.write(bytes([255, 10]))"), shown.append)
    assert shown == ["\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("name", ["none", ""])
def test_what_is_no_program_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(Invalid, match="cannot be run"):
        run_command((str(tmp_path / name),), print)
