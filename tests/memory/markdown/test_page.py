"""Items as Markdown pages: rendering and parsing agree, and an edit is one fact."""

import os
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloop.adapters.files.markdown_folder import LEDGER, MarkdownFolder, page_name
from everloop.app import Engine
from everloop.errors import Invalid, NotFound, Rejected
from everloop.log import Context
from everloop.memory.browse.queries import items_with_ids
from everloop.memory.markdown.folder import (
    AppliedChange,
    ImportPlan,
    PageFile,
    apply_change,
    plan_import,
)
from everloop.memory.markdown.page import (
    PageContent,
    differing_fields,
    fill_missing_fields,
    page_content,
    page_digest,
    parse_page,
    render_page,
)
from everloop.memory.model.commands import PinItem, RateItem, RememberItem, ReviseItem
from everloop.memory.model.events import Origin
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.memory.projections.queries import Item
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

OWNER_EYES = Viewer(OWNER, ("*",))
USER = Context()
LETTERS = st.characters(codec="utf-8")
TEXT = st.text(LETTERS, min_size=1, max_size=120).filter(lambda text: bool(text.strip()))
NAME = st.text(LETTERS, min_size=1, max_size=20)


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    """An engine without an embedder."""
    chosen = Settings(home=str(tmp_path / "home"), memory=MemorySettings(embedder="none"))
    with Engine.open(settings=chosen) as opened:
        yield opened


@pytest.fixture
def one(engine: Engine) -> Item:
    """An item."""
    return remember(engine, "m-0001", "The shed leaks.", title="Shed")


def remember(engine: Engine, item_id: str, text: str, **more: Any) -> Item:
    """Store an item."""
    engine.do(RememberItem(item_id, text, **more))
    return engine.memory.find(OWNER, item_id)


def page_of(item: Item) -> PageFile:
    """The page of an item, as exported."""
    return PageFile(f"{item.item_id}.md", render_page(page_content(item)))


def planned(engine: Engine, *pages: PageFile, exported: tuple[str, ...] = ()) -> ImportPlan:
    """Plan the import of pages."""
    return plan_import(engine.memory, OWNER_EYES, pages, exported, by=USER)


def imported(engine: Engine, *pages: PageFile) -> list[AppliedChange]:
    """Import pages."""
    changes = planned(engine, *pages).changes
    return [apply_change(engine.memory, engine, OWNER_EYES, each, by=USER) for each in changes]


def edited(page: PageFile, old: str, new: str) -> PageFile:
    """A page with a replacement."""
    assert old in page.content
    return msgspec.structs.replace(page, content=page.content.replace(old, new))


# -- the page --------------------------------------------------------------------------------------


@given(TEXT, TEXT, st.lists(NAME, max_size=3), st.integers(0, 3), st.booleans(), NAME)
def test_a_rendered_page_parses_to_the_same_content(
    text: str, title: str, witnesses: list[str], significance: int, pinned: bool, host: str
) -> None:
    sheet = PageContent(
        text=text,
        id="m-1",
        title=title,
        kind="fact",
        scope="project:a b, [c]",
        witnesses=tuple(sorted(set(witnesses))),
        significance=significance,
        pinned=pinned,
        happened_at="2026-05-17T00:00:00+00:00",
        durability="durable",
        derived_from=tuple(witnesses),
        host=host,
    )
    page = render_page(sheet)
    assert parse_page(page) == msgspec.structs.replace(sheet, exported=page_digest(sheet))
    assert "\n---\n" in page


def test_line_endings_and_a_byte_order_mark_are_not_edits(one: Item) -> None:
    page = render_page(page_content(one))
    for same in (page.replace("\n", "\r\n"), f"\ufeff{page}", f"{page}\n\n", page.rstrip("\n")):
        said = fill_missing_fields(parse_page(same), page_content(one))
        assert differing_fields(said, page_content(one)) == []
        assert page_digest(said) == parse_page(same).exported


def test_lists_may_be_written_one_entry_per_line() -> None:
    page = "---\n# a comment\nwitnesses:\n  - ada\n  - 'it''s ben'\n\nkind: rule # mine\n---\nx\n"
    sheet = parse_page(page)
    assert sheet.witnesses == ("ada", "it's ben")
    assert sheet.kind == "rule"
    assert sheet.text == "x"
    assert parse_page("---\nwitnesses: ada\n---\nx").witnesses == ("ada",)


@pytest.mark.parametrize(
    ("front", "line", "problem"),
    [
        ("significance: 9", 2, "significance"),
        ("title: a\npinned: maybe", 3, "neither"),
        ("scope: nowhere", 2, "scope"),
        ("colour: red", 2, "there is no field"),
        ("title: a\ntitle: b", 3, "twice"),
        ("just words", 2, "not a field"),
        ("- ada", 2, "does not follow a list field"),
        ("title: |", 2, "not a plain value"),
        ('title: "open', 2, "quoted"),
        ("title: 'open", 2, "quoted"),
        ("witnesses: [a", 2, "no end"),
        ("witnesses: [a, [b]]", 2, "cannot be read"),
        ("happened_at: once", 2, "not a time"),
        ("durability: soon", 2, "not a time"),
    ],
)
def test_a_parse_error_names_its_line(front: str, line: int, problem: str) -> None:
    with pytest.raises(Invalid, match=f"line {line}: .*{problem}") as refused:
        parse_page(f"---\n{front}\n---\n\ntext\n")
    assert refused.value.hint


def test_an_unclosed_front_matter_is_refused_and_a_page_without_one_is_all_text() -> None:
    with pytest.raises(Invalid, match=r"line 1: .*no end"):
        parse_page("---\ntitle: x\n")
    assert parse_page("# Heading\n\nwords\n") == PageContent(text="# Heading\n\nwords")


# -- importing -------------------------------------------------------------------------------------


@pytest.mark.promise("P-PAGE-1")
@settings(max_examples=25)
@given(st.lists(st.tuples(TEXT, TEXT, st.integers(0, 3)), min_size=1, max_size=4), st.data())
def test_an_unedited_export_changes_nothing_and_an_edited_text_is_one_revision(
    tmp_path_factory: pytest.TempPathFactory,
    said: list[tuple[str, str, int]],
    data: st.DataObject,
) -> None:
    home = tmp_path_factory.mktemp("home")
    chosen = Settings(home=str(home), memory=MemorySettings(embedder="none"))
    with Engine.open(settings=chosen) as engine:
        for number, (text, title, significance) in enumerate(said):
            remember(engine, f"m-{number}", text, title=title)
            engine.do(RateItem(f"m-{number}", significance))
        folder = MarkdownFolder(home / "pages")
        folder.create()
        taken: set[str] = set()
        for number in range(len(said)):
            item = engine.memory.find(OWNER, f"m-{number}")
            name = page_name(item, taken)
            taken.add(name.casefold())
            folder.write(name, render_page(page_content(item)))
        head = engine.log.head
        assert imported(engine, *folder.pages()) == []
        assert engine.log.head == head

        page = data.draw(st.sampled_from(folder.pages()))
        new = data.draw(
            TEXT.filter(lambda text: text.strip("\r\n") != parse_page(page.content).text)
        )
        changed = render_page(
            msgspec.structs.replace(parse_page(page.content), text=f"{new}!edited")
        )
        old = f"exported: {_stamp(changed)}"
        pages = [PageFile(page.name, changed.replace(old, f"exported: {_stamp(page.content)}"))]
        (done,) = imported(engine, *pages)
        kinds = [engine.log.record(p).kind for p in range(head + 1, engine.log.head + 1)]
        assert kinds == ["memory.revised"]
        assert done.sheet.text == f"{new}!edited"
        assert imported(engine, *pages) == []
        assert engine.log.head == head + 1


def _stamp(page: str) -> str:
    """The digest line of a page."""
    return next(line for line in page.split("\n") if line.startswith("exported: "))[10:]


@pytest.mark.promise("P-PAGE-1")
def test_edits_are_recorded_as_facts(engine: Engine, one: Item) -> None:
    page = edited(page_of(one), "leaks.", "leaks badly.")
    page = edited(page, "significance: 0", "significance: 2")
    page = edited(page, "pinned: false", "pinned: true")
    page = edited(page, "witnesses: []", "witnesses: [ada]")
    (change,) = planned(engine, page).changes
    assert change.what == ("text", "witnesses", "significance", "pinned")
    imported(engine, page)
    item = engine.memory.find(OWNER, one.item_id)
    assert (item.text, item.witnesses) == ("The shed leaks badly.", ("ada",))
    assert (item.significance, item.pinned) == (2, True)


def test_the_page_of_a_pivotal_item_shows_its_automatic_pin(engine: Engine, one: Item) -> None:
    (done,) = imported(engine, edited(page_of(one), "significance: 0", "significance: 3"))
    assert done.sheet.pinned
    page = PageFile("m-0001.md", render_page(done.sheet))
    (done,) = imported(engine, edited(page, "pinned: true", "pinned: false"))
    assert not done.sheet.pinned


def test_an_old_unedited_page_changes_nothing(engine: Engine, one: Item) -> None:
    page = page_of(one)
    engine.do(ReviseItem(one.item_id, text="It was mended."))
    assert planned(engine, page).changes == ()
    assert planned(engine, page).troubles == ()


@pytest.mark.promise("P-PAGE-2")
def test_a_page_and_an_item_that_both_changed_are_a_conflict_and_nothing_is_overwritten(
    engine: Engine, one: Item
) -> None:
    page = edited(page_of(one), "leaks.", "leaks badly.")
    engine.do(ReviseItem(one.item_id, text="It was mended."))
    found = planned(engine, page)
    assert found.changes == ()
    assert found.troubles[0].conflict
    assert engine.memory.find(OWNER, one.item_id).text == "It was mended."


@pytest.mark.promise("P-PAGE-2")
def test_a_change_after_the_preview_is_a_conflict(engine: Engine, one: Item) -> None:
    (change,) = planned(engine, edited(page_of(one), "leaks.", "leaks badly.")).changes
    engine.do(PinItem(one.item_id))
    with pytest.raises(Rejected, match="meanwhile"):
        apply_change(engine.memory, engine, OWNER_EYES, change, by=USER)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kind: fact", "kind: rule"),
        ("learned_via: told", "learned_via: saw"),
        ("The shed leaks.", ""),
        ("id: m-0001", "id: m-0002"),
    ],
)
def test_changing_a_fixed_field_is_a_conflict(
    engine: Engine, one: Item, old: str, new: str
) -> None:
    found = planned(engine, edited(page_of(one), old, new))
    assert found.changes == ()
    assert found.troubles[0].hint


def test_a_new_page_becomes_an_item_unless_it_repeats_one(engine: Engine, one: Item) -> None:
    (done,) = imported(engine, PageFile("key.md", "The neighbour has our spare key.\n"))
    assert done.sheet.learned_via == "imported"
    front = "---\nscope: project:x\nsignificance: 3\npinned: false\nhappened_at: 2026-05-17\n---\n"
    (rich,) = imported(engine, PageFile("rich.md", f"{front}Bees live behind the barn.\n"))
    assert (rich.sheet.scope, rich.sheet.significance, rich.sheet.pinned) == ("project:x", 3, False)
    head = engine.log.head
    again = planned(
        engine, page_of(one), PageFile("copy.md", f"{one.text}\n"), PageFile("empty.md", "\n")
    )
    assert again.changes == ()
    assert len(again.troubles) == 2
    assert engine.log.head == head


def test_two_pages_of_one_item_are_both_left_alone(engine: Engine, one: Item) -> None:
    page = edited(page_of(one), "leaks.", "leaks badly.")
    twin = msgspec.structs.replace(page, name="copy.md")
    found = planned(engine, page, twin, page_of(remember(engine, "m-0002", "Bees hum.")))
    assert found.changes == ()
    assert [trouble.name for trouble in found.troubles] == ["copy.md", "m-0001.md"]
    assert found.unchanged == 1


def test_a_malformed_page_does_not_block_the_others(engine: Engine, one: Item) -> None:
    good = edited(page_of(one), "leaks.", "leaks badly.")
    found = planned(engine, PageFile("bad.md", "---\nsignificance: 9\n---\nx\n"), good)
    assert [change.name for change in found.changes] == [good.name]
    assert "line 2" in found.troubles[0].problem


def test_a_deleted_page_is_reported_and_retires_its_item_only_on_request(
    engine: Engine, one: Item
) -> None:
    found = planned(engine, exported=(one.item_id, "m-unknown"))
    assert [change.item_id for change in found.deleted] == [one.item_id]
    assert not engine.memory.find(OWNER, one.item_id).retired
    apply_change(engine.memory, engine, OWNER_EYES, found.deleted[0], by=USER)
    assert engine.memory.find(OWNER, one.item_id).retired
    assert planned(engine, exported=(one.item_id,)).deleted == ()


def test_nobody_can_edit_hidden_items_by_an_import(engine: Engine, one: Item) -> None:
    stranger = Viewer("ada", ("project:x",))
    page = edited(page_of(one), "leaks.", "leaks badly.")
    found = plan_import(engine.memory, stranger, [page], [one.item_id], by=Context(actor="ada"))
    assert "no item" in found.troubles[0].problem
    assert found.deleted == ()
    with engine.reading() as reader:
        assert items_with_ids(reader, stranger, [one.item_id]) == []


# -- the files -------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> MarkdownFolder:
    """An empty folder of pages."""
    made = MarkdownFolder(tmp_path / "pages")
    made.create()
    return made


@pytest.mark.promise("P-PAGE-3")
def test_nothing_outside_the_folder_is_read(folder: MarkdownFolder, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.md").write_text("secret")
    (folder.path / "link.md").symlink_to(tmp_path / "secret.md")
    (folder.path / "linked").symlink_to(tmp_path / "outside")
    os.mkfifo(folder.path / "pipe.md")
    (folder.path / "a\\..\\b.md").write_text("x")
    (folder.path / "hid\u202eden.md").write_text("x")
    (folder.path / "latin.md").write_bytes(b"ok\n\xff")
    (folder.path / ".hidden.md").write_text("x")
    (folder.path / "notes.txt").write_text("x")
    (folder.path / "deeper").mkdir()
    (folder.path / "deeper" / "fine.md").write_text("fine")
    pages = folder.pages()
    assert [page.name for page in pages if not page.problem] == ["deeper/fine.md"]
    assert len(pages) == 6
    assert all(page.hint and "secret" not in page.content for page in pages if page.problem)


@pytest.mark.promise("P-PAGE-3")
@given(TEXT, NAME)
def test_a_page_has_a_safe_file_name_for_any_title_and_id(title: str, name: str) -> None:
    item = _item(name, title)
    made = page_name(item, set())
    assert "/" not in made
    assert "\\" not in made
    assert not made.startswith((".", "-"))
    assert len(made.encode()) < 255
    assert page_name(item, {made.casefold()}) != made


@pytest.mark.parametrize(
    ("title", "begins"),
    [
        ("สวัสดีครับ ผมชอบกินข้าวผัด", "สวัสดีครับ-ผมชอบกินข้าวผัด-"),
        ("मुझे चाय पसंद है", "मुझे-चाय-पसंद-है-"),
        ("L'été à Besançon", "l-été-à-besançon-"),
        ("❤️ _ tea", "tea-"),
    ],
)
def test_a_file_name_keeps_words_of_every_script_whole(title: str, begins: str) -> None:
    assert page_name(_item("mem-1", title), set()).startswith(begins)


def test_writing_replaces_a_symbolic_link_and_not_its_target(
    folder: MarkdownFolder, tmp_path: Path
) -> None:
    (tmp_path / "precious").write_text("precious")
    (folder.path / "page.md").symlink_to(tmp_path / "precious")
    folder.write("page.md", "new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert (folder.path / "page.md").read_text() == "new"
    assert list(folder.path.iterdir()) == [folder.path / "page.md"]


def test_a_damaged_ledger_and_a_missing_folder_are_reported(folder: MarkdownFolder) -> None:
    assert folder.exported_ids() == ()
    folder.save_exported_ids(["b", "a"])
    assert folder.exported_ids() == ("a", "b")
    (folder.path / LEDGER).write_text("nonsense")
    with pytest.raises(Invalid):
        folder.exported_ids()
    with pytest.raises(NotFound):
        MarkdownFolder(folder.path / "nowhere").pages()
    with pytest.raises(Invalid):
        MarkdownFolder(folder.path / LEDGER).create()


def _item(item_id: str, title: str) -> Item:
    then = datetime(2026, 5, 17, tzinfo=UTC)
    return Item(
        position=1,
        version=1,
        item_id=item_id,
        title=title,
        text="x",
        kind="fact",
        scope="user",
        author="user",
        origin=Origin(),
        learned_via="told",
        happened_at=then,
        recorded_at=then,
        holds_until=None,
        follows="",
    )
