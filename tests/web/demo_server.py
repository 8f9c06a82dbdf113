"""A house with a year in it, and what its visitors look for."""

import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page
from tests.web.conftest import Visit
from tests.web.servers import House, house

from everloop.memory.browse.queries import page_by_time as items_page
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Filter, load_viewer
from everloop.testing.model import Script


@contextmanager
def demo_house(year: Path, folder: Path, answers: Iterable[Script] = ()) -> Generator[House]:
    """Open a copy of the year."""
    home = folder / "visited"
    shutil.copytree(year, home)
    with house(home, answers) as opened:
        yield opened


def enter(home: House, visit: Visit, path: str, *, dark: bool = False, **options: object) -> Page:
    """Sign a device in and go to a page."""
    page = visit(home.link(), dark=dark, **options)
    page.get_by_label("Write a message").wait_for()
    page.goto(home.address + path)
    return page


def item_saying(home: House, words: str) -> str:
    """The id of the fact that has these words."""
    with home.engine.reading() as reader:
        who, only = load_viewer(reader, OWNER), Filter(kinds=("fact",), retired=True)
        found, _ = items_page(reader, who, only, pinned=False, limit=500)
    return next(item.item_id for item in found if words in item.text)


def lesson_called(home: House, words: str) -> str:
    """The id of the lesson that is called so."""
    found = home.engine.lessons.page(OWNER, (), limit=100, offset=0).lessons
    return next(lesson.lesson_id for lesson in found if words in lesson.description)
