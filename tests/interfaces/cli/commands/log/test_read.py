"""Reading the log: tail, show, branches."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.app import Engine
from everloop.log.read.queries import NewestFacts

ESCAPE = "\x1b]0;renamed\x07\x1b[31mred\u202e\x9b2Jend"


def test_an_empty_log_shows_how_to_start(everloop: CommandLine) -> None:
    answer = everloop.typed("log", "tail")
    assert answer.code == 0
    assert "everloop log note" in answer.out


def test_the_newest_facts_come_last(everloop: CommandLine) -> None:
    for text in ("one", "two", "three"):
        everloop("log", "note", text)
    answer = everloop.typed("log", "tail", "-n", "2", "--json")
    assert [fact["data"]["text"] for fact in answer.document] == ["two", "three"]
    drawn = everloop.typed("log", "tail").out
    assert drawn.index("text: one") < drawn.index("text: three")


def test_a_long_stream_name_is_shortened(everloop: CommandLine) -> None:
    everloop("log", "note", "what was said", "--stream", f"notes:{'long-' * 30}ending")
    (line,) = [line for line in everloop.typed("log", "tail").out.splitlines() if "notes:" in line]
    assert "notes:…g-ending " in line
    assert "what was said" in line


def test_facts_are_filtered_by_stream_kind_and_actor(everloop: CommandLine) -> None:
    everloop("log", "note", "here", "--stream", "notes:home")
    everloop.typed("log", "note", "there", "--stream", "notes:away")
    everloop("log", "fork", "x")

    def positions(*words: str) -> list[int]:
        found = everloop.typed("log", "tail", "--json", *words).document
        return [fact["position"] for fact in found]

    assert positions("--stream", "notes:home") == [1]
    assert positions("--stream", "notes:*") == [1, 2]
    assert positions("--kind", "log.*") == [3]
    assert positions("--actor", "user") == [2]
    assert positions("--before", "2") == [1]


def test_a_fact_that_does_not_count_shows_the_reason(everloop: CommandLine) -> None:
    everloop("log", "note", "taken back")
    everloop("log", "retract", "1", "--yes")
    everloop("log", "note", "kept")
    assert "[retracted]" in everloop.typed("log", "tail").out
    assert everloop.typed("log", "tail", "--json").document[0]["verdict"] == "retracted"
    counting = everloop.typed("log", "tail", "--json", "--counting").document
    assert [fact["position"] for fact in counting] == [2, 3]


def test_a_fact_is_shown_with_its_sources_and_derived_facts(everloop: CommandLine) -> None:
    everloop("log", "note", "source")
    everloop("log", "note", "middle", "--because", "1")
    everloop("log", "note", "end", "--because", "2")
    story = everloop.typed("log", "show", "2", "--json").document
    assert [fact["position"] for fact in story["sources"]] == [1]
    assert [fact["position"] for fact in story["dependants"]] == [3]
    assert everloop.typed("log", "show", "1", "--json").document["dependants_count"] == 2
    drawn = everloop.typed("log", "show", "2").out
    assert "derived from  1" in drawn
    assert '"text": "middle"' in drawn


def test_a_missing_position_is_an_error_with_a_hint(everloop: CommandLine) -> None:
    answer = everloop.typed("log", "show", "7")
    assert answer.code == 3
    assert answer.out == ""
    assert "no record at position 7" in answer.err
    assert "hint:" in answer.err


def test_branches_are_drawn_as_a_tree(everloop: CommandLine) -> None:
    everloop("log", "note", "before")
    everloop("log", "fork", "other")
    everloop("log", "stand", "other")
    everloop("log", "fork", "third")
    drawn = everloop.typed("log", "branches").out.splitlines()
    assert drawn[0].startswith("main  1 fact")
    assert drawn[1].startswith(
        "└── other  0 facts, forked from main after position 1  ← current branch"
    )
    assert drawn[2].startswith("    └── third")
    lines = everloop.typed("log", "branches", "--json").document
    assert [(line["name"], line["standing"]) for line in lines] == [
        ("main", False),
        ("other", True),
        ("third", False),
    ]


def test_control_characters_in_stored_text_are_escaped(everloop: CommandLine) -> None:
    everloop("log", "note", ESCAPE, "--stream", "notes:\x1b[2J")
    outputs = [
        everloop.typed("log", "tail"),
        everloop.typed("log", "show", "1"),
        everloop.typed("log", "tail", "--json"),
        everloop("log", "retract", "1", "--preview"),
        everloop("log", "stand", "\x1b[2J"),
    ]
    for answer in outputs:
        shown = answer.out + answer.err
        assert shown
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)


def test_following_prints_new_facts_until_the_reader_stops(everloop: CommandLine) -> None:
    everloop("log", "note", "old")
    words = ("log", "tail", "--follow", "--json", "--kind", "notes.*")
    with ThreadPoolExecutor() as pool:
        following = pool.submit(everloop.read_lines, 2, *words)
        everloop("log", "fork", "not-asked-for")
        everloop("log", "note", "new")
        answer = following.result(timeout=60)
    assert answer.code == 0
    shown = [json.loads(line) for line in answer.out.splitlines()]
    assert [fact["data"]["text"] for fact in shown] == ["old", "new"]


def test_following_also_prints_for_people(everloop: CommandLine) -> None:
    everloop("log", "note", "words")
    assert "text: words" in everloop.read_lines(1, "log", "tail", "-f").out


def test_a_fact_recorded_during_the_first_query_is_followed_too(
    everloop: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    everloop("log", "note", "old")
    ask = Engine.ask

    def ask_and_be_overtaken(engine: Engine, *asked: Any, **how: Any) -> Any:
        answer = ask(engine, *asked, **how)
        if isinstance(asked[0], NewestFacts):
            monkeypatch.setattr(Engine, "ask", ask)
            everloop("log", "note", "new")
        return answer

    monkeypatch.setattr(Engine, "ask", ask_and_be_overtaken)
    with ThreadPoolExecutor() as pool:
        following = pool.submit(everloop.read_lines, 2, "log", "tail", "--follow", "--json")
        try:
            shown = [json.loads(line) for line in following.result(timeout=20).out.splitlines()]
        finally:
            everloop("log", "note", "last")  # which ends it, whatever it missed
    assert [fact["data"]["text"] for fact in shown] == ["old", "new"]
