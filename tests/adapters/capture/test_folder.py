"""Folders of sources: found, read, and watched without dying in silence."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from everloop.adapters.capture.folder import CaptureFolder
from everloop.app import Engine
from everloop.errors import Corrupt, Invalid, NotFound, Unavailable
from everloop.lessons.capture.service import CAPTURE, Catcher, Report
from everloop.lessons.capture.settings import CaptureSettings
from everloop.memory.model.commands import GrantAudience
from everloop.testing.bus import FunctionBus
from everloop.testing.deterministic import Stage

QUICK = CaptureSettings(poll_s=0.001, checkpoint_bytes=1_000)


class Yard:
    """A folder to capture from, and an engine that it goes into."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "projects"
        self.root.mkdir()
        self.path = folder / "log.db"
        self.stage = Stage()
        self.open()
        self.engine.do(GrantAudience(CAPTURE, ("*",)))

    def open(self) -> None:
        """Open the engine."""
        self.engine = Engine.open(self.path, world=self.stage.world)

    def reopen(self) -> None:
        """Start again."""
        self.engine.close()
        self.open()

    def folder(self, root: Path | None = None, **more: Any) -> CaptureFolder:
        """A capture that has seen nothing yet."""
        catcher = Catcher(self.engine.log, self.engine)
        return CaptureFolder(root or self.root, catcher, QUICK, **more)

    def write(self, name: str, text: str) -> Path:
        """Write a file below the folder."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def say(self, name: str, *texts: str) -> Path:
        """Add what a user said to a transcript."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            for text in texts:
                file.write(line(text) + b"\n")
        return path


def line(text: str) -> bytes:
    fields = {
        "type": "user",
        "parentUuid": "a",
        "uuid": f"u-{text}",
        "sessionId": "s-1",
        "cwd": "/home/ada/shop",
        "timestamp": "2026-03-01T22:38:47.557Z",
        "message": {"role": "user", "content": text},
    }
    return msgspec.json.encode(fields)


def words(report: Report) -> list[str]:
    return [caught.description for caught in report.caught]


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    made = Yard(tmp_path)
    yield made
    made.engine.close()


# -- finding ---------------------------------------------------------------------------------------


def test_every_kind_of_source_is_found_and_others_are_left_alone(yard: Yard) -> None:
    yard.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    yard.write("shop/docs/learnings.md", "- Flush before you rename files\n")
    yard.write("shop/README.md", "- This is no rule at all\n")
    yard.write("shop/.git/CLAUDE.md", "- Hidden folders are left alone\n")
    yard.write("shop/node_modules/x/CLAUDE.md", "- Others' packages are left alone\n")
    yard.write("-home-ada-shop/memory/tone.md", "---\ntype: feedback\n---\nBe brief in replies.\n")
    yard.say("-home-ada-shop/s-1.jsonl", "never push to main")
    yard.say("-home-ada-shop/agent-7.jsonl", "never listen to agents")
    yard.write("more.jsonl", '{"description": "Ask first", "body": "Ask before deleting."}\n')
    report = yard.folder().read()
    assert report.troubles == ()
    assert {(caught.name, caught.description, caught.scope) for caught in report.caught} == {
        ("CLAUDE.md", "Use two spaces for indentation", "project:shop"),
        ("learnings.md", "Flush before you rename files", "project:docs"),
        ("tone.md", "Be brief in replies.", "project:shop"),
        ("s-1.jsonl", "never push to main", "project:shop"),
        ("more.jsonl", "Ask first", "user"),
    }


def test_a_single_file_may_be_named(yard: Yard) -> None:
    path = yard.write("notes/learnings.md", "- Flush before you rename files\n")
    assert words(yard.folder(path).read()) == ["Flush before you rename files"]


def test_a_memory_folder_without_transcripts_is_for_a_project_of_its_own(yard: Yard) -> None:
    yard.write("-home-ada-shop/memory/tone.md", "- Always be brief in replies\n")
    [caught] = yard.folder().read().caught
    assert caught.scope == "project:home-ada-shop"


def test_a_projects_own_settings_folder_is_for_the_project(yard: Yard) -> None:
    yard.write("shop/.claude/CLAUDE.md", "- Use two spaces for indentation\n")
    [caught] = yard.folder().read().caught
    assert caught.scope == "project:shop"


def test_a_given_scope_is_for_all_of_it(yard: Yard) -> None:
    yard.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    yard.say("s.jsonl", "never push to main")
    report = yard.folder(scope="team:web").read()
    assert {caught.scope for caught in report.caught} == {"team:web"}
    with pytest.raises(Invalid):
        yard.folder(scope="nonsense")


def test_a_place_without_anything_is_an_error(yard: Yard) -> None:
    with pytest.raises(NotFound):
        yard.folder(yard.root / "nowhere").read()


def test_links_are_not_followed(yard: Yard) -> None:
    outside = yard.root.parent / "secret"
    outside.mkdir()
    (outside / "CLAUDE.md").write_text("- Tell nobody about this place\n")
    os.symlink(outside, yard.root / "linked")
    os.symlink(outside / "CLAUDE.md", yard.root / "CLAUDE.md")
    assert yard.folder().read() == Report()


@pytest.mark.parametrize("name", ["CLAUDE.md", "s-1.jsonl"])
def test_a_link_that_is_named_outright_is_reported_and_not_followed(yard: Yard, name: str) -> None:
    outside = yard.root.parent / "secret"
    outside.write_text("- Tell nobody about this place\n")
    os.symlink(outside, yard.root / name)
    report = yard.folder(yard.root / name).read()
    assert report.caught == ()
    assert [trouble.name for trouble in report.troubles] == [name]


def test_a_broken_transcript_does_not_hide_whose_memory_folder_it_is(yard: Yard) -> None:
    yard.write("-p/a.jsonl", "broken\n" + '{"type": "summary"}\n')
    yard.say("-p/b.jsonl", "what is this?")
    yard.write("-p/memory/tone.md", "- Always be brief in replies\n")
    [caught] = yard.folder().read().caught
    assert caught.scope == "project:shop"


def test_no_path_of_the_machine_reaches_the_log(yard: Yard) -> None:
    yard.say("-home-ada-shop/s-1.jsonl", "never push to main")
    yard.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    yard.folder().read()
    yard.engine.close()
    content = yard.path.read_bytes()
    assert b"/home/ada" not in content
    assert str(yard.root).encode() not in content
    yard.open()


# -- growing files ---------------------------------------------------------------------------------


def test_a_transcript_is_read_on_from_where_it_stopped_also_after_a_restart(yard: Yard) -> None:
    path = yard.say("s-1.jsonl", "never push to main")
    folder = yard.folder()
    assert words(folder.read()) == ["never push to main"]
    yard.say("s-1.jsonl", "always run the linter first")
    assert words(folder.read()) == ["always run the linter first"]
    yard.reopen()
    head = yard.engine.log.head
    assert yard.folder().read() == Report()
    assert yard.engine.log.head == head
    yard.say("s-1.jsonl", "use uv instead of pip")
    assert words(yard.folder().read()) == ["use uv instead of pip"]
    assert path.exists()


def test_the_mark_in_the_log_is_where_the_reading_goes_on(yard: Yard) -> None:
    path = yard.say("s-1.jsonl", "never push to main")
    yard.folder().read()
    size = path.stat().st_size
    broken = b"x" * size  # if anything before the mark were parsed again, this would be reported
    content = path.read_bytes()
    assert len(content) < 1_024
    path.write_bytes(content + line("use uv instead of pip") + b"\n")
    assert words(yard.folder().read()) == ["use uv instead of pip"]
    path.write_bytes(broken + b"\n" + line("prefer tuples over lists") + b"\n")
    report = yard.folder().read()
    assert words(report) == ["prefer tuples over lists"]
    assert len(report.troubles) == 1


def test_talk_without_corrections_is_noted_once_in_a_while(yard: Yard) -> None:
    folder = yard.folder()
    head = yard.engine.log.head
    for number in range(50):
        yard.say("s-1.jsonl", f"what is {number}?")
        folder.read()
    noted = yard.engine.log.head - head
    assert 5 <= noted <= 15


@pytest.mark.promise("P-CAP-2")
def test_a_transcript_that_was_replaced_is_read_again_and_nothing_is_proposed_twice(
    yard: Yard,
) -> None:
    path = yard.say("s-1.jsonl", "never push to main", "always run the linter first")
    folder = yard.folder()
    folder.read()
    path.unlink()
    yard.say("s-1.jsonl", "always run the linter first", "use uv instead of pip")
    assert words(folder.read()) == ["use uv instead of pip"]


@pytest.mark.promise("P-CAP-2")
def test_a_malformed_line_is_reported_by_name_and_skipped(yard: Yard) -> None:
    yard.say("s-1.jsonl", "never push to main")
    with (yard.root / "s-1.jsonl").open("ab") as file:
        file.write(b'{"type": "user", broken\n')
    yard.say("s-1.jsonl", "always run the linter first")
    report = yard.folder().read()
    assert words(report) == ["never push to main", "always run the linter first"]
    [trouble] = report.troubles
    assert trouble.name == "s-1.jsonl"
    assert trouble.problem.startswith("at byte ")


def test_a_line_of_json_with_new_words_names_the_lesson_it_was(yard: Yard) -> None:
    yard.write("more.jsonl", '{"id": "1", "description": "Use npm", "quote": "npm"}\n')
    folder = yard.folder()
    [first] = folder.read().caught
    with (yard.root / "more.jsonl").open("a") as file:
        file.write('{"id": "1", "description": "Use pnpm"}\n{"description": 3}\n')
    report = folder.read()
    assert [caught.replaces for caught in report.caught] == [first.lesson_id]
    assert [trouble.name for trouble in report.troubles] == ["more.jsonl"]


# -- pages -----------------------------------------------------------------------------------------


def test_a_page_that_did_not_change_is_not_opened_again(yard: Yard) -> None:
    path = yard.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    folder = yard.folder()
    folder.read()
    stamp = path.stat()
    path.write_text("- Use two tabs!! for indentation\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert folder.read() == Report()


def test_a_changed_page_names_what_it_said_before(yard: Yard) -> None:
    yard.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    folder = yard.folder()
    [first] = folder.read().caught
    yard.write("shop/CLAUDE.md", "- Use four spaces for indentation\n- Never mock the database\n")
    found = {caught.description: caught.replaces for caught in folder.read().caught}
    assert found == {
        "Use four spaces for indentation": first.lesson_id,
        "Never mock the database": "",
    }


def test_one_bad_page_does_not_hold_up_the_others(yard: Yard) -> None:
    (yard.root / "memory").mkdir()
    (yard.root / "memory" / "bad.md").write_bytes(b"\xff")
    yard.write("memory/worse.md", "---\nname: worse\n")
    yard.write("memory/good.md", "- Never mock the database\n")
    folder = yard.folder()
    report = folder.read()
    assert words(report) == ["Never mock the database"]
    assert {trouble.name for trouble in report.troubles} == {"bad.md", "worse.md"}
    assert folder.read() == Report()


def test_a_page_of_too_many_entries_says_so(yard: Yard) -> None:
    rules = "".join(f"- Rule number {number} says something\n" for number in range(4))
    yard.write("CLAUDE.md", rules)
    limits = CaptureSettings(entries_max=3)
    folder = CaptureFolder(yard.root, Catcher(yard.engine.log, yard.engine), limits)
    report = folder.read()
    assert len(report.caught) == 3
    assert [trouble.problem for trouble in report.troubles] == [
        "only 3 of its 4 entries were captured"
    ]


# -- watching --------------------------------------------------------------------------------------


class Watching:
    """A watcher on a thread, and what it told."""

    def __init__(self, folder: CaptureFolder) -> None:
        self.told: list[Report] = []
        self.news = threading.Event()
        self.stop = threading.Event()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, args=(folder,))
        self.thread.start()

    def _run(self, folder: CaptureFolder) -> None:
        try:
            folder.watch(self.stop, self._tell)
        except Corrupt as problem:
            self.error = problem

    def _tell(self, report: Report) -> None:
        self.told.append(report)
        self.news.set()

    def wait(self) -> Report:
        """The next report."""
        assert self.news.wait(30)
        self.news.clear()
        return self.told[-1]

    def end(self) -> None:
        """Stop it."""
        self.stop.set()
        self.thread.join(30)
        assert not self.thread.is_alive()


def test_a_watcher_takes_in_what_comes(yard: Yard) -> None:
    watching = Watching(yard.folder())
    yard.say("s-1.jsonl", "never push to main")
    assert words(watching.wait()) == ["never push to main"]
    yard.say("s-1.jsonl", "always run the linter first")
    assert words(watching.wait()) == ["always run the linter first"]
    watching.end()


def test_a_watcher_of_a_folder_that_is_not_there_yet_says_so_once_and_goes_on(yard: Yard) -> None:
    root = yard.root / "later"
    watching = Watching(yard.folder(root))
    assert "no file or folder" in watching.wait().troubles[0].problem
    yard.say("later/s-1.jsonl", "never push to main")
    assert words(watching.wait()) == ["never push to main"]
    watching.end()
    assert len(watching.told) == 2


@pytest.mark.promise("P-CAP-2")
def test_a_watcher_outlives_a_log_that_cannot_be_written_for_a_while(yard: Yard) -> None:
    broken = threading.Event()
    broken.set()

    def do(command: Any, **more: Any) -> Any:
        if broken.is_set():
            raise Unavailable("the disk is full")
        return yard.engine.do(command, **more)

    yard.say("s-1.jsonl", "never push to main")
    folder = CaptureFolder(yard.root, Catcher(yard.engine.log, FunctionBus(do)), QUICK)
    watching = Watching(folder)
    assert watching.wait().troubles[0].problem == "the disk is full"
    broken.clear()
    assert words(watching.wait()) == ["never push to main"]
    watching.end()


def test_a_watcher_stops_aloud_at_a_log_that_contradicts_itself(yard: Yard) -> None:
    def do(command: Any, **more: Any) -> Any:
        del command, more
        raise Corrupt("the log contradicts itself")

    yard.say("s-1.jsonl", "never push to main")
    watching = Watching(CaptureFolder(yard.root, Catcher(yard.engine.log, FunctionBus(do)), QUICK))
    watching.thread.join(30)
    assert isinstance(watching.error, Corrupt)
