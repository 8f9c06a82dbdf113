"""Text analysis for keyword search: tokenizer, stemming, stop words and phrases."""

import apsw
import pytest

from everloop.memory.text.analysis import (
    TERMS_MAX,
    QueryTerms,
    analyse,
    index_terms,
    keep_rarest_terms,
    parse_question,
)


def found(asked: str, *items: str) -> list[int]:
    """The items a question finds, best first, through a real FTS5 table."""
    db = apsw.Connection(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE t USING fts5(x, content='', contentless_delete=1, tokenize='ascii')"
    )
    for number, item in enumerate(items):
        db.execute("INSERT INTO t(rowid, x) VALUES (?, ?)", (number, index_terms(item)))
    rows = db.execute(
        "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank, rowid", (parse_question(asked).match(),)
    )
    return [int(str(rowid)) for (rowid,) in rows]


@pytest.mark.parametrize(
    ("asked", "item"),
    [
        ("running", "I ran, she runs, we run"),
        ("cafes in Zurich", "a café by the lake in Zürich"),
        ("lodz", "Łódź"),
        ("strasse", "Straße"),
        ("fuse_ranks", "def fuseRanks(legs)"),
        ("ranks", "call fuse_ranks() first"),
        ("fuse_ranks.py", "see src/everloop/memory/fuse_ranks.py"),
        ("everloop memory", "see src/everloop/memory/fuse_ranks.py"),
        ("os.path.join", "use os.path.join here"),
        ("join", "use os.path.join here"),
        ("HTTPServer", "an http_server"),
        ("email", "send an e-mail"),
        ("C++", "written in C++"),
        ("obrien", "Mr. O'Brien called"),
        ("東京", "昨日は東京に行きました"),
        ("猫", "可愛い猫です"),
        ("ภาษา", "ฉันเรียนภาษาไทย"),
        ("машина Москва", "Мы купили машину в Москве"),
        ("новый дом", "Мы живём в новом доме"),
        ("σπίτια", "το σπίτι μας"),
        ("लड़कियाँ", "एक लड़की आई"),
        ("\uff21\uff22\uff23", "abc"),
        ("Melanie", "Melanie's kids"),
        ("The Who", "We saw The Who live"),
        ("dishwasher", "the dish\u00adwasher leaks"),
        ("dish\u00adwasher", "the dishwasher leaks"),
        ("password", "pass\u200bword: tulip"),
        ("password", "pass\u2060word: tulip"),
        ("budget", "\ufeffbudget of May"),
        ("Auflage", "die erste Auf\u200clage"),
        ("Häuser", "Hä\u00aduser"),
        ("\u0645\u06cc", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("👩", "👩\u200d🚀 landed"),
        ("api", "three APIs"),
        ("APIs", "one API"),
        ("pdf", "sign the PDFs"),
        ("pdfs", "sign the PDFs"),
        ("PDFs", "sign the pdfs"),
        ("kpi", "KPIs of the quarter"),
        ("urls", "parseURLsOfPage()"),
        ("LH 1234", "the flight is LH1234"),
        ("LH1234", "the flight is LH 1234"),
        ("lh1234", "the flight is LH1234"),
        ("5 kg", "a parcel of 5kg"),
        ("5kg", "a parcel of 5 kg"),
        ("python", "it needs python3.12"),
        ("python 3.12", "it needs python3.12"),
        ("iphone", "My new iPhone is black"),
        ("youtube", "a channel on YouTube"),
        ("macos", "it runs on macOS only"),
        ("onedrive", "OneDrive/Pictures is full"),
        ("nodejs", "written for Node.js"),
        ("website", "the web-site is down"),
        ("web-sites", "the website is down"),
    ],
)
def test_a_word_is_found_however_it_is_typed(asked: str, item: str) -> None:
    assert found(asked, "something else entirely", item) == [1]


def test_a_number_is_not_cut_off_where_it_is_part_of_a_word() -> None:
    assert analyse("the 2nd of Q3 in 4k").words == ("the", "2nd", "of", "q3", "in", "4k")


def test_a_name_spelt_like_a_stop_word_is_found_before_the_stop_word() -> None:
    items = ["It will rain and we will stay", "Then Will came home"]
    assert found("When did Will come?", *items) == [1]


def test_a_month_spelt_like_a_stop_word_is_kept() -> None:
    assert "·may" in parse_question("What happened in May?").terms


def test_stop_words_are_dropped_from_questions_and_kept_in_items() -> None:
    assert parse_question("what did you do about the budget").terms == ("budget",)
    assert "the" in analyse("the budget").words


def test_a_question_of_stop_words_only_still_has_terms() -> None:
    assert parse_question("who will do it").match() == '"who" OR "will" OR "do" OR "it"'


def test_a_quoted_phrase_ranks_first() -> None:
    items = ["the ring of the lord", "lord of the flies and a ring", "Lord of the Rings"]
    assert found('"lord of the rings"', *items)[0] == 2


def test_phrases_are_deduplicated_and_limited_in_number() -> None:
    assert parse_question('"customer name" ' * 600).phrases == (("custom", "name"),)
    many = " ".join(f'"customer number {n}"' for n in range(100))
    assert parse_question(many).phrases == tuple(
        ("custom", "number", str(n)) for n in range(TERMS_MAX)
    )


def test_an_empty_question_has_no_match_expression() -> None:
    assert parse_question(" ?! ").match() == ""


def test_terms_have_nothing_that_the_ascii_tokenizer_would_split() -> None:
    text = 'a_b c-d e.f/g\\h i\'s C++ C# x::y p->q "r" (s) #t 日本 ไทย naïve 50% & more\u2019s'
    for term in index_terms(text).split(" "):
        assert all(letter.isalnum() or letter > "\x7f" for letter in term), term


def test_the_most_common_terms_of_a_long_question_are_dropped() -> None:
    asked = QueryTerms(("common", "rare", "absent"), ())
    assert keep_rarest_terms(asked, {"common": 900_000, "rare": 2}).terms == ("rare",)


def test_a_small_memory_keeps_every_term_that_matches() -> None:
    asked = QueryTerms(("common", "rare", "absent"), ())
    assert keep_rarest_terms(asked, {"common": 90, "rare": 2}).terms == ("common", "rare")


def test_a_common_term_is_kept_if_it_is_the_only_one() -> None:
    assert keep_rarest_terms(QueryTerms(("common",), ()), {"common": 900_000}).terms == ("common",)


def test_a_long_question_keeps_its_rarest_terms_in_reading_order() -> None:
    terms = tuple(f"t{number:02}" for number in range(20))
    held = {term: number + 1 for number, term in enumerate(terms)}
    assert keep_rarest_terms(QueryTerms(terms[::-1], ()), held).terms == terms[11::-1]


def test_a_very_long_text_without_spaces_is_analysed() -> None:
    text = "日本" * 200_000
    assert len(index_terms(text)) > len(text)
    assert parse_question(text).terms == ("日", "本", "日本", "本日")
