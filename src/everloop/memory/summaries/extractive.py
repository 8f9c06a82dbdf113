"""A writer of summaries without a model: it picks the most telling sentences, word for word.

It looks for the set of sentences that says most within the budget. A word counts once, and for more
if the window keeps coming back to it without saying it all the time; a sentence counts for more if
it holds what cannot be said in other words: names, numbers, dates, paths, what was decided. Where
there is room, every item gets a sentence before any gets two, so that each is still found by its
own title. Nothing is invented; dates stand in front, because "yesterday" means nothing later on.

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
from everloop.memory.summaries.compress import TEXT_MAX, TITLE_MAX, Gist, Refusal, Summarise
from everloop.memory.text.analysis import STOP_WORDS, analyse
from everloop.memory.tokens import ESTIMATE, Tokens

TITLES_CHARACTERS = 160
SENTENCE_CHARACTERS = 320
COVERED_SHARE = 0.8  # of the budget: if that is enough for a sentence of each item, each gets one
ABBREVIATED_MAX = 12  # characters at the end of a text that tell whether a sentence ends there
BEGINNING = 1.25  # how much more the first sentence of an item counts

_ENDS = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")  # noqa: RUF001 - full-width marks
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|approx|No|Nr|Fig|cf|Inc|Ltd|Co|[A-Z]|e\.g|i\.e|z\.B"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|^\d{1,2})\.$"
)
_BULLET = re.compile(r"^\s*(?:[-*•>]|#+|\d{1,2}[.)])\s+")
_DAY = re.compile(r"(?:(\d{4}-\d\d-\d\d: ))+")  # in front of a line of a summary
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
    """A sentence of an item: whose it is, which one, of when, what it is about, what it costs."""

    item: int
    place: int
    day: str
    text: str
    terms: frozenset[str]
    telling: float
    tokens: int


def extractive(tokens: Tokens = ESTIMATE, zone: tzinfo = UTC) -> Summarise:
    """A writer that extracts, counting tokens this way and dating items in this time zone."""

    def summarise(items: Sequence[Item], budget: int) -> Gist | Refusal:
        return extract(items, budget, tokens=tokens, zone=zone)

    return summarise


def extract(
    items: Sequence[Item], budget: int, *, tokens: Tokens = ESTIMATE, zone: tzinfo = UTC
) -> Gist | Refusal:
    """The most telling sentences of these items, within a budget of tokens."""
    lines = [_Line(item, tokens, zone) for item in items]
    found = [
        sentence
        for number, item in enumerate(items)
        for sentence in _read(number, item, lines[number].day, tokens)
        if sentence.terms
    ]
    if not found:
        return Refusal("there is nothing to say")
    page = _Page(lines, found, budget)
    best = page.best_of_each()
    if sum(page.cost(sentence) for sentence in best) <= COVERED_SHARE * budget:
        page.fill(best)
    page.fill(found)
    if not page.chosen:
        return Refusal(f"not one sentence fits into {budget} tokens")
    ranked = dict.fromkeys(sentence.item for sentence in page.chosen)
    return Gist(_title([items[number].title for number in ranked], len(items)), page.text())


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, as written, without bullets; very long ones in parts."""
    for line in text.splitlines():
        begun = ""
        for part in _split(_BULLET.sub("", line.strip())):
            begun = f"{begun} {part}" if begun else part
            if not _ABBREVIATED.search(begun, max(0, len(begun) - ABBREVIATED_MAX)):
                yield from _cut(begun)
                begun = ""
        if begun:
            yield from _cut(begun)


class _Line:
    """What stands in front of an item's sentences: the day, named once, and who speaks."""

    def __init__(self, item: Item, tokens: Tokens, zone: tzinfo) -> None:
        self.day = f"{item.happened_at.astimezone(zone).date()}: "
        self.speaker = _speaker(item)
        self.day_tokens = tokens(self.day)
        self.speaker_tokens = tokens(self.speaker) + 1  # and a line break


class _Page:
    """The summary in the making: what was chosen, and how much room is left."""

    def __init__(self, lines: Sequence[_Line], found: Sequence[Sentence], budget: int) -> None:
        self.chosen: dict[Sentence, None] = {}
        self._lines = lines
        self._best = found
        self._room = budget
        self._characters = TEXT_MAX
        self._said: set[str] = set()
        self._begun: set[int] = set()
        self._days: set[tuple[int, str]] = set()  # named so far; by item, if one tells of others
        self._apart = any(one.day != lines[one.item].day for one in found)
        often = Counter(term for sentence in found for term in sentence.terms)
        self._worth = {
            term: math.log1p(count) * math.log(1 + len(found) / count)
            for term, count in often.items()
        }

    def best_of_each(self) -> list[Sentence]:
        """The sentence of each item that says most."""
        best: dict[int, Sentence] = {}
        for sentence in self._best:
            known = best.setdefault(sentence.item, sentence)
            if self.gain(sentence) > self.gain(known):
                best[sentence.item] = sentence
        return list(best.values())

    def cost(self, sentence: Sentence) -> int:
        """The tokens a sentence would take, with what has to stand in front of it."""
        line = self._lines[sentence.item]
        day = 0 if self._day(sentence) in self._days else line.day_tokens
        if sentence.item in self._begun:
            return sentence.tokens + (day and day + 1)  # and a line break
        return sentence.tokens + line.speaker_tokens + day

    def gain(self, sentence: Sentence) -> float:
        """What a sentence would add, for what it would cost."""
        news = sum(self._worth[term] for term in sorted(sentence.terms - self._said))
        begins = 1.0 if sentence.item in self._begun else BEGINNING
        return news * sentence.telling * begins / math.sqrt(self.cost(sentence))

    def fill(self, candidates: Sequence[Sentence]) -> None:
        """Take in what gains most, again and again, while it fits.

        A gain only falls while others are taken in, so an old one says how much it can be at most
        and most are never computed again. (A day that was named makes the next a little cheaper;
        that is overlooked.)
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
        """The sentences in the order of the items, a line for each, each day named once."""
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
        return (sentence.item if self._apart else -1, sentence.day)

    def _add(self, sentence: Sentence) -> None:
        line = self._lines[sentence.item]
        characters = len(sentence.day) + len(line.speaker) + len(sentence.text) + 1
        used = self.cost(sentence)
        if used > self._room or characters > self._characters:
            return
        self._room -= used
        self._characters -= characters
        self.chosen[sentence] = None
        self._said |= sentence.terms
        self._begun.add(sentence.item)
        self._days.add(self._day(sentence))


def _place(sentence: Sentence) -> tuple[int, str, int]:
    return sentence.item, sentence.day, sentence.place


def _read(number: int, item: Item, day: str, tokens: Tokens) -> Iterator[Sentence]:
    title = frozenset(analyse(item.title).words) - STOP_WORDS
    for place, (told, text) in enumerate(_dated(item, day)):
        words = frozenset(analyse(text).words)
        terms = words - STOP_WORDS or words
        echoed = len(terms & title) / len(title) if title else 0.0
        points = telling(text) + 0.2 * (place == 0) + 0.4 * echoed + 0.15 * item.significance
        yield Sentence(number, place, told, text, terms, max(0.1, 1 + points / 2), tokens(text))


def _dated(item: Item, day: str) -> Iterator[tuple[str, str]]:
    """The sentences of an item, each with its day: a summary names the days of its lines itself."""
    if item.kind != SUMMARY:
        for text in sentences(item.text.removeprefix(_speaker(item))):
            yield day, text
        return
    for line in item.text.splitlines():
        if named := _DAY.match(line):
            day = named.group(1)
        for text in sentences(line[named.end() :] if named else line):
            yield day, text


def _speaker(item: Item) -> str:
    """Who speaks in a message: each of its sentences needs the name in front."""
    found = _SPEAKER.match(item.text) if item.kind == "message" else None
    return found.group() if found else ""


def telling(text: str) -> float:
    """How much a sentence holds that cannot be said in other words."""
    points = 0.3 * min(2, len(_NAME.findall(text))) + 0.3 * bool(_NUMBER.search(text))
    points += 0.3 * bool(_DATE.search(text)) + 0.5 * bool(_DECISION.search(text))
    points += 0.2 * bool(_EXACT.search(text)) - 0.2 * text.endswith("?")
    return points - 0.8 * bool(_CHATTER.search(text))


def _title(titles: Sequence[str], items: int) -> str:
    """The titles, the most telling first, as far as they go, and how many items are not named."""
    named = list(dict.fromkeys(filter(None, titles)))
    joined = named[0][:TITLE_MAX] if named else "Summary"
    shown = 1
    for title in named[1:]:
        if len(joined) + len(title) > TITLES_CHARACTERS:
            break
        joined = f"{joined}; {title}"
        shown += 1
    return joined if shown >= items else f"{joined[:TITLES_CHARACTERS]} (and {items - shown} more)"


def _split(line: str) -> Iterator[str]:
    """A line after each mark that may end a sentence; the mark stays."""
    start = 0
    for end in _ENDS.finditer(line):
        if part := line[start : end.end()].strip():
            yield part
        start = end.end()
    if part := line[start:].strip():
        yield part


def _cut(sentence: str) -> Iterator[str]:
    while len(sentence) > SENTENCE_CHARACTERS:
        at = sentence.rfind(" ", 1, SENTENCE_CHARACTERS)
        at = SENTENCE_CHARACTERS if at < 1 else at
        yield sentence[:at]
        sentence = sentence[at:].lstrip()
    if sentence:
        yield sentence
