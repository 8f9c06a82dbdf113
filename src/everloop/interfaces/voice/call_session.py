"""One call: first the PIN, then a conversation in the home thread, spoken as it comes.

Before the PIN was accepted nothing that the caller says is recorded, sent to a model or answered.
What they say afterwards is a message of the user. If they interrupt an answer, the thread keeps
what they heard. If they hang up, what is being answered is finished and stands in the thread.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from everloop.errors import EverloopError, Rejected
from everloop.interfaces.voice.answer_feed import AnswerFeed
from everloop.interfaces.voice.callback_phrase import asks_for_callback, request_callback
from everloop.interfaces.voice.heard_text import contains, heard_part
from everloop.interfaces.voice.pin_entry import PinEntry, spoken_digits
from everloop.interfaces.voice.relay_messages import (
    TEXT_MAX,
    Dtmf,
    Interrupt,
    RelayError,
    RelayMessage,
    Setup,
    VoicePrompt,
    hang_up,
    parse_message,
    say,
)
from everloop.interfaces.voice.speakable_text import SpeakableText, speakable_whole
from everloop.log import Context
from everloop.services import Services
from everloop.thread import (
    AnswerGiven,
    OutgoingMessage,
    SentMessage,
    TurnFailed,
    TurnLeftUncertain,
)
from everloop.turns import AnswerOptions
from everloop.voice import Call

USER = Context()
DEVICE = "telephone"
WELCOME = "Thank you. What can I do for you?"
ANYTHING_ELSE = "What can I do for you?"
ASK_PIN = "Please enter your PIN on the keypad, and then the hash key."
WRONG_PIN = "That PIN is not right. Please try again."
LOCKED = "Too many wrong PINs were entered. Please try again later. Goodbye."
TOO_LATE = "No PIN was entered. Goodbye."
TOO_LONG = "This call has reached its longest time. Goodbye."
NOT_A_PIN_AGAIN = "You are already let in. The PIN was not passed on."
FAILED = "That did not work."
UNKNOWN_END = "I do not know how that ended. Please look at the thread."
TITLE_MAX = 200
SPEECHES_KEPT = 3

Receive = Callable[[], Awaitable[str | None]]
Send = Callable[[str], Awaitable[None]]


class Speech(msgspec.Struct):
    """An answer that is being spoken, or was: what was sent of it."""

    sent: SentMessage
    said: str = ""
    interrupted: bool = False
    ended: bool = False


class CallSession:
    """The conversation of one connected call."""

    def __init__(self, running: Services, call: Call, receive: Receive, send: Send) -> None:
        """`receive` gives a message, or None when the connection was closed."""
        self._running, self._call = running, call
        self._settings = running.settings.voice
        self._receive, self._send = receive, send
        self._speeches: list[Speech] = []
        self._turns: asyncio.Queue[Speech] = asyncio.Queue()
        self._messages = 0

    async def run(self) -> str:
        """Carry the call until it ends; returns why it did."""
        try:
            async with asyncio.timeout(self._settings.call_s_max):
                return await self._converse()
        except TimeoutError:
            await self._hang_up(TOO_LONG)
            return "it took too long"

    async def _converse(self) -> str:
        setup = await self._next()
        if not isinstance(setup, Setup) or setup.call_sid != self._call.call_sid:
            return "the connection belongs to another call"
        refusal = await self._check_pin()
        if refusal:
            return refusal
        await self._say(await asyncio.to_thread(self._opening))
        listening = asyncio.create_task(self._listen())
        speaking = asyncio.create_task(self._speak_turns())
        both = (listening, speaking)
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            ends = await asyncio.gather(*both, return_exceptions=True)
        failed = [one for one in ends if isinstance(one, Exception)]
        if failed:
            raise failed[0]
        return "hung up" if listening.cancelled() else listening.result()

    # -- the PIN -----------------------------------------------------------------------------------

    async def _check_pin(self) -> str:
        """Ask for the PIN until it is right; returns why the call ends if it is not."""
        try:
            async with asyncio.timeout(self._settings.pin_wait_s):
                return await self._ask_for_pin()
        except TimeoutError:
            await self._hang_up(TOO_LATE)
            return "no PIN was entered"

    async def _ask_for_pin(self) -> str:
        entry, tries = PinEntry(), 0
        while True:
            message = await self._next()
            if message is None:
                return "hung up"
            digits = await self._entered(entry, message)
            if not digits:
                continue
            enter = self._running.voice.enter_pin
            outcome = await asyncio.to_thread(enter, self._call.call_id, digits)
            if outcome == "accepted":
                return ""
            tries += 1
            if outcome == "locked" or tries >= self._settings.pin_tries_max:
                await self._hang_up(LOCKED)
                return "the PIN was not accepted"
            await self._say(WRONG_PIN)

    async def _entered(self, entry: PinEntry, message: RelayMessage) -> str | None:
        """The digits of an entry that has ended, by keypad or spoken."""
        if isinstance(message, Dtmf):
            return entry.press(message.digit)
        if isinstance(message, VoicePrompt) and message.last:
            digits = spoken_digits(message.voice_prompt)
            if not digits:
                await self._say(ASK_PIN)
            return digits
        return None

    def _opening(self) -> str:
        """What is said after the PIN: what the call is about, if we called."""
        if not self._call.request_id:
            return WELCOME
        try:
            request = self._running.engine.inbox.find(self._call.request_id)
        except EverloopError:  # it was retracted meanwhile
            return WELCOME
        title = speakable_whole(request.title[:TITLE_MAX])
        return f"Thank you. This is about: {title}. {ANYTHING_ELSE}"

    # -- the conversation --------------------------------------------------------------------------

    async def _listen(self) -> str:
        while True:
            match await self._next():
                case None:
                    return "hung up"
                case VoicePrompt(voice_prompt=text, last=True) if text.strip():
                    await self._take(text.strip()[:TEXT_MAX])
                case Interrupt(utterance_until_interrupt=utterance):
                    await self._interrupt(utterance)
                case RelayError():
                    return "Twilio reported an error"
                case _:  # keys mean nothing after the PIN, and are not recorded
                    pass

    async def _take(self, text: str) -> None:
        """Send what the caller said to the home thread. A spoken PIN goes no further."""
        if self._settings.pin_key in spoken_digits(text):
            await self._say(NOT_A_PIN_AGAIN)
            return
        if asks_for_callback(text):
            await self._say(await asyncio.to_thread(request_callback, self._running))
            return
        self._messages += 1
        try:
            sent = await asyncio.to_thread(self._send_message, text)
        except EverloopError as problem:
            await self._say(f"{FAILED} {speakable_whole(str(problem))}")
            return
        speech = Speech(sent)
        self._speeches = [*self._speeches[1 - SPEECHES_KEPT :], speech]
        self._turns.put_nowait(speech)

    def _send_message(self, text: str) -> SentMessage:
        talk = self._running.talk
        letter = OutgoingMessage(
            text,
            device=DEVICE,
            letter_id=f"{self._call.call_id}-{self._messages}",
            options=AnswerOptions(tokens_max=self._settings.answer_tokens_max),
        )
        return talk.send(talk.home_thread(USER), letter, USER)

    async def _interrupt(self, utterance: str) -> None:
        """Keep what was heard of the answer that was being spoken."""
        spoken = [one for one in self._speeches if one.said and not one.interrupted]
        if not spoken:
            return  # a greeting, or a notice of ours
        matching = [one for one in spoken if contains(one.said, utterance)]
        speech = (matching or spoken)[-1]
        speech.interrupted = True
        heard = heard_part(speech.said, utterance)
        if speech.ended and heard == speech.said.strip():
            return  # all of it was heard
        sent = speech.sent

        def record() -> None:
            self._running.truncate_answer(sent.thread_id, sent.turn_id, heard, by=USER)

        with suppress(Rejected):  # the message was deleted meanwhile
            await asyncio.to_thread(record)

    # -- speaking ----------------------------------------------------------------------------------

    async def _speak_turns(self) -> None:
        while True:
            await self._speak(await self._turns.get())

    async def _speak(self, speech: Speech) -> None:
        """Speak an answer as it comes, sentence by sentence."""
        feed, text = AnswerFeed(self._running, speech.sent), SpeakableText()
        try:
            async for piece in feed.pieces():
                await self._speak_all(speech, text.feed(piece))
            await self._speak_all(speech, text.flush())
        finally:
            await feed.close()
        speech.ended = True
        if speech.interrupted:
            return
        match feed.end:
            case TurnFailed(hint=hint):
                await self._say(f"{FAILED} {speakable_whole(hint)}".strip())
            case TurnLeftUncertain():
                await self._say(UNKNOWN_END)
            case AnswerGiven() if not speech.said:
                await self._say("There is no answer.")
            case _:
                await self._send(say("", last=True))

    async def _speak_all(self, speech: Speech, sentences: list[str]) -> None:
        for sentence in sentences:
            if speech.interrupted:
                return
            speech.said += sentence
            await self._send(say(sentence, last=False))

    async def _say(self, text: str) -> None:
        await self._send(say(text, last=True))

    async def _hang_up(self, text: str) -> None:
        await self._say(text)
        await self._send(hang_up())

    async def _next(self) -> RelayMessage | None:
        """The next message that we know; None when the connection was closed."""
        while (text := await self._receive()) is not None:
            message = parse_message(text)
            if message is not None:
                return message
        return None
