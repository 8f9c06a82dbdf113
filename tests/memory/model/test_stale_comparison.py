"""Two processes store the same text at the same time."""

import threading
from pathlib import Path

from everloop.app import Engine
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.memory.service import RememberResult
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

SETTINGS = Settings(memory=MemorySettings(embedder="none"))


def test_the_same_text_from_two_processes_at_once_is_stored_once(tmp_path: Path) -> None:
    with (
        Engine.open(tmp_path, settings=SETTINGS) as one,
        Engine.open(tmp_path, settings=SETTINGS) as two,
    ):
        for number in range(10):
            told: list[RememberResult] = []
            both = threading.Barrier(2)

            def say(engine: Engine) -> None:
                new = RememberItem("", f"The window of room {number} faces the sea.")  # noqa: B023
                both.wait()  # noqa: B023
                told.append(engine.memory.remember(new, by=Context()))  # noqa: B023

            threads = [threading.Thread(target=say, args=(engine,)) for engine in (one, two)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(kept.new for kept in told) == [False, True]
            assert len({kept.item_id for kept in told}) == 1
