"""LiveText between processes: each once, in order, and nothing left behind."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest

from everloop.adapters.process_relay import LiveAnswerRelay
from everloop.turns.live import LiveAnswers, LiveText

PATIENCE_S = 30.0


@contextmanager
def process(
    folder: Path, *, conducts: bool
) -> Generator[tuple[LiveAnswers, SimpleQueue[LiveText]]]:
    """One who takes part, and what is heard there."""
    live, heard, mine = LiveAnswers(), SimpleQueue[LiveText](), threading.Event()
    if conducts:
        mine.set()
    overhearing = LiveAnswerRelay(folder, live, mine)
    overhearing.start()
    live.watch(heard.put)
    yield live, heard
    overhearing.stop()


def until_ended(heard: SimpleQueue[LiveText]) -> str:
    text = ""
    while (words := heard.get(timeout=PATIENCE_S)).text:
        assert words.offset == len(text)
        text += words.text
    return text


def test_text_reaches_all_other_processes_once_and_in_order(tmp_path: Path) -> None:
    said = [f"{number} wörter €𝄞 " for number in range(300)]
    with (
        process(tmp_path / "live", conducts=True) as (live, mine),
        process(tmp_path / "live", conducts=False) as (_, first),
        process(tmp_path / "live", conducts=False) as (_, second),
    ):
        live.begin("home", "trn-1")
        for text in said[:-1]:
            live.append("trn-1", text)
        begun = [one.get(timeout=PATIENCE_S) for one in (first, second)]
        assert {one.turn_id for one in begun} == {"trn-1"}
        live.append("trn-1", said[-1])
        live.end("trn-1")
        assert until_ended(mine) == "".join(said)
        rest = [begun[number].text for number in range(2)]
        for number, heard in enumerate((first, second)):
            while (words := heard.get(timeout=PATIENCE_S)).text:
                rest[number] += words.text
            assert "".join(said).startswith(rest[number])  # the very last may come by the log
        assert list((tmp_path / "live").iterdir()) == []


def test_a_foreign_file_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "strange").write_bytes(b"\xff no JSON")
    (tmp_path / "empty").touch()
    with process(tmp_path, conducts=True) as (live, _), process(tmp_path, conducts=False) as other:
        live.begin("home", "trn-1")
        live.append("trn-1", "Heard.")
        assert other[1].get(timeout=PATIENCE_S).text == "Heard."
        live.end("trn-1")


def test_a_late_process_receives_the_whole_text(tmp_path: Path) -> None:
    with process(tmp_path, conducts=True) as (live, _):
        live.begin("home", "../trn")
        live.append("../trn", "Half an ")
        with process(tmp_path, conducts=False) as (late, heard):
            assert heard.get(timeout=PATIENCE_S) == LiveText("home", "../trn", 0, "Half an ")
            assert late.text("../trn") == "Half an "
            live.append("../trn", "answer")
            assert heard.get(timeout=PATIENCE_S) == LiveText("home", "../trn", 8, "answer")
            live.end("../trn")
            assert heard.get(timeout=PATIENCE_S).text == ""
            assert late.so_far() == []


def test_files_of_a_crashed_process_are_removed_and_their_answers_end(tmp_path: Path) -> None:
    dead, conducts = LiveAnswers(), threading.Event()
    conducts.set()
    left = LiveAnswerRelay(tmp_path, dead, conducts)
    left.start()
    dead.begin("home", "trn-1")
    dead.append("trn-1", "Cut")
    with process(tmp_path, conducts=False) as (_, heard):
        assert heard.get(timeout=PATIENCE_S).text == "Cut"
        LiveAnswerRelay(tmp_path, LiveAnswers(), conducts).clear()
        assert heard.get(timeout=PATIENCE_S).text == ""
    left.stop()
    dead.end("trn-1")


@pytest.mark.parametrize("conducts", [True, False])
def test_a_failing_disk_does_not_affect_local_watchers(tmp_path: Path, conducts: bool) -> None:
    (tmp_path / "live").write_text("this is no folder")
    with process(tmp_path / "live", conducts=conducts) as (live, heard):
        live.begin("home", "trn-1")
        live.append("trn-1", "All the same.")
        live.end("trn-1")
        assert until_ended(heard) == "All the same."
