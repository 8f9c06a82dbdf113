"""Built-in offline model: not a language model; it answers by quoting lines of the prompt.

It ranks the lines of the prompt by words shared with the question, weighted by rarity, and quotes
the best with their dates. Asked for a summary (as text, or as a title and a text), it extracts the
most informative sentences. Asked for another JSON value, it returns an empty object if the schema
allows that, and declines otherwise. Deterministic; nothing is downloaded.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import msgspec

from everloop.memory.model.events import Origin
from everloop.memory.projections.queries import Item
from everloop.memory.summaries.compress import Refusal, SummaryText
from everloop.memory.summaries.extractive import extract_summary
from everloop.memory.text.analysis import STOP_WORDS, analyse
from everloop.memory.tokens import ESTIMATE
from everloop.ports import Chunk, Delta, Finish, Message, Params, Prompt, Stream, Text, Usage

NAME = "offline"
QUOTES_MAX = 3
QUOTED_CHARACTERS = 500
FITTING = 0.34  # of the best line's score: lines below it are not quoted
COVERED = 0.25  # of the weight of the question's words: a line that covers less is not quoted
SELF_DESCRIPTION = (
    "I am Everloop's offline model, not a language model: I only quote. To talk to one, install"
    " Ollama, set a key or log in to Claude Code; docs/models.md says how."
)
CAPABILITIES = (
    "I keep what you say, and find it again word for word, with its date. Tell me something, such"
    " as where a key hangs, and ask me for it later; Memory shows what was kept, and why."
)
NOTHING = "I found nothing about that in what I was given."

_DATED = re.compile(
    r"[\s>*•\-\[(]*(?:day:)?(?P<day>\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?[\])]*"
    r"\s*[:,\-–—]*\s*(?:\([\w, -]{1,60}\)\s+)?"  # noqa: RUF001 - a dash is a dash
)
_SUMMARY = re.compile(
    r"\W*(?:please |can you |could you )?(?:summari[sz]e|sum up|tl;?dr"
    r"|(?:give me|write|make) (?:a|the)(?: \w+){0,2} summary)\b",
    re.IGNORECASE,
)
_ABOUT_ITSELF = re.compile(
    r"\bwhat (?:can|could|do) you (?:do|remember|know)\b(?! about)"
    r"|\b(?:who|what) are you\b|\bhow do (?:you|I use) (?:work|you|this)\b|^\W*help\W*$",
    re.IGNORECASE,
)
UNDATED = "1970-01-01"


class DatedLine(NamedTuple):
    """A line of the prompt with its date; empty if it has none."""

    day: str
    text: str


class OfflineModel:
    """The model that is always available."""

    name = NAME

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """The answer, as a single chunk."""
        text = _answer(prompt, params)
        read = ESTIMATE(prompt.system) + sum(
            ESTIMATE(_message_text(said)) for said in prompt.messages
        )
        usage = Usage(NAME, read, ESTIMATE(text), 0.0)
        return BufferedStream([Delta(text), usage, Finish("stop")])


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


def _answer(prompt: Prompt, params: Params) -> str:
    if prompt.schema is not None:
        return _json_answer(prompt, params, prompt.schema)
    question = _message_text(prompt.messages[-1]) if prompt.messages else ""
    if _SUMMARY.match(question) or _SUMMARY.match(prompt.system):
        made = _summary(prompt, params.tokens_max)
        text = (
            made.text if isinstance(made, SummaryText) else f"I cannot sum that up: {made.reason}."
        )
        return f"{text}\n\n{SELF_DESCRIPTION}"
    if _ABOUT_ITSELF.search(question):
        return f"{CAPABILITIES}\n\n{SELF_DESCRIPTION}"
    return f"{_quote_lines(question, list(_lines(prompt)))}\n\n{SELF_DESCRIPTION}"


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
    chosen = _best_lines(question, lines)
    if not chosen:
        return NOTHING
    said = [
        f"{'Earlier' if not line.day else line.day}: “{_short(line.text)}”"
        for line in sorted(chosen, key=lambda line: line.day)
    ]
    return "This is what I found:\n" + "\n".join(f"- {one}" for one in said)


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
    telling = [n for n in good if not lines[n].text.endswith("?")]  # a question is not an answer
    return [lines[number] for number in (telling or good)[:QUOTES_MAX]]


def _lines(prompt: Prompt) -> Iterator[DatedLine]:
    """The lines that may be quoted: context and user messages, never its own answers."""
    yield from (line for line in _dated_lines(prompt.system) if line.day)
    for message in prompt.messages[:-1]:
        if message.role == "user":
            yield from _dated_lines(_message_text(message))


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
        author=NAME,
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
