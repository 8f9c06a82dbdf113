"""What is exported and imported again is the same: characters, lorebooks, chats, scenes, worlds."""

import io
import zipfile
from collections.abc import Generator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from tests.worlds.exchange.samples import (
    CHAT,
    HEADER,
    V1,
    V2,
    V3,
    WORLD_INFO,
    chat_file,
    encode,
    png_card,
)

from everloop.app import USER, Engine
from everloop.errors import Invalid, NotFound
from everloop.worlds import (
    Acquired,
    CharacterSheet,
    CompleteEvent,
    EditMessage,
    HideMessage,
    IntroduceProp,
    JumpTime,
    Opening,
    OpenScene,
    Place,
    PlanEvent,
    SetLoreEntry,
    ShiftEdge,
    StartEvent,
    World,
    WorldImportResult,
    WriteMessage,
    find_character,
    lore_entries,
    story_messages,
)
from everloop.worlds.model.story_events import LoreEntry


class Home:
    """An engine with hands to import and export."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder

    def take(self, name: str, content: bytes) -> WorldImportResult:
        path = self.folder / name
        path.write_bytes(content)
        return self.engine.exchange.run(self.engine.exchange.open(path), USER)

    def world(self, world_id: str) -> World:
        return self.engine.worlds.world(world_id)

    def export(self, world_id: str, form: Any = "json") -> bytes:
        return self.engine.exchange.exports.world(world_id, self.world(world_id), form).content

    def story(self, world_id: str) -> list[tuple[object, ...]]:
        with self.engine.reading() as reader:
            return [
                (one.speaker, one.text, one.witnesses, one.hidden, len(one.versions))
                for one in story_messages(reader, world_id, limit=1_000)
            ]


def make_home(tmp_path: Path, name: str) -> Home:
    folder = tmp_path / f"{name}-files"
    folder.mkdir()
    return Home(Engine.open(tmp_path / name), folder)


@pytest.fixture
def homes(tmp_path: Path) -> Generator[tuple[Home, Home]]:
    first, second = make_home(tmp_path, "one"), make_home(tmp_path, "two")
    with first.engine, second.engine:
        yield first, second


@pytest.fixture
def home(homes: tuple[Home, Home]) -> Home:
    return homes[0]


def played(home: Home) -> str:
    """A world with two scenes, a picnic, lore and a portrait."""
    ada = home.take("ada.png", png_card({"chara": V2})).characters[0]
    do = home.engine.do
    opening = Opening(
        "Summer",
        "Robin",
        "2026-05-01T18:00",
        Place("cafe", "The café"),
        (ada,),
        premise="A date.",
        greet=True,
    )
    world_id = home.engine.worlds.open(opening, USER)
    for command in (
        WriteMessage(world_id, "m1", "you", "Shall we *points* <go>?"),
        SetLoreEntry(world_id, LoreEntry("own", "Ada is shy.", keys=("Ada",), audience=(ada,))),
        PlanEvent(world_id, "picnic", "A picnic"),
        JumpTime(world_id, "2026-05-02T12:00", "The next day."),
        OpenScene(world_id, "s2", "cafe", ("you", ada), "A picnic."),
        StartEvent(world_id, "picnic"),
        IntroduceProp(world_id, "basket", "basket", "picnic", ada),
        WriteMessage(world_id, "m2", ada, "Sandwiches!"),
        ShiftEdge(world_id, ada, "you", 5, 2, "lunch"),
        CompleteEvent(world_id, "picnic", "They ate.", (Acquired("corkscrew", "you"),)),
    ):
        do(command)
    return world_id


@pytest.mark.parametrize("form", ["png", "json", "charx"])
@pytest.mark.parametrize("card", [V1, V2, V3], ids=["v1", "v2", "v3"])
def test_a_card_goes_through_the_library_and_comes_out_equal(
    homes: tuple[Home, Home], card: dict[str, Any], form: Any
) -> None:
    first, second = homes
    chunk = "ccv3" if card is V3 else "chara"
    done = first.take("ada.png", png_card({chunk: card}))
    out = first.engine.exchange.exports.character(done.characters[0], form)
    again = second.take(out.name, out.content)
    with second.engine.reading() as reader:
        stored = find_character(reader, again.characters[0]).sheet.card
    if form != "charx" or card is V3:
        assert msgspec.json.decode(stored) == card
    else:  # a CHARX is V3, with the portrait among its assets
        assert msgspec.json.decode(stored)["data"]["description"] == V1["description"]


def test_a_lorebook_comes_out_of_the_library_equal(home: Home) -> None:
    done = home.take("Coast.json", encode(WORLD_INFO))
    out = home.engine.exchange.exports.lorebook(done.books[0])
    assert msgspec.json.decode(out.content) == WORLD_INFO
    assert out.name == "Coast.json"


def test_a_chat_comes_out_equal(home: Home) -> None:
    world_id = home.take("chat.jsonl", chat_file()).worlds[0]
    lines = [msgspec.json.decode(line) for line in home.export(world_id, "chat").splitlines()]
    assert lines == [HEADER, *CHAT]
    assert [list(line) for line in lines] == [list(line) for line in [HEADER, *CHAT]]


def test_what_was_changed_in_a_chat_comes_out_changed(home: Home) -> None:
    world_id = home.take("chat.jsonl", chat_file()).worlds[0]
    with home.engine.reading() as reader:
        ids = [one.message_id for one in story_messages(reader, world_id)]
    home.engine.do(EditMessage(world_id, ids[1], "", "Edited."))
    home.engine.do(HideMessage(world_id, ids[2]))
    home.engine.do(WriteMessage(world_id, "new", "you", "And now?"))
    lines = [msgspec.json.decode(line) for line in home.export(world_id, "chat").splitlines()]
    assert lines[2] == {**CHAT[1], "mes": "Edited."}
    assert lines[3] == {**CHAT[2], "is_system": True}
    assert (lines[-1]["mes"], lines[-1]["is_user"]) == ("And now?", True)


def test_a_world_imports_equal_into_another_home(homes: tuple[Home, Home]) -> None:
    first, second = homes
    world_id = played(first)
    content = first.export(world_id)
    done = second.take("summer.json", content)
    assert done.worlds == (world_id,)
    assert second.export(world_id) == content
    assert second.story(world_id) == first.story(world_id)
    one, two = first.world(world_id), second.world(world_id)
    assert (one.edges, one.belongings, one.clock) == (two.edges, two.belongings, two.clock)
    second.engine.exchange.undo(done.import_id, USER)
    with pytest.raises(NotFound):
        second.world(world_id)


def test_a_world_imports_beside_itself_with_ids_of_its_own(home: Home) -> None:
    world_id = played(home)
    done = home.take("summer.json", home.export(world_id))
    (copy,) = done.worlds
    assert copy != world_id
    assert done.characters == ()  # the library has them
    assert home.story(copy) == home.story(world_id)
    home.engine.do(WriteMessage(copy, "m9", "you", "Only here."))
    assert len(home.story(copy)) == len(home.story(world_id)) + 1
    with home.engine.reading() as reader:
        assert lore_entries(reader, copy) == lore_entries(reader, world_id)


def test_a_scene_imports_as_a_world_of_its_own(homes: tuple[Home, Home]) -> None:
    first, second = homes
    world_id = played(first)
    out = first.engine.exchange.exports.scene(world_id, "s2", "The picnic").content
    (alone,) = second.take("scene.json", out).worlds
    assert [line[1] for line in second.story(alone)] == ["Sandwiches!"]
    assert second.world(alone).belongings == {"you": ("corkscrew",)}
    assert second.engine.exchange.exports.scene(alone, "s2", "The picnic").content == out
    with pytest.raises(NotFound):
        first.engine.exchange.exports.scene(world_id, "nowhere", "x")


def test_a_character_imports_equal(homes: tuple[Home, Home]) -> None:
    first, second = homes
    sheet = CharacterSheet("Ben", "A cook.", traits=("loud",), greetings=("Hey.",))
    ben = first.engine.worlds.author(sheet, USER)
    ada = first.take("ada.png", png_card({"chara": V2})).characters[0]
    for each in (ben, ada):
        out = first.engine.exchange.exports.character(each, "everloop")
        assert second.take(out.name, out.content).characters == (each,)
        with first.engine.reading() as one, second.engine.reading() as two:
            assert find_character(one, each).sheet == find_character(two, each).sheet
            portrait = find_character(two, each).sheet.portrait
        assert not portrait or second.engine.files.path(portrait).exists()


def test_a_damaged_export_leaves_nothing_behind(home: Home) -> None:
    world_id = played(home)
    value = msgspec.json.decode(home.export(world_id))
    value["facts"][3]["because"] = [10_000]
    with pytest.raises(Invalid):
        home.take("bad.json", encode(value))
    value["facts"][3] = {"kind": "memory.item_remembered", "data": {}, "because": [0]}
    with pytest.raises(Invalid):
        home.take("bad.json", encode(value))
    value["version"] = 99
    with pytest.raises(Invalid, match="version"):
        home.take("bad.json", encode(value))


def test_a_world_reads_as_a_book(home: Home) -> None:
    text = home.export(played(home), "markdown").decode()
    assert text.startswith("# Summer\n\nWith Robin and Ada.\n")
    assert "## 1. The café" in text
    assert "**Ada:** Hello, Robin." in text
    assert "**Robin:** Shall we *points* \\<go\\>?" in text
    assert "> A picnic." in text


def test_an_epub_has_the_structure_that_readers_expect(home: Home) -> None:
    packed = zipfile.ZipFile(io.BytesIO(home.export(played(home), "epub")))
    first = packed.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
    assert packed.read("mimetype") == b"application/epub+zip"
    pages = [name for name in packed.namelist() if name.endswith((".xhtml", ".opf", ".xml"))]
    trees = {name: ElementTree.fromstring(packed.read(name)) for name in pages}  # noqa: S314 - ours
    opf = "{http://www.idpf.org/2007/opf}"
    package = trees["EPUB/package.opf"]
    items = {one.attrib["id"]: one.attrib["href"] for one in package.iter(f"{opf}item")}
    assert all(f"EPUB/{href}" in packed.namelist() for href in items.values())
    spine = [one.attrib["idref"] for one in package.iter(f"{opf}itemref")]
    assert spine == ["nav", "c1", "c2"]
    container = ElementTree.tostring(trees["META-INF/container.xml"]).decode()
    assert "EPUB/package.opf" in container
    assert "<em>points</em>" in packed.read("EPUB/chapter-0001.xhtml").decode()
    assert "Sandwiches!" in packed.read("EPUB/chapter-0002.xhtml").decode()
