"""Imports into worlds as jobs: with progress, in the background, and after an interruption."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.worlds.exchange.samples import V2, chat_file, encode, message, png_card

from everloop.app import USER, Engine
from everloop.background.jobs import Cancelled
from everloop.errors import Conflict, Invalid
from everloop.import_jobs import WorldImportJobs
from everloop.worlds import ExchangeLimits, ImportChoices, list_worlds, story_messages
from everloop.worlds.queries import unread_replies

MANY = [
    message(number, swipes=["no", f"Message {number} of Ada."], swipe_id=1) for number in range(250)
]


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    with Engine.open(tmp_path / "home") as opened:
        yield opened


def test_an_upload_is_imported_in_the_background(engine: Engine) -> None:
    jobs = WorldImportJobs(engine, ExchangeLimits())
    jobs.start()
    try:
        path = jobs.upload_path("ada.png")
        path.write_bytes(png_card({"chara": V2}))
        job = jobs.submit_upload(path, ImportChoices(), USER)
        assert len(job.outcome().characters) == 1
        assert (job.status().kind, job.status().unit) == ("world-import", "bytes")
        bad = jobs.upload_path("bad.json")
        bad.write_bytes(b"{}")
        with pytest.raises(Invalid):
            jobs.submit_upload(bad, ImportChoices(), USER)
    finally:
        jobs.stop()


def test_a_chat_reports_progress_and_goes_on_after_an_interruption(
    engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(chat_file(MANY))
    jobs = WorldImportJobs(engine, ExchangeLimits())
    seen: list[int] = []

    def interrupt(done: int, total: int) -> None:
        seen.append(done)
        assert done <= total
        if 0 < done < total:
            raise Cancelled

    with pytest.raises(Conflict):
        jobs.import_path(path, ImportChoices(), USER, interrupt)
    with engine.reading() as reader:
        (begun,) = list_worlds(reader)
        assert len(story_messages(reader, begun.world_id, limit=1_000)) == ExchangeLimits().batch
    done = jobs.import_path(path, ImportChoices(), USER, None)
    with engine.reading() as reader:
        said = story_messages(reader, done.worlds[0], limit=1_000)
    assert [one.text for one in said] == [line["mes"] for line in MANY]
    assert len(seen) > 1


def test_imported_replies_are_not_read_for_effects_one_by_one(
    engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(chat_file(MANY))
    WorldImportJobs(engine, ExchangeLimits()).import_path(path, ImportChoices(), USER, None)
    with engine.reading() as reader:
        assert unread_replies(reader) == []


def test_a_cast_chosen_for_all_groups_counts_for_each(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "crew.jsonl"
    lines = [message(number, name=name) for number, name in enumerate(("Ada", "Bo", "Cleo"))]
    path.write_bytes(chat_file(lines))
    jobs = WorldImportJobs(engine, ExchangeLimits())
    chosen = ImportChoices({"": ("Ada", "Cleo")})
    done = jobs.import_path(path, chosen, USER, None)
    assert sorted(engine.worlds.world(done.worlds[0]).cast.values()) == ["Ada", "Cleo"]
    assert encode(done)
