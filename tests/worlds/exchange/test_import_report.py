"""Importing on a real log: cards, lorebooks, chats and a folder, with a report and one undo."""

import zipfile
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.worlds.exchange.samples import (
    CHAT,
    V2,
    WORLD_INFO,
    chat_file,
    encode,
    message,
    png_card,
    user_folder,
)

from everloop.app import USER, Engine
from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import Context
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.worlds import (
    ImportChoices,
    StoryMessage,
    WorldImportResult,
    find_character,
    list_characters,
    list_lorebooks,
    list_worlds,
    lore_entries,
    story_messages,
    world_imports,
)


class Home:
    """An engine, and files to import into it."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder

    def take(
        self, name: str, content: bytes, choices: ImportChoices | None = None
    ) -> WorldImportResult:
        path = self.folder / name
        path.write_bytes(content)
        return self.engine.exchange.run(self.engine.exchange.open(path), USER, choices)

    def messages(self, world_id: str) -> list[StoryMessage]:
        with self.engine.reading() as reader:
            return story_messages(reader, world_id, limit=1_000)

    @property
    def names(self) -> list[str]:
        with self.engine.reading() as reader:
            return [one.sheet.name for one in list_characters(reader)]

    @property
    def titles(self) -> list[str]:
        with self.engine.reading() as reader:
            return sorted(one.title for one in list_worlds(reader))


@pytest.fixture
def home(tmp_path: Path) -> Generator[Home]:
    folder = tmp_path / "files"
    folder.mkdir()
    with Engine.open(tmp_path / "home") as engine:
        yield Home(engine, folder)


def test_a_card_is_added_to_the_library_with_its_portrait(home: Home) -> None:
    picture = png_card({"chara": V2})
    done = home.take("ada.png", picture)
    with home.engine.reading() as reader:
        sheet = find_character(reader, done.characters[0]).sheet
    assert sheet.greetings == ("Hello, {{user}}.", "You again?", "*waves*")
    assert home.engine.files.path(sheet.portrait).read_bytes() == picture
    assert sheet.portrait in home.engine.files_wanted()
    assert {note.what for note in done.notes} == {"kept"}


def test_the_same_file_again_changes_nothing(home: Home) -> None:
    first = home.take("ada.png", png_card({"chara": V2}))
    again = home.take("ada.png", png_card({"chara": V2}))
    assert (again.position, again.characters) == (first.position, first.characters)
    assert home.names == ["Ada"]


def test_an_import_is_undone_as_a_whole_and_can_come_back(home: Home) -> None:
    done = home.take("chat.jsonl", chat_file())
    assert (home.names, home.titles) == (["Ada"], ["chat"])
    position = home.engine.exchange.undo(done.import_id, USER)
    assert (home.names, home.titles) == ([], [])
    assert home.messages(done.worlds[0]) == []
    with pytest.raises(NotFound):
        home.engine.exchange.undo(done.import_id, USER)
    home.engine.log.retract([position], reason="after all", actor="user")
    assert home.titles == ["chat"]
    assert len(home.messages(done.worlds[0])) == len(CHAT)
    home.engine.exchange.undo("last", USER)
    assert home.take("chat.jsonl", chat_file()).messages == len(CHAT)
    assert home.titles == ["chat"]


def test_a_chat_keeps_order_versions_hidden_messages_and_dates(home: Home) -> None:
    done = home.take("chat.jsonl", chat_file())
    said = home.messages(done.worlds[0])
    assert [one.text for one in said] == [line["mes"] for line in CHAT]
    assert [version.text for version in said[0].versions] == CHAT[0]["swipes"]
    assert [one.hidden for one in said] == [False, False, False, True, False, False]
    world = home.engine.worlds.world(done.worlds[0])
    assert (world.player_name, world.clock) == ("Robin", "2023-06-19T14:20:00+00:00")
    assert world.scene
    assert world.scene.premise == "At sea."


def test_an_interrupted_chat_goes_on_where_it_was(home: Home) -> None:
    done = home.take("chat.jsonl", chat_file())
    before = home.messages(done.worlds[0])
    again = home.take("chat.jsonl", chat_file())
    assert again.worlds == done.worlds
    assert home.messages(done.worlds[0]) == before


def test_broken_lines_are_reported_and_the_rest_is_kept(home: Home) -> None:
    content = b"\xef\xbb\xbf" + chat_file().replace(b"\n", b"\r\n") + b"\r\nnot json\n{}\n"
    done = home.take("chat.jsonl", content)
    dropped = [note.subject for note in done.notes if note.what == "dropped"]
    assert dropped == ["chat.jsonl, line 8", "chat.jsonl, line 9"]
    assert done.messages == len(CHAT)


def test_a_chat_of_three_asks_which_two_by_name(home: Home) -> None:
    lines = [message(number, name=name) for number, name in enumerate(("Ada", "Bo", "Cleo"))]
    with pytest.raises(Conflict) as asked:
        home.take("crew.jsonl", chat_file(lines))
    assert "Ada, Bo, Cleo" in asked.value.hint
    assert home.titles == []
    done = home.take("crew.jsonl", chat_file(lines), ImportChoices({"": ("Ada", "Bo")}))
    said = home.messages(done.worlds[0])
    assert [one.text for one in said][2] == "Cleo: Message 2 of Cleo."
    assert any(note.what == "changed" and "Cleo" in note.reason for note in done.notes)


def test_a_lorebook_is_added_to_the_library_and_to_a_world(home: Home) -> None:
    world_id = home.take("chat.jsonl", chat_file()).worlds[0]
    chosen = ImportChoices(into_world=world_id)
    done = home.take("Coast.json", encode(WORLD_INFO), chosen)
    with home.engine.reading() as reader:
        assert [book.name for book in list_lorebooks(reader)] == ["Coast"]
        assert len(lore_entries(reader, world_id)) == 2
    home.engine.exchange.undo(done.import_id, USER)
    with home.engine.reading() as reader:
        assert not list_lorebooks(reader)
        assert not lore_entries(reader, world_id)


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_a_user_folder_is_imported_with_a_report(home: Home, tmp_path: Path, packed: bool) -> None:
    folder = user_folder(tmp_path / "data" / "default-user")
    if packed:
        path = tmp_path / "backup.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(tmp_path))
        folder = path
    exchange = home.engine.exchange
    done = exchange.run(exchange.open(folder), USER)
    assert home.names == ["Ada", "Bo", "Cleo", "Dan", "Robin"]
    assert home.titles == ["First"]
    assert [(one.group, one.names) for one in done.questions] == [
        ("Crew", ("Ada", "Bo", "Cleo", "Dan"))
    ]
    world = home.engine.worlds.world(done.worlds[0])
    assert (world.player_name, world.player_description) == ("Robin", "A sailor.")
    with home.engine.reading() as reader:
        assert len(lore_entries(reader, done.worlds[0])) == 4  # of the card, and the linked book
    dropped = {note.subject for note in done.notes if note.what == "dropped"}
    assert dropped == {"characters/broken.png", "backgrounds"}
    answered = ImportChoices({"Crew": ("Bo", "Cleo")})
    again = exchange.run(exchange.open(folder), USER, answered)
    assert home.titles == ["Crew: g1", "First"]
    said = home.messages(again.worlds[-1])
    bo, cleo = home.engine.worlds.world(again.worlds[-1]).cast
    assert [one.speaker for one in said] == [bo, cleo, "you"]
    assert said[0].witnesses == ("you", bo)
    assert said[1].witnesses == ("you", bo, cleo)
    exchange.undo(done.import_id, USER)
    assert (home.names, home.titles) == ([], [])


def test_a_file_that_fails_leaves_nothing_behind(home: Home) -> None:
    with pytest.raises(Invalid):
        home.take("ada.png", png_card({"chara": V2})[:-20])
    with home.engine.reading() as reader:
        assert world_imports(reader) == []


def test_a_charx_file_without_a_card_is_said_to_have_none(home: Home) -> None:
    path = home.folder / "ada.charx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "Hello.")
    with pytest.raises(Invalid, match="no character card") as refused:
        home.engine.exchange.open(path)
    assert "card.json" in refused.value.hint


def test_only_the_player_imports(home: Home) -> None:
    path = home.folder / "ada.json"
    path.write_bytes(encode(V2))
    exchange = home.engine.exchange
    with pytest.raises(Forbidden):
        exchange.run(exchange.open(path), Context(actor="agent:cli"))


def test_the_views_of_imports_are_rebuilt_equal(home: Home) -> None:
    done = home.take("chat.jsonl", chat_file())
    with home.engine.reading() as reader:
        before = world_imports(reader), home.messages(done.worlds[0])
    rebuild_projections(home.engine.log, ["world_exchange", "worlds"])
    with home.engine.reading() as reader:
        assert (world_imports(reader), home.messages(done.worlds[0])) == before
