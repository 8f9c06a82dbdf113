"""Extractive summarisation without a model: selects the most informative sentences verbatim.

It looks for the set of sentences with the most information within a token budget. A term counts
once, weighted up if it recurs in the window without being everywhere (tf-idf); a sentence is
weighted up if it contains what cannot be paraphrased: names, numbers, dates, paths, decisions.
Where the budget allows, every item gets one sentence before any gets two, so that each can still
be found by its title. Lines start with a date, because "yesterday" means nothing later on.

On the LoCoMo sessions (597 questions whose evidence lies in one session), a summary of 300 tokens
keeps 59 % of the words of the answers; the first 300 tokens keep 42 %, random sentences 44 %, the
whole session 72 %. Pure and deterministic.
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from typing import NamedTuple

from everloop.memory.model.events import SUMMARY
from everloop.memory.projections.queries import Item
from everloop.memory.summaries.compress import (
    SUMMARY_TEXT_CHARACTERS_MAX,
    SUMMARY_TITLE_CHARACTERS_MAX,
    Refusal,
    Summariser,
    SummaryText,
)
from everloop.memory.text.analysis import STOP_WORDS, analyse
from everloop.memory.token_counts import ESTIMATE, TokenCounter

TITLES_CHARACTERS_MAX = 160
SENTENCE_CHARACTERS_MAX = 320
COVERED_SHARE = 0.8  # of the budget: if that is enough for a sentence of each item, each gets one
ABBREVIATION_CHARACTERS_MAX = (
    12  # characters at the end of a text that are checked for an abbreviation
)
FIRST_SENTENCE_WEIGHT = 1.25  # weight of the first chosen sentence of an item

_ENDS = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")  # noqa: RUF001 - full-width marks
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|approx|No|Nr|Fig|cf|Inc|Ltd|Co|[A-Z]|e\.g|i\.e|z\.B"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|^\d{1,2})\.$"
)
_BULLET = re.compile(r"^\s*(?:[-*•>]|#+|\d{1,2}[.)])\s+")
_DAY = re.compile(r"(?:(\d{4}-\d\d-\d\d: ))+")  # at the beginning of a line of a summary
_SPEAKER = re.compile(r"([^\W\d_][\w .'-]{0,39}): ")
_NAME = re.compile(r"(?<=[a-z0-9,;] )[A-Z][\w'-]+|\b[A-Z][a-z]+ [A-Z][a-z]+|\b[A-Z]{2,}\b")
_NUMBER = re.compile(r"\d")
_DATE = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july"
    r"|august|september|october|november|december|today|tomorrow|yesterday|tonight|deadline"
    r"|(?:next|last) (?:week|month|year))\b|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}:\d\d\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decid\w+|decision|agreed?|chose|choose|chosen|will not|won't|must|never|always|instead"
    r"|prefers?|promis\w+|plan(?:s|ned)?|going to|switch(?:ed)?|accepted|rejected|approved"
    r"|because|so that|fixed|root cause|turned out|learned|remember)\b",
    re.IGNORECASE,
)
_EXACT = re.compile(r"https?://|\w[/\\]\w|`[^`]+`|\b\w+_\w+\b|\b\w+\.\w{1,4}\b|\b[a-z]+[A-Z]\w*\b")
_CHATTER = re.compile(
    r"^(?:hi|hey|hello|thanks?|thank you|thx|ok(?:ay)?|sure|great|cool|nice|wow|haha|lol|bye|yes|no"
    r"|good (?:morning|night|evening)|sounds good|see you|you're welcome)\b.{0,40}$",
    re.IGNORECASE,
)


class Sentence(NamedTuple):
    """A sentence with its item, place, day, terms, information score and token count."""

    item: int
    place: int
    day: str
    text: str
    terms: frozenset[str]
    telling: float
    tokens: int


def extractive_summariser(tokens: TokenCounter = ESTIMATE, zone: tzinfo = UTC) -> Summariser:
    """An extractive summariser with a token counter and a time zone for dates."""

    def summarise(items: Sequence[Item], budget: int) -> SummaryText | Refusal:
        return extract_summary(items, budget, tokens=tokens, zone=zone)

    return summarise


def extract_summary(
    items: Sequence[Item], budget: int, *, tokens: TokenCounter = ESTIMATE, zone: tzinfo = UTC
) -> SummaryText | Refusal:
    """Summarise items by their most informative sentences, within a token budget."""
    lines = [_LineStart(item, tokens, zone) for item in items]
    found = [
        sentence
        for number, item in enumerate(items)
        for sentence in _scored_sentences(number, item, lines[number].day, tokens)
        if sentence.terms
    ]
    if not found:
        return Refusal("there is nothing to say")
    selection = _Selection(lines, found, budget)
    best = selection.best_of_each()
    if sum(selection.cost(sentence) for sentence in best) <= COVERED_SHARE * budget:
        selection.fill(best)
    selection.fill(found)
    if not selection.chosen:
        return Refusal(f"not one sentence fits into {budget} tokens")
    ranked = dict.fromkeys(sentence.item for sentence in selection.chosen)
    return SummaryText(
        _title([items[number].title for number in ranked], len(items)), selection.text()
    )


def split_into_sentences(text: str) -> Iterator[str]:
    """Split a text into sentences, without bullets; very long ones are cut."""
    for line in text.splitlines():
        begun = ""
        for part in _split(_BULLET.sub("", line.strip())):
            begun = f"{begun} {part}" if begun else part
            if not _ABBREVIATED.search(begun, max(0, len(begun) - ABBREVIATION_CHARACTERS_MAX)):
                yield from _cut(begun)
                begun = ""
        if begun:
            yield from _cut(begun)


class _LineStart:
    """The beginning of an item's line: the day, unless it was named before, and the speaker."""

    def __init__(self, item: Item, tokens: TokenCounter, zone: tzinfo) -> None:
        self.day = f"{item.happened_at.astimezone(zone).date()}: "
        self.speaker = _speaker(item)
        self.day_tokens = tokens(self.day)
        self.speaker_tokens = tokens(self.speaker) + 1  # and a line break


class _Selection:
    """The sentences chosen so far, and what is left of the budget."""

    def __init__(self, lines: Sequence[_LineStart], found: Sequence[Sentence], budget: int) -> None:
        self.chosen: dict[Sentence, None] = {}
        self._lines = lines
        self._found = found
        self._room = budget
        self._characters = SUMMARY_TEXT_CHARACTERS_MAX
        self._covered: set[str] = set()
        self._begun: set[int] = set()
        self._days: set[tuple[int, str]] = set()  # named so far; by item, if one has several days
        self._by_item = any(one.day != lines[one.item].day for one in found)
        counts = Counter(term for sentence in found for term in sentence.terms)
        self._weights = {
            term: math.log1p(count) * math.log(1 + len(found) / count)
            for term, count in counts.items()
        }

    def best_of_each(self) -> list[Sentence]:
        """The sentence of each item with the highest gain."""
        best: dict[int, Sentence] = {}
        for sentence in self._found:
            known = best.setdefault(sentence.item, sentence)
            if self.gain(sentence) > self.gain(known):
                best[sentence.item] = sentence
        return list(best.values())

    def cost(self, sentence: Sentence) -> int:
        """The tokens a sentence would take, including the beginning of its line."""
        line = self._lines[sentence.item]
        day = 0 if self._day(sentence) in self._days else line.day_tokens
        if sentence.item in self._begun:
            return sentence.tokens + (day and day + 1)  # and a line break
        return sentence.tokens + line.speaker_tokens + day

    def gain(self, sentence: Sentence) -> float:
        """The information that a sentence would add, relative to its cost."""
        added = sum(self._weights[term] for term in sorted(sentence.terms - self._covered))
        first = 1.0 if sentence.item in self._begun else FIRST_SENTENCE_WEIGHT
        return added * sentence.telling * first / math.sqrt(self.cost(sentence))

    def fill(self, candidates: Sequence[Sentence]) -> None:
        """Choose the sentence with the highest gain, repeatedly, while it fits (lazy greedy).

        Gains only fall while others are chosen, so an old gain is an upper bound and most are never
        computed again. (A day that is already named makes the next sentence a little cheaper; that
        is ignored.)
        """
        waiting = [
            (-self.gain(sentence), order, sentence) for order, sentence in enumerate(candidates)
        ]
        heapq.heapify(waiting)
        while waiting:
            _, order, sentence = heapq.heappop(waiting)
            gain = self.gain(sentence)
            if waiting and -gain > waiting[0][0]:
                heapq.heappush(waiting, (-gain, order, sentence))
            elif gain > 0:
                self._add(sentence)

    def text(self) -> str:
        """The chosen sentences in item order, a line for each item, each day named once."""
        written: list[str] = []
        item, day = -1, ""
        for sentence in sorted(self.chosen, key=_place):
            if (sentence.item, sentence.day) == (item, day):
                written[-1] += f" {sentence.text}"
                continue
            named = "" if sentence.day == day else sentence.day
            written.append(f"{named}{self._lines[sentence.item].speaker}{sentence.text}")
            item, day = sentence.item, sentence.day
        return "\n".join(written)

    def _day(self, sentence: Sentence) -> tuple[int, str]:
        return (sentence.item if self._by_item else -1, sentence.day)

    def _add(self, sentence: Sentence) -> None:
        line = self._lines[sentence.item]
        characters = len(sentence.day) + len(line.speaker) + len(sentence.text) + 1
        used = self.cost(sentence)
        if used > self._room or characters > self._characters:
            return
        self._room -= used
        self._characters -= characters
        self.chosen[sentence] = None
        self._covered |= sentence.terms
        self._begun.add(sentence.item)
        self._days.add(self._day(sentence))


def _place(sentence: Sentence) -> tuple[int, str, int]:
    return sentence.item, sentence.day, sentence.place


def _scored_sentences(
    number: int, item: Item, day: str, tokens: TokenCounter
) -> Iterator[Sentence]:
    title = frozenset(analyse(item.title).words) - STOP_WORDS
    for place, (dated, text) in enumerate(_dated_sentences(item, day)):
        words = frozenset(analyse(text).words)
        terms = words - STOP_WORDS or words
        echoed = len(terms & title) / len(title) if title else 0.0
        points = (
            information_score(text) + 0.2 * (place == 0) + 0.4 * echoed + 0.15 * item.significance
        )
        yield Sentence(number, place, dated, text, terms, max(0.1, 1 + points / 2), tokens(text))


def _dated_sentences(item: Item, day: str) -> Iterator[tuple[str, str]]:
    """The sentences of an item, each with its day; the lines of a summary name their own days."""
    if item.kind != SUMMARY:
        for text in split_into_sentences(item.text.removeprefix(_speaker(item))):
            yield day, text
        return
    for line in item.text.splitlines():
        if named := _DAY.match(line):
            day = named.group(1)
        for text in split_into_sentences(line[named.end() :] if named else line):
            yield day, text


def _speaker(item: Item) -> str:
    """The speaker of a message, which goes before its sentences; empty for other items."""
    found = _SPEAKER.match(item.text) if item.kind == "message" else None
    return found.group() if found else ""


def information_score(text: str) -> float:
    """Score how much of a sentence cannot be paraphrased: names, numbers, dates, decisions."""
    points = 0.3 * min(2, len(_NAME.findall(text))) + 0.3 * bool(_NUMBER.search(text))
    points += 0.3 * bool(_DATE.search(text)) + 0.5 * bool(_DECISION.search(text))
    points += 0.2 * bool(_EXACT.search(text)) - 0.2 * text.endswith("?")
    return points - 0.8 * bool(_CHATTER.search(text))


def _title(titles: Sequence[str], items: int) -> str:
    """Join the titles, most informative first, up to a limit, and count the items left out."""
    named = list(dict.fromkeys(filter(None, titles)))
    joined = named[0][:SUMMARY_TITLE_CHARACTERS_MAX] if named else "Summary"
    shown = 1
    for title in named[1:]:
        if len(joined) + len(title) > TITLES_CHARACTERS_MAX:
            break
        joined = f"{joined}; {title}"
        shown += 1
    return (
        joined if shown >= items else f"{joined[:TITLES_CHARACTERS_MAX]} (and {items - shown} more)"
    )


def _split(line: str) -> Iterator[str]:
    """Split a line after each mark that may end a sentence; the mark stays."""
    start = 0
    for end in _ENDS.finditer(line):
        if part := line[start : end.end()].strip():
            yield part
        start = end.end()
    if part := line[start:].strip():
        yield part


def _cut(sentence: str) -> Iterator[str]:
    while len(sentence) > SENTENCE_CHARACTERS_MAX:
        at = sentence.rfind(" ", 1, SENTENCE_CHARACTERS_MAX)
        at = SENTENCE_CHARACTERS_MAX if at < 1 else at
        yield sentence[:at]
        sentence = sentence[at:].lstrip()
    if sentence:
        yield sentence
