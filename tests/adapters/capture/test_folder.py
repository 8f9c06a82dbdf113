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
from everloop.lessons.capture.service import CAPTURE_ACTOR, CaptureReport, CaptureService
from everloop.lessons.capture.settings import CaptureSettings
from everloop.memory.model.commands import GrantAudience
from everloop.testing.bus import FunctionBus
from everloop.testing.deterministic import DeterministicPorts

QUICK = CaptureSettings(poll_s=0.001, checkpoint_bytes=1_000)


class CaptureHarness:
    """A folder to capture from, and an engine that it goes into."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "projects"
        self.root.mkdir()
        self.path = folder / "log.db"
        self.stage = DeterministicPorts()
        self.open()
        self.engine.do(GrantAudience(CAPTURE_ACTOR, ("*",)))

    def open(self) -> None:
        """Open the engine."""
        self.engine = Engine.open(self.path, ports=self.stage.ports)

    def reopen(self) -> None:
        """Start again."""
        self.engine.close()
        self.open()

    def folder(self, root: Path | None = None, **more: Any) -> CaptureFolder:
        """A capture that has seen nothing yet."""
        catcher = CaptureService(self.engine.log, self.engine)
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


def words(report: CaptureReport) -> list[str]:
    return [caught.description for caught in report.caught]


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[CaptureHarness]:
    made = CaptureHarness(tmp_path)
    yield made
    made.engine.close()


# -- finding ---------------------------------------------------------------------------------------


def test_every_kind_of_source_is_found_and_others_are_left_alone(harness: CaptureHarness) -> None:
    harness.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    harness.write("shop/docs/learnings.md", "- Flush before you rename files\n")
    harness.write("shop/README.md", "- This is no rule at all\n")
    harness.write("shop/.git/CLAUDE.md", "- Hidden folders are left alone\n")
    harness.write("shop/node_modules/x/CLAUDE.md", "- Others' packages are left alone\n")
    harness.write(
        "-home-ada-shop/memory/tone.md", "---\ntype: feedback\n---\nBe brief in replies.\n"
    )
    harness.say("-home-ada-shop/s-1.jsonl", "never push to main")
    harness.say("-home-ada-shop/agent-7.jsonl", "never listen to agents")
    harness.write("more.jsonl", '{"description": "Ask first", "body": "Ask before deleting."}\n')
    report = harness.folder().read()
    assert report.troubles == ()
    assert {(caught.name, caught.description, caught.scope) for caught in report.caught} == {
        ("CLAUDE.md", "Use two spaces for indentation", "project:shop"),
        ("learnings.md", "Flush before you rename files", "project:docs"),
        ("tone.md", "Be brief in replies.", "project:shop"),
        ("s-1.jsonl", "never push to main", "project:shop"),
        ("more.jsonl", "Ask first", "user"),
    }


def test_a_single_file_may_be_named(harness: CaptureHarness) -> None:
    path = harness.write("notes/learnings.md", "- Flush before you rename files\n")
    assert words(harness.folder(path).read()) == ["Flush before you rename files"]


def test_a_memory_folder_without_transcripts_is_for_a_project_of_its_own(
    harness: CaptureHarness,
) -> None:
    harness.write("-home-ada-shop/memory/tone.md", "- Always be brief in replies\n")
    [caught] = harness.folder().read().caught
    assert caught.scope == "project:home-ada-shop"


def test_a_projects_own_settings_folder_is_for_the_project(harness: CaptureHarness) -> None:
    harness.write("shop/.claude/CLAUDE.md", "- Use two spaces for indentation\n")
    [caught] = harness.folder().read().caught
    assert caught.scope == "project:shop"


def test_a_given_scope_applies_to_all_sources(harness: CaptureHarness) -> None:
    harness.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    harness.say("s.jsonl", "never push to main")
    report = harness.folder(scope="team:web").read()
    assert {caught.scope for caught in report.caught} == {"team:web"}
    with pytest.raises(Invalid):
        harness.folder(scope="nonsense")


def test_a_missing_path_is_an_error(harness: CaptureHarness) -> None:
    with pytest.raises(NotFound):
        harness.folder(harness.root / "nowhere").read()


def test_links_are_not_followed(harness: CaptureHarness) -> None:
    outside = harness.root.parent / "secret"
    outside.mkdir()
    (outside / "CLAUDE.md").write_text("- Tell nobody about this place\n")
    os.symlink(outside, harness.root / "linked")
    os.symlink(outside / "CLAUDE.md", harness.root / "CLAUDE.md")
    assert harness.folder().read() == CaptureReport()


@pytest.mark.parametrize("name", ["CLAUDE.md", "s-1.jsonl"])
def test_a_symbolic_link_given_directly_is_reported_and_not_followed(
    harness: CaptureHarness, name: str
) -> None:
    outside = harness.root.parent / "secret"
    outside.write_text("- Tell nobody about this place\n")
    os.symlink(outside, harness.root / name)
    report = harness.folder(harness.root / name).read()
    assert report.caught == ()
    assert [trouble.name for trouble in report.troubles] == [name]


def test_a_broken_transcript_does_not_hide_whose_memory_folder_it_is(
    harness: CaptureHarness,
) -> None:
    harness.write("-p/a.jsonl", "broken\n" + '{"type": "summary"}\n')
    harness.say("-p/b.jsonl", "what is this?")
    harness.write("-p/memory/tone.md", "- Always be brief in replies\n")
    [caught] = harness.folder().read().caught
    assert caught.scope == "project:shop"


def test_no_path_of_the_machine_reaches_the_log(harness: CaptureHarness) -> None:
    harness.say("-home-ada-shop/s-1.jsonl", "never push to main")
    harness.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    harness.folder().read()
    harness.engine.close()
    content = harness.path.read_bytes()
    assert b"/home/ada" not in content
    assert str(harness.root).encode() not in content
    harness.open()


# -- growing files ---------------------------------------------------------------------------------


def test_a_transcript_is_resumed_from_its_last_offset_even_after_a_restart(
    harness: CaptureHarness,
) -> None:
    path = harness.say("s-1.jsonl", "never push to main")
    folder = harness.folder()
    assert words(folder.read()) == ["never push to main"]
    harness.say("s-1.jsonl", "always run the linter first")
    assert words(folder.read()) == ["always run the linter first"]
    harness.reopen()
    head = harness.engine.log.head
    assert harness.folder().read() == CaptureReport()
    assert harness.engine.log.head == head
    harness.say("s-1.jsonl", "use uv instead of pip")
    assert words(harness.folder().read()) == ["use uv instead of pip"]
    assert path.exists()


def test_reading_resumes_at_the_offset_in_the_log(harness: CaptureHarness) -> None:
    path = harness.say("s-1.jsonl", "never push to main")
    harness.folder().read()
    size = path.stat().st_size
    broken = b"x" * size  # if anything before the mark were parsed again, this would be reported
    content = path.read_bytes()
    assert len(content) < 1_024
    path.write_bytes(content + line("use uv instead of pip") + b"\n")
    assert words(harness.folder().read()) == ["use uv instead of pip"]
    path.write_bytes(broken + b"\n" + line("prefer tuples over lists") + b"\n")
    report = harness.folder().read()
    assert words(report) == ["prefer tuples over lists"]
    assert len(report.troubles) == 1


def test_offsets_without_corrections_are_recorded_occasionally(harness: CaptureHarness) -> None:
    folder = harness.folder()
    head = harness.engine.log.head
    for number in range(50):
        harness.say("s-1.jsonl", f"what is {number}?")
        folder.read()
    noted = harness.engine.log.head - head
    assert 5 <= noted <= 15


@pytest.mark.promise("P-CAP-2")
def test_a_transcript_that_was_replaced_is_read_again_and_nothing_is_proposed_twice(
    harness: CaptureHarness,
) -> None:
    path = harness.say("s-1.jsonl", "never push to main", "always run the linter first")
    folder = harness.folder()
    folder.read()
    path.unlink()
    harness.say("s-1.jsonl", "always run the linter first", "use uv instead of pip")
    assert words(folder.read()) == ["use uv instead of pip"]


@pytest.mark.promise("P-CAP-2")
def test_a_malformed_line_is_reported_by_name_and_skipped(harness: CaptureHarness) -> None:
    harness.say("s-1.jsonl", "never push to main")
    with (harness.root / "s-1.jsonl").open("ab") as file:
        file.write(b'{"type": "user", broken\n')
    harness.say("s-1.jsonl", "always run the linter first")
    report = harness.folder().read()
    assert words(report) == ["never push to main", "always run the linter first"]
    [trouble] = report.troubles
    assert trouble.name == "s-1.jsonl"
    assert trouble.problem.startswith("at byte ")


def test_a_changed_json_line_names_the_lesson_it_replaces(harness: CaptureHarness) -> None:
    harness.write("more.jsonl", '{"id": "1", "description": "Use npm", "quote": "npm"}\n')
    folder = harness.folder()
    [first] = folder.read().caught
    with (harness.root / "more.jsonl").open("a") as file:
        file.write('{"id": "1", "description": "Use pnpm"}\n{"description": 3}\n')
    report = folder.read()
    assert [caught.replaces for caught in report.caught] == [first.lesson_id]
    assert [trouble.name for trouble in report.troubles] == ["more.jsonl"]


# -- pages -----------------------------------------------------------------------------------------


def test_a_page_that_did_not_change_is_not_opened_again(harness: CaptureHarness) -> None:
    path = harness.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    folder = harness.folder()
    folder.read()
    stamp = path.stat()
    path.write_text("- Use two tabs!! for indentation\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert folder.read() == CaptureReport()


def test_a_changed_page_names_the_lesson_it_replaces(harness: CaptureHarness) -> None:
    harness.write("shop/CLAUDE.md", "- Use two spaces for indentation\n")
    folder = harness.folder()
    [first] = folder.read().caught
    harness.write(
        "shop/CLAUDE.md", "- Use four spaces for indentation\n- Never mock the database\n"
    )
    found = {caught.description: caught.replaces for caught in folder.read().caught}
    assert found == {
        "Use four spaces for indentation": first.lesson_id,
        "Never mock the database": "",
    }


def test_one_bad_page_does_not_block_the_others(harness: CaptureHarness) -> None:
    (harness.root / "memory").mkdir()
    (harness.root / "memory" / "bad.md").write_bytes(b"\xff")
    harness.write("memory/worse.md", "---\nname: worse\n")
    harness.write("memory/good.md", "- Never mock the database\n")
    folder = harness.folder()
    report = folder.read()
    assert words(report) == ["Never mock the database"]
    assert {trouble.name for trouble in report.troubles} == {"bad.md", "worse.md"}
    assert folder.read() == CaptureReport()


def test_a_page_with_too_many_entries_is_reported(harness: CaptureHarness) -> None:
    rules = "".join(f"- Rule number {number} says something\n" for number in range(4))
    harness.write("CLAUDE.md", rules)
    limits = CaptureSettings(entries_max=3)
    folder = CaptureFolder(harness.root, CaptureService(harness.engine.log, harness.engine), limits)
    report = folder.read()
    assert len(report.caught) == 3
    assert [trouble.problem for trouble in report.troubles] == [
        "only 3 of its 4 entries were captured"
    ]


# -- watching --------------------------------------------------------------------------------------


class Watching:
    """A watcher on a thread, and what it told."""

    def __init__(self, folder: CaptureFolder) -> None:
        self.told: list[CaptureReport] = []
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

    def _tell(self, report: CaptureReport) -> None:
        self.told.append(report)
        self.news.set()

    def wait(self) -> CaptureReport:
        """The next report."""
        assert self.news.wait(30)
        self.news.clear()
        return self.told[-1]

    def end(self) -> None:
        """Stop it."""
        self.stop.set()
        self.thread.join(30)
        assert not self.thread.is_alive()


def test_a_watcher_captures_new_entries(harness: CaptureHarness) -> None:
    watching = Watching(harness.folder())
    harness.say("s-1.jsonl", "never push to main")
    assert words(watching.wait()) == ["never push to main"]
    harness.say("s-1.jsonl", "always run the linter first")
    assert words(watching.wait()) == ["always run the linter first"]
    watching.end()


def test_a_watcher_reports_a_missing_folder_once_and_continues(harness: CaptureHarness) -> None:
    root = harness.root / "later"
    watching = Watching(harness.folder(root))
    assert "no file or folder" in watching.wait().troubles[0].problem
    harness.say("later/s-1.jsonl", "never push to main")
    assert words(watching.wait()) == ["never push to main"]
    watching.end()
    assert len(watching.told) == 2


@pytest.mark.promise("P-CAP-2")
def test_a_watcher_survives_a_temporarily_unwritable_log(harness: CaptureHarness) -> None:
    broken = threading.Event()
    broken.set()

    def do(command: Any, **more: Any) -> Any:
        if broken.is_set():
            raise Unavailable("the disk is full")
        return harness.engine.do(command, **more)

    harness.say("s-1.jsonl", "never push to main")
    folder = CaptureFolder(harness.root, CaptureService(harness.engine.log, FunctionBus(do)), QUICK)
    watching = Watching(folder)
    assert watching.wait().troubles[0].problem == "the disk is full"
    broken.clear()
    assert words(watching.wait()) == ["never push to main"]
    watching.end()


def test_a_watcher_stops_with_an_error_on_a_corrupt_log(harness: CaptureHarness) -> None:
    def do(command: Any, **more: Any) -> Any:
        del command, more
        raise Corrupt("the log contradicts itself")

    harness.say("s-1.jsonl", "never push to main")
    watching = Watching(
        CaptureFolder(harness.root, CaptureService(harness.engine.log, FunctionBus(do)), QUICK)
    )
    watching.thread.join(30)
    assert isinstance(watching.error, Corrupt)
