"""Memories as a folder of Markdown: export, edit, import."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine


@pytest.fixture
def memory(everloop: CommandLine) -> CommandLine:
    """Two memories, and no embedder."""
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    everloop.typed("remember", "The shed leaks near the chimney", "--title", "Shed")
    everloop.typed("remember", "Bees live behind the barn", "--title", "Bees")
    return everloop


@pytest.fixture
def pages(memory: CommandLine, tmp_path: Path) -> Path:
    """The folder of exported memories."""
    folder = tmp_path / "pages"
    assert memory.typed("memories", "export", str(folder)).code == 0
    return folder


def edit(folder: Path, start: str, old: str, new: str) -> Path:
    """Replace text in the page whose name starts with this."""
    (page,) = folder.glob(f"{start}*.md")
    page.write_text(page.read_text().replace(old, new))
    return page


def test_an_export_is_readable_and_importing_it_changes_nothing(
    memory: CommandLine, pages: Path
) -> None:
    assert sorted(page.name[:5] for page in pages.glob("*.md")) == ["bees-", "shed-"]
    before = memory.typed("log", "tail", "--json").out
    answer = memory.typed("memories", "import", str(pages))
    assert answer.code == 0
    assert "Nothing to import" in answer.out
    assert memory.typed("log", "tail", "--json").out == before


def test_an_edit_is_previewed_confirmed_and_imported_once(memory: CommandLine, pages: Path) -> None:
    edit(pages, "shed", "leaks", "leaked")
    assert "text" in memory.typed("memories", "import", str(pages), "--preview").out
    assert memory.typed("memories", "import", str(pages), answers="n\n").code == 1
    answer = memory.typed("memories", "import", str(pages), answers="y\n")
    assert "Make 1 change?" in answer.err
    assert "To undo: everloop log retract 3" in answer.out
    assert memory.typed("memories", "import", str(pages), "--json").document["changes"] == []
    assert "leaked" in memory.typed("recall", "shed").out


def test_an_import_without_a_terminal_needs_yes(memory: CommandLine, pages: Path) -> None:
    memory.typed("grants", "allow", "agent:cli", "*")
    memory("remember", "Frogs sing in the pond", "--title", "Frogs")
    memory.typed("memories", "export", str(pages))
    edit(pages, "frogs", "sing", "sang")
    assert memory("memories", "import", str(pages)).code == 2
    done = memory("memories", "import", str(pages), "--yes", "--json").document
    assert [each["action"] for each in done["applied"]] == ["edit"]


def test_an_agents_edit_of_a_user_memory_is_refused_and_reported(
    memory: CommandLine, pages: Path
) -> None:
    memory.typed("grants", "allow", "agent:cli", "*")
    page = edit(pages, "shed", "leaks", "leaked")
    answer = memory("memories", "import", str(pages), "--yes", "--json")
    assert answer.document["applied"] == []
    assert answer.document["troubles"][0]["name"] == page.name
    assert answer.code == 2


def test_a_new_page_gets_an_id(memory: CommandLine, pages: Path) -> None:
    page = pages / "key.md"
    page.write_text("The neighbour has our spare key.\n")
    done = memory.typed("memories", "import", str(pages), "--yes", "--json").document
    (new,) = done["applied"]
    assert f"id: {new['item_id']}" in page.read_text()
    assert memory.typed("memories", "import", str(pages), "--json").document["changes"] == []
    edit(pages, "key", "spare", "only")
    again = memory.typed("memories", "import", str(pages), "--yes", "--json").document
    (change,) = again["changes"]
    assert (change["action"], change["item_id"]) == ("edit", new["item_id"])


def test_deleted_pages_are_reported_and_retired_only_when_pruning(
    memory: CommandLine, pages: Path
) -> None:
    next(pages.glob("bees*.md")).unlink()
    answer = memory.typed("memories", "import", str(pages))
    assert "1 file was deleted" in answer.out
    assert memory.typed("memories", "--json").document["number"] == 2
    assert memory.typed("memories", "import", str(pages), "--prune", answers="n\n").code == 1
    assert memory.typed("memories", "import", str(pages), "--prune", answers="y\n").code == 0
    assert memory.typed("memories", "--json").document["number"] == 1
    assert memory.typed("memories", "import", str(pages), "--json").document["deleted"] == []


def test_conflicts_and_mistakes_are_reported_and_the_rest_is_imported(
    memory: CommandLine, pages: Path
) -> None:
    shed = edit(pages, "shed", "leaks", "leaked").name
    edit(pages, "bees", "significance: 0", "significance: 2")
    (item,) = memory.typed("recall", "shed", "-k", "1", "--json").document["hits"]
    memory.typed("revise", item["item"]["item_id"], "--text", "The shed was mended")
    (pages / "bad.md").write_text("---\ncolour: red\n---\nx\n")
    answer = memory.typed("memories", "import", str(pages), "--yes")
    assert answer.code == 4
    assert shed in answer.out
    assert "line 2: there is no field 'colour'" in answer.out
    assert "Done: 1 change" in answer.out
    (pages / shed).unlink()
    assert memory.typed("memories", "import", str(pages)).code == 2


def test_an_export_updates_all_pages_except_edited_ones(memory: CommandLine, pages: Path) -> None:
    edit(pages, "shed", "leaks", "leaked")
    (item,) = memory.typed("recall", "bees", "-k", "1", "--json").document["hits"]
    memory.typed("rate", item["item"]["item_id"], "2")
    done = memory.typed("memories", "export", str(pages), "--json").document
    assert [name[:5] for name in done["written"]] == ["bees-"]
    assert "edited" in done["troubles"][0]["problem"]
    assert "leaked" in next(pages.glob("shed*.md")).read_text()
    assert "not overwritten" in memory.typed("memories", "export", str(pages)).out


def test_a_missing_folder_is_not_found(memory: CommandLine, tmp_path: Path) -> None:
    assert memory.typed("memories", "import", str(tmp_path / "nowhere")).code == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: Shed", 'title: "Shed'),
        ("---\nid", "id"),
        ("---\n\n", "\n"),
        ("The shed", "\udce4"),
    ],
)
def test_an_export_reports_an_unreadable_page_and_does_not_overwrite_it(
    memory: CommandLine, pages: Path, old: str, new: str
) -> None:
    (page,) = pages.glob("shed*.md")
    broken = page.read_text().replace(old, new).encode(errors="surrogateescape")
    assert broken != page.read_bytes()
    page.write_bytes(broken)
    answer = memory.typed("memories", "export", str(pages))
    assert "1 file not written:" in answer.out
    assert page.name in answer.out
    assert "so it was not overwritten" in answer.out
    assert page.read_bytes() == broken
    assert len(list(pages.glob("*.md"))) == 2
