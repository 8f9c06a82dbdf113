"""A server with a year of demo data, and helpers to find items in it."""

import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

from playwright.sync_api import Page
from tests.web.conftest import Visit
from tests.web.servers import Server, start_server

from everloop.adapters.system import SystemClock
from everloop.memory.browse.queries import page_by_time as items_page
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Filter, load_viewer
from everloop.testing.model import Script


@contextmanager
def start_demo_server(
    demo_home: Path, folder: Path, answers: Iterable[Script] = ()
) -> Generator[Server]:
    """Serve a copy of the demo data."""
    home = folder / "copy"
    shutil.copytree(demo_home, home)
    with start_server(home, answers) as server:
        yield server


def open_page(
    server: Server, visit: Visit, path: str, *, dark: bool = False, **options: object
) -> Page:
    """Sign a device in and go to a page_by_time."""
    page_by_time = visit(server.link(), dark=dark, **options)
    page_by_time.get_by_label("Write a message").wait_for()
    page_by_time.goto(server.address + path)
    return page_by_time


def demo_day(days_ago: int) -> date:
    """A day of the demo year, which ends today."""
    return SystemClock().now().date() - timedelta(days=days_ago)


def find_memory(server: Server, words: str) -> str:
    """The id of the memory that contains these words."""
    with server.engine.reading() as reader:
        who, only = load_viewer(reader, OWNER), Filter(kinds=("fact",), retired=True)
        found, _ = items_page(reader, who, only, pinned=False, limit=500)
    return next(item.item_id for item in found if words in item.text)


def find_lesson(server: Server, words: str) -> str:
    """The id of the lesson with these words in its title."""
    found = server.engine.lessons.page(OWNER, (), limit=100, offset=0).lessons
    return next(lesson.lesson_id for lesson in found if words in lesson.description)
