"""Speech acts: what sort of thing somebody said, by rules for English, German and French.

A person who searches wants back what was told, hardly ever what was asked, and never a greeting. So
each text is sorted when it is stored: a statement (whatever no rule fits), a question, small talk
(greetings, thanks, assent), a standing instruction ("always answer in German"), a preference ("I
prefer tea"), or boilerplate of the built-in model. Nothing is dropped: ranking weighs it less. A
rating of significance, by a person or by a model, overrules these rules.

Pure. Precision counts: a statement taken for a question would be found too late, so a question that
carries a fact with it ("I'm 40 and my knee hurts, can I run?") is a statement.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

SpeechAct = Literal[
    "statement", "question", "small talk", "instruction", "preference", "boilerplate"
]
SPEECH_ACTS: Final[Sequence[SpeechAct]] = (
    "statement",
    "question",
    "small talk",
    "instruction",
    "preference",
    "boilerplate",
)
READ_MAX: Final = 2_000  # characters at the beginning that are looked at
SMALL_TALK_WORDS_MAX: Final = 8
QUESTION_WORDS_MAX: Final = 22  # of one question; a longer one says more than it asks
INSTRUCTION_WORDS_MAX: Final = 60

_SPEAKER = re.compile(r"[^\W\d_][\w .'-]{0,39}: ")
_SENTENCE = re.compile(r"[^.!?…。！？\n]+[.!?…。！？\n]*")  # noqa: RUF001 - full-width marks are meant
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\d+")
_LONG = re.compile(r"(\w)\1{2,}")  # "heyyy"
_DOUBLE = re.compile(r"(\w)\1+$")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL_TALK: Final = _words(
    """
    hi hello hey hiya yo good morning afternoon evening night day everyone all again there to you
    bye goodbye cya see ya soon later brb back now ttyl thanks thank thx ty you're you are welcome
    so very much a lot many cheers please ok okay k kk okey alright right exactly indeed quite yes
    yeah yep yup no nope nah sure fine great cool nice good perfect awesome amazing wonderful super
    lol haha hahaha hehe omg wow oh ah ahh aha uh um hmm hm mhm ugh meh well whatever agreed got it
    i know see same that's this is makes sense of course what else interesting any time anytime
    sleep me too noted understood how's it going what's up sorry not bad and
    hallo moin servus guten morgen tag abend gute nacht tschüss tschüs ciao bis bald dann danke
    dankeschön vielen dank schön bitte gern gerne ja nein doch klar gut genau stimmt naja na ach so
    prima toll super okay alles
    bonjour salut bonsoir bonne nuit coucou merci beaucoup bien oui non d'accord ouais mdr à plus
    bientôt au revoir de rien voilà ça va parfait
    """
)
_ACKNOWLEDGEMENT = re.compile(
    r"(?:I(?:'ve| have|'ll| will)(?: \w+)? (?:noted?|saved?|recorded|remember|keep)"
    r" (?:that|it|this)(?: down| in mind| for you)*|duly noted|will do|my pleasure"
    r"|no (?:problem|worries)(?: at all)?"
    r"|(?:I'm |so )*(?:happy|glad) to (?:help|hear (?:that|it))|good luck|have fun|take care"
    r"|(?:that )?sounds (?:good|great|fair|fun|lovely|nice|wonderful)"
    r"|(?:(?:das|es) )?(?:(?:ist|habe ich)(?: mir)? )?(?:notiert|vermerkt|gemerkt|verstanden)"
    r"|ich habe (?:mir (?:das|es)|(?:das|es)(?: mir)?) (?:notiert|vermerkt|gemerkt)"
    r"|ich (?:merke|notiere) (?:mir (?:das|es)|(?:das|es) mir)|gern(?:e)? geschehen|kein problem"
    r"|(?:das )?freut mich(?: sehr)?|viel (?:erfolg|glück|spaß)|wie schön|gute besserung"
    r"|das (?:ist|klingt|wäre) (?:fair|gut|prima|schön|super|toll)"
    r"|(?:(?:c'est|je l'ai) )?(?:bien )?noté|compris|entendu|je m'en souviendrai|avec plaisir"
    r"|pas de (?:problème|souci)|je (?:t'|vous )en prie|bonne (?:chance|idée)|bon courage)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:]\s*|\s+[\u2013\u2014]\s+")
_LEAD = (
    r"(?:(?:so|and|but|also|ok|okay|hm+|well|hey|hi|hello|yeah|yes|oh|by the way|btw|please|sorry"
    r"|now|und|aber|also|ja|ach|übrigens|bitte|et|mais|alors|oui)[,!]? )*"
)
_ASKING = re.compile(
    _LEAD + r"(?:(?:until|since|on|at|in|for|with|from|to|by|about|of) (?=wh|how))?"
    r"(?:(?:what|who|whom|whose|which|where|when|why|how|is|are|am|was|were|do|does|did|can|could"
    r"|will|would|should|shall|may|might|has|have|had|isn't|aren't|don't|doesn't|didn't|can't"
    r"|what's|who's|where's|when's|how's|wie|was|wer|wem|wen|wessen|wo|wohin|woher|womit|wann|warum"
    r"|wieso|weshalb|welche[rnsm]?|ist|sind|war|hat|habe[nt]?|hast|kann|kannst|können|könntest"
    r"|soll|sollte|darf|muss|wird|gibt|weißt|an welchem|in welche[rmn]|seit wann|um wie viel"
    r"|que|qui|quoi|quand|où|comment|pourquoi|combien|quel|quelle|quels|quelles|est-ce|à qui"
    r"|à quelle|à quel|de qui|avec qui|peux-tu|as-tu|qu'est-ce|tell me|show me|explain|summari[sz]e"
    r"|list|give me|any idea|do you know|erzähl mir|zeig mir|dis-moi|explique))\b",
    re.IGNORECASE,
)
_PLAINLY_ASKING = re.compile(  # without a question mark
    _LEAD + r"(?:what|who|where|when|why|how)(?:'s| is| are| was| were| do| does| did| can| could"
    r"| should| would| much| many| to)\b",
    re.IGNORECASE,
)
_CARRIES_A_FACT = re.compile(
    r"\b(?:since|because|considering|given (?:that|my)|as I|now that|though|although"
    r"|weil|da ich|obwohl|parce que|puisque)\b"
    r"|[,;–—-] (?:I|we|my|our|he|she|they|ich|wir|mein\w*|je|j'|nous|mon|ma)\b",  # noqa: RUF001
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    _LEAD + r"(?:(?:you (?:must|should) )?always\b|never (?!again)(?!mind)|from now on\b"
    r"|in (?:the )?future,|(?:don't|do not) ever\b"
    r"|(?:when|whenever|if|each time|every time) I (?:ask|say|write|mention)"
    r"|(?:answer|reply|respond|write|speak|call me|address me)\b"
    r".{0,40}\b(?:always|only|never|in future)"
    r"|immer |nie(?:mals)? |ab jetzt|ab sofort|von nun an|in zukunft"
    r"|(?:wenn|jedes mal,? wenn) ich .{0,30}\b(?:frage|sage|schreibe)\b"
    r"|(?:antworte|schreib|sprich|nenn)\w*\b.{0,30}\b(?:immer|nur|nie)"
    r"|toujours |jamais |à partir de maintenant|désormais|dorénavant|quand je (?:te )?demande"
    r"|(?:réponds|écris|parle)\b.{0,30}\b(?:toujours|jamais|seulement))",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:I(?:'d| would)? (?:really |much |also |still )?(?:prefer|rather)"
    r"|I (?:really |just )?(?:like|love|enjoy|hate|dislike|can't stand|cannot stand|don't like)"
    r"|my (?:\w+ )?preferences?|my favou?rite|I(?:'ve| have)? (?:chosen|chose|opted|decided) to"
    r"|I (?:always|never|usually) (?!\w+ed\b)|is my thing"
    r"|ich (?:bevorzuge|mag|liebe|hasse)|ich \w+ (?:lieber|am liebsten)|lieblings\w+"
    r"|je (?:préfère|déteste)|j'(?:aime|adore)|mon \w+ préféré|ma \w+ préférée)\b",
    re.IGNORECASE,
)


def classify(text: str, *, boilerplate: bool = False) -> SpeechAct:
    """The speech act of a text; `boilerplate` if it is known to come from the built-in model."""
    if boilerplate:
        return "boilerplate"
    opening = text[:READ_MAX].strip()
    if speaker := _SPEAKER.match(opening):
        opening = opening[speaker.end() :]
    sentences = [part.strip() for part in _SENTENCE.findall(opening) if _WORD.search(part)]
    if is_small_talk(opening) or all(map(_acknowledges, sentences)):
        return "small talk"
    if len(text) <= READ_MAX and all(map(_asks_or_greets, sentences)):
        return "question"
    if any(map(_instructs, sentences)):
        return "instruction"
    return "preference" if _PREFERENCE.search(opening) else "statement"


def is_question(text: str) -> bool:
    """Whether a text only asks."""
    return classify(text) == "question"


def is_small_talk(text: str) -> bool:
    """Whether a text is a greeting, thanks or assent, and says nothing else."""
    words = _WORD.findall(text.casefold())
    return 0 < len(words) <= SMALL_TALK_WORDS_MAX and all(map(_is_small_word, words))


def _is_small_word(word: str) -> bool:
    once = _LONG.sub(r"\1", word)
    plain = word.replace("\u2019", "'")
    return not _SMALL_TALK.isdisjoint((plain, once, _DOUBLE.sub(r"\1", once), f"{once}{once[-1]}"))


def _acknowledges(sentence: str) -> bool:
    """Whether a sentence only confirms that something was heard: "ok, I've noted that"."""
    plain = sentence.replace("\u2019", "'").rstrip(".!\u2026 ")
    return all(
        is_small_talk(clause) or _ACKNOWLEDGEMENT.fullmatch(clause)
        for clause in _CLAUSE.split(plain)
    )


def _asks_or_greets(sentence: str) -> bool:
    if is_small_talk(sentence):
        return True
    words = len(_WORD.findall(sentence))
    if words > QUESTION_WORDS_MAX or _CARRIES_A_FACT.search(sentence):
        return False
    if sentence.endswith("?"):
        return bool(_ASKING.match(sentence))
    return words <= SMALL_TALK_WORDS_MAX and bool(_PLAINLY_ASKING.match(sentence))


def _instructs(sentence: str) -> bool:
    return (
        4 <= len(_WORD.findall(sentence)) <= INSTRUCTION_WORDS_MAX
        and not sentence.endswith("?")
        and bool(_INSTRUCTION.match(sentence))
    )
