"""A cheap keyword filter for turns that may contain feedback, before any model is asked. Pure.

Most turns do not. A verdict on the work ("still broken", "that's exactly what I wanted") counts
anywhere in the text. A single word of praise or blame ("thanks", "no", "wrong") counts only in a
short turn: in a long one, or in a goodbye, it is courtesy or about something else. What names none
of these words is recognised by how it is built (`statements`). Verdicts are recognised in English,
German and French, single words in some other languages too, unless they mean something else in
English.
"""

import re
from typing import Final

from everloop.lessons.feedback.statements import speaks_of_the_work
from everloop.memory.text.lazy_pattern import LazyPattern

INTERRUPT_MARKER: Final = "[Request interrupted by user"

_FLAGS = re.IGNORECASE | re.VERBOSE
_APOSTROPHE = "['’]?"  # noqa: RUF001 - both are typed, and neither often is

_WORDS = LazyPattern(
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
_OTHER_LANGUAGES = LazyPattern(
    r"""
    \b(?:
        danke|perfekt|genau|stimmt|richtig|falsch|kaputt|nein|nicht|klappt|funktioniert|schlecht|fehler
      | klasse|spitze|prima|super|toll|quatsch|unsinn|bl(?:ö|oe)dsinn|mist|unbrauchbar|nutzlos|läuft
      | merci|parfaite?|exactement|faux|cass[ée]e?|mauvaise?|marche|fonctionne|erreur|bravo
      | g[ée]nial|inutile|nul(?:le)?|merveille
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
_VERDICTS = LazyPattern(
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
      | (?:good|great|nice|excellent)\s(?:catch|call|thinking)\b | nailed\sit\b | well\sthought
      | (?:introduced|caused|added)\s(?:a|another|new)\s(?:new\s)?(?:bug|error|regression)\b
      | (?:on|at)\s(?:the\s)?first\s(?:try|attempt|go)\b | saved\s(?:my|our)\b
      # of the advice that was followed
      | (?:that|this|the|your)\s(?:\w+\s)?(?:rule|lesson|advice|tip|hint|suggestion|idea)s?\b
      | (?:brilliant|great|good|bad|poor|stupid|outdated|wrong)\s(?:advice|tip|idea|suggestion)\b
      # of what came of it
      | (?:cost|costs|saved|saves)\s(?:me|us|you|the)\b | waste[ds]?\b | spent\sthe\s
      | (?:made|makes)\s(?:\w+\s){{1,3}}(?:worse|slower|harder|unusable|better|easier|faster)\b
      | (?:i|we)(?:{_APOSTROPHE}ve)?\slost\b | took\s(?:\w+\s){{1,3}}down\b
      | (?:delet|destroy|wip|corrupt|overwr[io]t)(?:ed|es|ten)?\s(?:all\s)?(?:my|our)\b
      | caused\b | because\sof\s(?:that|this|it|you|what\syou)\b | back\s?fired\b
      | roll(?:ed)?\sback\b | paid\soff\b | solved\s(?:it|that|this)\b
      | opposite\sof\b | keeps?\s(?:doing|happening|breaking|failing)\b
      | you\skeep\s\w+ing\b | (?:second|third|fourth|fifth)\stime\b
      | (?:none\sof\s(?:that|this)|un)\s?(?:was\s)?necessary\b
      | (?:harmful|nonsense|misleading|outdated|pointless|disappoint\w*|frustrat\w*|ridiculous)\b
      | (?:i\s(?:hate|love|like|wish)|fed\sup|sick\sof|happy\swith|appreciate[ds]?|spot\son)\b
      | help(?:ed|ful|s\sa\slot)\b | (?:very|really|so)\suseful\b | not\shelping\b
      | you\swere\s(?:right|wrong)\b | good\sthing\syou\b | leave\s.{{1,40}}\salone\b
      | you\s(?:told|asked|advised)\s(?:me|us)\b | slow(?:s|ed)\s(?:me|us|\w+\sbuild)\b
      | (?:had|have)\sto\s(?:undo|redo|fix|clean|restore|repair)\b | would\shave\sbeen\sbetter\b
      | glad\b | (?:real|big|huge)\sdifference\b
      | wtf\b | for\sfuck | (?:this|that|it)\s(?:sucks|blows)\b
    )
    """,
    _FLAGS | re.MULTILINE,
)

# What the assistant did, spoken of to it: "since your change", "thanks to you", "you always".
_ADDRESSED = LazyPattern(
    r"""
    \b(?:
        (?:after|since|from|by|with|until|thanks\sto|up\sto|for)\s(?:you|your\s\w+)\b
      | your\s(?:last\s|new\s|latest\s)?
        (?:change|fix|edit|commit|version|answer|solution|code|patch)s?\b
      | you\s(?:always|never|just|only|really|clearly|completely)\b | who\s(?:asked|told)\syou\b
      | (?:too|trop|viel\szu|beaucoup\strop)\s\w+ | (?:clearer|impressive|impressed|verbose)\b
      | without\sasking\b | dead\b | best\s\w+\s(?:so\sfar|yet)\b
        | tests?\s(?:sind|ist)\s.{0,8}rot\b
      | beeindruckend\w* | (?:endlich|sch(?:ö|oe)n\serkl(?:ä|ae)rt)\b | enfin\b | impeccable\b
      | [ée]chouent\b | m['’][ée]coutes?\spas\b
      | (?:seriously|finally|honestly)\b | (?:is|are)\s(?:all\s)?gone\b | made\smy\b
      | (?:dein|deine|deinem|deinen|deiner)\s\w+ | (?:dir|dank\sdir)\b.{0,20}\bgesagt\b
      | gef(?:ä|ae)llt\smir | gar\snichts | respekt | sauber\w*\s(?:l(?:ö|oe)sung|arbeit)
      | (?:ton|ta|tes)\s(?:\w+\s)?(?:chang|modif|conseil|solution|correct|version|code)\w*
      | as-tu\b | gr[âa]ce\s[àa]\s(?:toi|vous)\b | j['’]ador\w+ | chapeau | perte\sde\stemps
    )
    """,  # noqa: RUF001 - both apostrophes are typed
    _FLAGS,
)
_DU = r"(?:du\shast|ihr\shabt|sie\shaben)"
_GERMAN_FRENCH = LazyPattern(
    rf"""
    \b(?:
        # German
        (?:mir|uns|nicht|nichts|sehr|wirklich|weiter)\s(?:weiter)?geholfen\b
        | hilft\s(?:nicht|mir)\b
      | (?:das|es|dies|(?:der|die|dein|deine)\s[\w-]+(?:\s\w+){{0,3}})\swar\s(?:\w+\s){{0,2}}
        (?:quatsch|unsinn|mist|falsch|schlecht|gut|super|klasse|unn(?:ö|oe)tig|gold\swert|hilfreich
          |nutzlos|(?:k)?eine\s\w+\s(?:idee|hilfe))\b
      | (?:gute|schlechte|tolle|dumme|bl(?:ö|oe)de|super)\s(?:idee|arbeit|l(?:ö|oe)sung)\b
      | {_DU}\s.{{0,60}}\b(?:wieder|falsch\w*|vergessen|gel(?:ö|oe)scht|kaputt\w*|ignoriert)\b
      | (?:h(?:ö|oe)r|h(?:ö|oe)rt)\s(?:bitte\s)?(?:\w+\s)?auf\b | lass\sdas\b
      | (?:deswegen|deshalb|dadurch|wegen\s(?:dir|dem))\b.{{0,60}}\b
        (?:kaputt|verloren|fehl\w*|langsam\w*)
      | ich\s(?:hatte?|habe)\s(?:dir\s|doch\s|dir\sdoch\s)+(?:schon\s)?gesagt\b
      | nicht\s(?:das,?\s)?was\sich\s(?:wollte|meinte|brauche)\b
      | genau\s(?:so|das|richtig|was\sich)\b | (?:gut|super|toll|klasse|prima|sauber)\sgemacht\b
      | (?:funktioniert|geht|klappt|l(?:ä|ae)uft)\s(?:immer\snoch\s|jetzt\s)?
        (?:nicht|alles|perfekt)\b
      # French
      | (?:pas|exactement|juste)\s(?:du\stout\s)?ce\s(?:que\s(?:je|j)|qu['’]|dont)
      | (?:bonne|mauvaise|excellente|super|belle)\s(?:id[ée]e|solution)\b
      | (?:bon|excellent|beau|mauvais)\s(?:travail|conseil)\b | bien\s(?:jou[ée]|fait|vu)\b
      | tu\s(?:as|n['’]as|m['’]as)\s.{{0,30}}\b
        (?:encore|cass[ée]|oubli[ée]|supprim[ée]|effac[ée]|ignor[ée])
      | arr[êe]tez?\s(?:de|d['’]|[çc]a)
      | ne\s(?:marche|fonctionne|sert|compile)\s(?:pas|plus|[àa]\srien|toujours\spas)\b
      | servi\s[àa]\srien\b | m['’]a\s(?:\w+\s)?(?:aid[ée]|sauv[ée]|fait\sperdre|co[ûu]t[ée])
      | [àa]\scause\s(?:de|du|d['’])\s?(?:toi|[çc]a|ton|ta|tes|vous|cela)\b | j['’]ai\sperdu\b
      | je\st['’](?:avais|ai)\s(?:d[ée]j[àa]\s)?dit\b | [àa]\smerveille\b
    )
    """,  # noqa: RUF001 - both apostrophes are typed
    _FLAGS,
)

_THANKS = (
    r"thanks?|thank\syou|thx|ty|cheers|ok(?:ay)?|danke|merci|gracias|grazie|bedankt|obrigad[oa]"
)
_COURTESY = (
    r"a\slot|(?:so|very)\smuch|again|for\s(?:now|today|everything|your\s(?:help|time))|all|and"
)
_FAREWELL = r"""
    (?:good\s?)?bye(?:[\s-]bye)?|good\s(?:night|evening)|see\s(?:you|ya)(?:\s\w+)?|so\slong
  | (?:talk|speak)\s(?:to\syou\s)?(?:later|soon|tomorrow)|until\s(?:later|tomorrow)|later|cya
  | (?:that|this)(?:\sis|['’]?s)\s(?:it|all)|have\sa\s(?:good|nice|great)\s\w+
  | tsch(?:ü|ue)ss|gute\snacht|bis\s(?:morgen|bald|dann|sp(?:ä|ae)ter)|auf\swiedersehen
  | au\srevoir|bonne\snuit|[àa]\s(?:demain|bient[ôo]t)|adi[óo]s|hasta\s(?:luego|ma[ñn]ana)|ciao|doei
"""  # noqa: RUF001 - both apostrophes are typed
_CLOSING = re.compile(
    rf"\A(?:(?:{_THANKS}|{_COURTESY}|{_FAREWELL})\b\W*)*\b(?:{_FAREWELL})\b\W*"
    rf"(?:(?:{_THANKS}|{_COURTESY}|{_FAREWELL})\b\W*)*\Z",
    _FLAGS,
)


def is_interrupt(text: str) -> bool:
    """Whether a turn is the marker of a host that the user interrupted it."""
    return text.lstrip().startswith(INTERRUPT_MARKER)


def may_contain_feedback(text: str, *, short_words: int) -> bool:
    """Whether to ask a model about a turn. A short turn has at most `short_words` words."""
    if _VERDICTS.search(text) or _GERMAN_FRENCH.search(text):
        return True
    if _CLOSING.match(text.strip()):  # thanks that say goodbye are no praise
        return False
    short = len(text.split()) <= short_words
    words = (_WORDS, _OTHER_LANGUAGES, _ADDRESSED)
    if short and any(pattern.search(text) for pattern in words):
        return True
    return speaks_of_the_work(text)
