"""`everloop threads` and `everloop search`."""

import json
from pathlib import Path

import pytest
from tests.adapters.exports.samples import claude, write_list
from tests.interfaces.cli.commandline import CommandLine

from everloop.interfaces.cli.output.exit_codes import DECLINED


@pytest.fixture
def everloop(tmp_path: Path) -> CommandLine:
    """The command line, without an embedder and with the offline model."""
    environment = {"EVERLOOP_MEMORY_EMBEDDER": "none", "EVERLOOP_MODELS_NARRATIVE": "offline"}
    return CommandLine(tmp_path / "home", environment)


@pytest.fixture
def export(tmp_path: Path) -> str:
    talks = (claude(1, "Where is the kettle?", "On the stove."), claude(2, "Hi.", name="Second"))
    return str(write_list(tmp_path / "conversations.json", *talks))


def test_a_thread_is_opened_listed_renamed_archived_and_restored(everloop: CommandLine) -> None:
    assert "No conversations yet" in everloop.typed("threads").out
    opened = everloop("threads", "open", "My", "garden", "--json").document
    assert everloop.typed("threads", "--json").document["threads"][0]["title"] == "My garden"
    assert everloop("threads", "rename", "my garden", "Beds").code == 0
    assert everloop("threads", "archive", "Beds").code == 0
    assert everloop("threads", "archive", "Beds").out == "No change.\n"
    assert everloop.typed("threads", "--json").document["threads"] == []
    assert opened["thread_id"] in everloop.typed("threads", "--archived").out
    assert everloop("threads", "restore", opened["thread_id"]).code == 0
    assert "Beds" in everloop.typed("threads").out


def test_a_thread_is_pinned_and_deleting_it_prints_how_to_undo(everloop: CommandLine) -> None:
    for title in ("Garden", "Boat"):
        everloop("threads", "open", title)
    assert everloop("threads", "pin", "Garden").code == 0
    pinned = everloop.typed("threads", "--json").document["threads"]
    assert [(one["title"], one["pinned"]) for one in pinned] == [("Garden", True), ("Boat", False)]
    assert everloop("threads", "unpin", "Garden").out == "Done.\n"
    deleted = everloop.typed("threads", "delete", "Garden")
    assert "Garden" not in everloop.typed("threads").out
    undo = deleted.out[deleted.out.index("everloop log retract") :].split("\n")[0].strip("`. ")
    assert everloop.typed(*undo.split()[1:], answers="y\n").code == 0
    assert "Garden" in everloop.typed("threads").out


def test_an_ambiguous_title_needs_an_id(everloop: CommandLine) -> None:
    for _ in range(2):
        everloop("threads", "open", "Twin")
    answer = everloop.typed("threads", "show", "twin")
    assert answer.code != 0
    assert "Use the ID." in answer.err


def test_an_export_is_previewed_imported_searched_and_undone(
    everloop: CommandLine, export: str
) -> None:
    inside = everloop("threads", "import", export, "--preview", "--json").document
    assert (inside["kind"], inside["conversations"], inside["messages"]) == ("claude", 2, 3)
    assert everloop.typed("threads", "import", export, answers="n\n").code == DECLINED
    done = everloop.typed("threads", "import", export, answers="y\n")
    assert "Imported 3 messages into 2 conversations." in done.out
    assert "On the stove." in everloop.typed("search", "kettle", "stove", "--mode", "text").out
    assert "On the stove." in everloop.typed("threads", "show", "Talk 1").out
    (past,) = everloop.typed("threads", "imports", "--json").document["imports"]
    undo = f"everloop log retract {past['position']}"
    assert undo in done.out
    assert everloop.typed(*undo.split()[1:], answers="y\n").code == 0
    assert "No imports yet." in everloop.typed("threads", "imports").out
    assert "No matches." in everloop.typed("search", "kettle", "--mode", "text").out


def test_a_script_cannot_import_conversations(everloop: CommandLine, export: str) -> None:
    refused = everloop("threads", "import", export, "--yes")
    assert refused.code != 0
    assert "only the user can import conversations" in refused.err


def test_search_is_filtered_by_thread_role_and_time(everloop: CommandLine, export: str) -> None:
    everloop.typed("threads", "import", export, "--yes")

    def found(*words: str) -> list[str]:
        answer = everloop.typed("search", "kettle", "stove", "hi", "--json", *words)
        return [one["text"] for one in answer.document["messages"]]

    assert len(found()) == 3
    assert found("--thread", "Second") == ["Hi."]
    assert found("--role", "assistant") == ["On the stove."]
    assert found("--since", "2025-04-01") == []
    assert len(found("--before", "2025-04-01")) == 3


def test_an_agent_without_a_grant_finds_nothing(everloop: CommandLine, export: str) -> None:
    everloop.typed("threads", "import", export, "--yes")
    answer = everloop("search", "kettle", "--mode", "text")
    assert (answer.code, answer.out) == (5, "")
    assert answer.err.startswith("error: agent:cli has no access to memory")


@pytest.mark.parametrize("form", ["markdown", "jsonl"])
def test_conversations_are_exported_to_private_files(
    everloop: CommandLine, export: str, tmp_path: Path, form: str
) -> None:
    everloop.typed("threads", "import", export, "--yes")
    answer = everloop.typed("threads", "export", str(tmp_path / "out"), "--format", form, "--json")
    files = [tmp_path / "out" / name for name in answer.document["files"]]
    assert len(files) == 2
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert any("On the stove." in file.read_text() for file in files)
    if form == "jsonl":
        assert all(json.loads(line) for file in files for line in file.read_text().splitlines())


def test_control_characters_in_messages_are_escaped(everloop: CommandLine, tmp_path: Path) -> None:
    evil = claude(1, "\x1b[2J it is gone", name="\x1b]0;title\x07")
    everloop.typed("threads", "import", str(write_list(tmp_path / "c.json", evil)), "--yes")
    shown = everloop.typed("threads").out + everloop.typed("search", "gone", "--mode", "text").out
    assert "\x1b" not in shown
    assert "gone" in shown


def test_erasing_the_memory_of_a_message_erases_the_message(
    everloop: CommandLine, export: str
) -> None:
    everloop.typed("threads", "import", export, "--yes")
    hits = everloop.typed("recall", "kettle", "--mode", "text", "--json").document["hits"]
    found = [hit["item"] for hit in hits]
    name = next(item["item_id"] for item in found if "Where is the kettle" in item["text"])
    preview = everloop.typed("forget", name, "--erase", "--preview", "--json").document
    kinds = {touched["kind"] for touched in preview["hides"]}
    assert kinds == {"thread.message_imported", "memory.remembered"}
    assert everloop.typed("forget", name, "--erase", "--yes").code == 0
    files = [path for path in everloop.home.iterdir() if path.is_file()]
    assert not any(b"Where is the kettle" in path.read_bytes() for path in files)
    assert "On the stove." in everloop.typed("threads", "show", "Talk 1").out
