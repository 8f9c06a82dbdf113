"""Built-in offline model: not a language model; it keeps what it is told and quotes it again.

A statement is kept as a memory, with the tool `remember`. A question is answered by quoting the
lines of the prompt that share words with it, weighted by rarity, with their dates; the same
sentence is quoted once, and entries that contradict each other are shown as such. Asked for a
summary (as text, or as a title and a text), it extracts the most informative sentences. Asked for
another JSON value, it returns an empty object if the schema allows that, and declines otherwise.
Deterministic; nothing is downloaded. What it is, the interfaces say; its answers do not.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from everloop.adapters.models.message_intent import message_intent, statement_to_keep
from everloop.memory.model.events import Origin
from everloop.memory.projections.queries import Item
from everloop.memory.summaries.compress import Refusal, SummaryText
from everloop.memory.summaries.extractive import extract_summary
from everloop.memory.text.analysis import STOP_WORDS, analyse
from everloop.memory.text.similarity import compare_texts
from everloop.memory.token_counts import ESTIMATE
from everloop.ports import (
    Chunk,
    Delta,
    Finish,
    Message,
    Params,
    Prompt,
    Stream,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from everloop.thread.model.state import BUILT_IN

OFFLINE_MODEL = BUILT_IN
REMEMBER = "remember"  # the tool that keeps a statement
QUOTES_MAX = 3
QUOTED_CHARACTERS = 500
KEPT_CHARACTERS = 1_000  # a longer statement stays in its conversation, and is found there
FITTING = 0.34  # of the best line's score: lines below it are not quoted
COVERED = 0.25  # of the weight of the question's words: a line that covers less is not quoted
CAPABILITIES = (
    "I keep what you tell me and find it again, word for word, with its date. Tell me something,"
    " such as where a key hangs, and ask me for it later; Memory shows all that was kept."
)
NOTHING = "Nothing about that yet."
NOTHING_TO_DO = "Nothing about that yet. Tell me about it, and I will keep it."
NOTED = "Noted."
NOTED_HERE = "Noted: it stays in this conversation, and you can ask me for it."
KNOWN = "I have that already."
KEEP_WHAT = "What should I keep? Write it in one message."
SMALL_TALK = {
    "greeting": "Hello. Tell me something to keep, or ask me about what you told me.",
    "thanks": "You are welcome.",
    "reply": "All right.",
}

_DATED = re.compile(
    r"[\s>*•\-\[(]*(?:day:)?(?P<day>\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?[\])]*"
    r"\s*[:,\-–—]*\s*(?:\([\w:, -]{1,90}\)\s+)?"  # noqa: RUF001 - a dash is a dash
)
_SUMMARY = re.compile(
    r"\W*(?:please |can you |could you )?(?:summari[sz]e|sum up|tl;?dr"
    r"|(?:give me|write|make) (?:a|the)(?: \w+){0,2} summary)\b",
    re.IGNORECASE,
)
_ABOUT_ITSELF = re.compile(
    r"\bwhat (?:can|could|do) you (?:do|remember|know)\b(?! about (?!me\b))"
    r"|\b(?:who|what) are you\b|\bhow do (?:you|I use) (?:work|you|this)\b|^\W*help\W*$",
    re.IGNORECASE,
)
_FILE = re.compile(r"\[(?:file|attached:) ")  # how the text of an attachment begins
_DAY_LABEL = re.compile(r"\[(\d{4}-\d\d-\d\d)\]")  # before the messages of a day
_CONTEXT = re.compile(r"^## ", re.MULTILINE)  # what Everloop tells beside the messages
UNDATED = "1970-01-01"


class DatedLine(NamedTuple):
    """A line of the prompt with its date; empty if it has none."""

    day: str
    text: str


class OfflineModel:
    """The model that is always available."""

    name = OFFLINE_MODEL

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """The answer, or the call of a tool that keeps a statement, as a single chunk."""
        said = _answer(prompt, params)
        read = ESTIMATE(prompt.system) + sum(
            ESTIMATE(_message_text(message)) for message in prompt.messages
        )
        if isinstance(said, ToolCall):
            return BufferedStream([said, Usage(OFFLINE_MODEL, read, 0, 0.0), Finish("tools")])
        usage = Usage(OFFLINE_MODEL, read, ESTIMATE(said), 0.0)
        return BufferedStream([Delta(said), usage, Finish("stop")])


class BufferedStream:
    """A stream of chunks that are ready."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._left = list(reversed(chunks))

    def __iter__(self) -> Iterator[Chunk]:
        """The stream itself."""
        return self

    def __next__(self) -> Chunk:
        """The next chunk."""
        if not self._left:
            raise StopIteration
        return self._left.pop()

    def close(self) -> None:
        """Drop the remaining chunks."""
        self._left = []


def _answer(prompt: Prompt, params: Params) -> str | ToolCall:
    if prompt.schema is not None:
        return _json_answer(prompt, params, prompt.schema)
    if (kept := _tool_result(prompt)) is not None:
        return _acknowledgement(kept)
    question = _question(prompt)
    if _SUMMARY.match(question) or _SUMMARY.match(prompt.system):
        made = _summary(prompt, params.tokens_max)
        return (
            made.text if isinstance(made, SummaryText) else f"I cannot sum that up: {made.reason}."
        )
    if _ABOUT_ITSELF.search(question):
        return _about_itself(prompt)
    return _reply(question, prompt)


def _reply(question: str, prompt: Prompt) -> str | ToolCall:
    intent = message_intent(question)
    if intent == "statement":
        return _keep(question, prompt)
    if intent in SMALL_TALK:
        return SMALL_TALK[intent]
    nothing = NOTHING if intent == "question" else NOTHING_TO_DO
    return _quote_lines(question, list(_lines(prompt))) or nothing


def _tool_result(prompt: Prompt) -> ToolResult | None:
    """The result of its own call of the tool that keeps statements, if that came just now."""
    parts = prompt.messages[-1].parts if prompt.messages else ()
    return next((part for part in reversed(parts) if isinstance(part, ToolResult)), None)


def _acknowledgement(kept: ToolResult) -> str:
    if kept.failed:
        return f"I could not keep that: {kept.text}"
    if "already" in kept.text:
        return KNOWN
    _, _, more = kept.text.partition("\n")  # what it contradicts, if anything
    return f"{NOTED} {more}".strip()


def _keep(said: str, prompt: Prompt) -> str | ToolCall:
    statement = statement_to_keep(said)
    if not statement:
        return KEEP_WHAT
    known = any(tool.name == REMEMBER for tool in prompt.tools)
    if not known or len(statement) > KEPT_CHARACTERS:
        return NOTED_HERE
    return ToolCall(f"call-{REMEMBER}", REMEMBER, {"text": statement})


def _about_itself(prompt: Prompt) -> str:
    """What it can do, and what it was told last."""
    told = [line for line in _lines(prompt) if message_intent(line.text) == "statement"]
    lately = _without_repeats(list(reversed(told)))[:QUOTES_MAX]
    if not lately:
        return CAPABILITIES
    return f"{CAPABILITIES}\n\nYou told me:\n{_quoted(lately)}"


def _question(prompt: Prompt) -> str:
    """What was said last, without the files beside it."""
    parts = prompt.messages[-1].parts if prompt.messages else ()
    texts = [part.text for part in parts if isinstance(part, Text) and not _FILE.match(part.text)]
    return texts[-1] if texts and not _CONTEXT.search(texts[-1]) else ""


def _json_answer(prompt: Prompt, params: Params, schema: dict[str, Any]) -> str:
    """A JSON answer: a summary if the schema is that of one, an empty object, or a refusal."""
    required = set(schema.get("required", ()))
    if required == {"title", "text"}:
        made = _summary(prompt, params.tokens_max)
        answer = made if isinstance(made, SummaryText) else {"error": made.reason}
        return msgspec.json.encode(answer).decode()
    if schema.get("type") == "object" and not required:
        return "{}"
    return msgspec.json.encode({"error": "the offline model cannot judge or extract"}).decode()


def _quote_lines(question: str, lines: Sequence[DatedLine]) -> str:
    """The lines that answer a question; empty if none does."""
    chosen = _best_lines(question, lines)
    if not chosen:
        return ""
    if any(_contradict(one, other) for one, other in combinations(chosen, 2)):
        return f"What you told me contradicts itself; the newest comes last:\n{_quoted(chosen)}"
    return f"You told me:\n{_quoted(chosen)}"


def _quoted(lines: Sequence[DatedLine]) -> str:
    return "\n".join(
        f"- {line.day or 'Earlier'}: “{_short(line.text)}”"
        for line in sorted(lines, key=lambda line: line.day or "9")
    )


def _best_lines(question: str, lines: Sequence[DatedLine]) -> list[DatedLine]:
    """The lines that match the question best; rare words weigh more."""
    asked = set(analyse(question).words) - STOP_WORDS
    terms = [set(analyse(line.text).words) for line in lines]
    often = Counter(term for held in terms for term in held & asked)
    worth = {term: math.log(1 + (len(lines) + 1) / (often[term] + 1)) for term in asked}
    needed = COVERED * sum(worth.values())
    points = [sum(worth[term] for term in sorted(held & asked)) for held in terms]
    best = max(points, default=0.0)
    ranked = sorted(range(len(lines)), key=lambda number: (-points[number], number))
    good = [n for n in ranked if points[n] and points[n] >= max(needed, FITTING * best)]
    fitting = [lines[n] for n in good if message_intent(lines[n].text) == "statement"]
    return _without_repeats(fitting)[:QUOTES_MAX]


def _without_repeats(lines: Sequence[DatedLine]) -> list[DatedLine]:
    """Each sentence once, dated if possible: it may be in a message, a memory and a summary."""
    kept: list[DatedLine] = []
    for line in lines:
        same = next((n for n, other in enumerate(kept) if _say_the_same(line, other)), None)
        if same is None:
            kept.append(line)
        elif line.day and not kept[same].day:
            kept[same] = line
    return kept


def _say_the_same(one: DatedLine, other: DatedLine) -> bool:
    words, others = set(analyse(one.text).words), set(analyse(other.text).words)
    return (words <= others or others <= words) and not _contradict(one, other)


def _contradict(one: DatedLine, other: DatedLine) -> bool:
    return compare_texts(one.text, other.text)[0] == "contradicts"


def _lines(prompt: Prompt) -> Iterator[DatedLine]:
    """The lines that may be quoted: context and user messages, never its own answers."""
    yield from (line for line in _dated_lines(prompt.system) if line.day)
    said = [
        part.text
        for message in prompt.messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, Text) and not _FILE.match(part.text)
    ]
    day = ""
    for text in said[:-1]:
        if label := _DAY_LABEL.fullmatch(text):
            day = label[1]
        elif _CONTEXT.search(text):
            yield from (line for line in _dated_lines(text) if line.day)
        else:
            yield from (
                line if line.day else DatedLine(day, line.text) for line in _dated_lines(text)
            )


def _dated_lines(text: str) -> Iterator[DatedLine]:
    """The lines of a text with dates. A date applies to the following lines up to a blank one."""
    day = ""
    for raw in text.splitlines():
        found = _DATED.match(raw)
        if found and _is_day(found["day"]):
            day, line = found["day"], raw[found.end() :].strip()
        else:
            day, line = day if raw.strip() else "", raw.strip(" \t-*•>")
        if line and not line.startswith("#"):
            yield DatedLine(day, line)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _summary(prompt: Prompt, budget: int) -> SummaryText | Refusal:
    said = [line for message in prompt.messages for line in _dated_lines(_message_text(message))]
    dated = [line for line in (*_dated_lines(prompt.system), *said) if line.day]
    lines = dated or [line for line in said if not _SUMMARY.match(line.text)]
    made = extract_summary([_item(number, line) for number, line in enumerate(lines)], budget)
    if isinstance(made, Refusal) or dated:
        return made
    return SummaryText(made.title, made.text.removeprefix(f"{UNDATED}: "))


def _item(number: int, line: DatedLine) -> Item:
    day = datetime.fromisoformat(line.day or UNDATED).replace(tzinfo=UTC)
    return Item(
        position=number,
        version=1,
        item_id=f"line-{number}",
        title=_short(line.text),
        text=line.text,
        kind="message",
        scope="user",
        author=OFFLINE_MODEL,
        origin=Origin(),
        learned_via="told",
        happened_at=day,
        recorded_at=day,
        holds_until=None,
        follows="",
    )


def _short(text: str) -> str:
    return text if len(text) <= QUOTED_CHARACTERS else f"{text[:QUOTED_CHARACTERS]}…"


def _message_text(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))
