"""Recognises statements about the assistant or its work by how they are built. Pure.

People say what went wrong or well in any words, but rarely without saying "you", "your", "that is",
"I had to" or "not". So these are looked for, in English, German and French, instead of words of
praise and blame. Questions are left out, unless they ask why the assistant did something.

What is said to the assistant counts in every sentence. What only comments on something ("that is
…", "not …") counts in short sentences, and at the start of a turn or in a short one: further
on in a long turn it describes a task.
"""

import re
from typing import Final

from everloop.memory.text.lazy_pattern import LazyPattern

SENTENCE_WORDS_MAX: Final = 12  # in which a comment counts
TURN_WORDS_MAX: Final = 30  # in which each sentence may be a comment
PART_CHARACTERS: Final = 8_000  # that are looked at, at the start and at the end of a turn
_FLAGS = re.IGNORECASE | re.VERBOSE
_A = "['’]"  # noqa: RUF001 - both apostrophes are typed
_SENTENCE = re.compile(r"[^.!?\n]{1,1000}[.!?]*")

_ADVERBS = r"(?:\s(?:\w+ly|just|also|even|still|again|already|both|all|so|now|first))*"
_PAST = r"""(?:\w{2,}ed|did|broke|made|got|gave|wrote|sent|told|said|left|lost|took|put|forgot|kept
  |ran|chose|built|cut|read|drew|meant|misread|understood|misunderstood|thought|were|had|went|came
  |found|caught|taught|brought|changed|saw|knew|held|let|set|hit|spent|threw|mistook|paid|hid)"""

_TO_ENGLISH = LazyPattern(
    rf"""
    \byou(?:{_A}?ve|\shave|{_A}?d|\shad)?{_ADVERBS}\s{_PAST}\b
  | \byou{_ADVERBS}\s(?:keep|always|never|seem|sound|contradict|misread|skip|ignore|repeat|overdo)\b
  | \byou(?:{_A}re|\sare){_ADVERBS}\s(?:not|\w+ing|wrong|right|too|a|the|so|very|great|useless)\b
  | \byou(?:{_A}ve|\shave)\s(?:been|not|never)\b
  | \byou\s(?:should|could|need|ought|might)\s(?:have|know|to\shave|not)\b
  | \byou\s(?:are|were|do|did|have|had|should|could|would|wo|ca)(?:n{_A}?t|\snot)\b
  | \byour\s\w+(?:\s\w+){{0,4}}\s(?:is|are|was|were|has|have|had|do|did|does|made|makes|helped
      |\w+n{_A}t|\w{{2,}}ed|\w{{3,}}[^s\W]s|broke|went|took|left|lost|sent|cost)\b
  | \b(?:why|how)\s(?:did|do|are|were|have|would|could)(?:n{_A}?t)?\syou\b.*\b(?:always|never|keep
      |not|again|miss\w*|instead|without|all\sthis|just|ever)\b
  | \bwhy\s(?:did|do|are|were|have|would)(?:n{_A}?t)?\syou\b
  | \bdid(?:n{_A}?t)?\syou\s(?:seriously|really|even|just|not|actually)\b
  | \b(?:claude|chatgpt|gpt|copilot|gemini|codex|the\s(?:ai|bot|assistant|agent|model))\b | !{{2,}}
  | \bi(?:{_A}ve|\shave)?\s(?:\w+ly\s|already\s|had\s)?(?:had\sto|asked|told\syou|said|wanted|meant
      |expected|wasted|lost|spent)\b
  | \bi\s(?:really\s|do\s)?(?:like|love|hate|wish|appreciate|prefer)\s(?:how|that|the\sway|it
      |this|your|what)\b
  | \bi\s(?:ca|could|do|did|wo|was|am)(?:n{_A}?t|\snot)\s(?:want|believe|trust|use|read|understand
      |see|like|need|have|happy|satisfied|convinced|ask|say|mean)\w*\b
  | \b(?:my|our|the)\s(?:boss|team|client|customer|colleague|manager|user|reviewer|friend|wife
      |husband|teacher|editor)s?\s(?:\w+\s)?(?:loved|liked|hated|laughed|noticed|complain\w*
      |was|were|found|got|praised|is|are|had|thought|said)\b
    """,
    _FLAGS,
)
_TO_GERMAN = LazyPattern(
    r"""
    \bdu\s(?:(?:\w+\s)?(?:hast|hattest|bist|warst)|(?:solltest|wolltest|h(?:ä|ae)ttest|w(?:ä|ae)rst)
      |(?!kannst|k(?:ö|oe)nntest|willst|m(?:ö|oe)chtest|darfst|musst|weißt|wei(?:ss)t|magst
          |findest)\w{2,}st
      )\b
  | \bdu\s.{1,40}\s(?:hast|bist|hattest)\b
  | \b(?:hast|hattest|bist)\sdu\s(?:\w+\s){0,6}\w+(?:t|en)\b(?!.*\?)
  | \b(?:warum|wieso|weshalb)\s(?:\w+st)\sdu\b | \bwarum\s\w+st\sdu\b
  | \bdein(?:e|er|em|en|es)?\s\w+.{0,60}\b(?:ist|sind|war|waren|hat|haben|\w{3,}t)\b
  | \b(?:wegen|dank|durch|von|nach|seit)\s(?:dir|dich|dein\w*)\b
  | \bich\s(?:musste|wollte|meinte|hatte?|hab|habe)\b.{0,60}\b(?:gesagt|gebeten|gemeint|gewollt
      |verloren|gebraucht|verschwendet|\w{3,}en)\b
  | \bich\swollte\b | \b(?:mich|uns|mir)\s.{0,30}\b(?:gekostet|gespart|geholfen|gerettet
      |ge(?:ä|ae)rgert)\b
  | \bgef(?:ä|ae)llt\b | \bgefiel\b | \bgut,\sdass\b | \bdanke,\sdass\b | \bweiter\sso\b
  | \b(?:mein|unser)e?\s(?:chef|kund|team|kolleg|freund|frau|mann|lehrer)\w*\s
      (?:\w+\s){0,3}(?:fand|war|waren|hat|haben|ist|mag|liebt\w*)\b
    """,
    _FLAGS,
)
_TO_FRENCH = LazyPattern(
    rf"""
    \btu\s(?!peux|pourrais|veux|voudrais|sais|dois|penses|vas|crois|pourras|me\s)\w+
  | \bt{_A}(?:as|es|avais|aurais|ai\s(?:d[ée]j[àa]\s)?(?:dit|demand))\w*
  | \b(?:vous)\s(?:n{_A})?(?:avez|[êe]tes|aviez|auriez|deviez)\b
  | \b(?:ton|ta|tes)\s\w+(?:\s\w+){{0,4}}\s(?:est|sont|[ée]tai\w+|a|ont|n\W|ne|m\W|me|nous|\w+e
      |\w+ent)\b
  | \bpourquoi\s(?:tu|as-tu|t\W|est-ce\sque\stu|\w+-tu)
  | \bj{_A}(?:ai|avais)\s(?:d[ûu]|perdu|dit|demand|voulu|ador|aim|gagn)\w*
  | \bj{_A}(?:ador|aime\s(?:bien|beaucoup|la\sfa))\w* | \bje\s(?:voulais|d[ée]test|regrette)\w*
  | \b(?:m|nous)\W?\s?a\s(?:fait|co[ûu]t|aid|sauv|[ée]vit)\w* | \bm{_A}as\s\w+
  | \b(?:gr[âa]ce|[àa]\scause)\s(?:[àa]|de|du)\b | \bmerci\s(?:d{_A}avoir|de\sm{_A}avoir)\b
  | \b(?:ma|mon|mes|notre|nos|le|la|les)\s(?:chef|client|coll[èe]gue|[ée]quipe|ami|femme|mari|prof)
      \w*\s(?:n{_A})?(?:a|ont|[ée]tai\w+|est|sont)\b
    """,
    _FLAGS,
)
_COMMENT = LazyPattern(
    rf"""
    \A\W*(?:(?:and|but|so|hmm*|well|oh|wow|no|yes|sorry|ok|okay|look|still|again|ugh)\b\W*)*
    (?:
        (?:that|this|it|these|those|they|which)(?:{_A}s|\s(?:is|was|are|were|looks?|seems?|sounds?
          |feels?|makes?|made|does|did|has|had|works?|worked|just|only|still|finally|really
          |can|could))
      | (?:that|this|it|they)s?\s(?:\w{{2,}}(?:ed|ing|n{_A}t)|no\w*|{_PAST})\b
      | now\s(?:the|it|i|my|all|every\w*|nothing|there|we)\b
      | (?:the|das|le)\s(?:problem|probl[èe]me|issue|point|trouble|thing)\s(?:is|ist|est|was|war)\b
      | (?:all|half|most|none|some|many|both|everything|nothing)\s(?:of|is|was|are|were)\b
      | (?:(?:und|aber|also|nein|ja|hm+|oh|wow|naja|doch)\b\W*)*
        (?:das|es|dies|so|jetzt|hier|damit)\s(?:ist|war|sind|waren|geht|ging|kann|passt|sieht|stimmt
          |klingt|hat|h(?:ä|ae)tte|funktioniert|l(?:ä|ae)uft|macht|hilft|reicht|wirkt
          |gef(?:ä|ae)llt)
      | (?:(?:et|mais|non|oui|hm+|oh|ouah|bon|alors)\b\W*)*
        (?:c{_A}(?:est|[ée]tait)|ce\s(?:n|sont)|[çc]a\s|cela\s|il\sy\sa\s|maintenant\s)
    )
    """,
    _FLAGS,
)
_NEGATION = LazyPattern(
    rf"""
    \b(?:not|never|none|nobody|nothing|nowhere|neither|cannot|without|instead|\w+n{_A}t
      |dont|doesnt|didnt|isnt|wasnt|nicht|kein\w*|niemand|nichts|nirgends|niemals|ohne|statt
      |jamais|aucune?|rien|personne|pas|sans|ne|ni)\b
  | \bn{_A}\w
    """,
    _FLAGS,
)
_EVALUATION = LazyPattern(
    r"""
    \b(?:
      # English
        (?:mis|over|under)(?:read|took|taken|spell\w*|match\w*|plac\w+|quot\w+|interpret\w*|lead\w*
          |under\w+|complicat\w+|engineer\w*|wr\w+)
      | (?:un|in|im|ir)(?:complete|accurate|consistent|readable|usable|clear|acceptable|professional
          |necessary|helpful|finished|precise|adequate|polite|relevant|appropriate|reliable)
      | sloppy|lazy|rude|weird|confus\w+|boring|blank|duplicat\w+|invented|made[\s-]up|hallucinat\w+
      | contradict\w*|mixed\sup|messy|wordy|verbose|off\sby|upside\sdown|way\soff|nonsense
      | delight\w*|wonderful|beautiful\w*|delicious|elegant|impress\w+|cleaner|clearer|superb
      | fantastic|amazing|outstanding|solved|the\sbest|well\s(?:written|put|thought|made|explained)
      # German
      | (?:un)(?:vollst(?:ä|ae)ndig|genau|brauchbar|lesbar|klar|h(?:ö|oe)flich|n(?:ö|oe)tig
          |passend)\w*
      | schlampig\w*|verwechsel\w+|erfunden\w*|daneben|widerspr\w+|leer|veraltet\w*|wirr\w*
      | umst(?:ä|ae)ndlich
      | vergessen|kaputt|fehlt|fehlen|falsch\w*|schrecklich|furchtbar|r(?:ü|ue)ckg(?:ä|ae)ngig
      | wunderbar\w*|k(?:ö|oe)stlich|begeistert|beeindruck\w+|hilfreich\w*|sch(?:ö|oe)n\s\w+
      | auf\sden\spunkt
      | gelungen|hervorragend|ausgezeichnet|gro(?:ß|ss)artig|gel(?:ö|oe)st|dank\sdir|besser\sals
      | toll
      # French
      | incompl[èe]t\w*|impoli\w*|illisible|inutil\w+|invent[ée]\w*|b[âa]cl[ée]\w*|confond\w*
      | tromp[ée]\w*
      | oubli[ée]\w*|fau(?:x|sse)\w*|n[’']importe\squoi|vides?|cass[ée]\w*|mauvais\w*|ratée?s?
      | nulle?
      | merveill\w+|d[ée]licieu\w+|joli\w*|impressionn\w+|excellent\w*|bien\s(?:vu|fait|dit|mieux)
      | tr[èe]s\s(?:utile|bon|bien|juste|clair)\w*|r[ée]solu\w*|magnifique|superbe|pr[ée]cis\w*
    )\b
    """,  # noqa: RUF001 - both apostrophes are typed
    _FLAGS,
)
_TOLD_OFF = LazyPattern(
    rf"""
    \A\W*(?:(?:please|bitte|no|nein|non|and|so)\b\W*)*
    (?:(?:stop|quit|undo|revert)\b|(?:do\snot|don{_A}?t|never)\s\w+|try\sagain\b|(?:re-?read|redo)\b
      |read\s.{{1,40}}\s(?:again|once\smore|properly|carefully)|keep\s(?:it|this|that|doing|going)\b
      |h(?:ö|oe)r\w*\s.{{0,20}}\bauf\b|lass\s|lies\s.{{1,40}}\b(?:noch|genau|richtig)|nochmal\b
          |behalt\w*\s
      |arr[êe]te\w*\s|relis\b|annule\b|refais\b|n{_A}\w+\s(?:plus|pas)\b|ne\s\w+\s(?:plus|pas)\b
          |gard\w+\s(?:[çc]a|ce)
      |continue\w*\scomme|(?:wie\soft|how\s(?:many\stimes|often)|combien\sde\sfois)\b)
    """,
    _FLAGS,
)
_REPROACHFUL_QUESTION = re.compile(
    r"\W*(?:why|how|did|didn|pourquoi|combien\sde\sfois|warum|wieso|weshalb|wie\soft)\b", _FLAGS
)


def speaks_of_the_work(text: str) -> bool:
    """Whether a turn has a statement about the assistant, or comments on what it did."""
    short = len(text.split(maxsplit=TURN_WORDS_MAX)) <= TURN_WORDS_MAX
    if len(text) > 2 * PART_CHARACTERS:
        text = f"{text[:PART_CHARACTERS]}\n{text[-PART_CHARACTERS:]}"
    for number, found in enumerate(_SENTENCE.finditer(text)):
        sentence = found.group().strip()
        if _is_said_to_the_assistant(sentence):
            return True
        if (short or number == 0) and _is_comment(sentence):
            return True
    return False


def _is_said_to_the_assistant(sentence: str) -> bool:
    if sentence.endswith("?") and not _REPROACHFUL_QUESTION.match(sentence):
        return False
    patterns = (_TO_ENGLISH, _TO_GERMAN, _TO_FRENCH, _TOLD_OFF)
    return any(pattern.search(sentence) for pattern in patterns)


def _is_comment(sentence: str) -> bool:
    if sentence.endswith("?") or len(sentence.split()) > SENTENCE_WORDS_MAX:
        return False
    return any(pattern.search(sentence) for pattern in (_COMMENT, _NEGATION, _EVALUATION))
