"""Whether two texts say the same thing, or nearly the same and yet something else.

Pure, and careful: only what says every word of the other, in its order and as it is spelt there,
counts as a repetition, for it is not kept as an item of its own; what says nearly every word, or
says it in another tense, varies it. What says of the
same thing another number, date or name, the opposite, or "not", is set side by side. A number or a
name can also be the thing itself: what two rooms are like is no contradiction. A date, an hour or
a number in another form (`forms.py`) says the same, and so varies what it was.
"""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from everloop.memory.text.analysis import analyse
from everloop.memory.text.normal_forms import Readings, in_one_form, is_unclear, may_agree, undated

REPEATS = 0.9  # shared pairs of words that make one text a repetition of another
TOPIC = 0.5  # shared words, numbers and "not" aside, that make two texts about the same thing
WORDS_MIN = 3
ALIGNED_MAX = 100  # words of a text that is compared word by word
SAID_KEPT = 64  # texts that are not analysed again

Likeness = Literal["repeats", "varies", "contradicts", "differs"]

_MONEY = "$\u20ac\u00a3\u00a5"
_NUMBER = re.compile(
    r"(?P<minus>(?<![\w.,:/)-])[-\u2212])?"
    rf"(?P<before>[{_MONEY}])?(?P<digits>\d[\d.,:/-]*\d|\d)(?: ?(?P<after>[%{_MONEY}]|[ap]m\b))?"
)
_PLUS = re.compile(r"(?<!\S)\+(?=\d)")
_COMPARED = re.compile(r"[<>=!]=|&&|\|\||(?<=\w)[<>](?=\w)|(?<=\w )[<>](?= \w)")  # as in code
_NEGATION = re.compile(
    r"\b(?:not|cannot|no|never|none|nobody|nothing|without|nicht|nichts|kein\w*|nie|niemals|niemand"
    r"|ohne|jamais|nunca)\b"
    r"|n['\u2019]t\b|\bn(?:e|['\u2019])[^.!?]{0,60}?\b(?:pas|plus|jamais)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?:(?<=[a-z0-9,;] )|(?<=[DM]r\. )|(?<=M[rs]s\. )|(?<=Ms\. )|(?<=St\. )|(?<=Prof\. ))"
    r"[A-Z][\w'-]+|\S+@\S+\w"
)
_IS = (  # what is said short
    (re.compile(r"\b([Ii])['\u2019]m\b"), r"\1 am"),
    (re.compile(r"(\w)['\u2019]re\b"), r"\1 are"),
    (re.compile(r"(\w)['\u2019]s (?=\d|an? |the |not )"), r"\1 is "),
)
# Something that can be done again and again.
_VERBS = (
    "added|answered|asked|ate|attended|booked|borrowed|bought|called|cleaned|closed|committed"
    "|completed|cooked|created|deleted|deployed|downloaded|drank|drove|emailed|finished|fixed|flew"
    "|gave|helped"
    "|installed|lent|made|merged|met|ordered|paid|played|posted|published|pushed|ran|read|received"
    "|released|removed|reviewed|sang|saw|sent|shipped|spoke|swam|talked|taught|tested|told|took"
    "|updated|uploaded|visited|walked|watched|went|wrote"
)
_DONE = re.compile(
    r"\W*(?:(?:(?i:i|we|he|she|they|you|the (?:user|team|agent))|[A-Z][\w'\u2019-]*) )?"
    rf"(?:(?i:just|also|then|already) )?(?i:{_VERBS})\b"
    r"|[^.!?]{0,80}?\b(?:habe|hat|haben|bin|ist|sind) [^.!?]{1,80}?\bge\w+(?:t|en)\b"
)
_LEAD = re.compile(
    r"^(?:(?![-\u2212]\d)\W)*(?:(?:please|just|also|and)\W+)*"
    r"(?:(?:remember|note|fyi|btw|by the way|for the record|do(?:n['\u2019]t| not) forget)\b"
    r"(?:\W+that\b)?\W*)?",
    re.IGNORECASE,
)


def likeness(one: str, other: str) -> tuple[Likeness, float]:
    """How a text relates to another, and how much they share, 0 to 1."""
    a, b = _said(one), _said(other)
    if a.dates == b.dates or not may_agree(a.dates, b.dates):
        return _likeness(a, b)
    how, shared = _likeness(_said(one, dated=False), _said(other, dated=False))
    unclear = how == "varies" and (is_unclear(a.dates) or is_unclear(b.dates))
    return "differs" if unclear else how, shared


def _likeness(a: "_Said", b: "_Said") -> tuple[Likeness, float]:
    shared = max(_overlap(a.pairs, b.pairs), _overlap(a.gist, b.gist))
    about = max(_overlap(a.topic, b.topic), _of_a_thing(a, b))
    if shared < REPEATS and about < TOPIC:  # as most do, whatever else they hold
        return "differs", shared
    turned = _turned(a.words, b.words) or _denies(a.plain) != _denies(b.plain)
    same = not turned and _marks(a.plain) == _marks(b.plain)
    near: Likeness = "varies" if same and shared >= REPEATS else "differs"
    if near == "varies" and a.bare == b.bare and spelt(a.spoken) == spelt(b.spoken):
        return "repeats", shared
    if same and (near == "differs" or not _exchanged(a.bare, b.bare)):
        return near, shared
    if about >= TOPIC and min(len(a.words), len(b.words)) >= WORDS_MIN and _of_one(a, b, turned):
        return "contradicts", max(shared, about)
    return near, shared


class _Said(NamedTuple):
    """A text as it is compared."""

    spoken: str  # without what leads in to it
    plain: str  # that, with dates and numbers in one form
    dates: tuple[Readings, ...]
    words: tuple[str, ...]  # of that
    bare: tuple[str, ...]  # those of them that are more than its dress
    pairs: set[tuple[str, ...]]
    gist: set[tuple[str, ...]]  # of its bare words
    topic: set[tuple[str, ...]]
    thing: set[str] | None  # what it speaks of, if it says where that ends


@lru_cache(maxsize=SAID_KEPT)
def _said(text: str, *, dated: bool = True) -> _Said:
    """Kept for a while, because one text is compared with several."""
    formed, dates = in_one_form(text) if dated else (undated(text), ())
    words, spoken = analyse(formed).words, _in_full(text)
    plain = spoken if formed == text else _in_full(formed)
    said = words if plain == formed else analyse(plain).words
    bare = tuple(word for word in said if word not in _BARE)
    gist = _pairs(bare) if len(bare) >= WORDS_MIN else set[tuple[str, ...]]()
    return _Said(spoken, plain, dates, said, bare, _pairs(words), gist, _topic(words), _thing(said))


def _in_full(text: str) -> str:
    """A text without what leads in to it, and nothing in it said short."""
    plain = _LEAD.sub("", text)
    for short, whole in _IS:
        plain = short.sub(whole, plain)
    return plain


def _marks(text: str) -> tuple[list[str], list[str], list[str]]:
    """The numbers, names and comparisons that make two texts on one topic say different things."""
    names = (name.casefold() for name in _NAME.findall(text))
    numbers = (
        ("-" if minus else "") + digits + (before or after)
        for minus, before, digits, after in _NUMBER.findall(text)
    )
    return sorted(numbers), sorted(names), sorted(_COMPARED.findall(text))


def spelt(text: str) -> list[str]:
    """The words of a text as they are spelt, without its dress: articles, small letters or large.

    What holds a digit or a sign is as it stands: a password, an address, a path, code.
    """
    said: list[str] = []
    text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    for run in _NUMBER.sub(_plainly, _PLUS.sub("", text)).split():
        word = run.strip(_AROUND)
        if not word.replace("'", "").replace("-", "").isalpha():
            bare = run.rstrip(".,;:")
            said += [bare] if any(letter.isalnum() or letter in _SIGNS for letter in bare) else []
        elif not word.islower() and len(word) == 1 and said:
            said.append(word)  # the A of a vitamin
        else:
            first, *rest = word.casefold().split("'")
            said += [first] if first not in _DRESS else []
            said += [part for part in rest if part not in _CLIPPED]
    return [*said, "?"] if text.rstrip().endswith("?") else said


def _plainly(number: re.Match[str]) -> str:
    """A number with its unit behind it, however it was written."""
    minus, before, digits, after = number.groups()
    return ("-" if minus else "") + digits + (before or after or "")


def _exchanged(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether each says a word that the other does not say."""
    return bool(set(one) - set(other)) and bool(set(other) - set(one))


def _denies(text: str) -> bool:
    """Whether a text says "not", and does not take that back."""
    return len(_NEGATION.findall(text)) % 2 == 1


def _turned(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one says the opposite of a word of the other."""
    own, others = set(one) - set(other), set(other) - set(one)
    return any(not others.isdisjoint(_OPPOSITES.get(word, ())) for word in own)


def _of_one(a: _Said, b: _Said, turned: bool) -> bool:
    """Whether two texts on one topic speak of the same thing.

    The thing stands before the first "is" or "has". In a text without one, what is said of it
    stands in one place, and not at the beginning. What was done once more, with another number or
    name, was done twice.
    """
    if a.thing is not None and b.thing is not None:
        return a.thing == b.thing and (turned or not (_of_several(a) and _of_several(b)))
    if max(len(a.words), len(b.words)) > ALIGNED_MAX:
        return False
    if not turned and _DONE.match(a.plain) and _DONE.match(b.plain):
        return False
    aligned = SequenceMatcher(None, a.words, b.words, autojunk=False).get_opcodes()
    starts = [start for how, start, *_ in aligned if how != "equal"]
    if len(starts) != 1:
        return False
    first = starts[0]
    return turned or (2 * first >= len(a.words) and not _admits(a.words[:first], a.plain, b.plain))


def _admits(before: Sequence[str], one: str, other: str) -> bool:
    """Whether what was said before two texts part lets both be true: who likes one likes another.

    Of a number there is only one.
    """
    return not _ADMITTING.isdisjoint(before) and _marks(one)[0] == _marks(other)[0]


def _of_several(said: _Said) -> bool:
    """Whether what a text says of a thing can be said with other names as well, numbers aside.

    Who has met one has perhaps met another; where there is one there may be more.
    """
    if _NUMBER.search(said.plain) or not _CHANGING.isdisjoint(said.words):
        return False
    return said.thing == {"there"} or _saying(said) in _HAVING


def _saying(said: _Said) -> str:
    """The word that says what a thing is or has."""
    return next((word for word in said.words[1:] if word in _SAYING), "")


def _of_a_thing(a: _Said, b: _Said) -> float:
    """How much two texts share that say what the same thing is, but for the names that they say."""
    if not a.thing or a.thing != b.thing or a.thing <= _ANYTHING:
        return 0.0
    if not {_saying(a), _saying(b)} <= _BEING:
        return 0.0
    return _overlap(_nameless(a, a.thing), _nameless(b, a.thing))


def _nameless(said: _Said, thing: set[str]) -> set[tuple[str, ...]]:
    """The words of a thing and what is said of it, without names."""
    named = {word for name in _NAME.findall(said.plain) for word in analyse(name).words}
    left_out = (named | _SAYING) - thing
    return {word for word in said.topic if word[0] not in left_out}


def _thing(words: Sequence[str]) -> set[str] | None:
    """What a text speaks of, if it says where that ends."""
    saying = (at for at, word in enumerate(words) if at and word in _SAYING)
    at = next((at for at in saying if words[at] != "am" or words[at - 1] == "i"), None)
    return None if at is None else set(words[:at]) - _PLAIN


def _pairs(words: Sequence[str]) -> set[tuple[str, ...]]:
    if len(words) < WORDS_MIN:
        return {tuple(words)}
    return set(pairwise(words)) | {(words[0],), (words[-1],)}


def _topic(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {(word,) for word in words if not word[0].isdigit() and word not in _OFF_TOPIC}


def _overlap(a: set[tuple[str, ...]], b: set[tuple[str, ...]]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0


_AROUND = (
    "\"'()[]{}.,;:!?\u2026\u201c\u201d\u201e\u00ab\u00bb"  # signs around a word that say nothing
)
_SIGNS = frozenset("+-*/=<>&|^~%#@\u2264\u2265\u2260\u00b1\u00d7\u00f7")
_DRESS = frozenset(("a", "an", "the", "is", "are", "am", "that", "to", "of"))
_CLIPPED = frozenset(("m", "re", "s"))
_BARE = frozenset(("a", "an", "the", "is", "are", "am", "m", "re", "that", "to", "of"))
_PLAIN = frozenset(("not", "no", "never", "t", "is", "are", "was", "the", "a", "an", "to", "of"))
_SAYING = frozenset(
    "is are am was were be will has have had isn aren wasn weren won hasn haven hadn"  # noqa: SIM905
    " ist sind heisst".split()
)
_ADMITTING = frozenset(  # by their stems
    "enjoy know like love need read speak visit want brauch esse fehlt kenn mag mochte muss spreche"  # noqa: SIM905
    " trinke".split()
)
_CHANGING = frozenset(("becom", "chang", "migrat", "move", "renam", "switch"))
_HAVING = frozenset(("has", "have", "had"))
_BEING = frozenset(("is", "was", "isn", "wasn"))
_ANYTHING = frozenset("he here i it she that there they this we who you".split())  # noqa: SIM905
_PAIRS = """
accept reject, agree disagree, alive dead, allow deny, allow forbid, available unavailable,
cheap expensive, early late, enable disable, hot cold, like dislike, like hate, love hate,
married single, on off, open close, open shut, pass fail, possible impossible, safe unsafe,
start stop, succeed fail, true false, up down, win lose, erlaubt verboten, liebt hasst, mag hasst,
offen geschlossen, verheiratet ledig
"""
_OPPOSITES: dict[str, set[str]] = {}
for _one, _other in (analyse(pair).words for pair in _PAIRS.split(",")):
    _OPPOSITES.setdefault(_one, set()).add(_other)
    _OPPOSITES.setdefault(_other, set()).add(_one)
_OFF_TOPIC = _PLAIN | _OPPOSITES.keys()
