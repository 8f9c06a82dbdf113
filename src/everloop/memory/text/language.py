"""Language detection by stop words, and stemming in the detected languages.

For texts in Latin letters: other scripts show the language themselves, but "hat" may be English or
German. Stop words are counted, so a short text often stays undecided. Words are passed in as
keyword search folds them, in lower case without accents; the accents they had are passed in
separately, because ß is German and ł is Polish. Pure.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from everloop.memory.text.normalise import strip_accents

DISTINCTIVE_MIN, STOP_WORDS_MIN = (
    2,
    3,
)  # distinctive stop words that decide; or one among so many stop words
LANGUAGE_MARK: Final = "§"  # before a language code, in terms of that language
QUESTION_LANGUAGES_MAX = 3  # languages that a question may be in at once
TEXT_LANGUAGES_MAX = 5  # languages that a text may be indexed in at once

Languages = tuple[str, ...]

# By language code: the name of its stemmer, and its most common stop words.
_GRAMMAR: Final = {
    "cs": (
        "czech",
        """
        a ale by byl byla bylo co do ja jak je jsem jsme jsou kde kdo kdy ma mam moje muj my na ne
        nebo o od on ona oni po pri pro proc se si ta ten to ty v vy z za ze
        """,
    ),
    "da": (
        "danish",
        """
        af at da de den der det dette dig din du eller en er et for fra han har havde her hun hvad
        hvem hvor hvorfor i ikke ingen jeg kan med men mig min mine mit nar og ogsa om over pa sig
        skal som til under var vi vil
        """,
    ),
    "de": (
        "german",
        """
        aber als also am an auch auf aus bei beim bin bis das dass dein dem den der des dich die dir
        du ein eine einem einen einer er es fur habe haben hat hatte her ich ihm ihn ihr im in ist
        kein keine mein meine mich mir mit nach nicht noch nur oder schon sehr sein seine sich sie
        sind so uber um und uns unser unter vom von vor wann war waren warum was weil wenn wer
        werden wie will wir wird wo wurde wurden zu zum zur
        """,
    ),
    "es": (
        "spanish",
        """
        a al como con cual cuando de del donde el ella ellos en era es esta estaba estan este esto
        fue ha han has hasta hay he la las le les lo los mas me mi mis muy no nos nosotros nuestro o
        para pero por porque que quien se ser si sin sobre son su sus tambien te tengo tiene tu un
        una unas unos y ya yo
        """,
    ),
    "fi": (
        "finnish",
        """
        ei emme en et etta han he ja jos joka kanssa kuin kun me mika miksi milloin mina minun missa
        mutta myos nama ne niin ole olen oli olin ollut on ovat se sen sina sinun tai tama te
        """,
    ),
    "fr": (
        "french",
        """
        a ai as au aux avait avec c c' ce ces cet cette chez comment d dans de des dont du elle
        elles en est et etait ete il ils j j' je l l' la le les leur leurs m ma mais me mes mon n n'
        ne nos notre nous on ont ou par pas plus pour pourquoi qu qu' quand que quel quelle qui quoi
        s sa sans se sera ses son sont sous sur t ta te tes ton tu un une votre vous y
        """,
    ),
    "hu": (
        "hungarian",
        """
        a az azt csak de egy en es ez ezt ha hogy hol is ki meg mert mi miert mikor mint mit nagyon
        nem o ok te ti vagy vagyok van volt lesz
        """,
    ),
    "it": (
        "italian",
        """
        a abbiamo ai al alla anche c' che chi ci come con cosa da dal dalla degli dei del della
        delle di dove e ed era gli ha hanno ho i il in io l' la le lei lo loro lui ma mi mia mio ne
        nel nella noi non o per perche piu quando questa questo sono su sua sul sulla suo ti tu tua
        tuo un una uno voi
        """,
    ),
    "nl": (
        "dutch",
        """
        aan al bij dan dat de den deze die dit een en er geen haar had heb hebt heeft het hij hoe ik
        in is je jij jouw jullie maar met mijn naar niet nog of om onder ons onze ook op over te uit
        van voor waar waarom wanneer waren was wat we werd wie wij wordt zij zijn ze
        """,
    ),
    "no": (
        "norwegian",
        """
        at av da de deg den det dette din du ei eller en er et for fra hadde han har her hun hva
        hvem hvor hvorfor i ikke ingen jeg kan med meg men min mine mitt nar og ogsa om over pa seg
        skal som til under var vi vil
        """,
    ),
    "pl": (
        "polish",
        """
        albo ale bo by byl byla bylo co czy dla do gdzie i ich ja jak jest kiedy kto lub ma mam moj
        moja my na nie o od on ona oni oraz po przy sa sie ta te ten to tu ty w wy z za ze
        """,
    ),
    "pt": (
        "portuguese",
        """
        a ao aos as com como da das de do dos e ela ele eles em era essa esse esta este eu foi ha
        isso ja mais mas me meu minha muito na nao nas no nos o onde os ou para pela pelo por porque
        quando que quem sao se sem ser seu sim sua tem tenho um uma voce
        """,
    ),
    "ro": (
        "romanian",
        """
        a ai al am are au ca cand care ce cu cum dar de din e ea ei el ele era este eu fost imi in
        isi la mai mi noi nu o pe pentru sa sau se si sunt tu un unde voi
        """,
    ),
    "sv": (
        "swedish",
        """
        ar att av dar de den det detta dig din du efter eller en ett for fran hade han har hon hur i
        ingen inte jag kan med men mig min mina mitt nar ni och ocksa om pa ska skulle som till
        under vad var varfor vem vi vid
        """,
    ),
    "tr": (
        "turkish",
        """
        ama ben benim bir biz bu cok da daha de degil gibi icin ile kim mi nasil ne neden nerede o
        olan oldu onlar sen senin siz var ve veya yok
        """,
    ),
}
LANGUAGES: Final = tuple(_GRAMMAR)
STOP_WORDS_BY_LANGUAGE: Final = {
    code: frozenset(words.split()) for code, (_, words) in _GRAMMAR.items()
}
ENGLISH_STOP_WORDS: Final = frozenset(
    """
    a about also am an and any are as at be been being but by can could d did do does doing done
    for from had has have having he her here him his how i if in into is it its just ll m may me
    might mine must my no not of on or our over re s shall she should so some such t than that the
    their them then there these they this those to too under us ve very was we were what when
    where which who whom whose why will with would you your yours
    """.split()  # noqa: SIM905  # 130 quoted words are harder to read
)
_ELSEWHERE: Final = frozenset[str]().union(*STOP_WORDS_BY_LANGUAGE.values())
FOREIGN_STOP_WORDS: Final = _ELSEWHERE - ENGLISH_STOP_WORDS
ENGLISH_ONLY_STOP_WORDS: Final = (
    ENGLISH_STOP_WORDS - _ELSEWHERE
)  # "in" and "was" are German as well
POLITE_PRONOUNS: Final = frozenset("de dein dich dir du ihr lei sie".split())  # noqa: SIM905  # as capitals

# By language code: the letters it has beyond those of English.
_LETTERS: Final = {
    "cs": "áčďéěíňóřšťúůýž",
    "da": "æøå",
    "de": "äöüß",
    "es": "áéíñóú¿¡",
    "fi": "äöå",
    "fr": "àâçéèêëîïôœùû",
    "hu": "áéíóöőúüű",
    "it": "àèéìòù",
    "nl": "éëï",
    "no": "æøå",
    "pl": "ąćęłńóśźż",
    "pt": "áâãàçéêíóôõú",
    "ro": "ăâîșşțţ",
    "sv": "åäöé",
    "tr": "çğışöü",
}
_LETTERS_OF: Final = {code: frozenset(letters) for code, letters in _LETTERS.items()}
ACCENTED_LETTERS: Final = frozenset[str]().union(*_LETTERS_OF.values())

# Not distinctive: they are English words, names or abbreviations as well.
_ALSO_ENGLISH: Final = frozenset(
    """
    ai al ale alla als ama ar att au aus aux av az bei ben bin bis biz bo bu c ca care ce ces che
    chez chi ci co com come comment como con cosa cu cum da dal dan dar dat de deg dei del dem den
    der des det di die dig din dir dit dla do don dont dos dove du e ea ed ei el ela ele ella elle
    em en er era es est este et eu ez fi fost fra fran fur ha han har hat hay ho hoe hol hon hu hun
    il ile im io j ja jag jos kan ki kim kun l la las le lei les li lo los lui m ma mai mam man mas
    med meg mein men mes met mi mia min mina mini mint mio mis mit mitt moi mon mu my n na nao nas
    ne nel ni nog noi non nos notre nu o od og ok ole oli om ona ons ont op os ou pa par para pas pe
    per plus po por pour pri pro proc qu sa sal sans sau se sem sen ser sera ses si sig sim sin sina
    sis ska son sous su sua sun sur sus t ta tai tama te tem ten tes ti til till ton tot tu ty um
    uma un una uno us v van var ve vi via vid vil voi volt von w war wen wo wy y ya yo z za ze zu
    """.split()  # noqa: SIM905  # as above
)

DISTINCTIVE_WORDS: Final = FOREIGN_STOP_WORDS - _ALSO_ENGLISH

# Elisions in French or Italian: "j'ai", "qu'il". As stop words they keep the apostrophe.
_ELIDED = re.compile(r"\b([cjln]|qu)['\u2019](?=[aeiouyh])", re.IGNORECASE)

_Stemmer: Any = import_module("Stemmer").Stemmer  # PyStemmer: C, no types; the cache is ours


def find_elisions(text: str) -> list[str]:
    """The elided words of a text ("j'", "qu'"), each with its apostrophe."""
    return [f"{word.lower()}'" for word in _ELIDED.findall(text)]


def languages_of_question(words: Collection[str]) -> Languages | None:
    """Detect the languages of a question by its words; () for English; None if it is unclear."""
    said = frozenset(words)
    english = len(said & ENGLISH_STOP_WORDS)
    otherwise = None if said.isdisjoint(ENGLISH_ONLY_STOP_WORDS) else ()
    if said.isdisjoint(FOREIGN_STOP_WORDS):
        return otherwise
    stop_words = {code: said & grammar for code, grammar in STOP_WORDS_BY_LANGUAGE.items()}
    scores = {code: (len(some), len(some & DISTINCTIVE_WORDS)) for code, some in stop_words.items()}
    most, telling = max(scores.values())
    if most <= english:
        return otherwise
    best = tuple(code for code, counts in scores.items() if counts == (most, telling))
    sure = telling >= DISTINCTIVE_MIN or (telling and most >= max(STOP_WORDS_MIN, 2 * english))
    return best if sure and len(best) <= QUESTION_LANGUAGES_MAX else None


def languages_of_text(words: Collection[str], letters: Collection[str]) -> Languages:
    """Detect the languages of a text by its words and its letters; () if it is English.

    One distinctive word or letter is enough, unless about as many words are English: indexing a
    text in a wrong language costs little, and in a missing one inflected words are not found.
    """
    said, accents = frozenset(words), ACCENTED_LETTERS.intersection(letters)
    stop_words = {code: said & grammar for code, grammar in STOP_WORDS_BY_LANGUAGE.items()}
    scores = {
        code: (len(some) + seen, len(some & DISTINCTIVE_WORDS) + seen)
        for code, some in stop_words.items()
        for seen in (len(accents & _LETTERS_OF[code]),)
    }
    most, telling = max(scores.values())
    best = tuple(code for code, counts in scores.items() if counts == (most, telling))
    english = said & ENGLISH_STOP_WORDS
    others = min(len(english - STOP_WORDS_BY_LANGUAGE[code]) for code in best)
    sure = telling or (most >= STOP_WORDS_MIN and not english)
    fits = most > len(english) and most >= 2 * others
    return best if sure and fits and len(best) <= TEXT_LANGUAGES_MAX else ()


def language_terms(
    words: Sequence[str], languages: Languages, accented: Mapping[str, str]
) -> Iterator[str]:
    """Index terms of words in these languages: a mark for each language, and stems in it.

    Stop words are left out. Stems carry their language, so none is taken for a word of another one.
    `accented` are the words that had accents, by their form without.
    """
    for code in languages:
        grammar = STOP_WORDS_BY_LANGUAGE[code]
        yield LANGUAGE_MARK + code
        for word in words:
            if word not in grammar and word.isalpha():
                yield from stem_in_language(code, accented.get(word, word))


@lru_cache(maxsize=50_000)
def stem_in_language(code: str, word: str) -> tuple[str, ...]:
    """Stem a word in a language, with and without its accents; stems carry the language code.

    Endings depend on the vowels of a word, so a Turkish word without its dots has other ones; but a
    question typed without accents should find it, too.
    """
    stemmer, plain = _stemmer(code), strip_accents(word)
    stems = (stemmer.stemWord(plain), strip_accents(stemmer.stemWord(word)))
    return tuple(f"{LANGUAGE_MARK}{code}{stem}" for stem in dict.fromkeys(stems))


@lru_cache
def _stemmer(code: str) -> Any:
    return _Stemmer(_GRAMMAR[code][0], 0)
