"""After a turn, what was said has its significance; also beside other writers."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.thread.fixtures import Parlour, parlour

from everloop.app import USER, Engine
from everloop.errors import NotFound
from everloop.memory.model.commands import RateItem
from everloop.memory.model.events import Rated
from everloop.ports import Model, Params, Prompt, Stream
from everloop.services import Services
from everloop.settings import Settings
from everloop.testing.model import ScriptedModel
from everloop.thread.message_significance import RateMessagesTask
from everloop.thread.model.commands import HOME
from everloop.thread.service import OutgoingMessage

WRITER = """
import sys
from everloop.app import Engine
from everloop.memory.model.commands import RememberItem
with Engine.open(sys.argv[1]) as engine:
    for number in range(60):
        engine.do(RememberItem(f"mem-other-{number}", f"Fact {number} of another process."))
print("written")
"""
RATED = '{"message": 1, "answer": 0}'


def rating(talking: Parlour, model: Model | None = None) -> RateMessagesTask:
    engine = talking.engine
    return RateMessagesTask(engine.log, engine, engine.ports.clock, lambda: model)


def significance(talking: Parlour, message_id: str) -> tuple[int, bool]:
    item = talking.engine.memory.find("user", message_id)
    return item.significance, item.pinned


def test_a_pivotal_message_is_rated_and_pinned_by_itself(tmp_path: Path) -> None:
    with parlour(tmp_path, ["I am so sorry.", "It is."]) as talking:
        sent = talking.say("My father died on Sunday.")
        talking.until_ended(sent.turn_id)
        small = talking.say("Nice weather.")
        talking.until_ended(small.turn_id)
        talking.remembered()
        assert rating(talking).rate() == 2
        assert significance(talking, sent.message_id) == (3, True)
        assert significance(talking, talking.answer(sent).message_id) == (0, False)
        assert significance(talking, small.message_id) == (0, False)
        assert rating(talking).rate() == 0


def test_a_rating_of_the_model_wins_over_rules_and_one_of_the_person_over_both(
    tmp_path: Path,
) -> None:
    with parlour(tmp_path, ["I see.", "I see."]) as talking:
        mine, other = talking.say("My father died."), talking.say("I live in Bonn.")
        talking.until_ended(other.turn_id)
        talking.remembered()
        talking.engine.do(RateItem(mine.message_id, 1), by=USER)
        assert rating(talking, ScriptedModel(['{"message": 2, "answer": 1}'])).rate() == 1
        assert significance(talking, mine.message_id) == (1, False)
        assert significance(talking, other.message_id) == (2, False)


def test_a_rating_goes_with_its_message(tmp_path: Path) -> None:
    with parlour(tmp_path, ["I see."]) as talking:
        sent = talking.say("My father died.")
        talking.until_ended(sent.turn_id)
        talking.remembered()
        rating(talking).rate()
        talking.talk.retract(sent.message_id, "a slip", USER)
        assert rating(talking).rate() == 0
        with pytest.raises(NotFound):
            significance(talking, sent.message_id)


@pytest.mark.promise("P-THREAD-3")
def test_four_turns_beside_a_second_writing_process_get_every_vector_and_rating(
    tmp_path: Path,
) -> None:
    settings = Settings()
    model = _Talker()
    with Engine.open(tmp_path, settings=settings) as engine:
        begun = engine.log.head
        with Services(engine, settings, model) as running:
            other = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
            )
            said = [
                running.talk.send(HOME, OutgoingMessage(f"I live at number {n}."), USER)
                for n in range(4)
            ]
            assert other.communicate(timeout=300)[0] == "written\n"
            rated = _rated(engine, begun, 8)
            assert running.embedding is not None
            running.embedding.idle.wait(120)
            engine.memory.embed_missing()
            assert engine.memory.embed_missing() == 0
        with engine.reading() as reader:
            turns = [running.talk.open_turns(HOME)]
            failed = reader.rows("SELECT count(*) FROM thread_turns WHERE phase = 'failed'")
    assert turns == [[]]
    assert failed == [(0,)]
    assert {one.message_id for one in said} <= rated
    assert len(rated) == 8


class _Talker:
    """A model that answers in words, and rates where it is asked for JSON."""

    name = "talker"

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        text = RATED if prompt.schema is not None else "I see."
        return ScriptedModel([text]).generate(prompt, params)


def _rated(engine: Engine, after: int, count: int) -> set[str]:
    """The items that were rated; waits for so many."""
    found: set[str] = set()
    stop = threading.Event()
    guard = threading.Timer(240, stop.set)
    guard.start()
    for fact in engine.log.follow(after=after, stop=stop):
        if isinstance(fact.event, Rated):
            found.add(fact.event.item_id)
        if len(found) == count:
            break
    guard.cancel()
    return found
