"""Event anchors: events that bound a time, as in "before the release" or "vor dem Umzug".

Pure. The caller has to look up when the event was. In English these words before "the" or "my" mean
a time. The German "vor" and "nach" mean more ("Angst vor dem Umzug", "vor den Kindern"), so an
event counts only between the speaker and the verb: "habe ich vor dem Umzug über Anna gesagt". "Vor"
also says to whom and where ("vor dem Notar", "vor dem Museum"), and taken for a time it would
exclude just what was asked for; so after it only events of the table count. In French an event
counts only right after the verb, because in "dit de partir avant la réunion" it is part of the
statement. Daily routines, calendar words, persons and places are no events: the tables have the
common ones.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from everloop.memory.text.calendar_names import FRENCH_DAY, FRENCH_MONTH, GERMAN_DAY, GERMAN_MONTH
from everloop.memory.text.lazy_pattern import LazyPattern
from everloop.memory.time_query.bounds import BOUND_SIDES
from everloop.memory.time_query.certainty import (
    FRENCH_EVENT_VERBS,
    FRENCH_SPEECH_VERBS,
    GERMAN_EVENT_VERBS,
    GERMAN_SPEECH_VERBS,
    GERMAN_VERB_DISTANCE_MAX,
)


class EventAnchor(NamedTuple):
    """An event named in a question: on which side of it the time is, and its place in the text."""

    side: str
    start: int  # of the bounding word
    event: int  # start of its name
    end: int
    named: Callable[[str], str]  # makes the search text; empty if it is no name


def find_event_anchors(text: str) -> Iterator[EventAnchor]:
    """Find the events that bound a time, in all languages."""
    for pattern, named in _PATTERNS:
        for match in pattern.finditer(text):
            side = _SIDES[match["word"].casefold().replace("\u2019", "'")]
            yield EventAnchor(side, match.start("word"), *match.span("event"), named)


def _quote(event: str) -> str:
    """The event as a quoted phrase, which ranks exact matches first; one word is no event."""
    return f'"{event}"' if " " in event else ""


def _without_articles(event: str) -> str:
    """The event without articles: in other sentences it is declined."""
    return " ".join(_ARTICLES.sub(" ", event).split())


def _any(words: str) -> str:
    return "|".join(words.split())


_SIDES: Final = (
    BOUND_SIDES | dict.fromkeys(("during", "während", "pendant"), "during") | {"jusqu'": "until"}
)
_ENGLISH = (
    r"\b(?P<word>before|after|since|until"
    r"|during(?! (?:the|our|my|this|that) (?:course|conversation|discussion|chat|process|time)\b))"
    r" (?P<event>(?:the|my|our|your|his|her|their|that|we|I|you|he|she|they) [\w' -]+?)"
    r"(?=[?.!,;]|$)"
)
_WORD = r"[^\W\d][\w'\u2019-]*"

# -- German ----------------------------------------------------------------------------------------

_DEM = "(?:de[mnrs]|(?:mein|dein|sein|ihr|unser|eur|dies)e[mnrs])"
_GERMAN_LITTLE = _any("dir mir euch uns ihr ihm ihnen alles denn noch schon sonst so kurz gleich")
_GERMAN_NEXT = _any(
    """
    über zu zum zur von vom mit bei beim an am auf aus in im ins für gegen um nach vor seit bis
    wegen ohne ich du er sie es wir ihr mir dir uns euch ihm ihnen alles noch schon eigentlich denn
    so sonst mal nicht nie etwas was davon darüber dazu genau bereits immer oft zuerst zuletzt
    """
)
_GERMAN_CALENDAR = f"{GERMAN_DAY}|{GERMAN_MONTH}|" + _any(
    """
    tag tage tagen tages woche wochen wochenende wochenenden monat monaten monats jahr jahren jahres
    morgen vormittag mittag nachmittag abend abends nacht stunde stunden minute minuten zeit zeiten
    """
)
_GERMAN_EVENTS = _any(  # a word that ends so is one
    """
    umzug einzug auszug hochzeit heirat verlobung trennung scheidung geburt taufe tod beerdigung
    begräbnis prüfung examen abitur klausur studium ausbildung kurs seminar workshop schulung
    vorlesung semester abschluss urlaub ferien reise ausflug abfahrt ankunft rückkehr flug
    fahrt wanderung operation eingriff impfung behandlung untersuchung krankheit unfall reha
    diagnose termin treffen besprechung sitzung meeting konferenz kongress gespräch interview
    präsentation vortrag rede verhandlung prozess urteil wahl spiel turnier wettkampf lauf marathon
    konzert feier fest party premiere eröffnung einweihung release veröffentlichung launch start
    beginn anfang ende umstellung migration update upgrade kündigung beförderung bewerbung wechsel
    renovierung umbau kauf lieferung abgabe krieg pandemie lockdown krise erdbeben sturm gewitter
    besuch streit streik
    """
)
_NO_GERMAN_EVENT = _any(
    r"""
    arbeit schule feierabend frühstück mittagessen abendessen essen schlafen schlafengehen aufstehen
    kaffee training sport kind\w* eltern mutter vater schwester bruder geschwister\w* frau mann
    freund\w* leuten gästen kolleg\w* chef\w* lehrer\w* nachbar\w* familie klasse gruppe team
    publikum anderen arzt ärztin richter\w* gericht polizei hund kamera spiegel tür haus haustür
    fenster bahnhof kirche computer regel regeln plan anleitung rezept meinung ansicht auffassung
    erinnerung gefühl kenntnis motto gesetz
    """
)
_GERMAN_SAID = f"(?:{GERMAN_SPEECH_VERBS}|{GERMAN_EVENT_VERBS})"
_GERMAN_WORD = rf"(?!(?:{_GERMAN_NEXT}|{_GERMAN_CALENDAR}|{_GERMAN_SAID})\b){_WORD}"
_ADJECTIVE = r"(?:[\w-]+e[mnrs] )"
_GERMAN_EVENT = rf"{_ADJECTIVE}{{0,2}}(?:[\w-]*(?:{_GERMAN_EVENTS})(?:e?[ns]|e)?|op)\b"
_GERMAN = (
    rf"\b(?:(?:hab\w*|hast|hatte\w*|was) (?:ich|wir|du|ihr)|ist|sich)"
    rf"(?: (?:{_GERMAN_LITTLE})){{0,3}}"
    rf" (?P<word>vor(?= {_DEM} {_GERMAN_EVENT})|nach|seit|während|bis)"
    rf" (?:zum|zur|(?:zu )?{_DEM})"
    rf" (?!{_ADJECTIVE}?(?:{_NO_GERMAN_EVENT}|(?:ende|anfang|beginn|schluss)(?! {_DEM}))\b)"
    rf"(?P<event>{_GERMAN_WORD}(?: {_GERMAN_WORD}){{0,3}})"
    rf"(?= (?:(?:{_GERMAN_NEXT}) (?:[^?.!,;]|(?<=\d)\.){{0,{GERMAN_VERB_DISTANCE_MAX}}})?"
    rf"{_GERMAN_SAID}\b)"
)

# -- French ----------------------------------------------------------------------------------------

_LE = (
    "(?:(?:le|la|les|mon|ma|mes|ton|ta|tes|son|sa|ses|notre|nos|votre|vos|leurs?|cet?|cette|ces) "
    "|l['\u2019])"
)
_FRENCH_NEXT = _any(
    """
    sur à au aux avec pour dans en chez que qui et ou mais par sans quand concernant je tu il elle
    on nous vous
    """
)
_FRENCH_CALENDAR = f"{FRENCH_DAY}|{FRENCH_MONTH}|" + _any(
    """
    jour jours journée semaine semaines week-end weekend mois an ans année années matin matinée midi
    après-midi soir soirée nuit heure heures minute minutes moment temps époque
    """
)
_NO_FRENCH_EVENT = (
    "travail|école|repas|dîner|(?:petit[ -])?déjeuner|souper|café|sport|sieste|autres|bout"
)
_FRENCH_SAID = f"(?:{FRENCH_SPEECH_VERBS}|{FRENCH_EVENT_VERBS})"
_FRENCH_WORD = (
    rf"(?!(?:[dl]['\u2019])?(?:{_FRENCH_NEXT}|{_FRENCH_CALENDAR})(?![\w'\u2019-])){_WORD}"
)
_FRENCH = (
    rf"\b{_FRENCH_SAID}(?: à (?-i:[A-ZÀ-Ý])\w+)?"
    r" (?P<word>avant|après|depuis|pendant|jusqu['\u2019])"
    rf"(?:(?<=['\u2019])(?:aux? |à {_LE})|(?<!['\u2019]) {_LE})"
    rf"(?!(?:{_NO_FRENCH_EVENT}|(?:début|fin)(?! d))\b)"
    rf"(?P<event>{_FRENCH_WORD}(?: {_FRENCH_WORD}){{0,4}})"
    rf"(?=\s*(?:[?.!,;:]|$)| (?:{_FRENCH_NEXT})\b)"
)

_ARTICLES = LazyPattern(
    rf"\b(?:{_DEM}|du|des?|la|les?|mon|ma|mes|ton|ta|tes|notre|nos)\b|\b[dl]['\u2019]",
    re.IGNORECASE,
)
_PATTERNS: Final = tuple(
    (LazyPattern(words, re.IGNORECASE), named)
    for words, named in (
        (_ENGLISH, _quote),
        (_GERMAN, _without_articles),
        (_FRENCH, _without_articles),
    )
)
