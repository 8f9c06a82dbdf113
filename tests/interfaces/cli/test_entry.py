"""The entry point: help, usage errors, internal errors and exit codes."""

import ast
import importlib
import io
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.interfaces.cli.commandline import CommandLine

import everloop as package
from everloop import __main__ as everloop_main
from everloop.__main__ import DOORS, main
from everloop.errors import (
    Conflict,
    Corrupt,
    EverloopError,
    Forbidden,
    Invalid,
    ModelFailed,
    NotFound,
    Rejected,
    Unavailable,
)
from everloop.interfaces.cli import entry
from everloop.interfaces.cli.entry import COMMANDS_PACKAGE, run
from everloop.interfaces.cli.output.exit_codes import MEANINGS, exit_code
from everloop.interfaces.cli.parsing.command_spec import CommandSpec
from everloop.interfaces.cli.parsing.command_table import COMMANDS
from everloop.interfaces.cli.streams import Streams

HEAVY = {"rich", "apsw", "msgspec", "asyncio", "everloop.log", "everloop.app"}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Rejected, 2),
        (Invalid, 2),
        (NotFound, 3),
        (Conflict, 4),
        (Forbidden, 5),
        (Unavailable, 69),
        (ModelFailed, 69),
        (Corrupt, 70),
        (EverloopError, 70),
    ],
)
def test_each_error_has_its_exit_code(error: type[EverloopError], code: int) -> None:
    assert exit_code(error("no")) == code
    assert code in MEANINGS


def test_help_lists_every_command(everloop: CommandLine) -> None:
    answer = everloop("--help")
    assert answer.code == 0
    for spec in COMMANDS:
        assert " ".join(spec.words) in answer.out
    assert "tail" in everloop("log", "--help").out


@pytest.mark.parametrize("spec", COMMANDS, ids=lambda spec: " ".join(spec.words))
def test_every_command_has_help_and_a_handler(everloop: CommandLine, spec: CommandSpec) -> None:
    answer = everloop(*spec.words, "--help")
    assert answer.code == 0
    assert "--json" in answer.out
    name = f"{COMMANDS_PACKAGE}.{spec.module}" if spec.module else DOORS[spec.words[0]]
    assert callable(getattr(importlib.import_module(name), spec.function))


def test_the_import_linter_sees_every_module_that_is_loaded_by_name() -> None:
    commands = {f"{COMMANDS_PACKAGE}.{spec.module}" for spec in COMMANDS if spec.module}
    assert _type_checking_imports(entry) == commands
    assert _type_checking_imports(everloop_main) == set(DOORS.values())


def _type_checking_imports(module: ModuleType) -> set[str]:
    """The modules that the `if TYPE_CHECKING:` block of a module imports."""
    tree = ast.parse(Path(str(module.__file__)).read_text())
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    statements = [line for block in blocks for line in block.body if isinstance(line, ast.Import)]
    return {alias.name for line in statements for alias in line.names}


def test_version_prints_the_package_version(everloop: CommandLine) -> None:
    assert everloop("--version").out == f"everloop {package.__version__}\n"


@pytest.mark.parametrize(
    "words",
    ["", "log", "lgo", "log tial", "log show", "log show -1", "log tail -n 0", "verify x"],
)
def test_a_mistake_is_an_error_with_a_hint(everloop: CommandLine, words: str) -> None:
    answer = everloop(*words.split())
    assert answer.code == 2
    assert "hint:" in answer.err
    document = everloop(*words.split(), "--json")
    assert document.code == 2
    assert document.document["error"]["exit_code"] == 2
    assert document.err == ""


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # as the locale has it
@pytest.mark.parametrize(
    "words",
    ["remember -", "log note -", "lessons propose x --body -", "personas write x --body -"],
)
def test_input_that_is_not_utf8_is_refused(tmp_path: Path, words: str, errors: str) -> None:
    piped = io.TextIOWrapper(io.BytesIO("Grüße".encode("latin1")), "utf-8", errors=errors)
    err = io.StringIO()
    environment = {"EVERLOOP_HOME": str(tmp_path), "EVERLOOP_MEMORY_EMBEDDER": "none"}
    assert run(words.split(), Streams(piped, io.StringIO(), err, environment)) == 2
    assert "error: the text is not UTF-8" in err.getvalue()
    assert "iconv" in err.getvalue()


def test_arguments_that_are_not_utf8_are_refused(everloop: CommandLine) -> None:
    assert "not UTF-8" in everloop("log", "note", "Gr\udcfc\udcdfe").err


def test_a_misspelt_command_gets_a_suggestion(everloop: CommandLine) -> None:
    assert "everloop log tail" in everloop("log", "tial").err


def test_global_options_work_before_and_after_the_command(everloop: CommandLine) -> None:
    assert everloop.typed("--json", "log", "tail").document == []
    assert everloop.typed("log", "--json", "tail").document == []
    assert everloop.typed("log", "tail", "--json").document == []


def test_a_folder_that_cannot_be_created_is_reported_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = CommandLine(tmp_path / "file" / "home")("log", "tail")
    assert answer.code == 69
    assert "Traceback" not in answer.err


def test_an_interruption_prints_nothing(everloop: CommandLine) -> None:
    class Interrupted(io.StringIO):
        """A stream that is interrupted with Ctrl-C while it is read."""

        def read(self, size: int | None = -1, /) -> str:
            """Raise instead of returning text."""
            del size
            raise KeyboardInterrupt

    err = io.StringIO()
    environment = {"EVERLOOP_HOME": str(everloop.home)}
    streams = Streams(Interrupted(), io.StringIO(), err, environment)
    assert run(["log", "note", "-"], streams) == 130
    assert err.getvalue() == ""


def test_an_internal_error_is_reported_as_an_error(everloop: CommandLine) -> None:
    class Faulty(io.StringIO):
        """A stream that fails with an unexpected exception."""

        def read(self, size: int | None = -1, /) -> str:
            """Fails."""
            del size
            raise ZeroDivisionError

    err = io.StringIO()
    environment = {"EVERLOOP_HOME": str(everloop.home)}
    assert run(["log", "note", "-"], Streams(Faulty(), io.StringIO(), err, environment)) == 70
    assert "internal error in Everloop" in err.getvalue()


@pytest.mark.promise("P-CLI-3")
def test_help_loads_nothing_heavy() -> None:
    program = f"""
import sys
from everloop.__main__ import main
main(["log", "tail", "--help"])
sys.exit(" ".join({HEAVY!r} & sys.modules.keys()) or None)
"""
    done = subprocess.run(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_main_uses_the_standard_streams(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"everloop {package.__version__}\n"
