"""What a query is after, by rules for English, German and French: pure, and cached.

A person who asks wants what was told, not what was asked: unless the query is about questions
("what did I ask you about the roof"), or about what the model said ("what did you recommend").
Words that only shape the answer ("give me a comprehensive summary of", "mention only three items")
say nothing about the topic and are not searched.
"""

import re
from functools import lru_cache
from typing import Final

import msgspec

from everloop.memory.text.analysis import QUESTIONS_CACHED, STOP_STEMS, parse_question
from everloop.memory.text.speech_acts import is_question, is_small_talk

FRAGMENT_WORDS_MAX: Final = 6  # a shorter text without a full stop is a query, not a sentence

_ABOUT_QUESTIONS = re.compile(
    r"\b(?:ask|asked|asking|(?:my|your|the) (?:\w+ )?questions?|gefragt|frage|fragen"
    r"|demand[ée]\w*)\b",
    re.IGNORECASE,
)
_ABOUT_ANSWERS = re.compile(
    r"\b(?:you(?:'ve| have| had)? (?:\w+ly )?(?:recommend|suggest|advis|advice|say|said|tell|told"
    r"|explain|mention|propos|give|gave|answer|repl|list|write|wrote|outlin|describ)\w*"
    r"|(?:did|do|have|had|would) you"
    r"|your (?:\w+ )?(?:answer|suggestion|recommendation|advice|reply|proposal|explanation|tip)s?"
    r"|(?:hast|hattest) du|(?:du|dein\w*) .{0,20}(?:empfohlen|vorgeschlagen|gesagt|geraten|antwort)"
    r"|(?:tu|vous) (?:m'|m')?(?:as|avez))\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:should I|shall I|suggest\w*|recommend\w*|advise|help me|show me|walk me through"
    r"|how (?:do|can|could|would|should|to)|what are (?:some|good|the best)"
    r"|what (?:is|are) (?:a|the) (?:good|best)|any (?:ideas|tips|advice)|could you|can you"
    r"|would you|I'm (?:planning|looking|trying|thinking|about)"
    r"|soll(?:te)? ich|empfiehl\w*|kannst du|könntest du|wie (?:kann|soll)|hilf mir"
    r"|peux-tu|pourrais-tu|devrais-je|aide-moi|conseill\w*)\b",
    re.IGNORECASE,
)
_COURSE = re.compile(
    r"\b(?:(?:list|in|what) (?:the )?order|order in which|chronolog\w*|sequence (?:of|in which)"
    r"|timeline of|summar(?:y|i[sz]e)\w*|sum up|over time|overview of|evolved?|developed|progressed"
    r"|reihenfolge|zusammenfass\w*|fass\w* .{0,60}zusammen|verlauf|überblick"
    r"|dans quel ordre|résum\w*|chronologi\w*)\b",
    re.IGNORECASE,
)
_ORDERED = re.compile(
    r"\b(?:(?:list|in|what) (?:the )?order|order in which|chronolog\w*|sequence (?:of|in which)"
    r"|timeline of|reihenfolge|dans quel ordre)\b",
    re.IGNORECASE,
)
_SHAPE = re.compile(
    r"mention (?:only(?: and only)? )?(?:\w+ )?items?\b|\bonly and only\b"
    r"|\b(?:can|could|would) you(?: please)?\b|\bplease\b|\bwalk me through\b"
    r"|\b(?:list|give me|provide|tell me|write)(?: me)?(?= (?:a|an|the|in order)\b)"
    r"|\b(?:a |the )?(?:comprehensive|complete|clear|detailed|brief|short|thorough)"
    r" (?=summary|overview)"
    r"|\b(?:a |the )?(?:summary|overview|timeline) of(?: how)?\b|\bsummari[sz]e(?: how)?\b"
    r"|\b(?:the )?order in which\b|\bin (?:the )?(?:right |chronological )?order\b"
    r"|\bI (?:brought up|mentioned|raised|discussed|talked about)\b"
    r"|\bwe(?:'ve| have)? discussed(?: so far)?\b"
    r"|\bdifferent (?:aspects|ways|topics|parts|things|concepts)(?: of| related to)?\b"
    r"|\b(?:throughout|across|during|over|in)(?: the course of)? (?:all )?"
    r"(?:our|my|the|these|those)"
    r" (?:conversations?|discussions?|chats?|sessions?|messages|requests|questions)\b"
    r"|\b(?:over time|so far|along the way|including|the key (?=\w+))\b",
    re.IGNORECASE,
)
_FULL_SENTENCE = re.compile(r"[.!。！]\s*$")  # noqa: RUF001 - full-width marks are meant
_SPACES = re.compile(r"\W+")
_ALSO_THINGS: Final = {"well"}  # alone in a query, it is a thing that is searched for


class QueryIntent(msgspec.Struct, frozen=True):
    """What a query is after."""

    topic: str  # the query without the words that only shape the answer
    asks: bool  # it is a question
    small_talk: bool  # it is a greeting, thanks or assent
    about_questions: bool  # of what was asked
    about_answers: bool  # of what a model said
    one_word: bool  # a search for a word, whoever said it
    advice: bool  # it asks for help, to which standing instructions and preferences apply
    course: bool  # it asks for a summary or an order of events
    ordered: bool  # the answer is a list by time


@lru_cache(maxsize=QUESTIONS_CACHED)
def intent_of(text: str) -> QueryIntent:
    """The intent of a query."""
    course = bool(_COURSE.search(text))
    topic = _SHAPE.sub(" ", text) if course else text
    return QueryIntent(
        topic=topic if _has_terms(topic) else text,
        asks=is_question(text) or text.rstrip().endswith("?"),
        small_talk=is_small_talk(text) and _plain(text) not in _ALSO_THINGS,
        about_questions=bool(_ABOUT_QUESTIONS.search(text)),
        about_answers=bool(_ABOUT_ANSWERS.search(text)),
        one_word=len(_plain(text).split()) == 1,
        advice=bool(_ADVICE.search(text)),
        course=course,
        ordered=bool(_ORDERED.search(text)),
    )


def is_copy(text: str, query: str) -> bool:
    """Whether a text is the query itself, and no statement that is searched for word for word."""
    (wanted, first, last), folded = _plain_query(query), text.casefold()
    if len(folded) < len(wanted) or first not in folded or last not in folded:
        return False  # as nearly always
    if _join_words(folded) != wanted:
        return False
    if is_question(text) or text.rstrip().endswith("?"):
        return True
    return len(text.split()) <= FRAGMENT_WORDS_MAX and not _FULL_SENTENCE.search(text)


def _plain(text: str) -> str:
    return _join_words(text.casefold())


@lru_cache(maxsize=QUESTIONS_CACHED)
def _plain_query(text: str) -> tuple[str, str, str]:
    """The words of a query, the first of them, and the last."""
    plain = _plain(text)
    return plain, plain.partition(" ")[0], plain.rpartition(" ")[2]


def _join_words(folded: str) -> str:
    return _SPACES.sub(" ", folded).strip()


def _has_terms(text: str) -> bool:
    return any(term not in STOP_STEMS for term in parse_question(text).terms)
