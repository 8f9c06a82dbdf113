"""Feedback: what a person says right after an answer is weighed, and holds up nothing."""

from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from tests.thread.fixtures import PLAIN, Parlour, parlour

from everloop.app import USER
from everloop.lessons.feedback.events import Opinion, Reading, TurnWeighed
from everloop.lessons.model.commands import ActivateLesson, ProposeLesson
from everloop.lessons.model.events import FeedbackGiven
from everloop.log import Context
from everloop.log.model.record import fact_of
from everloop.testing.model import ScriptedModel
from everloop.thread.feedback import FeedbackTask, feedback_input
from everloop.thread.service import SentMessage
from everloop.usage.events import ModelCalled

WORDS = "No, that's wrong. `les-1` was a bad idea."


@pytest.fixture
def talking(tmp_path: Path) -> Generator[Parlour]:
    with parlour(tmp_path, ["I asked first.", "Sorry.", "Well."], settings=PLAIN) as opened:
        by = Context(actor="agent:x", session="s")
        opened.engine.do(ProposeLesson("les-1", "Ask first", "Ask before you plant."), by=by)
        opened.engine.do(ActivateLesson("les-1"))
        yield opened


def blamed() -> str:
    opinion = Opinion("les-1", "negative", 0.95, "that's wrong")
    return msgspec.json.encode(Reading((opinion,))).decode()


def said(talking: Parlour, *texts: str) -> list[SentMessage]:
    sent: list[SentMessage] = []
    for text in texts:
        sent.append(talking.say(text))
        talking.until_ended(sent[-1].turn_id)
    return sent


def feedback_of(talking: Parlour) -> list[str]:
    return [one.kind for one in talking.engine.log.records() if one.kind == FeedbackGiven.wire]


def test_a_message_after_an_answer_is_checked_with_the_lessons_the_answer_was_shown(
    talking: Parlour,
) -> None:
    first, second = said(talking, "Plant it.", WORDS)
    with talking.engine.reading() as reader:
        assert feedback_input(reader, first.message_id) is None
        heard = feedback_input(reader, second.message_id)
    assert heard is not None
    thread_id, words = heard
    assert (thread_id, words.text) == ("home", WORDS)
    assert [lesson.lesson_id for lesson in words.shown] == ["les-1"]
    assert [turn.text for turn in words.before] == ["Plant it.", "I asked first."]


def test_blame_becomes_feedback_once(talking: Parlour) -> None:
    _, second = said(talking, "Plant it.", WORDS)
    model = ScriptedModel([blamed()])
    feedback = FeedbackTask(talking.engine.log, lambda: talking.engine.listener(model))
    feedback.detect_feedback(second.message_id)
    feedback.detect_feedback(second.message_id)
    assert len(model.calls) == 1
    assert len(feedback_of(talking)) == 1
    calls = [one.data for one in talking.engine.log.records() if one.kind == ModelCalled.wire]
    assert '"purpose":"feedback"' in str(calls[-1])


def test_feedback_counts_as_the_users_and_is_deleted_with_the_message(talking: Parlour) -> None:
    _, second = said(talking, "Plant it.", WORDS)
    model = ScriptedModel([blamed()])
    feedback = FeedbackTask(talking.engine.log, lambda: talking.engine.listener(model))
    feedback.detect_feedback(second.message_id)
    facts = [fact_of(one) for one in talking.engine.log.records()]
    (weighed,) = [one for one in facts if isinstance(one.event, TurnWeighed)]
    (given,) = [one for one in facts if isinstance(one.event, FeedbackGiven)]
    assert (weighed.actor, given.actor) == ("user", "user")
    assert isinstance(given.event, FeedbackGiven)
    assert not given.event.relayed
    assert _thumbs_down(talking) == 1
    talking.talk.retract(second.message_id, "a slip", USER)
    assert _thumbs_down(talking) == 0
    feedback.detect_feedback(second.message_id)
    assert len(model.calls) == 1


def test_an_agents_message_does_not_count_as_user_feedback(talking: Parlour) -> None:
    said(talking, "Plant it.")
    by_agent = talking.say(WORDS, by=Context(actor="agent:x", session="s"))
    talking.until_ended(by_agent.turn_id)
    with talking.engine.reading() as reader:
        assert feedback_input(reader, by_agent.message_id) is None


def _thumbs_down(talking: Parlour) -> int:
    return talking.engine.lessons.find("user", "les-1").thumbs_down


def test_feedback_is_detected_in_the_background_and_an_unavailable_model_does_no_harm(
    talking: Parlour,
) -> None:
    model = ScriptedModel([blamed()])
    feedback = FeedbackTask(talking.engine.log, lambda: talking.engine.listener(model))
    feedback.start()
    said(talking, "Plant it.", WORDS)
    for fact in talking.engine.follow():
        if isinstance(fact.event, TurnWeighed):
            break
    said(talking, "No, that's wrong again.")
    feedback.stop()
    assert feedback.problem is None


def test_a_deleted_message_gives_no_feedback(talking: Parlour) -> None:
    _, second = said(talking, "Plant it.", WORDS)
    talking.talk.retract(second.message_id, "a slip", USER)
    model = ScriptedModel([blamed()])
    FeedbackTask(talking.engine.log, lambda: talking.engine.listener(model)).detect_feedback(
        second.message_id
    )
    assert model.calls == []
