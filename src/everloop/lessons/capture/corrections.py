"""Finds corrections in a user's message: "no, use pnpm", "always run the linter first". Pure.

Precision over recall: better to miss one than to make a rule of a passing remark. Questions, long
messages, code, quoted lines and temporary wishes are skipped. A match is a verbatim excerpt.
"""

import re
from typing import Final

import msgspec

WORDS_MIN: Final = 3
CHARACTERS_MAX: Final = 300  # of one sentence

_FLAGS = re.IGNORECASE | re.VERBOSE
_LEAD = r"""
    (?:(?:ok(?:ay)?|hey|hi|please|pls|also|and|but|so|well|hm+|again|btw|fyi|just|yes|yeah
       |thanks|(?:one\s(?:more\s)?thing|quick\snote|for\sthe\srecord))[\s,:.!]+)*
"""
_NOT = "(?:do\\s?n['’]?t|do\\snot)"  # noqa: RUF001 - both are typed
_DO = (
    r"(?:use|prefer|call|put|run|write|keep|name|import|return|start|test|build|deploy|commit|read"
    r"|check|ask|add|make|set|store|log|format|install|leave|stick)"
)

# A general rule, wherever it is said.
_RULES = re.compile(
    rf"""{_LEAD}(?:
        (?:from\snow\son|going\sforward|in\s(?:the\s)?future|as\sa\srule|for\sfuture\sreference)\b
      | (?:you\s(?:should|must|need\sto)\s)?(?:always|never)\s
        (?!mind|again|been|seen|heard|worked|had|was|a\b|the\b|an\b|got|knew|thought|before)
      | we\s(?:always|never|{_NOT}\suse|prefer)\b
      | we\suse\b.*(?:\bhere\b|\bnot\b|\binstead\sof\b|\bin\sthis\s(?:project|repo|codebase))
      | in\s(?:this|our)\s(?:project|repo|repository|codebase)\b.*
        \b(?:use|prefer|never|always|{_NOT}|must|should)\b
      | (?:remember|keep\sin\smind|bear\sin\smind)[,:]?\s(?:that\b|to\b|we\b|you\b|never\b|always\b)
      | make\ssure\b.*\b(?:always|never|every\stime|whenever)\b
      | {_DO}\b.*\b(?:instead\sof|rather\sthan)\b
      | prefer\b.*\bover\b
    )""",
    _FLAGS,
)
# A rule only as a reply to something that the assistant did.
_REPLIES = re.compile(
    rf"""{_LEAD}(?:
        (?:no|nope|wrong|incorrect|not\squite|actually|that['’]?s\s(?:wrong|not\sright|incorrect))
        \s*[,.:;!–—-]+\s*(?:{_LEAD})
        (?:you\s(?:should|must|need\sto)\s|we\s(?:{_DO}|want|call|have)\b|it(?:['’]s|\sis|\sshould)\b
          |the\s\w+(?:\s\w+)?\s(?:is|are|should|must|goes|go|belongs?)\b|should\sbe\b|{_DO}\b
          |{_NOT}\b|never\b|always\b)
      | {_NOT}\s(?!worry|bother|know|think|understand|see|get\s(?:it|why|me|how)|have|need|care|mind
                  |want|wait|forget|stop|give\sup|you\b|we\b|they\b|i\b)
      | (?:stop|avoid|quit)\s(?!(?:doing|being)\s(?:that|it|this)\b)\w+ing\b
      | {_DO}\b[^,]*,\s(?:and\s)?not\s(?!sure|that|because|only)
    )""",  # noqa: RUF001 - dashes and apostrophes as people type them
    _FLAGS,
)
_FOR_NOW = re.compile(
    r"""\b(?:yet|for\snow|right\snow|at\sthe\smoment|this\stime|for\sa\s(?:moment|second|minute|bit)
        |until\s(?:i|we|then|tomorrow)|just\sthis\sonce|today|tonight|tomorrow|anything|everything
        |if\syou\s(?:want|like|can)|i\sguess|maybe|or\ssomething)\b""",
    _FLAGS,
)
_FENCE = re.compile(
    r"^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?]+(?=\s|$)|(?=\n)|$)", re.MULTILINE)
_STARTS = ("no", "nope", "wrong", "incorrect", "actually")


class Correction(msgspec.Struct, frozen=True):
    """A rule that the user stated, quoted verbatim."""

    quote: str


def corrections(text: str, *, answered: bool, characters_max: int) -> tuple[Correction, ...]:
    """The rules that a message states. `answered`: an assistant's turn came before it."""
    if len(text) > characters_max:
        return ()
    prose = _FENCE.sub(lambda code: "\n" * code[0].count("\n"), text)
    found = (sentence for sentence in _sentences(prose) if _is_rule(sentence, answered=answered))
    return tuple(Correction(sentence) for sentence in dict.fromkeys(found))


def _sentences(prose: str) -> list[str]:
    """The sentences of a text. A bare "No." is joined with the sentence after it."""
    sentences: list[str] = []
    for line in prose.splitlines():
        if line.lstrip().startswith((">", "|", "$", "#", "    ")):
            continue
        start = 0
        for found in _SENTENCE.finditer(line):
            sentence = line[start : found.end()].strip()
            if sentence.rstrip(".!,").lower() in _STARTS:
                continue
            sentences.append(sentence.lstrip("-*• "))
            start = found.end()
    return sentences


def _is_rule(sentence: str, *, answered: bool) -> bool:
    if len(sentence) > CHARACTERS_MAX or len(sentence.split()) < WORDS_MIN or "?" in sentence:
        return False
    if _FOR_NOW.search(sentence):
        return False
    return bool(_RULES.match(sentence) or (answered and _REPLIES.match(sentence)))
