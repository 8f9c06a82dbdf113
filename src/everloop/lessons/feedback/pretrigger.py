"""A cheap keyword filter for turns that may contain feedback, before any model is asked. Pure.

Most turns do not. A verdict on the work ("still broken", "that's exactly what I wanted") counts
anywhere in the text. A single word of praise or blame ("thanks", "no", "wrong") counts only in a
short turn: in a long one it is courtesy, or about something else. Verdicts are recognised in
English only, single words in some other languages too, unless they mean something else in English.
"""

import re
from typing import Final

INTERRUPT_MARKER: Final = "[Request interrupted by user"

_FLAGS = re.IGNORECASE | re.VERBOSE
_APOSTROPHE = "['’]?"  # noqa: RUF001 - both are typed, and neither often is

_WORDS = re.compile(
    rf"""
    \b(?:
        thanks|thank\syou|thx|ty|perfect(?:ly)?|exactly|great|nice|cool|awesome|excellent|brilliant
      | lovely|good|love\sit|well\sdone|right|correct|yes+|yep|works?|worked|fixed|better
      | wrong|broken?|breaks|bad|worse|worst|no|nope|not|never|stop|bugs?|buggy|errors?
      | fail(?:s|ed|ing|ure)?|incorrect|useless|terrible|awful|horrible|ugly|annoying|again|undo
      | revert|crash(?:es|ed)?|missing|mess|ugh+|meh|wtf|ffs|damn|crap|shit|fuck\w*|sucks?|bullshit
      | (?:do|does|did|is|are|was|were|has|have|had|ca|wo|would|should|could)n{_APOSTROPHE}t
    )\b
    """,
    _FLAGS,
)
_OTHER_LANGUAGES = re.compile(
    r"""
    \b(?:
        danke|perfekt|genau|stimmt|richtig|falsch|kaputt|nein|nicht|klappt|funktioniert|schlecht|fehler
      | merci|parfait|exactement|faux|cass[ée]e?|mauvais|marche|fonctionne|erreur|bravo
      | gracias|perfecto|exacto|correcto|incorrecto|funciona|roto|mejor|peor
      | obrigad[oa]|perfeito|exato|correto|errado|não|nao|melhor|pior
      | grazie|perfetto|esatto|giusto|sbagliato|rotto|funziona|meglio|peggio
      | bedankt|precies|goed|klopt|kapot|niet|nee|werkt|beter|slecht
    )\b
    """,
    _FLAGS,
)
_THIS = rf"(?:that|this|it|these|those|which|your?\s\w+)(?:{_APOSTROPHE}s)?"
_QUITE = r"(?:\s(?:is|was|are|looks?|seems?|just|still|all|now|really|much|way|so|exactly|simply))*"
_VERDICTS = re.compile(
    rf"""
    \A\W*(?:no|nope|wrong|perfect|exactly|correct)[.,!]  # the answer to what was done
    | \A\W*(?:nice|great|cool|right|good)\.
    | \b(?:
        # it works, or it does not
        {_THIS}{_QUITE}\s(?:works|worked|fixed\sit|did\sit|did\sthe\strick|does\sthe\strick)\b
      | (?:works|worked)\s(?:now|perfectly|fine|great|like\sa\scharm|as\sexpected)\b
      | (?:exactly|just|precisely)\swhat\si\s(?:wanted|needed|asked|meant)\b
      | not\s(?:at\sall\s)?what\si\s(?:wanted|needed|asked|meant|said)\b
      | (?:is|was|are|does|did|do)n{_APOSTROPHE}t\s(?:what\si|(?:work(?:ing)?|compile|build|run)\b)
      | (?:does|did|do|is)\snot\s(?:work(?:ing)?|compile|build)\b
      | still\s(?:not\b|fail|broken|wrong|the\ssame|get(?:ting)?|see(?:ing)?|crash|doesn|isn|throw)
      | (?:same|another)\s(?:error|bug|problem|issue|mistake)\b
      # a judgement of it
      | {_THIS}{_QUITE}\s(?:wrong|incorrect|broken|useless|not\sright|not\scorrect|not\strue)\b
      | {_THIS}{_QUITE}\s(?:backwards|a\s(?:mess|bug|mistake)|terrible|awful)\b
      | {_THIS}{_QUITE}\s(?:right|correct|perfect)(?:[.!,]|$)
      # of you, and of what you do
      | you\s(?:\w+ly\s)?(?:broke|messed|ignored|forgot|missed|removed|deleted|misunderstood)\b
      | you\s(?:did|do|have|are|were|should|could|would)n{_APOSTROPHE}t\s(?:\w+\s)?
        (?:listen|read|follow|test|run|check|use|do|need|supposed|have|ask)
      | you\sshould\s(?:not\b|have\b|never\b)
      | (?:why|how)\s(?:did|do|would|are|come)\s(?:you|u)\s(?:not\s)?
        (?:keep|still|again|remov|delet|chang|ignor|us|do(?:ing)?\sthat)
      | (?:stop|quit)\s(?:\w+ing|that|it|this)\b | don{_APOSTROPHE}t\sdo\s(?:that|this|it)\b
      | (?:i|we)\s(?:already\s)?(?:told|said|asked)\s(?:you|to|for|that)\b
        .{{0,40}}\b(?:not|don{_APOSTROPHE}t|never|already|again)\b
      | (?:revert|undo)\s(?:that|this|it|your|the\slast)\b
      | wrong\s(?:file|folder|branch|function|approach|one|way|place|test|version|answer)\b
      | (?:good|great|nice|excellent)\s(?:job|work|catch|call|fix)(?:[.!,]|$)
      | wtf\b | for\sfuck | (?:this|that|it)\s(?:sucks|blows)\b
    )
    """,
    _FLAGS | re.MULTILINE,
)


def is_interrupt(text: str) -> bool:
    """Whether a turn is the marker of a host that the user interrupted it."""
    return text.lstrip().startswith(INTERRUPT_MARKER)


def may_contain_feedback(text: str, *, short_words: int) -> bool:
    """Whether to ask a model about a turn. A short turn has at most `short_words` words."""
    if _VERDICTS.search(text):
        return True
    short = len(text.split()) <= short_words
    return short and bool(_WORDS.search(text) or _OTHER_LANGUAGES.search(text))
