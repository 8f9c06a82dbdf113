"""Damaged or missing views: nothing is lost, and the next step is printed."""

from pathlib import Path

import apsw
import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.app import Engine
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.memory.projections.fts_index import closes_group
from everloop.settings import Settings

WANTED = "The windmill is in Kestrelford"


@pytest.fixture
def memory(tmp_path: Path) -> CommandLine:
    """Enough memories that some are in the text index; no embedder."""
    settings = Settings(home=str(tmp_path))
    with Engine.open(settings=settings) as engine:
        position = engine.do(RememberItem("wanted", WANTED), by=Context()).position
        while not closes_group(position):
            some = RememberItem(f"box-{position}", f"The box {position} is in the attic.")
            position = engine.do(some, by=Context()).position
    return CommandLine(tmp_path, {"EVERLOOP_MEMORY_EMBEDDER": "none"})


def hurt(memory: CommandLine, sql: str) -> None:
    """Change the database in a way that Everloop never does."""
    db = apsw.Connection(str(memory.home / "everloop.db"))
    db.execute(sql)
    db.close()


def test_a_damaged_text_index_is_rebuilt_without_a_backup(
    memory: CommandLine,
) -> None:
    hurt(memory, "UPDATE memory_words_data SET block = zeroblob(9) WHERE id > 10")
    refused = memory.typed("recall", "windmill")
    assert refused.code == 70
    assert "everloop rebuild" in refused.err
    assert "restore" not in refused.err
    found = memory.typed("verify")
    assert found.code == 70
    assert "everloop rebuild" in found.out
    assert "restore" not in found.out
    assert "everloop rebuild" in memory.typed("doctor").out
    assert memory.typed("rebuild").code == 0
    assert WANTED in memory.typed("recall", "windmill").out
    assert memory.typed("verify").code == 0


@pytest.mark.parametrize("table", ["memory_words", "memory_versions", "memory_passages"])
def test_a_view_with_a_missing_table_is_rebuilt_when_the_log_is_opened(
    memory: CommandLine, table: str
) -> None:
    before = memory.typed("recall", "windmill").out
    hurt(memory, f"DROP TABLE {table}")
    assert WANTED in before
    assert WANTED in memory.typed("recall", "windmill").out
    assert memory.typed("remember", "Another thing").code == 0
