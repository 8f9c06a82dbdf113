"""Certainty of a time in a question: a filter (when something was said), or only a boost.

Pure. A time may exclude items only if it is certain, because nobody notices what a wrong filter
hides. It is not certain if the day is rather the topic ("about Friday"), part of the statement
("did I say that we moved in May"), or ambiguous.
"""

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from dateutil.relativedelta import relativedelta

from everloop.memory.text.analysis import QUESTIONS_CACHED
from everloop.memory.text.calendar_names import FRENCH_DAY, FULL_DAY, GERMAN_DAY
from everloop.memory.text.lazy_pattern import LazyPattern
from everloop.memory.time_query.expressions import SHORT_DAY
from everloop.memory.time_query.intervals import ANY_YEAR, Interval

GERMAN_VERB_DISTANCE_MAX = 240  # characters within which a German verb must come
_YEARLONG: Final = timedelta(days=365)
GERMAN_SPEECH_VERBS = "gesagt|erzählt|geschrieben|erwähnt|besprochen|notiert"
FRENCH_SPEECH_VERBS = "dit|raconté|écrit|mentionné|noté|décidé"
GERMAN_EVENT_VERBS = "passiert|geschehen|geändert|verändert"
FRENCH_EVENT_VERBS = "passé|arrivé|changé"


@lru_cache(maxsize=QUESTIONS_CACHED)
def asks_what_was_said(text: str) -> bool:
    """Whether a question is about what somebody said, wrote or noted."""
    return _TOLD.search(text) is not None


def asks_when(text: str) -> bool:
    """Whether a question asks for a time. Then a date in it is part of the topic."""
    return _WHEN.match(text) is not None


def asks_what_happened(text: str) -> bool:
    """Whether a question asks only what happened before, after or during an event."""
    return _OPEN.search(text) is not None


def is_reported(before: str) -> bool:
    """Whether the words before a time make it part of a reported statement."""
    return _CLAIMED.search(before) is not None


def recurrence(words: str) -> relativedelta:
    """The period after which the same words mean the next date: a week, a month or a year."""
    if WEEKDAY_PATTERN.search(words):
        return relativedelta(weeks=1)
    return relativedelta(months=1) if _MONTHLY.fullmatch(words) else relativedelta(years=1)


def is_certain(before: str, words: str, side: str, interval: Interval, now: datetime) -> bool:
    """Whether a time expression certainly says when something was said, and is unambiguous."""
    start, namesake = interval[0], _NAMESAKE.search(before + words)
    if is_reported(before) or (_TOPIC.search(before) and not _LEFT_OVER.search(before)):
        return False
    if namesake and words in namesake.groups():
        return False
    if not side and interval[1] - start >= _YEARLONG and _ABOUT.search(before):
        return RELATIVE_PATTERN.search(words) is not None
    if words.casefold().endswith("ago"):
        return not _LIMIT.search(before)
    if (
        side not in {"before", "until"}
        or re.search(ANY_YEAR, words)
        or RELATIVE_PATTERN.search(words)
    ):
        return True
    return now - start < start + recurrence(words) - now  # else the next such date is nearer


_TOLD = LazyPattern(
    r"\b(?:I|we|you)\b(?: \w+){0,2}? (?:say|said|tell|told|write|wrote|written|mention(?:ed)?"
    r"|noted?|discuss(?:ed|ing)?|talk(?:ed|ing)?|sp(?:eak|oken?|eaking)|chat(?:ted|ting)?"
    r"|ask(?:ed|ing)?|answer(?:ed)?|decided?|saved?|remember)\b"
    r"|\b(?:messages?|notes?|conversations?|chats?|threads?|memories)\b"
    rf"|\b(?:ich|wir|du|ihr)\b(?:[^.?!]|(?<=\d)\.){{0,{GERMAN_VERB_DISTANCE_MAX}}}"
    rf"\b(?:{GERMAN_SPEECH_VERBS})\b"
    rf"|\b(?:ai|as|avons|avez)(?:-\w+)? (?:\w+ )?(?:{FRENCH_SPEECH_VERBS})\b",
    re.IGNORECASE,
)
# Such a question has no other words to search for: the event only says when.
_OPEN = LazyPattern(
    r"\bwhat(?:'s| is| was| has| had| else| all)* "
    r"(?:happened|happening|changed|new|went on|going on|gone on)"
    r" (?=before|after|since|until|during)"
    r"|\bwas (?:ist|hat sich)(?: \w+)? (?=vor|nach|seit|während|bis)"
    rf"[^?.!,;]{{0,{GERMAN_VERB_DISTANCE_MAX}}}\b(?:{GERMAN_EVENT_VERBS})\b"
    r"|\bqu(?:['\u2019]est-ce qui (?:s['\u2019]est|est|a)|e s['\u2019]est-il|['\u2019]est-il)"
    rf" (?:{FRENCH_EVENT_VERBS}) (?=avant|après|depuis|pendant|jusqu)",
    re.IGNORECASE,
)
_WHEN = LazyPattern(r"\W*(?:when|wann|quand)\b", re.IGNORECASE)  # then a date is part of the topic
# In "did I say that Anna was born in 1985" the time is part of the statement; also in "did I tell
# you we moved in May". Of a whole year, "about Japan in 2019" is ambiguous.
_CLAIMED = LazyPattern(
    r"\b(?:say|said|tell|told|mention(?:ed)?|write|wrote|written|noted?|decided?|remember)"
    r"(?: (?:to )?(?:you|me|us|him|her|them|(?-i:[A-Z]\w+)))?"
    r" (?:that\b(?! (?:day|week|month|year))"
    r"|(?:I|we|he|she|it|they)(?:['\u2019]\w+)? "
    r"(?!(?:about|after|at|before|during|from|in|last|on|since|then|this|to|today|yesterday)\b)\w"
    r"|(?!about\b)(?:[\w'\u2019-]+ ){0,5}?"
    r"(?:is|are|was|were|will|would|has|had|should|must|can)\b)"
    r"|, (?:dass|ob|wie|wo|wann)\b"
    rf"|\b(?:{FRENCH_SPEECH_VERBS}) (?:que\b|qu['\u2019])",
    re.IGNORECASE,
)
_ABOUT = LazyPattern(r"\b(?:about|regarding|concerning) (?!(?:in|on|during|from) $)", re.IGNORECASE)
WEEKDAY_PATTERN = LazyPattern(
    rf"\b(?:{FULL_DAY}|{SHORT_DAY}|{GERMAN_DAY}|{FRENCH_DAY}|weekend)\b", re.IGNORECASE
)
_MONTHLY = LazyPattern(r"the \d+[a-z]+")
RELATIVE_PATTERN = LazyPattern(
    r"\b(?:last|this|past|previous|ago|earlier|today|yesterday|the other day|gestern|hier|heute"
    r"|(?:letzte|vorige|diese)\w?|vor|il y a|derni\w+)\b",
    re.IGNORECASE,
)
# After these words a day is a topic or a deadline; after `_LIMIT` a count is no date but a limit;
# those of `_NAMESAKE` may be a person or a number.
_TOPIC = LazyPattern(
    r"\b(?:about|for|regarding|concerning|(?<!up )(?<!prior )to|by|through|and|or"
    r"|über|für|sur|pour) (?:the )?$",
    re.IGNORECASE,
)
# Here "about" belongs to the question: "what did we talk about", "the film I spoke about".
_LEFT_OVER = LazyPattern(
    r"\b(?:what|who|whom|which|that|(?:the|a|an|this|any) [\w' -]+?)"
    r"(?: did| do| have| had| was| were)? (?:I|we|you)(?: \w+)?"
    r" (?:talk|sp[eo]a?k|chat|ask|argu|complain|joke)\w* about $",
    re.IGNORECASE,
)
_LIMIT = LazyPattern(r"\b(?:over|under|almost|nearly|(?:more|less) than|at least) $", re.IGNORECASE)
_NAMESAKE = LazyPattern(
    rf"\b(?:of|from|after|before|between|around) (?P<name>jan|april|may|june|august)$"
    rf"|\bof (?P<number>{ANY_YEAR})$",
    re.IGNORECASE,
)
