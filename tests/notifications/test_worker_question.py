"""A question of an agent in a process of its own: in the inbox, and pushed to each device."""

from pathlib import Path

from tests.notifications.fake_push_service import fake_push_service
from tests.workers.test_acp import agent, hire

from everloop.adapters.notifications.web_push import WebPush
from everloop.app import USER
from everloop.inbox import QuestionAnswer
from everloop.notifications import (
    NotificationService,
    NotificationSettings,
    NotificationTask,
    Subscribe,
)

FORM = {"colour": {"type": "string", "title": "Colour", "enum": ["Red", "Blue"]}}


def test_a_question_of_a_worker_is_pushed_to_each_device_once(tmp_path: Path) -> None:
    """Also to the phone while the laptop has the inbox open and has read it."""
    with fake_push_service() as fake, agent(tmp_path, [{"ask": FORM}, {"say": "Done."}]) as work:
        engine, settings = work.engine, NotificationSettings()
        push = WebPush(tmp_path, settings.contact)
        service = NotificationService(engine.log, engine, settings, push)
        clock = work.stage.clock
        notifications = NotificationTask(engine.log, engine.inbox, service, clock, settings)
        for device in ("laptop", "phone"):
            keys = fake.subscription(f"/{device}")
            service.subscribe(Subscribe(device, **keys, groups=("needs_you",)), USER)
        name = hire(work)
        work.until(name, "waiting")
        (request,) = work.waiting()
        engine.inbox.mark_read(request.request_id, USER)
        for _ in range(2):
            notifications.tick()
        assert [message["path"] for _, message in fake.got] == [
            f"/inbox?request={request.request_id}"
        ] * 2
        for device in ("laptop", "phone"):
            (sent,) = service.deliveries(device)
            assert (sent.subject, sent.outcome) == (request.request_id, "delivered")
        assert work.task(name).attempt is not None  # the agent waits, in its own process
        work.answer("answer", answers=(QuestionAnswer("q1", ("Blue",)),))
        assert work.until(name, "done", "failed", "uncertain").claim == "Done."
