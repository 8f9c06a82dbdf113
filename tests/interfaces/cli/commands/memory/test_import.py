"""`everloop memories import`: interrupted and resumed, without a grant, and undone."""

import io
import os
import signal
from argparse import Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import Answer, CommandLine, Terminal

from everloop.adapters.system import system_ports
from everloop.errors import Conflict
from everloop.interfaces.cli.commands.memory.markdown_folder import import_folder
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES, INTERRUPTED
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.streams import Streams
from everloop.ports import Ids, Progress, SystemPorts

THINGS = ("otters", "bees", "herons", "newts", "voles", "swifts", "moles", "toads", "wrens", "bats")


@pytest.fixture
def memory(everloop: CommandLine) -> CommandLine:
    """An empty memory, and no embedder."""
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    return everloop


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A folder of new pages."""
    folder = tmp_path / "pages"
    folder.mkdir()
    for number, thing in enumerate(THINGS):
        (folder / f"{number}.md").write_text(f"{thing} were seen at the {thing} pond {thing}\n")
    return folder


def ids(folder: Path) -> list[str]:
    """The ids that the pages of a folder have."""
    lines = [line for page in folder.glob("*.md") for line in page.read_text().splitlines()]
    return sorted(line.removeprefix("id: ") for line in lines if line.startswith("id: "))


def stored(memory: CommandLine) -> list[str]:
    """The ids of all items."""
    found = memory.typed("memories", "--json", "-n", "500").document["items"]
    return sorted(item["item_id"] for item in found)


class Pressed:
    """Ids that simulate Ctrl-C while one of them is generated."""

    def __init__(self, ids: Ids, pressed_at: int) -> None:
        self._ids, self._left = ids, pressed_at

    def new(self, prefix: str) -> str:
        """A new id."""
        self._left -= prefix == "mem"
        if not self._left:
            os.kill(os.getpid(), signal.SIGINT)
        return self._ids.new(prefix)


class Watched(Session):
    """A session that runs a callback after each page, or during a change."""

    after: Callable[[int], None]
    pressed_at: int

    @cached_property
    def ports(self) -> SystemPorts:
        """This machine, with the simulated Ctrl-C."""
        real = system_ports(self.settings.log.lock_wait_s)
        return real._replace(ids=Pressed(real.ids, self.pressed_at)) if self.pressed_at else real

    @contextmanager
    def progress(self, doing: str) -> Generator[Progress]:
        """Run the callback instead of showing a progress bar."""
        del doing

        def advance(done: int, total: int) -> None:
            del total
            self.after(done)

        yield advance


def watched(
    memory: CommandLine,
    folder: Path,
    after: Callable[[int], None],
    *,
    json: bool = False,
    pressed_at: int = 0,
) -> tuple[int | None, str]:
    """Import a folder while a callback runs."""
    asked = Namespace(
        json=json, tenant="local", yes=True, home=None, folder=folder, prune=False, preview=False
    )
    environment = {"EVERLOOP_HOME": str(memory.home), **memory.environment}
    out = io.StringIO()
    session = Watched(asked, Streams(Terminal(), out, io.StringIO(), environment))
    session.after, session.pressed_at = after, pressed_at
    return import_folder(session, asked), out.getvalue()


def interrupt_at(number: int) -> Callable[[int], None]:
    """Simulate Ctrl-C after some pages."""

    def after(done: int) -> None:
        if done == number:
            raise KeyboardInterrupt

    return after


# -- who sees nothing ------------------------------------------------------------------------------


def test_an_agent_without_a_grant_imports_once_and_gets_a_note(
    memory: CommandLine, pages: Path
) -> None:
    answer = memory("memories", "import", str(pages), "--yes")
    assert answer.code == 0
    assert f"Done: {len(THINGS)} changes." in answer.out
    assert "agent:cli has no access" in answer.out
    assert ids(pages) == stored(memory)
    before = {page.name: page.read_text() for page in pages.iterdir()}
    again = memory("memories", "import", str(pages), "--yes")
    assert again.code == 0
    assert "Nothing to import" in again.out
    assert {page.name: page.read_text() for page in pages.iterdir()} == before
    assert len(stored(memory)) == len(THINGS)
    assert memory.typed("memories", "import", str(pages), "--json").document["changes"] == []


def test_an_agent_without_a_grant_exports_nothing(memory: CommandLine, tmp_path: Path) -> None:
    memory.typed("remember", "Bees live behind the barn")
    answer = memory("memories", "export", str(tmp_path / "out"))
    assert (answer.code, answer.out) == (5, "")
    assert answer.err.startswith("error: agent:cli has no access to memory")
    assert not memory.typed("memories", "export", str(tmp_path / "out"), "--json").document["notes"]


# -- broken off ------------------------------------------------------------------------------------


def test_an_interrupted_import_reports_its_progress_and_resumes(
    memory: CommandLine, pages: Path
) -> None:
    code, out = watched(memory, pages, interrupt_at(4))
    assert code == INTERRUPTED
    assert f"Interrupted: 4 changes of {len(THINGS)} made and saved." in out
    assert "Run it again" in out
    assert "To undo: everloop log retract 1" in out
    assert ids(pages) == stored(memory)
    assert len(ids(pages)) == 4
    done = memory.typed("memories", "import", str(pages), "--yes", "--json").document
    assert [each["action"] for each in done["applied"]] == ["new"] * (len(THINGS) - 4)
    assert ids(pages) == stored(memory)
    assert memory.typed("memories", "export", str(pages), "--json").document["written"] == []


def test_an_interrupted_import_prints_one_json_document(memory: CommandLine, pages: Path) -> None:
    code, out = watched(memory, pages, interrupt_at(2), json=True)
    assert code == INTERRUPTED
    done = Answer(INTERRUPTED, out, "").document
    assert done["interrupted"]
    assert len(done["applied"]) == 2


def test_ctrl_c_during_a_change_waits_until_the_page_has_its_id(
    memory: CommandLine, pages: Path
) -> None:
    heard: list[int] = []
    code, _ = watched(memory, pages, heard.append, pressed_at=3)
    assert code == INTERRUPTED
    assert heard == [1, 2]
    assert len(ids(pages)) == 3
    assert ids(pages) == stored(memory)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_pages_recorded_without_their_ids_are_adopted(
    memory: CommandLine, pages: Path, tmp_path: Path
) -> None:
    as_before = {page.name: page.read_text() for page in pages.glob("*.md")}
    watched(memory, pages, interrupt_at(6))
    items = stored(memory)
    other = tmp_path / "as it was"
    other.mkdir()
    for name, text in as_before.items():  # as if it had been killed before a page was written
        (other / name).write_text(text)
    preview = memory.typed("memories", "import", str(other), "--preview")
    assert "= existing memory with the same text" in preview.out
    done = memory.typed("memories", "import", str(other), "--yes", "--json")
    assert done.code == 0
    actions = [each["action"] for each in done.document["applied"]]
    assert actions == ["adopt"] * 6 + ["new"] * (len(THINGS) - 6)
    assert set(items) <= set(stored(memory))
    assert len(stored(memory)) == len(THINGS)
    assert ids(other) == stored(memory)
    assert memory.typed("memories", "export", str(other), "--json").document["written"] == []


# -- afterwards ------------------------------------------------------------------------------------


def test_a_deleted_page_is_reported_along_with_changes(memory: CommandLine, pages: Path) -> None:
    memory.typed("memories", "import", str(pages), "--yes")
    (pages / "0.md").unlink()
    (pages / "1.md").write_text((pages / "1.md").read_text().replace("seen", "heard"))
    answer = memory.typed("memories", "import", str(pages), "--yes")
    assert "Done: 1 change." in answer.out
    assert "1 file was deleted" in answer.out
    (pages / "1.md").write_text((pages / "1.md").read_text().replace("heard", "seen"))
    pruned = memory.typed("memories", "import", str(pages), "--yes", "--prune")
    assert "Done: 2 changes." in pruned.out
    assert "gone" not in pruned.out


def test_an_import_is_undone_by_one_retraction(memory: CommandLine, pages: Path) -> None:
    memory.typed("remember", "Frogs sing in the pond at night")
    done = memory.typed("memories", "import", str(pages), "--yes", "--json").document
    (position,) = done["undo"]
    assert len(stored(memory)) == len(THINGS) + 1
    assert memory.typed("log", "retract", str(position), "--yes").code == 0
    assert len(stored(memory)) == 1


def test_an_import_of_one_page_is_undone_by_its_own_position(
    memory: CommandLine, pages: Path
) -> None:
    for page in sorted(pages.iterdir())[1:]:
        page.unlink()
    answer = memory.typed("memories", "import", str(pages), "--yes")
    assert "To undo: everloop log retract 1\n" in answer.out
    assert memory.typed("log", "retract", "1", "--yes").code == 0
    assert stored(memory) == []


def test_many_edits_are_undone_by_the_printed_command(memory: CommandLine, pages: Path) -> None:
    memory.typed("memories", "import", str(pages), "--yes")
    for page in pages.glob("*.md"):
        page.write_text(page.read_text().replace("seen", "heard"))
    answer = memory.typed("memories", "import", str(pages), "--yes")
    assert "To undo: everloop log retract 12-21\n" in answer.out
    assert memory.typed("log", "retract", "12-21", "--yes").code == 0
    found = memory.typed("memories", "--json", "-n", "500").document["items"]
    assert all("seen" in item["text"] for item in found)


class Hesitant(Terminal):
    """A terminal that runs a callback before it answers yes."""

    def __init__(self, first: Callable[[], object]) -> None:
        super().__init__("y\n")
        self._first = first

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]  # as its own
        self._first()
        return super().readline(-1 if size is None else size)


@pytest.mark.parametrize("meanwhile", ["saved", "deleted"])
def test_a_page_saved_during_the_question_is_not_overwritten(
    memory: CommandLine, pages: Path, meanwhile: str
) -> None:
    edited = pages / "0.md"

    def changes() -> None:
        if meanwhile == "saved":
            edited.write_text("what I typed in the meantime\n")
        else:
            edited.unlink()

    answer = memory.run(("memories", "import", str(pages)), Hesitant(changes))
    assert answer.code == EXIT_CODES[Conflict]
    assert "0.md  the file changed in the meantime" in answer.out
    assert "Run the import again." in answer.out
    assert len(stored(memory)) == len(ids(pages)) == len(THINGS) - 1
    if meanwhile == "saved":
        assert edited.read_text() == "what I typed in the meantime\n"
        assert memory.typed("memories", "import", str(pages), "--yes").code == 0
        assert len(stored(memory)) == len(THINGS)
