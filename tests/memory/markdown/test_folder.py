"""Importing pages: importers without access, and interrupted imports."""

from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest

from everloop.app import Engine
from everloop.errors import Conflict
from everloop.log import Command, Context, Receipt
from everloop.memory.markdown.folder import (
    AppliedChange,
    ImportPlan,
    PageChange,
    PageFile,
    apply_change,
    plan_import,
)
from everloop.memory.markdown.page import (
    is_unedited,
    page_content,
    page_digest,
    parse_page,
    render_page,
)
from everloop.memory.model.commands import (
    GrantAudience,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
)
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import count_items, load_viewer
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.bus import FunctionBus

SHED, BEES = "The shed leaks near the chimney.", "Bees live behind the barn."


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    """An engine without an embedder."""
    chosen = Settings(home=str(tmp_path / "home"), memory=MemorySettings(embedder="none"))
    with Engine.open(settings=chosen) as opened:
        yield opened


def planned(
    engine: Engine, *pages: PageFile, actor: str = OWNER, exported: tuple[str, ...] = ()
) -> ImportPlan:
    """Plan the import of pages."""
    with engine.reading() as reader:
        who = load_viewer(reader, actor)
    return plan_import(engine.memory, who, pages, exported, by=Context(actor=actor))


def imported(engine: Engine, *pages: PageFile, actor: str = OWNER) -> list[AppliedChange]:
    """Import pages."""
    changes = planned(engine, *pages, actor=actor).changes
    with engine.reading() as reader:
        who = load_viewer(reader, actor)
    by = Context(actor=actor)
    return [apply_change(engine.memory, engine, who, each, by=by) for each in changes]


def kept(done: AppliedChange) -> PageFile:
    """The page of an imported item, as it is written back."""
    return PageFile(done.change.name, render_page(done.sheet))


def number(engine: Engine) -> int:
    """How many items there are."""
    with engine.reading() as reader:
        return count_items(reader, load_viewer(reader, OWNER))


# -- who sees nothing ------------------------------------------------------------------------------


def test_a_page_imported_by_a_stranger_gets_its_id(engine: Engine) -> None:
    (done,) = imported(engine, PageFile("a.md", f"{SHED}\n"), actor="agent:cli")
    item = engine.memory.find(OWNER, done.sheet.id)
    assert (item.text, item.author) == (SHED, "agent:cli")
    assert done.sheet == page_content(item)


@pytest.mark.parametrize("front", ["", "---\nsignificance: 3\nwitnesses: [ada]\n---\n"])
def test_a_second_import_by_a_stranger_changes_nothing(engine: Engine, front: str) -> None:
    (done,) = imported(engine, PageFile("a.md", f"{front}{SHED}\n"), actor="agent:cli")
    head = engine.log.head
    again = planned(engine, kept(done), actor="agent:cli", exported=(done.sheet.id,))
    assert (again.changes, again.troubles, again.deleted, again.unchanged) == ((), (), (), 1)
    assert engine.log.head == head


def test_an_import_reveals_no_hidden_items_to_a_stranger(engine: Engine) -> None:
    engine.do(RememberItem("m-1", SHED))
    known = planned(engine, PageFile("a.md", f"{SHED}\n"), actor="agent:cli")
    unknown = planned(engine, PageFile("a.md", f"{BEES}\n"), actor="agent:cli")
    assert [each.action for each in known.changes] == [each.action for each in unknown.changes]


def test_a_stranger_cannot_tell_whether_the_item_of_a_page_exists(engine: Engine) -> None:
    engine.do(RememberItem("m-1", SHED))
    there = page_content(engine.memory.find(OWNER, "m-1"))
    pages = [render_page(there), render_page(msgspec.structs.replace(there, id="m-2"))]
    as_they_were = [planned(engine, PageFile("a.md", each), actor="agent:cli") for each in pages]
    assert as_they_were == [ImportPlan((), (), (), 1)] * 2
    edited = [PageFile("a.md", each.replace("leaks", "leaked")) for each in pages]
    (one,), (other,) = (planned(engine, each, actor="agent:cli").troubles for each in edited)
    assert one.problem.replace("m-1", "m-2") == other.problem
    assert one.hint == other.hint


def test_the_owner_learns_that_the_item_of_a_page_does_not_exist(engine: Engine) -> None:
    engine.do(RememberItem("m-1", SHED))
    there = render_page(page_content(engine.memory.find(OWNER, "m-1")))
    foreign = render_page(msgspec.structs.replace(parse_page(there), id="m-2"))
    assert "no item" in planned(engine, PageFile("a.md", foreign)).troubles[0].problem


def test_an_edit_that_hides_the_item_from_its_editor_is_applied(engine: Engine) -> None:
    engine.do(GrantAudience("agent:cli", ("user",)))
    (done,) = imported(engine, PageFile("a.md", f"{SHED}\n"), actor="agent:cli")
    moved = PageFile("a.md", kept(done).content.replace("scope: user", "scope: project:x"))
    (after,) = imported(engine, moved, actor="agent:cli")
    assert engine.memory.find(OWNER, done.sheet.id).scope == "project:x"
    assert planned(engine, kept(after), actor="agent:cli").unchanged == 1
    assert planned(engine, kept(after)).unchanged == 1


def test_an_unedited_page_is_recognised_by_its_own_digest(engine: Engine) -> None:
    (done,) = imported(engine, PageFile("a.md", f"{SHED}\n"))
    page = kept(done).content
    assert is_unedited(parse_page(page))
    assert is_unedited(parse_page(page.replace("\n", "\r\n")))
    assert not is_unedited(parse_page(page.replace("leaks", "leaked")))
    assert not is_unedited(parse_page(SHED))


# -- what an import left behind --------------------------------------------------------------------


def test_a_page_of_an_interrupted_import_gets_its_id(engine: Engine) -> None:
    new = [PageFile("a.md", f"{SHED}\n"), PageFile("b.md", f"{BEES}\r\n\r\n")]
    first = imported(engine, *new)
    head = engine.log.head
    again = imported(engine, *new)
    assert [each.change.action for each in again] == ["adopt", "adopt"]
    assert [each.sheet for each in again] == [each.sheet for each in first]
    assert engine.log.head == head
    assert planned(engine, *map(kept, again)).unchanged == 2


def test_a_mark_missing_after_an_interrupted_import_is_recorded(engine: Engine) -> None:
    engine.do(RememberItem("m-1", SHED, learned_via="imported"))
    page = PageFile("a.md", f"---\nsignificance: 2\npinned: true\n---\n{SHED}\n")
    (done,) = imported(engine, page)
    item = engine.memory.find(OWNER, "m-1")
    assert (done.change.action, item.significance, item.pinned) == ("adopt", 2, True)
    assert planned(engine, kept(done)).changes == ()


def test_duplicate_items_get_a_page_each_and_a_third_page_is_refused(engine: Engine) -> None:
    for name in ("m-1", "m-2"):
        engine.do(RememberItem(name, SHED))
    found = planned(engine, *(PageFile(f"{name}.md", f"{SHED}\n") for name in "abc"))
    assert [(each.name, each.item_id) for each in found.changes] == [
        ("a.md", "m-1"),
        ("b.md", "m-2"),
    ]
    assert [each.name for each in found.troubles] == ["c.md"]


@pytest.mark.parametrize(
    "front",
    ["scope: project:x", "witnesses: [ada]", "kind: rule", "title: Other", "host: elsewhere"],
)
def test_only_items_with_the_same_text_and_audience_are_adopted(engine: Engine, front: str) -> None:
    engine.do(RememberItem("m-1", SHED))
    found = planned(engine, PageFile("a.md", f"---\n{front}\n---\n{SHED}\n"))
    assert "adopt" not in {each.action for each in found.changes}
    held = RememberItem("m-2", BEES, scope="project:x", witnesses=("ada",))
    engine.do(held)
    assert planned(engine, PageFile("b.md", f"{BEES}\n")).changes[0].action == "new"


def test_an_item_that_has_a_page_or_may_have_one_is_not_adopted(engine: Engine) -> None:
    engine.do(RememberItem("m-1", SHED))
    page = PageFile("a.md", render_page(page_content(engine.memory.find(OWNER, "m-1"))))
    copy, broken = (
        PageFile("b.md", f"{SHED}\n"),
        PageFile("c.md", problem="it is a link", hint="Copy it."),
    )
    assert planned(engine, page, copy).changes == ()
    assert planned(engine, broken, copy, exported=("m-1",)).changes == ()
    assert [each.item_id for each in planned(engine, copy, exported=("m-1",)).changes] == ["m-1"]
    assert planned(engine, copy, exported=("m-1",)).deleted == ()


def test_a_retired_item_stays_so(engine: Engine) -> None:
    engine.do(RememberItem("m-1", SHED))
    engine.do(RetireItem("m-1"))
    (done,) = imported(engine, PageFile("a.md", f"{SHED}\n"))
    assert done.change.action == "new"


def test_a_revision_during_an_import_is_not_lost(engine: Engine) -> None:
    engine.do(RememberItem("m-1", SHED))
    with engine.reading() as reader:
        who = load_viewer(reader, OWNER)
    page = page_content(engine.memory.find(OWNER, "m-1"))
    edited = msgspec.structs.replace(page, text="The shed is red.")
    change = PageChange("edit", "a.md", "m-1", "", ("text",), page_digest(page), edited)

    def late(command: Command, *, by: Context) -> Receipt:
        engine.do(ReviseItem("m-1", text="The shed is green."))
        return engine.do(command, by=by)

    with pytest.raises(Conflict, match="changed since"):
        apply_change(engine.memory, FunctionBus(late), who, change, by=Context())
    assert engine.memory.find(OWNER, "m-1").text == "The shed is green."


def test_an_item_that_changed_after_the_preview_is_not_adopted(engine: Engine) -> None:
    engine.do(RememberItem("m-1", SHED))
    found = planned(engine, PageFile("a.md", f"{SHED}\n"))
    engine.do(RateItem("m-1", 1))
    with engine.reading() as reader:
        who = load_viewer(reader, OWNER)
    with pytest.raises(Conflict, match="meanwhile"):
        apply_change(engine.memory, engine, who, found.changes[0], by=Context())
    assert number(engine) == 1
