"""Reading memory: recall, explain, memories, zoom."""

import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.app import Engine
from everloop.memory.index import passage_index
from everloop.memory.model.commands import RememberItem
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.embedder import WordEmbedder

TEXTS = (
    ("The roof of the shed leaks near the chimney", "project:house"),
    ("The train leaves at 9:30 every morning", "user"),
    ("The train leaves at 10:30 every morning", "user"),
    ("Ada keeps bees behind the barn", "user"),
)


@pytest.fixture
def memory(everloop: CommandLine) -> CommandLine:
    """A few memories, without an embedder."""
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    for text, scope in TEXTS:
        everloop.typed("remember", text, "--scope", scope)
    return everloop


def asked(memory: CommandLine, *words: str) -> Any:
    """The output of recall for the user."""
    answer = memory.typed("recall", *words, "--json")
    assert answer.code == 0, answer.out
    return answer.document


def texts(answer: Any) -> list[str]:
    """The texts of the results."""
    return [hit["item"]["text"] for hit in answer["hits"]]


def test_the_best_match_comes_first_with_its_retriever(memory: CommandLine) -> None:
    answer = asked(memory, "where", "does", "the", "roof", "leak")
    assert texts(answer)[0] == TEXTS[0][0]
    assert answer["hits"][0]["source"] == "words"
    drawn = memory.typed("recall", "leaking roof")
    assert "project:house" in drawn.out
    assert "words" in drawn.out


def test_where_nothing_fits_the_closest_are_printed_as_such(memory: CommandLine) -> None:
    with Engine.open(memory.home, settings=Settings(memory=MemorySettings(embedder="none"))) as one:
        one.do(RememberItem("msg-1", "Do the tulips need water?", kind="message"))
    answer = asked(memory, "Which tulips need water?", "--mode", "text")
    assert texts(answer) == []
    assert [hit["item"]["item_id"] for hit in answer["closest"]] == ["msg-1"]
    drawn = " ".join(memory.typed("recall", "Which tulips need water?").out.split())
    assert drawn.count("No good match") == 1
    assert "fits the question well enough. The closest:" in drawn
    assert "Do the tulips need water?" in drawn


def test_a_missing_embedder_is_reported(memory: CommandLine) -> None:
    assert "only words were searched" in memory.typed("recall", "roof").out
    assert asked(memory, "roof", "--mode", "text")["notes"] == []


def test_results_are_numbered_in_order_and_contradictions_are_explained(
    everloop: CommandLine,
) -> None:
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    everloop.typed("remember", "Anna is allergic to nuts.")
    everloop.typed("remember", "Anna is not allergic to nuts.")
    drawn = everloop.typed("recall", "Anna").out
    assert drawn.index("not allergic") < drawn.index("is allergic")
    assert drawn.index("≠ 1") < drawn.index("≠ 2")
    assert "the newest comes first" in drawn


def test_contradicting_results_are_grouped_newest_first(memory: CommandLine) -> None:
    answer = asked(memory, "when does the train leave")
    assert len(answer["contradictory"][0]) == 2
    drawn = memory.typed("recall", "when does the train leave").out
    assert drawn.count("≠") == 3
    assert drawn.index("10:30") < drawn.index("9:30")


def test_explain_shows_retrievers_and_boosts(memory: CommandLine) -> None:
    drawn = memory.typed("recall", "bees", "--explain").out
    assert "share of the query terms" in drawn
    assert "it is recent" in drawn


def test_expired_memories_are_marked(memory: CommandLine) -> None:
    with Engine.open(memory.home) as engine:
        engine.do(RememberItem("", "The bridge is closed", durability="2020-05-01T00:00:00Z"))
    memory.typed("remember", "The ferry runs", "--until", "2999-05-01")
    drawn = memory.typed("recall", "bridge ferry").out
    assert "[expired] The bridge is closed" in drawn
    assert drawn.count("[expired]") == 1
    assert "[expired]" in memory.typed("memories").out


def test_filters_narrow_the_search(memory: CommandLine) -> None:
    assert texts(asked(memory, "the", "--scope", "project:*")) == [TEXTS[0][0]]
    assert texts(asked(memory, "roof", "--scope", "user")) == []
    assert texts(asked(memory, "roof", "--before", "2020-01-01")) == []
    assert texts(asked(memory, "roof", "--since", "yesterday")) == [TEXTS[0][0]]
    assert texts(asked(memory, "roof", "--kind", "rule")) == []
    assert len(texts(asked(memory, "train", "-k", "1"))) == 1
    assert "No matches" in memory.typed("recall", "zebra").out


def test_recall_reads_memory_as_of_a_position(memory: CommandLine) -> None:
    assert texts(asked(memory, "bees", "--as-of", "1")) == []
    assert texts(asked(memory, "roof", "--as-of", "1")) == [TEXTS[0][0]]
    assert texts(asked(memory, "roof", "--as-of", "2020-01-01")) == []


def test_list_show_zoom_and_explain_read_as_of_a_position(memory: CommandLine) -> None:
    assert memory.typed("memories", "--as-of", "1", "--json").document["number"] == 1
    roof = memory.typed("memories", "--as-of", "1", "--json").document["items"][0]["item_id"]
    memory.typed("revise", roof, "--text", "The roof was mended")
    shown = memory.typed("memories", "show", roof, "--as-of", "1", "--json").document
    assert shown["item"]["text"] == TEXTS[0][0]
    zoomed = memory.typed("zoom", roof, "--as-of", "1", "--json").document
    assert zoomed[0]["item"]["text"] == TEXTS[0][0]
    why = memory.typed("explain", roof, "leaks", "--as-of", "1", "--json").document
    assert why["found"]
    assert not memory.typed("explain", roof, "leaks", "--json").document["found"]
    bees = asked(memory, "bees")["hits"][0]["item"]["item_id"]
    gone = memory.typed("explain", bees, "bees", "--as-of", "1", "--json").document
    assert (gone["found"], gone["reason"]) == (False, "branch")
    assert "It was stored after that time." in str(gone)


@pytest.mark.promise("P-CLI-5")
def test_only_the_user_can_read_an_earlier_state(memory: CommandLine) -> None:
    memory.typed("grants", "allow", "agent:cli", "user")
    head = str(memory.typed("log", "tail", "-n", "1", "--json").document[0]["position"])
    assert memory("recall", "bees", "--json").document["hits"]
    elsewhere = [("--as-of", head), ("--branch", "main")]
    for words in (("recall", "bees"), ("memories",)):
        assert [memory(*words, *where).code for where in elsewhere] == [5, 5]
    memory.typed("grants", "revoke", "agent:cli")
    assert texts(asked(memory, "bees", "--as-of", head, "--for", "agent:cli"))
    assert not texts(asked(memory, "bees", "--for", "agent:cli"))


@pytest.mark.promise("P-CLI-5")
def test_an_agent_without_a_grant_may_not_ask_and_is_told_why(memory: CommandLine) -> None:
    for words in (("recall", "roof"), ("memories",), ("lessons",), ("search", "roof")):
        answer = memory(*words)
        assert (answer.code, answer.out) == (5, "")
        reason, hint = answer.err.splitlines()
        assert reason == "error: agent:cli has no access to memory"
        assert "everloop grants allow agent:cli" in hint
    memory.typed("grants", "allow", "agent:cli", "project:house")
    assert texts(memory("recall", "the roof and the train", "--json").document) == [TEXTS[0][0]]


@pytest.mark.promise("P-CLI-5")
def test_the_owner_can_read_as_another_user(memory: CommandLine) -> None:
    memory.typed("grants", "allow", "ada", "user")
    assert texts(asked(memory, "roof", "--for", "ada")) == []
    assert memory.typed("memories", "--for", "ada", "--json").document["number"] == 3
    assert memory.typed("memories", "--json").document["number"] == 4


def test_explain_shows_the_step_that_excluded_a_memory(memory: CommandLine) -> None:
    memory.typed("grants", "allow", "ada", "user")
    (roof,) = (
        item["item_id"]
        for item in memory.typed("memories", "--scope", "project:house", "--json").document["items"]
    )

    def reason(*words: str) -> tuple[str, str]:
        answer = memory.typed("explain", roof, *words, "--json").document
        return answer["steps"][-1]["gate"], answer["steps"][-1]["state"]

    assert reason("leaking roof") == ("rank", "passed")
    assert reason("zebra", "--mode", "text") == ("rank", "stopped")
    assert reason("roof", "--for", "ada") == ("scope", "stopped")
    assert reason("roof", "--kind", "rule") == ("filter", "stopped")
    memory.typed("revise", roof, "--witness", "ben", "--scope", "user")
    assert reason("roof", "--for", "ada") == ("audience", "stopped")
    memory.typed("forget", roof, "--yes")
    assert reason("roof") == ("retired", "stopped")
    assert "✗" in memory.typed("explain", roof, "roof").out
    memory.typed("log", "retract", "1", "--yes")
    answer = memory.typed("explain", roof, "roof", "--json").document
    assert (answer["reason"], answer["found"]) == ("retracted", False)
    unknown = memory.typed("explain", "mem-nothing", "roof", "--json")
    assert (unknown.code, unknown.document["error"]["message"]) == (
        3,
        "There is no item 'mem-nothing'.",
    )


def test_an_item_that_no_longer_counts_is_explained_by_its_short_id(memory: CommandLine) -> None:
    (roof,) = asked(memory, "leaking roof")["hits"][:1]
    name, position = roof["item"]["item_id"], roof["item"]["position"]

    def reason(*words: str) -> str:
        return str(memory.typed("explain", name[-8:], "roof", "--json", *words).document["reason"])

    memory.typed("log", "rewind", str(position - 1), "--yes")
    assert reason() == "branch"
    memory.typed("log", "stand", "main", "--yes")
    memory.typed("log", "retract", str(position), "--yes")
    assert reason() == reason("--for", "agent:x") == "retracted"
    assert "retracted" in memory.typed("explain", name[-8:], "roof").out
    memory.typed("grants", "allow", "agent:cli", "*")
    assert memory("explain", name[-8:], "roof").code == 3


def test_a_hidden_memory_is_explained_like_a_missing_one(
    memory: CommandLine,
) -> None:
    roof = memory.typed("memories", "--scope", "project:house", "--json").document["items"][0]
    there, nowhere = (memory("explain", name, "roof") for name in (roof["item_id"], "mem-nothing"))
    assert "There is no item" in there.err
    assert there.err == nowhere.err.replace("mem-nothing", roof["item_id"])
    assert (there.code, there.out) == (nowhere.code, nowhere.out)


def test_a_page_shows_the_total_number(memory: CommandLine) -> None:
    assert "Showing 2 of 4." in memory.typed("memories", "-n", "2").out
    rest = memory.typed("memories", "-n", "2", "--offset", "2", "--json").document
    assert (len(rest["items"]), rest["number"]) == (2, 4)


def test_zoom_shows_all_sources(memory: CommandLine) -> None:
    items = memory.typed("memories", "--json").document["items"]
    sources = tuple(sorted(item["item_id"] for item in items[:2]))
    settings = Settings(home=str(memory.home), memory=MemorySettings(embedder="none"))
    with Engine.open(settings=settings) as engine:
        engine.do(RememberItem("sum-1", "Trains and bees", kind="summary", derived_from=sources))
    drawn = memory.typed("zoom", "sum-1").out
    assert "Trains and bees" in drawn
    assert "bees behind the barn" in drawn
    found = memory.typed("zoom", "sum-1", "--json").document
    assert [each["depth"] for each in found] == [0, 1, 1]
    assert "no sources" in memory.typed("zoom", sources[0]).out


def test_control_characters_in_stored_text_are_escaped(memory: CommandLine) -> None:
    memory.typed("remember", "evil \x1b[2J zebra stripes", "--title", "t\x1b[31m")
    for words in (("recall", "zebra", "--explain"), ("memories",), ("zoom", "zzzz")):
        assert "\x1b" not in memory.typed(*words).out


class _Embeddings(BaseHTTPRequestHandler):
    """An embedding endpoint."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vectors = WordEmbedder().embed(asked["input"]).tolist()
        data = [{"index": number, "embedding": row} for number, row in enumerate(vectors)]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def endpoint() -> Generator[str]:
    """The address of an embedding endpoint."""
    with HTTPServer(("127.0.0.1", 0), _Embeddings) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def embedding(endpoint: str) -> dict[str, str]:
    """The settings that select the endpoint."""
    return {
        "EVERLOOP_MEMORY_EMBEDDER": "endpoint",
        "EVERLOOP_MEMORY_ENDPOINT": endpoint,
        "EVERLOOP_MEMORY_ENDPOINT_DIMENSIONS": "64",
    }


def test_missing_embeddings_are_computed_before_a_semantic_search(
    memory: CommandLine, endpoint: str
) -> None:
    memory.environment |= embedding(endpoint)
    answer = asked(memory, "bees", "--mode", "semantic")
    assert answer["notes"] == []
    assert texts(answer)[0] == TEXTS[3][0]
    assert answer["hits"][0]["source"] == "meaning"


def test_a_search_caches_the_index_for_the_next_command(
    memory: CommandLine, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.environment |= embedding(endpoint)
    made = asked(memory, "bees")
    kept = memory.home / "vectors.arrays"
    assert not kept.exists(), "so few rows are as soon read as kept"
    monkeypatch.setattr(passage_index, "SNAPSHOT_ROWS_MIN", len(TEXTS))
    assert texts(asked(memory, "bees")) == texts(made)
    assert kept.exists()
    assert texts(asked(memory, "bees")) == texts(made)


def test_a_failing_embedder_is_reported_and_keyword_search_still_works(memory: CommandLine) -> None:
    memory.environment |= {
        "EVERLOOP_MEMORY_EMBEDDER": "endpoint",
        "EVERLOOP_MEMORY_ENDPOINT": "http://127.0.0.1:9/v1",
    }
    answer = asked(memory, "bees")
    assert texts(answer)[0] == TEXTS[3][0]
    assert "The embedder failed" in answer["notes"][0]
