"""What the player changes while a turn is read: nothing is made of what was there before."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.worlds.stage import Stage, stage

from everloop.app import USER
from everloop.log import Command, Context, Receipt
from everloop.testing.model import ScriptedModel
from everloop.worlds import CorrectWitnesses, WorldService

LINE = "The zephyr is hidden in the mill."
WITH_IT = {"gist": "Robin told everyone of the zephyr.", "significance": 1}
WITHOUT_IT = {"gist": "They talked for a while."}


def change(play: Stage, worlds: WorldService, way: str) -> None:
    """The line with the secret counts no more, or not for Ben."""
    match way:
        case "edit":
            worlds.edit(play.id, "m1", "The weather is fine in the mill.", USER)
        case "hide":
            worlds.hide(play.id, "m1", USER)
        case _:
            worlds.correct_witnesses(CorrectWitnesses(play.id, "m1", ("you", play.ada)), USER)


def remembered(play: Stage, who: str) -> str:
    return "\n".join(one.text for one in play.worlds.memories.of(play.id, who))


@pytest.mark.promise("P-WORLD-2")
@pytest.mark.parametrize("way", ["edit", "hide", "witnesses"])
def test_a_line_that_is_changed_while_it_is_read_is_read_again(tmp_path: Path, way: str) -> None:
    with stage(tmp_path, ["I see."]) as play:
        play.say(LINE, message_id="m1")

        def answers() -> Iterator[str]:
            change(play, play.worlds, way)
            yield json.dumps(WITH_IT)
            while True:
                yield json.dumps(WITHOUT_IT)

        effects = play.effects(WITH_IT)
        play.reader = ScriptedModel(answers())
        effects.catch_up()
        assert "zephyr" not in remembered(play, play.ben)
        assert "They talked for a while." in remembered(play, play.ben)
        assert ("zephyr" in remembered(play, play.ada)) is (way == "witnesses")


class ReadsFirst:
    """A bus on which a turn is read just before a command is carried out."""

    def __init__(self, play: Stage) -> None:
        self._play = play

    def do(
        self,
        command: Command,
        *,
        by: Context,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        self._play.read(WITH_IT)
        return self._play.engine.do(command, by=by, branch=branch, request_id=request_id)

    def do_many(self, commands: Sequence[Command], *, by: Context) -> list[Receipt]:
        return self._play.engine.do_many(commands, by=by)

    def do_each(self, asked: Sequence[tuple[Command, Context]]) -> list[Receipt]:
        return self._play.engine.do_each(asked)


@pytest.mark.promise("P-WORLD-2")
@pytest.mark.parametrize("way", ["edit", "hide", "witnesses"])
def test_memories_of_a_line_that_changed_meanwhile_are_undone(tmp_path: Path, way: str) -> None:
    with stage(tmp_path, ["I see."]) as play:
        play.say(LINE, message_id="m1")
        engine, rules = play.engine, play.worlds.settings
        worlds = WorldService(engine.log, ReadsFirst(play), lambda: engine.memory, rules)
        change(play, worlds, way)
        assert not play.worlds.memories.of(play.id)
        play.read(WITHOUT_IT, WITHOUT_IT)
        assert "zephyr" not in remembered(play, play.ben)


@pytest.mark.promise("P-WORLD-2")
def test_nothing_is_made_of_a_hidden_reply_that_follows_a_hidden_line(tmp_path: Path) -> None:
    with stage(tmp_path, ["The zephyr, you say."]) as play:
        reply = play.say(LINE, message_id="m1")
        for message_id in ("m1", reply.message_id):
            play.worlds.hide(play.id, message_id, USER)
        play.read(WITH_IT)
        assert not play.worlds.memories.of(play.id)
        play.worlds.unhide(play.id, reply.message_id, USER)
        play.read(WITHOUT_IT)
        assert remembered(play, play.ben) == "They talked for a while."
