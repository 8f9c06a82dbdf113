"""Significance by rules: what a text says of a life, without a model. Pure.

0 routine, 1 notable (a fact or plan of the person's), 2 significant (a decision, a lasting
instruction, health), 3 pivotal (what changes a life). Questions are routine, whatever they name.
Rules know English and German; other languages are rated by a model only.
"""

import re
from typing import Final

ROUTINE, NOTABLE, SIGNIFICANT, PIVOTAL = range(4)
_FLAGS = re.IGNORECASE | re.VERBOSE
_OURS = re.compile(
    r"\b(?:i|i['’]m|me|my|mine|we|we['’]re|our|ours|us|ich|mein\w*|wir|uns\w*)\b",  # noqa: RUF001
    re.IGNORECASE,
)
_LIFE = re.compile(
    r"""
    \b(?: died | passed\saway | (?:was|is|were)\sborn | gave\sbirth | (?:got|getting|are)\smarried
      | got\sengaged | divorc\w+ | (?:am|is|are|['’]m)\spregnant | miscarriage | diagnosed | cancer
      | heart\sattack | stroke | got\sthe\sjob | (?:was|been|got)\s(?:fired|laid\soff)
      | quit\smy\sjob
      | bought\s(?:a|our|the)\s(?:house|flat|apartment) | (?:moved|moving|move)\sto | graduated
      | gestorben | geboren | geheiratet | heiraten | geschieden | schwanger | krebs | herzinfarkt
      | gek(?:ü|ue)ndigt | umgezogen | umziehen )\b
    """,  # noqa: RUF001 - both apostrophes are typed
    _FLAGS,
)
_LASTING = re.compile(
    r"""
    \b(?: (?:i|we)(?:['’]ve|\shave)?\s(?:\w+ly\s)?decided | (?:our|my|the)\sdecision
      | let['’]?s\sgo\swith
      | from\snow\son | always | never | don['’]?t\sever | allerg\w+ | intoleran\w+ | medication
      | deadline | must\snot | password | contract | operation | surgery | hospital
      | entschieden | beschlossen | ab\sjetzt | immer | niemals | vertr(?:ä|ae)g\w*
      | krankenhaus )\b
    """,  # noqa: RUF001 - both apostrophes are typed
    _FLAGS,
)
_OF_A_PERSON = re.compile(
    r"""
    \b(?: (?:i|we)\s(?:am|are|live|work|like|love|hate|prefer|want|need|own|have|had|will|plan)
      | (?:i|we)['’](?:m|re|ve|ll)
      | (?:my|our)\s(?:\w+\s){1,3}(?:is|are|was|were|has|lives|works|likes)
      | remember | birthday | appointment | tomorrow | next\s(?:week|month|year)
      | ich\s(?:bin|wohne|arbeite|mag|habe|will|brauche) | mein\w*\s\w+\s(?:ist|hei(?:ß|ss)t|hat)
      | geburtstag | termin | morgen )\b
    """,  # noqa: RUF001 - both apostrophes are typed
    _FLAGS,
)
_SENTENCES = re.compile(r"[^.!?\n]+[.!?]*")
SENTENCES_MAX: Final = 40  # of a long text; the first ones tell what it is about


def rate_by_rules(text: str) -> int:
    """The significance of a text: that of its most significant sentence."""
    sentences = _SENTENCES.findall(text)[:SENTENCES_MAX]
    return max((_rate(one) for one in sentences if not one.endswith("?")), default=ROUTINE)


def _rate(sentence: str) -> int:
    ours = _OURS.search(sentence) is not None
    if ours and _LIFE.search(sentence):
        return PIVOTAL
    if _LASTING.search(sentence):
        return SIGNIFICANT
    return NOTABLE if _OF_A_PERSON.search(sentence) else ROUTINE
