"""Text similarity: whether one text repeats, varies or contradicts another.

Pure and conservative. A text repeats another only if it has all its words in the same order and
spelling, because a repetition is not recorded again. A near duplicate (nearly all words, or another
tense) varies it. A text on the same thing with another number, date or name, with the opposite
word, or with "not", contradicts it. A number or name can also be the thing itself: statements about
two rooms are no contradiction. The same date, hour or number in another form (`normal_forms.py`)
makes a variation.
"""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from everloop.memory.text.analysis import analyse
from everloop.memory.text.lazy_pattern import LazyPattern
from everloop.memory.text.normal_forms import (
    DateReadings,
    dates_may_agree,
    has_ambiguous_date,
    mask_dates,
    normalise_values,
)

REPEATS = 0.9  # share of common word pairs from which on one text repeats or varies another
SAME_TOPIC = (
    0.5  # share of common words, without numbers and "not", from which on the topic is the same
)
WORDS_MIN = 3
ALIGNED_MAX = 100  # words of the longest text that is aligned word by word
TEXTS_CACHED = 64  # analysed texts that are cached

TextRelation = Literal["repeats", "varies", "contradicts", "differs"]

_MONEY = "$\u20ac\u00a3\u00a5"
_NUMBER = LazyPattern(
    r"(?P<minus>(?<![\w.,:/)-])[-\u2212])?"
    rf"(?P<before>[{_MONEY}])?(?P<digits>\d[\d.,:/-]*\d|\d)(?: ?(?P<after>[%{_MONEY}]|[ap]m\b))?"
)
_PLUS = LazyPattern(r"(?<!\S)\+(?=\d)")
_OPERATOR = LazyPattern(
    r"[<>=!]=|&&|\|\||(?<=\w)[<>](?=\w)|(?<=\w )[<>](?= \w)"
)  # operators in code
_NEGATION = LazyPattern(
    r"\b(?:not|cannot|no|never|none|nobody|nothing|without|nicht|nichts|kein\w*|nie|niemals|niemand"
    r"|ohne|jamais|nunca)\b"
    r"|n['\u2019]t\b|\bn(?:e|['\u2019])[^.!?]{0,60}?\b(?:pas|plus|jamais)\b",
    re.IGNORECASE,
)
_NAME = LazyPattern(
    r"(?:(?<=[a-z0-9,;] )|(?<=[DM]r\. )|(?<=M[rs]s\. )|(?<=Ms\. )|(?<=St\. )|(?<=Prof\. ))"
    r"[A-Z][\w'-]+|\S+@\S+\w"
)
_CONTRACTIONS = (  # contractions
    (LazyPattern(r"\b([Ii])['\u2019]m\b"), r"\1 am"),
    (LazyPattern(r"(\w)['\u2019]re\b"), r"\1 are"),
    (LazyPattern(r"(\w)['\u2019]s (?=\d|an? |the |not )"), r"\1 is "),
)
# Verbs of actions that can happen several times.
_ACTIONS = (
    "added|answered|asked|ate|attended|booked|borrowed|bought|called|cleaned|closed|committed"
    "|completed|cooked|created|deleted|deployed|downloaded|drank|drove|emailed|finished|fixed|flew"
    "|gave|helped"
    "|installed|lent|made|merged|met|ordered|paid|played|posted|published|pushed|ran|read|received"
    "|released|removed|reviewed|sang|saw|sent|shipped|spoke|swam|talked|taught|tested|told|took"
    "|updated|uploaded|visited|walked|watched|went|wrote"
)
_ACTION = LazyPattern(
    r"\W*(?:(?:(?i:i|we|he|she|they|you|the (?:user|team|agent))|[A-Z][\w'\u2019-]*) )?"
    rf"(?:(?i:just|also|then|already) )?(?i:{_ACTIONS})\b"
    r"|[^.!?]{0,80}?\b(?:habe|hat|haben|bin|ist|sind) [^.!?]{1,80}?\bge\w+(?:t|en)\b"
)
_INTRODUCTION = LazyPattern(
    r"^(?:(?![-\u2212]\d)\W)*(?:(?:please|just|also|and)\W+)*"
    r"(?:(?:remember|note|fyi|btw|by the way|for the record|do(?:n['\u2019]t| not) forget)\b"
    r"(?:\W+that\b)?\W*)?",
    re.IGNORECASE,
)


def compare_texts(one: str, other: str) -> tuple[TextRelation, float]:
    """Compare two texts: how one relates to the other, and their similarity from 0 to 1."""
    a, b = _analyse(one), _analyse(other)
    if a.dates == b.dates or not dates_may_agree(a.dates, b.dates):
        return _compare(a, b)
    how, shared = _compare(_analyse(one, dated=False), _analyse(other, dated=False))
    unclear = how == "varies" and (has_ambiguous_date(a.dates) or has_ambiguous_date(b.dates))
    return "differs" if unclear else how, shared


def _compare(a: "_Analysed", b: "_Analysed") -> tuple[TextRelation, float]:
    shared = max(_overlap(a.pairs, b.pairs), _overlap(a.gist, b.gist))
    about = max(_overlap(a.topic, b.topic), _subject_similarity(a, b))
    if shared < REPEATS and about < SAME_TOPIC:  # as most texts do
        return "differs", shared
    turned = _has_opposite(a.words, b.words) or _is_negated(a.plain) != _is_negated(b.plain)
    same = not turned and _values(a.plain) == _values(b.plain)
    near: TextRelation = "varies" if same and shared >= REPEATS else "differs"
    if near == "varies" and a.bare == b.bare and exact_words(a.spoken) == exact_words(b.spoken):
        return "repeats", shared
    if same and (near == "differs" or not _both_differ(a.bare, b.bare)):
        return near, shared
    if (
        about >= SAME_TOPIC
        and min(len(a.words), len(b.words)) >= WORDS_MIN
        and _same_subject(a, b, turned)
    ):
        return "contradicts", max(shared, about)
    return near, shared


class _Analysed(NamedTuple):
    """A text, analysed for comparison."""

    spoken: str  # without introductory words
    plain: str  # `spoken`, with dates and numbers in normal form
    dates: tuple[DateReadings, ...]
    words: tuple[str, ...]  # of `plain`
    bare: tuple[str, ...]  # `words` without articles and the like
    pairs: set[tuple[str, ...]]
    gist: set[tuple[str, ...]]  # pairs of `bare`
    topic: set[tuple[str, ...]]
    thing: set[str] | None  # the subject: the words before the first "is" or "has", if there is one


@lru_cache(maxsize=TEXTS_CACHED)
def _analyse(text: str, *, dated: bool = True) -> _Analysed:
    """Analyse a text. Cached, because one text is compared with several."""
    formed, dates = normalise_values(text) if dated else (mask_dates(text), ())
    words, spoken = analyse(formed).words, _write_out(text)
    plain = spoken if formed == text else _write_out(formed)
    said = words if plain == formed else analyse(plain).words
    bare = tuple(word for word in said if word not in _FILLER)
    gist = _pairs(bare) if len(bare) >= WORDS_MIN else set[tuple[str, ...]]()
    return _Analysed(
        spoken, plain, dates, said, bare, _pairs(words), gist, _topic(words), _subject(said)
    )


def plain_words(text: str) -> str:
    """The words of a text in lower case, without "please remember that" and the like."""
    return " ".join(_INTRODUCTION.sub("", text).casefold().split())


def _write_out(text: str) -> str:
    """A text without introductory words, with contractions written out."""
    plain = _INTRODUCTION.sub("", text)
    for short, whole in _CONTRACTIONS:
        plain = short.sub(whole, plain)
    return plain


def _values(text: str) -> tuple[list[str], list[str], list[str]]:
    """The numbers, names and operators in which texts on one topic may differ."""
    names = (name.casefold() for name in _NAME.findall(text))
    numbers = (
        ("-" if minus else "") + digits + (before or after)
        for minus, before, digits, after in _NUMBER.findall(text)
    )
    return sorted(numbers), sorted(names), sorted(_OPERATOR.findall(text))


def exact_words(text: str) -> list[str]:
    """The words of a text in lower case, without articles and the like.

    A word with a digit or a sign stays exactly as it is: a password, an address, a path, code.
    """
    said: list[str] = []
    text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    for run in _NUMBER.sub(_unit_last, _PLUS.sub("", text)).split():
        word = run.strip(_PUNCTUATION)
        if not word.replace("'", "").replace("-", "").isalpha():
            bare = run.rstrip(".,;:")
            said += [bare] if any(letter.isalnum() or letter in _SIGNS for letter in bare) else []
        elif not word.islower() and len(word) == 1 and said:
            said.append(word)  # the A of a vitamin
        else:
            first, *rest = word.casefold().split("'")
            said += [first] if first not in _ARTICLES else []
            said += [part for part in rest if part not in _CONTRACTED]
    return [*said, "?"] if text.rstrip().endswith("?") else said


def _unit_last(number: re.Match[str]) -> str:
    """A number with its unit after it, however it was written."""
    minus, before, digits, after = number.groups()
    return ("-" if minus else "") + digits + (before or after or "")


def _both_differ(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether each has a word that the other lacks."""
    return bool(set(one) - set(other)) and bool(set(other) - set(one))


def _is_negated(text: str) -> bool:
    """Whether a text is negated: an odd number of negations."""
    return len(_NEGATION.findall(text)) % 2 == 1


def _has_opposite(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one text has the opposite of a word of the other (antonyms)."""
    own, others = set(one) - set(other), set(other) - set(one)
    return any(not others.isdisjoint(_OPPOSITES.get(word, ())) for word in own)


def _same_subject(a: _Analysed, b: _Analysed, turned: bool) -> bool:
    """Whether two texts on one topic have the same subject.

    The subject is what comes before the first "is" or "has". Without such a word, both must differ
    in one place only, and not at the beginning. An action with another number or name is another
    action, so it contradicts nothing.
    """
    if a.thing is not None and b.thing is not None:
        return a.thing == b.thing and (turned or not (_allows_several(a) and _allows_several(b)))
    if max(len(a.words), len(b.words)) > ALIGNED_MAX:
        return False
    if not turned and _ACTION.match(a.plain) and _ACTION.match(b.plain):
        return False
    aligned = SequenceMatcher(None, a.words, b.words, autojunk=False).get_opcodes()
    starts = [start for how, start, *_ in aligned if how != "equal"]
    if len(starts) != 1:
        return False
    first = starts[0]
    return turned or (
        2 * first >= len(a.words) and not _allows_both(a.words[:first], a.plain, b.plain)
    )


def _allows_both(before: Sequence[str], one: str, other: str) -> bool:
    """Whether the common beginning lets both texts be true: one can like two things.

    Different numbers never are.
    """
    return not _VERBS_OF_LIKING.isdisjoint(before) and _values(one)[0] == _values(other)[0]


def _allows_several(said: _Analysed) -> bool:
    """Whether a statement can be true with several names: one can have met two people.

    Not for numbers or changes.
    """
    if _NUMBER.search(said.plain) or not _VERBS_OF_CHANGE.isdisjoint(said.words):
        return False
    return said.thing == {"there"} or _verb(said) in _HAVING


def _verb(said: _Analysed) -> str:
    """The first verb that says what the subject is or has."""
    return next((word for word in said.words[1:] if word in _VERBS_OF_STATE), "")


def _subject_similarity(a: _Analysed, b: _Analysed) -> float:
    """The similarity of two statements with "is" about the same subject, names left out."""
    if not a.thing or a.thing != b.thing or a.thing <= _PRONOUNS:
        return 0.0
    if not {_verb(a), _verb(b)} <= _BEING:
        return 0.0
    return _overlap(_without_names(a, a.thing), _without_names(b, a.thing))


def _without_names(said: _Analysed, thing: set[str]) -> set[tuple[str, ...]]:
    """The topic words of a text without names; the subject stays."""
    named = {word for name in _NAME.findall(said.plain) for word in analyse(name).words}
    left_out = (named | _VERBS_OF_STATE) - thing
    return {word for word in said.topic if word[0] not in left_out}


def _subject(words: Sequence[str]) -> set[str] | None:
    """The subject of a text: the words before its first "is" or "has"; None without one."""
    saying = (at for at, word in enumerate(words) if at and word in _VERBS_OF_STATE)
    at = next((at for at in saying if words[at] != "am" or words[at - 1] == "i"), None)
    return None if at is None else set(words[:at]) - _NOT_SUBJECT


def _pairs(words: Sequence[str]) -> set[tuple[str, ...]]:
    if len(words) < WORDS_MIN:
        return {tuple(words)}
    return set(pairwise(words)) | {(words[0],), (words[-1],)}


def _topic(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {(word,) for word in words if not word[0].isdigit() and word not in _OFF_TOPIC}


def _overlap(a: set[tuple[str, ...]], b: set[tuple[str, ...]]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0


_PUNCTUATION = "\"'()[]{}.,;:!?\u2026\u201c\u201d\u201e\u00ab\u00bb"  # punctuation around a word
_SIGNS = frozenset("+-*/=<>&|^~%#@\u2264\u2265\u2260\u00b1\u00d7\u00f7")
_ARTICLES = frozenset(("a", "an", "the", "is", "are", "am", "that", "to", "of"))
_CONTRACTED = frozenset(("m", "re", "s"))
_FILLER = frozenset(("a", "an", "the", "is", "are", "am", "m", "re", "that", "to", "of"))
_NOT_SUBJECT = frozenset(
    ("not", "no", "never", "t", "is", "are", "was", "the", "a", "an", "to", "of")
)
_VERBS_OF_STATE = frozenset(
    "is are am was were be will has have had isn aren wasn weren won hasn haven hadn"  # noqa: SIM905
    " ist sind heisst".split()
)
_VERBS_OF_LIKING = frozenset(  # stems
    "enjoy know like love need read speak visit want brauch esse fehlt kenn mag mochte muss spreche"  # noqa: SIM905
    " trinke".split()
)
_VERBS_OF_CHANGE = frozenset(("becom", "chang", "migrat", "move", "renam", "switch"))
_HAVING = frozenset(("has", "have", "had"))
_BEING = frozenset(("is", "was", "isn", "wasn"))
_PRONOUNS = frozenset("he here i it she that there they this we who you".split())  # noqa: SIM905
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
_OFF_TOPIC = _NOT_SUBJECT | _OPPOSITES.keys()
