"""Language detection, and search for inflected words in languages with Latin letters."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.memory.test_ghosts import Diary

from everloop.log import Context
from everloop.memory.browse.snippet import snippet
from everloop.memory.model.commands import GrantAudience, RememberItem
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.text.analysis import (
    detect_question_languages,
    detect_text_languages,
    index_terms,
    parse_question,
)


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """An empty diary."""
    opened = Diary(tmp_path / "diary")
    yield opened
    opened.log.close()


def found(diary: Diary, text: str, principal: str = "user") -> list[str]:
    """The ids of the items that keyword search finds."""
    asked = SearchQuery(text, mode="text")
    return [hit.item.item_id for hit in diary.keeper.recall(principal, asked).hits]


USER = Context()
SAID = {
    "cs": ("Včera jsme koupili nové knihy a dali je na stůl", "kniha", "kde je moje kniha?"),
    "da": ("Vi har købt to biler af min bror", "bil", "Hvor er bilen?"),
    "de": ("Wir haben zwei Häuser in der Stadt gekauft", "Haus", "Wo ist das Haus?"),
    "es": ("Los libros están en la mesa de la cocina", "libro", "¿Dónde está el libro?"),
    "fi": ("Minä en ole lukenut niitä kirjoja mutta talossa on tilaa", "talo", "missä on talo?"),
    "fr": ("Les chevaux sont dans le pré avec nous", "cheval", "Où est mon cheval ?"),
    "hu": ("A könyvek ott vannak és nem olvastam el egyet sem", "könyv", "hol van a könyv?"),
    "it": ("Ho messo i libri della nonna nella stanza", "libro", "Dove sono i miei libri?"),
    "nl": ("Wij hebben de huizen van mijn oma verkocht", "huis", "Waar is het huis?"),
    "no": ("Jeg har parkert bilene til min far på taket", "bil", "Hvor er bilen min?"),
    "pl": ("Nie wiem gdzie jest książka z biblioteki", "książki", "gdzie są książki?"),
    "pt": ("Os livros da minha mãe não estão aqui", "livro", "Onde está o meu livro?"),
    "ro": ("Mașinile sunt în garaj și nu pornesc", "mașină", "unde este mașina?"),
    "sv": ("Hundarna har inte fått någon mat av mig", "hund", "Var är min hund?"),
    "tr": ("Bu evler çok güzel ama biz bir tane istiyoruz", "ev", "bu ev nerede?"),
}


@pytest.mark.parametrize("code", SAID)
def test_inflected_words_match_whether_or_not_the_question_shows_its_language(
    diary: Diary, code: str
) -> None:
    text, word, asked = SAID[code]
    assert code in detect_text_languages(text)
    diary.keeper.remember(RememberItem("meant", text), by=USER)
    diary.keeper.remember(RememberItem("other", "The dentist moved to Friday"), by=USER)
    assert found(diary, word) == ["meant"]
    assert found(diary, asked)[:1] == ["meant"]


@pytest.mark.parametrize(("asked", "word"), [("Häusern", "Haus"), ("Büchern", "Buch")])
def test_a_question_matches_words_inflected_in_another_way(
    diary: Diary, asked: str, word: str
) -> None:
    diary.keeper.remember(RememberItem("a", f"Ich habe {word} noch nicht gesehen"), by=USER)
    assert found(diary, asked) == ["a"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Bu k\u0131zlar çok güzel ama biz yok", "k\u0131z"),
        ("Bu k\u0131zlar çok güzel ama biz yok", "kiz"),
        ("Bu k\u0131z çok güzel ama biz yok", "k\u0131zlar"),
        ("Não tenho essas informações aqui", "informação"),
        ("Não tenho essa informação aqui", "informações"),
        ("Não tenho essas informações aqui", "informacoes"),
        ("Nao tenho essas informacoes aqui", "informações"),
    ],
)
def test_inflected_words_match_with_and_without_accents(
    diary: Diary, text: str, asked: str
) -> None:
    diary.say("meant", text)
    diary.say("other", "The dentist moved to Friday")
    assert found(diary, asked) == ["meant"]


@pytest.mark.parametrize(
    "text",
    [
        "I saw Die Hard with Anna in Los Angeles",
        "We ate at La Tour and had a crème brûlée",
        "The war was over and the men were tired",
        "Remember to call Ida de Vries about the van",
        "dentist appointment moved",
        "war stories",
        "MIT hat, met Ben",
        "buy sim card",
        "a nas backup",
        "mint tea is ok",
        "macbook pro serial",
        "To do: ten squats",
        "30 min run",
        "dont like olives",
        "von Neumann architecture",
        "La La Land",
        "Budget 2026: den, kitchen, garage",
        "im tired today",
        "till Friday",
        "vitamin C 1000mg",
        "J. C. Penney card",
        "AV cable, AR glasses",
        "att bill due",
        "biz dev",
        "Notre Dame tickets",
        "We met Zoë and Jürgen at the café in Zürich",
    ],
)
def test_english_is_not_detected_as_another_language(text: str) -> None:
    assert not detect_question_languages(text)
    assert "§" not in index_terms(text)


@pytest.mark.parametrize("asked", ["Häuser", "Häuser in Berlin", "Bücher am See", "was I: Bücher"])
def test_a_word_that_is_also_english_does_not_make_a_question_english(
    diary: Diary, asked: str
) -> None:
    diary.say("book", "Ich habe das Buch in eine Kiste gelegt")
    diary.say("house", "Wir haben ein Haus am See gekauft")
    diary.say("other", "The dentist moved to Friday")
    wanted = "house" if asked.startswith("Häuser") else "book"
    assert detect_question_languages(asked) is None
    assert wanted in found(diary, asked)


@pytest.mark.parametrize("asked", ["Who is Anna?", "What's in it", "the house", "Where was I"])
def test_one_word_that_is_only_english_makes_a_question_english(asked: str) -> None:
    assert detect_question_languages(asked) == ()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("de", "Milch und Brot kaufen"),
        ("de", "Käse kaufen"),
        ("de", "Fußball mit Ben"),
        ("de", "Termin beim Arzt"),
        ("fr", "J'ai faim"),
        ("fr", "C\u2019est bon"),
        ("es", "Mañana, farmacia"),
        ("pl", "Nie lubię sera"),
        ("pt", "Reunião amanhã"),
        ("cs", "Nemám rád sýr"),
        ("hu", "A nővérem Győrben lakik"),
        ("tr", "Anahtar masan\u0131n üstünde"),
        ("sv", "Nyckeln på bordet"),
        ("da", "Køb mælk"),
        ("no", "Køb mælk"),
        ("fr", "De\u0301me\u0301nagement pre\u0300s d'ici, c'e\u0301tait long"),
    ],
)
def test_one_word_or_letter_decides_the_language_of_a_short_note(code: str, text: str) -> None:
    assert code in detect_text_languages(text)
    assert f"§{code}" in index_terms(text).split(" ")


def test_a_short_note_matches_inflected_words(diary: Diary) -> None:
    diary.say("shopping", "Brötchen und zwei Bücher kaufen")
    diary.say("other", "The dentist moved to Friday")
    assert found(diary, "Buch") == ["shopping"]


def test_a_stop_word_of_another_language_is_not_dropped() -> None:
    assert parse_question("war stories", ("de",)).terms[0].split("|")[0] == "war"


def test_stop_words_of_its_own_language_are_dropped_from_a_question() -> None:
    asked = parse_question("Wo habe ich das Auto geparkt?", ("de",))
    assert [term.split("|")[0] for term in asked.terms] == ["auto", "geparkt"]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("Ella", "¿Cuándo es el cumpleaños de Ella?"),
        ("Pablo", "¿Cuándo es el cumpleaños de Pablo?"),
        ("Ella", "¿cuando es el cumpleaños de Ella?"),
    ],
)
def test_a_name_that_is_spelt_like_a_stop_word_is_searched_for(
    diary: Diary, name: str, asked: str
) -> None:
    for each in ("Pablo", "Ella", "Marta"):
        diary.say(each, f"El cumpleaños de {each} es en mayo")
    assert found(diary, asked)[0] == name


def test_stop_words_are_dropped_even_if_polite_or_at_the_start_of_a_sentence() -> None:
    terms = parse_question("Haben Sie das Auto? Wer hat es?", ("de",)).terms
    assert [term.split("|")[0] for term in terms] == ["auto"]
    spanish = parse_question("¿Dónde está el libro?", ("es",)).terms
    assert [term.split("|")[0] for term in spanish] == ["libro"]


def test_the_turkish_word_for_water_is_not_a_stop_word() -> None:
    asked = parse_question("su faturas\u0131 nerede ve ne kadar", ("tr",))
    assert asked.terms[0].split("|")[0] == "su"


def test_a_note_in_another_language_does_not_change_english_search(diary: Diary) -> None:
    for name, text in (("corn", "Corn, corn and more corn"), ("corner", "The shop at the corner")):
        diary.say(name, text)
    before = found(diary, "corner")
    diary.say("german", "Wir haben nicht viel Zeit, aber das Haus ist an der Ecke")
    assert found(diary, "corner") == before == ["corner"]


def test_hidden_notes_do_not_reveal_the_languages_they_are_in(diary: Diary) -> None:
    """A hidden German note must not make a guest's question look for German stems."""
    guest = RememberItem("theirs", "Kind regards from the team", witnesses=("guest",))
    diary.engine.do(GrantAudience("guest", ("user",)), by=USER)
    diary.keeper.remember(guest, by=USER)
    before = found(diary, "Kinder", "guest")
    hidden = RememberItem("hidden", "Die Kinder sind nicht mit uns gefahren", witnesses=("me",))
    diary.keeper.remember(hidden, by=USER)
    assert found(diary, "Kinder", "guest") == before == []
    assert found(diary, "Kinder", "user") == ["hidden"]


def test_the_snippet_marks_a_word_that_matched_by_its_stem() -> None:
    shown = snippet("Wir haben zwei Häuser in der Stadt gekauft", "Haus")
    assert [shown.text[first:last] for first, last in shown.matches] == ["Häuser"]
