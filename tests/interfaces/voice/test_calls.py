"""Calls over loopback: signatures, tokens, the PIN, the conversation and interruptions."""

import threading
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from tests.interfaces.http.serving import Served
from tests.interfaces.voice.telephone import (
    MINE,
    PIN,
    PUBLIC,
    SHARED,
    call_form,
    calling,
    post,
    relay_path,
    sign,
    socket_of,
    telephone_server,
)
from websockets.exceptions import InvalidStatus

from everloop.access import pairing
from everloop.app import USER
from everloop.inbox import Choice, RaiseRequest
from everloop.interfaces.voice.callback_phrase import NOTHING_RUNS
from everloop.log import Context, fact_of
from everloop.testing.model import Script
from everloop.thread import newest_messages
from everloop.thread.model.commands import HOME
from everloop.thread.model.events import AnswerGiven, MessageSent, TurnStopped
from everloop.voice.model.commands import BeginCall
from everloop.voice.model.events import CallEnded
from everloop.workers import TaskSpec

ENGINE = Context(actor="engine")


@pytest.fixture
def server(tmp_path: Path) -> Generator[Served]:
    with telephone_server(tmp_path, [f"**Answer** {count}." for count in range(1, 9)]) as one:
        yield one


def said(server: Served) -> list[tuple[str, str]]:
    """What the home thread shows."""
    with server.engine.reading() as reader:
        return [(one.role, one.text) for one in newest_messages(reader, HOME).messages]


def steps(server: Served) -> list[str]:
    """What happened to the newest call."""
    return [step.act for step in server.running.voice.newest()[0].steps]


def until(server: Served, *kinds: type) -> None:
    """Wait for a fact."""
    for fact in server.engine.follow(after=0):
        if isinstance(fact.event, kinds):
            return


def everything(server: Served) -> str:
    """All that the log holds, as text."""
    return "\n".join(str(record.data) for record in server.engine.log.records())


@pytest.mark.promise("P-VOICE-1")
def test_a_webhook_without_twilios_signature_is_refused(server: Served) -> None:
    form, engine = call_form(), server.engine
    device = server.credential().text
    token = pairing.issue_host_token(engine.log, engine, engine.ports, "squid", USER).text
    for path in ("/voice/call", "/voice/status", "/voice/other"):
        url = f"{PUBLIC}{path}"
        for forged in (
            "",
            "bm90IGl0",
            sign(url, {**form, "From": "+15559999"}),
            sign(f"{server.url}{path}", form),
            sign(f"{url}?id=1", form),
            sign(url, form, "another token"),
        ):
            answer = post(server, form, path, **{"x-twilio-signature": forged})
            assert answer.status_code == 403
        with server.client() as client:  # a signed-in browser is not Twilio either
            assert client.post(path, data=form).status_code == 403
            assert client.get(path).status_code == 403
        for credential in (device, token):
            bearer = {"authorization": f"Bearer {credential}", "x-twilio-signature": ""}
            assert post(server, form, path, **bearer).status_code == 403
    assert post(server, form, "/voice/other").status_code == 404
    assert server.running.voice.newest() == []


def test_twilio_may_send_an_origin(server: Served) -> None:
    answer = post(server, call_form(), origin="https://media.example.com")
    assert "ConversationRelay" in answer.text


def test_a_webhook_signed_with_a_shared_key_is_accepted(server: Served) -> None:
    form, url = call_form(), f"{PUBLIC}/voice/call"
    settings = {"x-twilio-webhooks-signature-settings": "key=k1,algorithm=HMAC_SHA256"}
    wrong = {**settings, "x-twilio-signature": sign(url, form)}
    assert post(server, form, **wrong).status_code == 403
    right = {**settings, "x-twilio-signature": sign(url, form, SHARED, "HMAC_SHA256")}
    assert "ConversationRelay" in post(server, form, **right).text


@pytest.mark.promise("P-VOICE-3")
def test_a_number_that_is_not_allowed_is_rejected(server: Served) -> None:
    answer = post(server, call_form(number="+15559999"))
    assert "<Reject" in answer.text
    assert steps(server) == ["refused"]


@pytest.mark.promise("P-VOICE-1")
def test_a_replayed_webhook_opens_no_second_connection(server: Served) -> None:
    first, second = post(server, call_form()), post(server, call_form())
    assert "ConversationRelay" in first.text
    assert "<Reject" in second.text


def refused(server: Served, path: str, signature: str | None = None) -> bool:
    try:
        with socket_of(server, path, signature=signature):
            return False
    except InvalidStatus as problem:
        return problem.response.status_code == 403


@pytest.mark.promise("P-VOICE-1")
def test_a_websocket_needs_the_signature_and_the_token_of_its_call_once(server: Served) -> None:
    path = relay_path(post(server, call_form()))
    other = path[:-1] + ("A" if path[-1] != "A" else "B")
    assert refused(server, path, signature="")
    assert refused(server, path, signature=sign(f"{PUBLIC}{path}", {}))
    assert refused(server, other)
    assert refused(server, path.replace("cal-CA1", "cal-CA2"))
    with socket_of(server, path):
        assert refused(server, path)
    assert refused(server, path)
    server.stage.clock.tick(seconds=1)
    late = relay_path(post(server, call_form("CA7")))
    server.stage.clock.tick(seconds=61)
    assert refused(server, late)


@pytest.mark.promise("P-VOICE-1")
def test_a_connection_for_another_call_is_closed(server: Served) -> None:
    with calling(server) as caller:
        caller.sid = "CA2"
        caller.set_up()
        assert caller.until_closed() == []
    until(server, CallEnded)
    assert steps(server) == ["announced", "connected", "ended"]


@pytest.mark.promise("P-VOICE-2")
def test_a_call_is_a_conversation_in_the_home_thread_spoken_without_markdown(
    server: Served,
) -> None:
    with calling(server) as caller:
        assert caller.let_in() == "Thank you. What can I do for you?"
        caller.say("How are you?")
        assert caller.hear() == "Answer 1."
        caller.say("And now?")
        assert caller.hear() == "Answer 2."
    until(server, CallEnded)
    assert said(server) == [
        ("user", "How are you?"),
        ("assistant", "**Answer** 1."),
        ("user", "And now?"),
        ("assistant", "**Answer** 2."),
    ]
    events = [fact_of(record).event for record in server.engine.log.records()]
    sent = [one for one in events if isinstance(one, MessageSent)]
    assert {one.device for one in sent} == {"telephone"}
    _, params = server.model.calls[0]
    assert params.tokens_max == 600
    assert steps(server) == ["announced", "connected", "pin accepted", "ended"]


@pytest.mark.promise("P-VOICE-3")
def test_nothing_acts_before_the_pin(server: Served) -> None:
    with calling(server) as caller:
        caller.set_up()
        caller.say("Delete everything.")
        assert "PIN" in caller.hear()
        caller.interrupt("PIN")
        caller.press("12345*000000#")
        assert "not right" in caller.hear()
        assert (said(server), server.model.calls) == ([], [])
        caller.say("eight oh two, six five three")
        assert "Thank you" in caller.hear()
    until(server, CallEnded)
    assert "Delete everything" not in everything(server)


@pytest.mark.promise("P-VOICE-3")
def test_wrong_pins_end_the_call_and_then_lock_out_the_right_one(server: Served) -> None:
    for sid, tries in (("CA1", 3), ("CA2", 2)):
        with calling(server, sid) as caller:
            caller.set_up()
            for _ in range(tries - 1):
                caller.press("000000#")
                assert "not right" in caller.hear()
            caller.press("000000#")
            last = caller.receive()
            assert ("Goodbye" if tries == 3 else "not right") in last["token"]
    with calling(server, "CA3") as caller:
        caller.set_up()
        caller.press(f"{PIN}#")
        assert "Too many" in caller.hear()
        assert caller.until_closed() == [{"type": "end"}]
    server.stage.clock.tick(seconds=3601)
    with calling(server, "CA4") as caller:
        assert "Thank you" in caller.let_in()


@pytest.mark.promise("P-VOICE-3")
def test_the_digits_of_a_pin_reach_neither_log_nor_model(server: Served) -> None:
    with calling(server) as caller:
        caller.set_up()
        caller.press("771939#")
        caller.hear()
        caller.press(f"{PIN}#")
        caller.hear()
        caller.say("8 0 2 6 5 3, did you get that?")
        assert "already" in caller.hear()
        caller.press(PIN)
        caller.say("Hello.")
        assert caller.hear() == "Answer 1."
    until(server, CallEnded)
    stored = everything(server) + str(server.model.calls)
    for digits in (PIN, "771939", "8 0 2 6 5 3"):
        assert digits not in stored


def test_who_enters_no_pin_is_hung_up(tmp_path: Path) -> None:
    with telephone_server(tmp_path, pin_wait_s=0.01) as server, calling(server) as caller:
        caller.set_up()
        *_, notice, end = caller.until_closed()
        assert "No PIN" in notice["token"]
        assert end == {"type": "end"}


def test_a_call_has_a_longest_time(tmp_path: Path) -> None:
    with telephone_server(tmp_path, call_s_max=0.01) as server, calling(server) as caller:
        assert caller.until_closed()[-1] == {"type": "end"}


@pytest.mark.promise("P-VOICE-4")
def test_an_interrupted_answer_that_streams_keeps_what_was_heard(tmp_path: Path) -> None:
    never = threading.Event()
    answers: list[Script] = [["One **two** three. Four five. ", never, "Six."], "Next."]
    with telephone_server(tmp_path, answers) as server, calling(server) as caller:
        caller.let_in()
        caller.say("Count.")
        assert caller.receive_text() == "One two three. "
        assert caller.receive_text() == "Four five. "
        caller.interrupt("One two three. Four")
        caller.say("Stop.")
        assert caller.hear() == "Next."
        until(server, TurnStopped)
        assert said(server)[1] == ("assistant", "One two three. Four")
        prompt, _ = server.model.calls[1]
        assert "five" not in str(prompt.messages)


@pytest.mark.promise("P-VOICE-4")
def test_an_interrupted_answer_that_was_complete_keeps_what_was_heard(tmp_path: Path) -> None:
    answers = ["# Plan\n- Boil *water*.\n- Add the qxleaves.", "Next."]
    with telephone_server(tmp_path, answers) as server, calling(server) as caller:
        caller.let_in()
        caller.say("How?")
        assert caller.hear() == "Plan Boil water. Add the qxleaves."
        caller.interrupt("boil water")
        caller.say("Wait.")
        assert caller.hear() == "Next."
        assert said(server)[1] == ("assistant", "Plan Boil water.")
        prompt, _ = server.model.calls[1]
        assert "qxleaves" not in str(prompt.messages)


def test_an_interruption_after_all_was_heard_changes_nothing(server: Served) -> None:
    with calling(server) as caller:
        caller.let_in()
        caller.interrupt("Thank you")
        caller.say("Hi.")
        assert caller.hear() == "Answer 1."
        caller.interrupt("Answer 1.")
        caller.say("More.")
        assert caller.hear() == "Answer 2."
    assert said(server)[1] == ("assistant", "**Answer** 1.")


def test_what_is_being_answered_when_the_caller_hangs_up_is_finished(tmp_path: Path) -> None:
    go = threading.Event()
    with telephone_server(tmp_path, [["One. ", go, "Two."]]) as server:
        with calling(server) as caller:
            caller.let_in()
            caller.say("Count.")
            assert caller.receive_text() == "One. "
        until(server, CallEnded)
        go.set()
        until(server, AnswerGiven)
        assert said(server)[1] == ("assistant", "One. Two.")


def test_a_failed_answer_is_told(tmp_path: Path) -> None:
    with telephone_server(tmp_path) as server, calling(server) as caller:
        caller.let_in()
        caller.say("Hi.")
        assert "did not work" in caller.hear()


def test_what_is_not_understood_is_ignored(server: Served) -> None:
    with calling(server) as caller:
        caller.socket.send("no JSON")
        caller.socket.send(b"bytes")
        caller.send("info", name="something new")
        caller.let_in()
        caller.send("prompt", voicePrompt="Half a", last=False)
        caller.say("  ")
        caller.say("Whole.")
        assert caller.hear() == "Answer 1."
        caller.send("error", description="64107")
        assert caller.until_closed() == []
    assert said(server)[0] == ("user", "Whole.")


def test_call_me_when_it_is_done_can_be_said(server: Served) -> None:
    with calling(server) as caller:
        caller.let_in()
        caller.say("Call me when it's done.")
        assert caller.hear() == NOTHING_RUNS
        spec = TaskSpec("Write the **report**", "Do.", "command", ("true",))
        task = server.engine.workers.propose(spec, USER).task.task_id
        caller.say("Please call me back as soon as that is finished!")
        assert caller.hear() == "I will call you when it is done: Write the report."
        assert list(server.running.voice.callbacks()) == [f"task:{task}"]
        caller.say("Call me when it is done or tell me a joke.")
        assert caller.hear() == "Answer 1."
    assert len(server.model.calls) == 1


def test_so_many_calls_at_once_and_no_more(tmp_path: Path) -> None:
    with telephone_server(tmp_path, calls_max=1) as server, calling(server) as caller:
        caller.let_in()
        assert "<Reject" in post(server, call_form("CA2")).text


def outgoing(server: Served, name: str = "req-1") -> str:
    """Begin an outgoing call; the path that Twilio then asks."""
    raised = RaiseRequest(name, "finished", "The **report** is done", "", (Choice("ok", "OK"),))
    server.engine.do(raised, by=Context(actor="worker:t"))
    server.engine.do(BeginCall(f"out-{name}", name, MINE), by=ENGINE)
    return f"?id=out-{name}"


def answered(server: Served, asked: str, sid: str = "CA5", to: str = MINE) -> httpx.Response:
    form = {"CallSid": sid, "From": "+15550199", "To": to, "Direction": "outbound-api"}
    return post(server, form, f"/voice/call{asked}")


@pytest.mark.promise("P-VOICE-3")
def test_who_answers_our_call_enters_the_pin_before_hearing_what_it_is_about(
    server: Served,
) -> None:
    answer = answered(server, outgoing(server))
    assert "report" not in answer.text
    with socket_of(server, relay_path(answer), "CA5") as caller:
        caller.set_up()
        caller.say("Who is there?")
        assert "report" not in caller.hear()
        caller.press(f"{PIN}#")
        assert "The report is done" in caller.hear()
    until(server, CallEnded)
    assert "<Reject" in answered(server, "?id=out-req-1").text
    assert "<Reject" in answered(server, "?id=out-never", "CA6").text


def test_how_an_outgoing_call_ended_is_recorded(server: Served) -> None:
    asked = outgoing(server)
    form = {"CallSid": "CA5", "CallStatus": "no-answer"}
    assert post(server, form, f"/voice/status{asked}").status_code == 200
    assert post(server, form, "/voice/status").status_code == 200
    assert steps(server) == ["begun", "ended"]


def test_without_its_configuration_there_is_no_telephone(tmp_path: Path) -> None:
    with telephone_server(tmp_path, pin_key="") as server:
        assert post(server, call_form()).status_code in (404, 405)
        assert refused(server, "/voice/relay/cal-CA1/x")
        assert server.running.voice.newest() == []
