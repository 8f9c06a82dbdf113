"""Reading exports: of every kind, of any length, and of those who mean harm."""

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.exports import samples
from tests.adapters.exports.samples import (
    chatgpt,
    claude,
    code_lines,
    write_lines,
    write_list,
    write_zip,
)

from everloop.adapters.exports.json_stream import list_elements
from everloop.adapters.exports.open_export import open_export
from everloop.errors import EverloopError, Invalid, NotFound
from everloop.thread.settings import ImportLimits
from everloop.thread.transfer.parsed_export import ImportProblem, ParsedChat

LIMITS = ImportLimits()

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def chats(path: Path, limits: ImportLimits = LIMITS) -> list[ParsedChat]:
    return [one for one in open_export(path, limits).chats() if isinstance(one, ParsedChat)]


def troubles(path: Path) -> list[ImportProblem]:
    return [one for one in open_export(path, LIMITS).chats() if isinstance(one, ImportProblem)]


def words(chat: ParsedChat) -> list[tuple[str, str]]:
    return [(said.role, said.text) for said in chat.messages]


class Drops(io.RawIOBase):
    """A file that gives a few bytes at a time."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        return self._content.read(min(size, 7) if size > 0 else 7)


@given(st.lists(st.lists(values) | st.dictionaries(st.text(), values)), st.booleans())
def test_list_elements_are_found_at_any_chunk_size(whole: list[Any], spaced: bool) -> None:
    content = json.dumps(whole, indent=1 if spaced else None, ensure_ascii=spaced).encode()
    found = list_elements(Drops(content), "x", bytes_max=10**6, depth_max=200)  # type: ignore[arg-type]
    assert [json.loads(element) for _, element in found] == whole


def test_a_claude_export_is_read_from_a_zip_a_folder_and_a_file(tmp_path: Path) -> None:
    talk = claude(1, "Hi.", "Hello.")
    write_list(tmp_path / "folder" / "conversations.json", talk)
    (tmp_path / "folder" / "users.json").write_text("[]")
    lone = write_list(tmp_path / "other-name.json", talk)
    packed = write_zip(tmp_path / "e.zip", conversations_json=json.dumps([talk]), users_json="[]")
    for path in (tmp_path / "folder", lone, packed):
        assert open_export(path, LIMITS).kind == "claude"
        (chat,) = chats(path)
        assert (chat.title, words(chat)) == ("Talk 1", [("user", "Hi."), ("assistant", "Hello.")])
        assert chat.messages[1].at == "2025-03-01T10:01:00+00:00"


def test_only_the_current_path_of_a_chatgpt_tree_is_imported(tmp_path: Path) -> None:
    path = write_list(tmp_path / "conversations.json", chatgpt())
    assert open_export(path, LIMITS).kind == "chatgpt"
    (chat,) = chats(path)
    assert words(chat) == [("user", "Which tea?"), ("assistant", "Green.")]
    assert [one.name for one in chat.messages[0].files] == ["an image or a file"]
    assert chat.messages[1].author == "gpt-4o"
    assert chat.messages[0].at == chat.messages[1].at == "2025-03-03T11:06:40.500000+00:00"


@pytest.mark.parametrize("current", [None, "nowhere"])
def test_a_tree_without_a_current_node_ends_with_its_last_leaf(
    tmp_path: Path, current: str | None
) -> None:
    (chat,) = chats(write_list(tmp_path / "c.json", chatgpt() | {"current_node": current}))
    assert chat.messages[-1].text == "Green."


def test_a_cyclic_tree_is_read_once(tmp_path: Path) -> None:
    tree = chatgpt()
    tree["mapping"]["root"]["parent"] = "a2"
    (chat,) = chats(write_list(tmp_path / "c.json", tree))
    assert len(chat.messages) == 2


def test_only_messages_of_a_claude_code_transcript_are_imported(tmp_path: Path) -> None:
    write_lines(tmp_path / "projects" / "garden" / "s1.jsonl", code_lines())
    export = open_export(tmp_path / "projects", LIMITS)
    assert export.kind == "claude-code"
    (chat,) = chats(tmp_path / "projects")
    assert [said.text for said in chat.messages] == ["Plan the beds.", "Three beds.", "Good."]
    assert chat.title == "garden: Plan the beds."


def test_jsonl_lines_are_grouped_by_thread(tmp_path: Path) -> None:
    at = "2024-01-01T00:00:00+02:00"
    lines: list[samples.Json] = [
        {"role": "user", "text": "One.", "at": at, "thread": "a"},
        {"role": "assistant", "text": "Two.", "at": 1_700_000_000, "thread": "a"},
        {"role": "user", "text": "Three.", "at": at, "thread": "b", "title": "Bee"},
        {"role": "user", "text": "  ", "at": at},
    ]
    found = chats(write_lines(tmp_path / "x.jsonl", lines))
    assert [(chat.title, len(chat.messages)) for chat in found] == [("a", 2), ("Bee", 1)]
    assert found[0].messages[0].at == "2023-12-31T22:00:00+00:00"


def test_a_long_transcript_is_split_into_batches_of_one_conversation(tmp_path: Path) -> None:
    lines: list[samples.Json] = [
        {"role": "user", "text": f"{number}", "at": 1_700_000_000 + number} for number in range(25)
    ]
    found = chats(write_lines(tmp_path / "x.jsonl", lines), ImportLimits(batch=10))
    assert [len(chat.messages) for chat in found] == [10, 10, 5]
    assert len({chat.external_id for chat in found}) == 1


@pytest.mark.parametrize(
    "at", ["yesterday", "", "2025-03-01T10:00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
)
def test_a_message_with_an_invalid_date_is_skipped_and_reported(tmp_path: Path, at: str) -> None:
    bad: samples.Json = claude(1, "Bad.") | {"name": "x"}
    bad["chat_messages"][0]["created_at"] = at
    path = write_list(tmp_path / "conversations.json", claude(0, "Good."), bad)
    (trouble,) = troubles(path)
    assert trouble.place == "conversations.json, conversation 2, message 1"
    assert "is not a time" in trouble.problem
    assert [len(chat.messages) for chat in chats(path)] == [1, 0]


@pytest.mark.parametrize(
    "broken",
    ['{"uuid": NaN, "chat_messages": []}', '{"uuid": 1, "chat_messages": []}', '{"a" "b"}'],
    ids=["not a number", "another type", "no JSON"],
)
def test_an_unreadable_conversation_is_skipped_and_reported(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(f"[{json.dumps(claude(1, 'Hi.'))}, {broken}]")
    (trouble,) = troubles(path)
    assert trouble.place == "conversations.json, conversation 2"
    assert len(chats(path)) == 1


@pytest.mark.parametrize("time", ["1e400", "-1e30", "true", '"x"'])
def test_an_invalid_chatgpt_timestamp_is_reported(tmp_path: Path, time: str) -> None:
    path = tmp_path / "conversations.json"
    text = json.dumps([chatgpt()]).replace("1741000000.5", time)
    path.write_text(text)
    assert troubles(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"a": 1}', "not a JSON list"),
        ("", "incomplete"),
        ('[{"chat_messages": [', "incomplete"),
        ('[{"chat_messages": "', "incomplete"),
        ("[]", "no conversations"),
        ('[{"a": 1}]', "no conversations"),
        ("[" * 100_000, "nested more than 200 deep"),
    ],
    ids=["object", "empty", "cut", "cut in a text", "nothing", "something else", "deep"],
)
def test_a_file_that_is_not_an_export_is_rejected_with_a_hint(
    tmp_path: Path, content: str, says: str
) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(content)
    with pytest.raises(Invalid, match=says) as refused:
        chats(path)
    assert refused.value.hint


def test_a_too_long_element_is_rejected_before_it_is_fully_read(tmp_path: Path) -> None:
    path = write_list(tmp_path / "c.json", claude(1, "x" * 3_000_000))
    with pytest.raises(Invalid, match="more than 1,000 bytes"):
        chats(path, ImportLimits(conversation_bytes_max=1_000))


def test_a_line_that_is_too_long_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [{"role": "user", "text": "x" * 2_000, "at": 1}])
    with pytest.raises(Invalid, match=r"x\.jsonl, line 1"):
        chats(path, ImportLimits(conversation_bytes_max=1_000))


@pytest.mark.promise("P-IMPORT-5")
def test_a_zip_bomb_is_rejected_before_it_is_opened(tmp_path: Path) -> None:
    bomb = write_zip(tmp_path / "b.zip", conversations_json="[" + " " * 30_000_000)
    with pytest.raises(Invalid, match="times its size"):
        open_export(bomb, LIMITS)
    small = write_zip(tmp_path / "s.zip", conversations_json="[" + " " * 5_000)
    with pytest.raises(Invalid, match="5,001 bytes"):
        open_export(small, ImportLimits(bytes_max=1_000))


def test_a_damaged_zip_is_reported_as_such(tmp_path: Path) -> None:
    texts = [f"{number} bottles" for number in range(500)]
    path = write_zip(tmp_path / "e.zip", conversations_json=json.dumps([claude(1, *texts)]))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(Invalid):
        chats(path)


def test_missing_and_unsupported_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_export(tmp_path / "nothing.zip", LIMITS)
    with pytest.raises(Invalid, match="no conversations"):
        open_export(tmp_path, LIMITS)


def test_the_same_files_are_the_same_export_wherever_they_are(tmp_path: Path) -> None:
    one = open_export(write_list(tmp_path / "a" / "c.json", claude(1, "Hi.")), LIMITS)
    same = open_export(write_list(tmp_path / "b" / "c.json", claude(1, "Hi.")), LIMITS)
    other = open_export(write_list(tmp_path / "d" / "c.json", claude(1, "Ho.")), LIMITS)
    assert one.identity == same.identity != other.identity


@pytest.mark.parametrize("method", [0, 8, 12, 14])  # stored, deflated, bzip2, lzma
def test_any_damaged_byte_of_an_archive_is_an_error_with_words(tmp_path: Path, method: int) -> None:
    whole, path = tmp_path / "whole.zip", tmp_path / "export.zip"
    with zipfile.ZipFile(whole, "w", method) as archive:
        archive.writestr("conversations.json", '[{"mapping": {}}]')
    good = whole.read_bytes()
    for at in range(len(good)):
        for flip in (0xFF, 0x80):
            path.write_bytes(good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :])
            with suppress(EverloopError):
                list(open_export(path, ImportLimits()).chats())
