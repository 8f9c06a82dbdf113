"""Files beside messages that come from elsewhere: kept by their content, and counted if missing."""

import json
import zipfile
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.adapters.exports.samples import Json, chatgpt, claude, gpt_message, node, write_list
from tests.thread.fixtures import PLAIN

from everloop.adapters.exports.open_export import open_export
from everloop.adapters.files.store import FileStore
from everloop.app import USER, Engine
from everloop.log.model.event import decode
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.model.commands import HOME
from everloop.thread.model.events import MessageImported
from everloop.thread.queries import threads
from everloop.thread.queries.threads import ThreadMessage
from everloop.thread.service import OutgoingMessage, ThreadService
from everloop.thread.settings import ImportLimits
from everloop.thread.transfer.export_threads import to_jsonl
from everloop.thread.transfer.import_threads import ImportResult, ThreadImporter

PNG = b"\x89PNG\r\n\x1a\n and so on"
PDF = b"%PDF-1.7 and so on"
LIMITS = ImportLimits()


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    with Engine.open(tmp_path / "home", settings=PLAIN, ports=DeterministicPorts().ports) as engine:
        yield engine


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "files", bytes_max=1_000)


def packed(path: Path, talk: Json, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([talk]))
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def take(engine: Engine, path: Path, store: FileStore) -> ImportResult:
    export = open_export(path, LIMITS)
    keep = export.file_storer(store)
    return ThreadImporter(engine.log, engine, USER, batch=2, keep=keep).run(export)


def said(engine: Engine) -> list[ThreadMessage]:
    with engine.reading() as reader:
        (thread,) = threads.list_threads(reader)
        return list(threads.newest_messages(reader, thread.thread_id, 100).messages)


def pictures() -> Json:
    """A conversation of ChatGPT with a picture that was sent, a document, and one that was made."""
    sent = gpt_message(
        "q",
        "user",
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-Ab12"},
        "What is this?",
    )
    sent["content"]["content_type"] = "multimodal_text"
    sent["metadata"] = {
        "attachments": [
            {"id": "file-Ab12", "name": "cat.png", "mime_type": "image/png"},
            {"id": "file-Cd34", "name": "plan.pdf", "mimeType": "application/pdf"},
            {"id": "file-Gone", "name": "lost.txt"},
        ]
    }
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_0000#x"}
    made = gpt_message("t", "tool", pointer)
    made["content"]["content_type"] = "multimodal_text"
    return chatgpt() | {
        "current_node": "t",
        "mapping": {"q": node("q", None, ["t"], sent), "t": node("t", "q", [], made)},
    }


@pytest.mark.promise("P-IMPORT-6")
def test_files_of_a_chatgpt_export_are_attached_to_their_messages(
    engine: Engine, store: FileStore, tmp_path: Path
) -> None:
    files = {
        "file-Ab12-cat.png": PNG,
        "user-X/file-Cd34-plan.pdf": PDF,
        "dalle-generations/file_0000-made.dat": PNG + b"!",
    }
    done = take(engine, packed(tmp_path / "e.zip", pictures(), **files), store)
    assert (done.messages, done.files, done.files_missing) == (2, 3, 1)
    asked, made = said(engine)
    assert asked.text == "What is this?\n[attached: lost.txt]"
    assert [(one.name, one.media_type) for one in asked.attachments] == [
        ("cat.png", "image/png"),
        ("plan.pdf", "application/pdf"),
    ]
    assert (made.role, made.text, made.attachments[0].media_type) == ("assistant", "", "image/png")
    kept = [store.read(one) for one in (*asked.attachments, *made.attachments)]
    assert kept == [PNG, PDF, PNG + b"!"]


@pytest.mark.promise("P-IMPORT-6")
def test_a_claude_export_brings_documents_as_text_and_images_if_present(
    engine: Engine, store: FileStore, tmp_path: Path
) -> None:
    talk = claude(1, "Read this.", "I did.")
    talk["chat_messages"][0]["attachments"] = [
        {"file_name": "notes.txt", "file_type": "txt", "extracted_content": "Buy milk."}
    ]
    talk["chat_messages"][0]["files"] = [
        {"file_name": "a.png", "file_uuid": "u-1"},
        {"file_name": "b.png", "file_uuid": "u-2"},
        {"file_name": "notes.txt"},
    ]
    done = take(engine, packed(tmp_path / "e.zip", talk, **{"files/u-1.png": PNG}), store)
    assert (done.files, done.files_missing) == (2, 1)
    first = said(engine)[0]
    assert first.text == "Read this.\n[attached: b.png]"
    notes, picture = first.attachments
    assert (notes.media_type, store.read(notes)) == ("text/plain", b"Buy milk.")
    assert (picture.name, store.read(picture)) == ("a.png", PNG)


def test_missing_files_are_named_and_nothing_is_imported_twice(
    engine: Engine, store: FileStore, tmp_path: Path
) -> None:
    path = write_list(tmp_path / "conversations.json", pictures())
    first = take(engine, path, store)
    assert (first.files, first.files_missing) == (0, 4)
    assert [one.text for one in said(engine)] == [
        "What is this?\n[attached: cat.png]\n[attached: plan.pdf]\n[attached: lost.txt]",
        "[attached: file_0000]",
    ]
    head = engine.log.head
    again = take(engine, path, store)
    assert (again.known, again.files_missing, engine.log.head) == (2, 0, head)


@pytest.mark.promise("P-IMPORT-6")
def test_a_later_export_adds_missing_files_to_messages(
    engine: Engine, store: FileStore, tmp_path: Path
) -> None:
    bare = write_list(tmp_path / "conversations.json", pictures())
    files = {"file-Ab12-cat.png": PNG, "dalle-generations/file_0000-made.dat": PNG + b"!"}
    whole = packed(tmp_path / "e.zip", pictures(), **files)
    take(engine, bare, store)
    done = take(engine, whole, store)
    assert (done.messages, done.known, done.files, done.threads) == (0, 2, 2, ())
    asked, made = said(engine)
    assert asked.text == "What is this?\n[attached: plan.pdf]\n[attached: lost.txt]"
    assert [(one.name, store.read(one)) for one in asked.attachments] == [("cat.png", PNG)]
    assert (made.text, store.read(made.attachments[0])) == ("", PNG + b"!")
    head = engine.log.head
    assert (take(engine, whole, store).files, engine.log.head) == (0, head)


def test_files_added_later_are_removed_with_their_own_import(
    engine: Engine, store: FileStore, tmp_path: Path
) -> None:
    take(engine, write_list(tmp_path / "conversations.json", pictures()), store)
    more = pictures() | {"title": "Another export"}
    later = take(engine, packed(tmp_path / "e.zip", more, **{"file-Ab12-cat.png": PNG}), store)
    assert (later.files, len(said(engine)[0].attachments)) == (1, 1)
    engine.log.retract([later.position], reason="not wanted", actor="user")
    asked = said(engine)[0]
    assert (asked.attachments, "[attached: cat.png]" in asked.text) == ((), True)


def test_a_purge_erases_files_added_after_their_message(engine: Engine, tmp_path: Path) -> None:
    store = engine.files
    take(engine, write_list(tmp_path / "conversations.json", pictures()), store)
    take(engine, packed(tmp_path / "e.zip", pictures(), **{"file-Ab12-cat.png": PNG}), store)
    asked = said(engine)[0]
    assert store.read(asked.attachments[0]) == PNG
    engine.purge([asked.position], reason="a slip", actor="user")
    assert store.read(asked.attachments[0]) is None


def test_a_file_that_is_too_large_empty_or_a_zip_bomb_counts_as_missing(
    engine: Engine, store: FileStore, tmp_path: Path
) -> None:
    talk = claude(1, "Read this.")
    names = ["large.png", "empty.png", "bomb.png", "../../up.png"]
    talk["chat_messages"][0]["files"] = [{"file_name": name} for name in names]
    files = {"large.png": PNG * 100, "empty.png": b"", "bomb.png": b"\0" * 20_000_000}
    done = take(engine, packed(tmp_path / "e.zip", talk, **files), store)
    assert (done.messages, done.files, done.files_missing) == (1, 0, 4)
    assert [one.name for one in (tmp_path / "files").iterdir()] == []


def test_unpacked_exports_and_our_own_jsonl_bring_their_files_too(
    engine: Engine, store: FileStore, tmp_path: Path
) -> None:
    folder = tmp_path / "unpacked"
    write_list(folder / "conversations.json", pictures())
    (folder / "file-Ab12-cat.png").write_bytes(PNG)
    assert take(engine, folder, store).files == 1
    with engine.reading() as reader:
        (thread,) = threads.list_threads(reader)
    lines = tmp_path / "again.jsonl"
    lines.write_bytes(b"".join(to_jsonl(engine.log, thread)))
    with Engine.open(tmp_path / "other", settings=PLAIN, ports=DeterministicPorts().ports) as other:
        done = take(other, lines, store)
        assert (done.files, done.files_missing) == (1, 0)
        assert said(other)[0].attachments == said(engine)[0].attachments


def test_a_purge_erases_files_that_no_other_message_uses(engine: Engine) -> None:
    home = engine.log.file.path.parent
    store = engine.files
    mine = store.store("mine.txt", "text/plain", [b"a secret"])
    shared = store.store("shared.txt", "text/plain", [b"seen twice"])
    talk = ThreadService(engine.log, engine, engine.memory)
    talk.home_thread(USER)
    first = talk.send(HOME, OutgoingMessage("One.", (mine, shared)), USER)
    talk.send(HOME, OutgoingMessage("Two.", (shared,)), USER)
    with engine.reading() as reader:
        said_at = threads.find_message(reader, first.message_id).position
    engine.purge([said_at], reason="a slip", actor="user")
    assert [store.read(one) for one in (mine, shared)] == [None, b"seen twice"]
    assert not any(b"a secret" in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_messages_imported_before_attachments_existed_have_none() -> None:
    old = '{"thread_id":"t","message_id":"m","role":"user","text":"x","said_at":"a","author":"",'
    found = decode(MessageImported.wire, 1, f'{old}"external_id":"1"}}')
    assert found == MessageImported("t", "m", "user", "x", "a", "", "1", ())
