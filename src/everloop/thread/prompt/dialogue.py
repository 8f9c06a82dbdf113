"""The dialogue of a prompt: the messages of yesterday and today, word for word.

A dialogue that exceeds its budget loses its beginning in steps of a quarter of the budget. So its
first message stays the same for many turns, and a model service can reuse its cache of the prompt.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime

from everloop.log import Reader
from everloop.log.model.record import to_microseconds
from everloop.memory.context import (
    BREAK_TOKENS,
    AssembledPrompt,
    PromptPiece,
    PromptSection,
)
from everloop.ports import Message, Part, Prompt, Text, Tool
from everloop.thread.model.calendar_windows import TimeZoneHistory, first_full_day
from everloop.thread.model.state import BUILT_IN
from everloop.thread.prompt.attachments import PromptAttachments, file_placeholders
from everloop.thread.prompt.sections import DIALOGUE, LATE, MESSAGE_HEADING, QUESTION
from everloop.thread.queries import threads
from everloop.thread.quoting import TOKENS, collapse_whitespace

MESSAGES = 200  # read at first; more are read if there is room for them
EARLIER = "(earlier)"
FAILED = "failed"
STEPS = 4  # in which a dialogue that is too long loses its beginning
SPOKEN = frozenset({DIALOGUE, QUESTION, "files", "pictures"})  # sections that become messages
DayLabel = Callable[[threads.ThreadMessage], str]


def read_dialogue(
    reader: Reader, asked: threads.ThreadMessage, today: date, told: set[str], room: int
) -> list[threads.ThreadMessage]:
    """The messages of yesterday and today before the question, answers after their questions.

    Without those that summaries of parts have told. On a long day, not many more messages are read
    than fit.
    """
    day, most = first_full_day(today).isoformat(), MESSAGES
    said = threads.messages_since(reader, asked.thread_id, day, most)
    while len(said) == most and _tokens_untold(said, told) <= room:
        most *= 4
        said = threads.messages_since(reader, asked.thread_id, day, most)
    before = [
        one
        for one in said
        if (one.text.strip() or one.attachments or one.turn_id)
        and not one.hidden
        and one.message_id not in told
        and one.message_id != asked.message_id
        and (one.role == "assistant" or one.position < asked.position)
    ]
    answered = threads.questions_of_turns(reader, [one.turn_id for one in before if one.turn_id])
    place = {one.message_id: (one.said_at, one.position) for one in before}
    out = left_out_messages(before, asked, answered)

    def order(one: threads.ThreadMessage) -> tuple[tuple[datetime, int], int]:
        question = answered.get(one.turn_id, one.message_id)
        return place.get(question, place[one.message_id]), one.position

    there = (one for one in before if one.text.strip() or one.attachments)
    return sorted((one for one in there if one.message_id not in out), key=order)


def newest_that_fit(
    said: Sequence[threads.ThreadMessage], most: int
) -> Sequence[threads.ThreadMessage]:
    """The newest messages within a budget. What is cut off the beginning is cut in steps."""
    costs = [_cost(one) for one in said]
    excess = sum(costs) - most
    if excess <= 0:
        return said
    step = max(1, most // STEPS)
    wanted = -(-excess // step) * step  # rounded up to whole steps
    gone = 0
    for number, cost in enumerate(costs):
        if gone >= wanted:
            return said[number:]
        gone += cost
    return said[len(said) :]


def dialogue_section(
    said: Sequence[threads.ThreadMessage], fitting: Sequence[threads.ThreadMessage]
) -> PromptSection:
    """The section of the dialogue: without gaps, up to the newest message."""
    pieces = tuple(
        PromptPiece(one.message_id, message_text(one), (one.position,), priority=number)
        for number, one in enumerate(said)
    )
    most = sum(map(_cost, fitting)) + BREAK_TOKENS
    return PromptSection(DIALOGUE, "should", pieces, tokens_max=most, stays=100, unbroken=True)


def question_section(asked: threads.ThreadMessage) -> PromptSection:
    """The newest message."""
    piece = PromptPiece(asked.message_id, message_text(asked), (asked.position,))
    return PromptSection(QUESTION, "must", (piece,), heading=MESSAGE_HEADING)


def day_label(zones: TimeZoneHistory) -> DayLabel:
    """The label of a message's day, in the person's time zone at that time."""
    return lambda one: f"[{zones.local_date(to_microseconds(one.said_at)):%Y-%m-%d}]"


def to_prompt(
    assembled: AssembledPrompt,
    said: Sequence[threads.ThreadMessage],
    attached: PromptAttachments,
    tools: tuple[Tool, ...],
    label: DayLabel,
) -> Prompt:
    """The prompt of assembled sections; the last message said is the one to answer."""
    early = (part for part in assembled.parts if part.name not in SPOKEN | set(LATE))
    kept = {
        entry.key
        for section in assembled.ledger.sections
        if section.name in SPOKEN
        for entry in section.entries
        if not entry.left_out
    }
    spoken = [one for one in said if one.message_id in kept]
    return Prompt(
        _to_model_messages(spoken, attached, kept, text_before_message(assembled), label),
        system="\n\n".join(part.text for part in early),
        tools=tools,
    )


def text_before_message(assembled: AssembledPrompt) -> str:
    """What stands right before the newest message: the time, notes and recalled memories."""
    late = "\n\n".join(part.text for part in assembled.parts if part.name in LATE)
    return f"{late}\n\n{MESSAGE_HEADING}"


def message_text(one: threads.ThreadMessage) -> str:
    """The text of a message, with the names of its files."""
    return "\n".join(part for part in (one.text, file_placeholders(one)) if part)


# -- inside ----------------------------------------------------------------------------------------


def left_out_messages(
    said: Sequence[threads.ThreadMessage],
    asked: threads.ThreadMessage,
    questions: Mapping[str, str],
) -> set[str]:
    """The ids of the messages to leave out; `questions` has the question of each turn.

    What the built-in model said is not the words of a language model, so no model is shown them as
    its own. A turn that failed leaves no half answer behind; its question stays only if it is the
    newest such and was not asked again, so failures do not pile up.
    """
    answers = [one for one in said if one.role == "assistant"]
    failed = [one for one in answers if one.state == FAILED]
    answered = {questions.get(one.turn_id, "") for one in answers if one.state != FAILED}
    unanswered = {questions.get(one.turn_id, "") for one in failed} - answered
    again = {_words(one) for one in said if one.message_id not in unanswered} | {_words(asked)}
    open_ = [one for one in said if one.message_id in unanswered and _words(one) not in again]
    return (
        {one.message_id for one in answers if one.model == BUILT_IN}
        | {one.message_id for one in failed}
        | (unanswered - {one.message_id for one in open_[-1:]})
    )


def _tokens_untold(said: Sequence[threads.ThreadMessage], told: set[str]) -> int:
    left = (one for one in said if not one.hidden and one.message_id not in told)
    return sum(TOKENS(one.text) for one in left)


def _cost(one: threads.ThreadMessage) -> int:
    return TOKENS(message_text(one)) + BREAK_TOKENS


def _to_model_messages(
    said: Sequence[threads.ThreadMessage],
    attached: PromptAttachments,
    kept: set[str],
    late: str,
    label: DayLabel,
) -> tuple[Message, ...]:
    """The dialogue in the form models expect: alternating roles, the user first.

    What changes with each turn stands before the newest message and after all others.
    """
    turns: list[tuple[str, list[Part]]] = []
    if said[0].role == "assistant":
        turns.append(("user", [Text(EARLIER)]))
    for one, day in zip(said, _days(said, label), strict=True):
        parts: list[Part] = [Text(day)] if day else []
        parts += [Text(late)] if one is said[-1] else []
        parts += [Text(one.text)] if one.text.strip() else []
        parts += attached.parts(one, kept)
        if turns and turns[-1][0] == one.role:
            turns[-1][1].extend(parts)
        else:
            turns.append((one.role, parts))
    return tuple(
        Message("assistant" if role == "assistant" else "user", tuple(parts))
        for role, parts in turns
    )


def _days(said: Sequence[threads.ThreadMessage], label: DayLabel) -> Iterator[str]:
    """The label of each message that is the first of the user's on its day, else nothing."""
    day = ""
    for one in said:
        new = label(one) if one.role == "user" else day
        yield "" if new == day else new
        day = new


def _words(one: threads.ThreadMessage) -> str:
    return collapse_whitespace(one.text).casefold()
