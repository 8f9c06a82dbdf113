"""`everloop lessons capture`, as people and scripts run it."""

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "shop" / "CLAUDE.md"
    path.parent.mkdir()
    path.write_text("- Use two spaces for indentation\n- Never mock the database\n")
    return path


def test_a_preview_changes_nothing(everloop: CommandLine, page: Path) -> None:
    shown = everloop("lessons", "capture", str(page), "--preview", "--json").document
    assert len(shown["would_propose"]) == 2
    again = everloop("lessons", "capture", str(page), "--json").document
    assert len(again["proposed"]) == 2


def test_capturing_twice_proposes_once(everloop: CommandLine, page: Path) -> None:
    first = everloop.typed("lessons", "capture", str(page.parent))
    assert first.code == 0
    assert "2 lessons proposed" in first.out
    assert "No new lessons" in everloop.typed("lessons", "capture", str(page)).out


@pytest.mark.promise("P-CAP-1")
def test_captured_lessons_are_recorded_as_an_agents(everloop: CommandLine, page: Path) -> None:
    everloop.typed("lessons", "capture", str(page))
    told = everloop.typed("log", "tail", "--kind", "lessons.lesson_proposed", "--json").document
    assert {fact["actor"] for fact in told} == {"agent:capture"}


def test_lessons_captured_by_an_agent_have_that_agent_as_author(
    everloop: CommandLine, page: Path
) -> None:
    everloop("lessons", "capture", str(page))
    told = everloop.typed("log", "tail", "--kind", "lessons.lesson_proposed", "--json").document
    assert {fact["actor"] for fact in told} == {"agent:cli"}


def test_a_changed_entry_names_the_lesson_it_replaces(everloop: CommandLine, page: Path) -> None:
    everloop("lessons", "capture", str(page))
    page.write_text("- Use four spaces for indentation\n- Never mock the database\n")
    assert "whose text changed" in everloop.typed("lessons", "capture", str(page)).out


def test_an_unreadable_file_is_reported_and_sets_the_exit_code(
    everloop: CommandLine, page: Path
) -> None:
    page.write_bytes(b"\xff")
    answer = everloop("lessons", "capture", str(page), "--json")
    assert answer.code == 2
    assert answer.document["troubles"][0]["name"] == "CLAUDE.md"


def test_a_missing_path_is_not_found(everloop: CommandLine, tmp_path: Path) -> None:
    assert everloop("lessons", "capture", str(tmp_path / "nowhere")).code == 3


def test_watching_prints_new_lessons_until_the_reader_stops(
    everloop: CommandLine, page: Path
) -> None:
    everloop.environment["EVERLOOP_CAPTURE_POLL_S"] = "0.001"
    answer = everloop.read_lines(1, "lessons", "capture", str(page), "--watch", "--json")
    assert answer.out.count("\n") == 1
    assert len(answer.document["proposed"]) == 2


def test_watch_takes_one_path_and_no_preview(everloop: CommandLine, page: Path) -> None:
    assert everloop("lessons", "capture", str(page), str(page), "--watch").code == 2
    assert everloop("lessons", "capture", str(page), "--watch", "--preview").code == 2


@pytest.mark.promise("P-CAP-2")
def test_a_killed_watcher_resumes_where_it_stopped(tmp_path: Path) -> None:
    transcript = tmp_path / "s-1.jsonl"
    rules = ["Never push to main.", "Always run the linter.", "Use uv instead of pip."]
    transcript.write_bytes(_line(rules[0]))
    with _watching(tmp_path, transcript) as watcher:
        assert _proposed(watcher) == [rules[0]]
        with transcript.open("ab") as file:
            file.write(_line(rules[1]) + _line(rules[2])[:-20])
        assert _proposed(watcher) == [rules[1]]
        watcher.kill()
    with transcript.open("ab") as file:
        file.write(_line(rules[2])[-20:])
    with _watching(tmp_path, transcript) as watcher:
        assert _proposed(watcher) == [rules[2]]
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(60) == 130
    cli = CommandLine(tmp_path / "home")
    told = cli.typed("log", "tail", "--kind", "lessons.lesson_proposed", "--json").document
    assert [fact["data"]["body"] for fact in told] == rules


def _line(text: str) -> bytes:
    message = {"role": "user", "content": text}
    fields = {"type": "user", "uuid": text, "sessionId": "s-1", "message": message}
    return json.dumps(fields).encode() + b"\n"


@contextmanager
def _watching(folder: Path, path: Path) -> Generator["subprocess.Popen[str]"]:
    home = ("--home", str(folder / "home"), "--json")
    with subprocess.Popen(  # noqa: S603 - ourselves
        (sys.executable, "-m", "everloop", *home, "lessons", "capture", str(path), "--watch"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as watcher:
        try:
            yield watcher
        finally:
            watcher.kill()


def _proposed(watcher: "subprocess.Popen[str]") -> list[str]:
    assert watcher.stdout is not None
    report = json.loads(watcher.stdout.readline())
    assert report["troubles"] == []
    return [each["description"] for each in report["proposed"]]


def test_a_lesson_in_two_files_is_reported_once(everloop: CommandLine, tmp_path: Path) -> None:
    rules = "- Always run the linter before a commit.\n"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "learnings.md").write_text(rules)
    words = ("lessons", "capture", "--scope", "user", "--json")
    assert len(everloop(*words, str(tmp_path), "--preview").document["would_propose"]) == 1
    assert len(everloop(*words, str(tmp_path / "one")).document["proposed"]) == 1
    assert everloop(*words, str(tmp_path / "two")).document["proposed"] == []
