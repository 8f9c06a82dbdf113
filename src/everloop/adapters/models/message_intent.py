"""What a message to the built-in model is: a statement, a question, a request, or small talk.

Pure and by rules, for a model that does not understand language. In doubt a message is a statement:
keeping too much can be undone with one click, and losing something cannot.
"""

import re
from typing import Literal

Intent = Literal["statement", "question", "request", "greeting", "thanks", "reply"]

_FLAGS = re.IGNORECASE | re.VERBOSE
_A = "'\u2019"  # both apostrophes are typed
_PERSON = (
    "i|you|he|she|it|we|they|there|this|that|these|those|my|your|his|her|its|our|their|the|a|an|any"
    "|some|anyone|anybody|someone|something"
)
_QUESTION = re.compile(
    rf"""
    \W*(?:(?:and|so|but|ok|okay|please|hey|well)\b\W*)*
    (?:
        (?:who|what|which|whose|whom|why|when|where|how)(?:[{_A}](?:s|re))?\b
        (?!\s+(?:i|we|he|she|they)\b)
      | (?:do|does|did|is|are|am|was|were|can|could|will|would|should|shall|has|have|had|may|might)
        (?:n[{_A}]t)?\s+(?:{_PERSON})\b
      | (?:wer|wem|wen|wessen|welche[rsmn]?|warum|weshalb|wieso|wann|wohin|woher|wieviel)\b
      | (?:was|wo|wie)\s+(?:ist|sind|waren?|hat|haben?|hei(?:ss|ß)t|viele?|oft|lange|kann)\b
      | (?:qui|quoi|quand|pourquoi|comment|combien|quel(?:le)?s?|est-ce)\b
      | (?:quién|qué|cuándo|dónde|cómo|cuál(?:es)?|cuánt[oa]s?)\b
    )
    """,
    _FLAGS,
)
_REQUEST = re.compile(
    r"""
    \W*(?:(?:please|now|then|and|so|can\s+you|could\s+you|would\s+you|will\s+you)\b\W*)*
    (?:
        (?:tell|show|give|help|remind|teach|send|read|get|find)\s+(?:me|us)\b
      | (?:find|search|look\s+up|look\s+for|list|explain|describe|translate|compare|calculate
          |summari[sz]e|draft|rewrite|suggest|write|plan|recommend|check|compute|count|forget)\b
    )
    """,
    _FLAGS,
)
_GREETING = re.compile(
    r"\W*(?:hi|hello|hey|hiya|yo|good (?:morning|afternoon|evening|day)|hallo"
    r"|guten (?:morgen|tag|abend)|bonjour|salut|hola|ciao|test|testing)"
    r"(?: (?:there|everloop|again|all|everyone))?\W*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\W*(?:thanks|thank you|thx|ty|cheers|danke|merci|gracias)"
    r"(?: (?:a lot|so much|very much|you))?\W*",
    re.IGNORECASE,
)
_REPLY = re.compile(
    r"\W*(?:ok|okay|k|yes|yep|yeah|no|nope|sure|fine|great|good|nice|cool|perfect|right|correct|exactly"
    r"|got it|i see|bye|goodbye|see you|good night|stop|ja|nein|oui|non|si)\W*",
    re.IGNORECASE,
)
_TO_KEEP = re.compile(
    r"\W*(?:please |can you |could you )?(?:note to self|remember|note|keep in mind"
    rf"|don[{_A}]t forget|do not forget|for the record|fyi|save)\b(?! me\b)"
    r"(?: this| the following)?(?: that\b| down\b)?\W*",
    re.IGNORECASE,
)
_KEEP_THAT = re.compile(
    rf"\s*(?:please )?(?:remember|note|keep|save|don[{_A}]t forget|do not forget)"
    r"(?: that| this| it)?(?: down| in mind| for me| for later)?(?:,? please)?\W*$",
    re.IGNORECASE,
)
_ENDS_AS_QUESTION = re.compile(rf"\?[\"”)»{_A}\s]*$")
_LAST_SENTENCE = re.compile(r"(?:^|(?<=[.!?])\s)")


def message_intent(text: str) -> Intent:
    """What a message is."""
    said = text.strip()
    for intent, pattern in _SMALL_TALK:
        if pattern.fullmatch(said):
            return intent
    if _ENDS_AS_QUESTION.search(said):
        return "question"
    if _TO_KEEP.match(said):
        return "statement"
    if _REQUEST.match(said):
        return "request"
    return "question" if not said or _QUESTION.match(said) else "statement"


def statement_to_keep(text: str) -> str:
    """A statement without the request to remember it; empty if nothing else was said."""
    said = text.strip()
    opening = _TO_KEEP.match(said)
    rest = said[opening.end() :] if opening else said
    *before, last = _LAST_SENTENCE.split(rest)
    if before and _KEEP_THAT.fullmatch(last):
        rest = rest[: len(rest) - len(last)].rstrip()
    if not rest or _KEEP_THAT.fullmatch(rest) or not re.search(r"\w", rest):
        return ""
    if opening and rest.strip(".! ").lower() in {"that", "this", "it"}:
        return ""
    return rest[0].upper() + rest[1:] if opening and opening.end() else rest


_SMALL_TALK: tuple[tuple[Intent, re.Pattern[str]], ...] = (
    ("greeting", _GREETING),
    ("thanks", _THANKS),
    ("reply", _REPLY),
)
