"""Questions about when something was said, asked of years of notes."""

from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.memory.test_ghosts import Diary

from everloop.memory.model.commands import RateItem, RememberItem
from everloop.memory.retrieval.results import SearchQuery

NOTES = {
    "flat": ("2025-03-10", "We are looking for a flat in Hamburg"),
    "move": ("2025-06-15", "We moved to Hamburg today"),
    "kitchen": ("2025-06-20", "The new kitchen has no window"),
    "parser": ("2026-04-20", "The parser must be frozen soon"),
    "docs": ("2026-04-28", "Only the docs are missing"),
    "release": ("2026-05-01", "The release went out"),
    "bugs": ("2026-05-03", "Two bugs were reported"),
    "crown": ("2026-10-30", "The dentist says the crown is fine"),
    "later": ("2026-11-06", "The appointment was moved to December"),
    "leak": ("2026-11-10", "The boat has a leak"),
    "epoxy": ("2026-11-16", "The boat is mended with epoxy"),
}


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """Notes of two years, in November 2026."""
    opened = Diary(tmp_path / "diary")
    opened.stage.clock.time = datetime(2026, 11, 17, 12, tzinfo=UTC)
    for name, (day, text) in NOTES.items():
        opened.engine.do(RememberItem(name, text, happened_at=f"{day}T12:00:00Z"))
    yield opened
    opened.log.close()


def found(diary: Diary, text: str, limit: int = 20) -> list[str]:
    """The ids of the items that keyword search finds."""
    asked = SearchQuery(text, mode="text", limit=limit)
    return [hit.item.item_id for hit in diary.keeper.recall("user", asked).hits]


def test_a_question_for_before_an_event_finds_items_before_it_nearest_first(
    diary: Diary,
) -> None:
    before = ["docs", "parser", "kitchen", "move", "flat"]
    assert found(diary, "what did I say before the release") == before
    assert found(diary, "what did I say before May 2026") == before


def test_a_question_for_since_an_event_finds_items_after_it(diary: Diary) -> None:
    since = {"release", "bugs", "crown", "later", "leak", "epoxy"}
    assert set(found(diary, "what happened since the release")) == since


def test_an_event_is_dated_by_the_item_with_the_exact_phrase(diary: Diary) -> None:
    assert set(found(diary, "what did I say before we moved")) == {"flat"}
    assert "kitchen" in found(diary, "what happened since we moved")


def test_an_event_is_not_dated_by_its_planned_date(diary: Diary) -> None:
    assert "parser" in found(diary, "what did we discuss before the release in May")


def test_an_unknown_event_excludes_nothing(diary: Diary) -> None:
    diary.engine.do(RememberItem("noon", "We ate before noon", happened_at="2025-01-01T12:00:00Z"))
    assert "epoxy" in found(diary, "what did I say about the boat before the launch")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("what did I first say about the boat", "leak"),
        ("what did I last say about the boat", "epoxy"),
    ],
)
def test_verbs_of_saying_are_not_searched_for(diary: Diary, text: str, first: str) -> None:
    assert found(diary, text)[0] == first
    assert "crown" not in found(diary, text)


def test_significant_items_of_a_long_interval_are_found(diary: Diary) -> None:
    for number in range(250):
        at = f"2024-{1 + number // 25:02}-{1 + number % 25:02}T12:00:00Z"
        diary.engine.do(RememberItem(f"x{number}", f"Nothing much, {number}", happened_at=at))
    diary.engine.do(RememberItem("sea", "Anna drowned", happened_at="2024-12-01T12:00:00Z"))
    diary.engine.do(RateItem("sea", 3))
    assert found(diary, "what did I say in 2024", 3)[0] == "sea"


def test_a_time_in_a_reported_statement_excludes_nothing(diary: Diary) -> None:
    assert found(diary, "did I say that we moved to Hamburg in 2019")[0] == "move"
    assert found(diary, "did I say that we moved to Hamburg after the release")[0] == "move"


ELSEWHERE = {
    "wohnung": ("2025-03-10", "Wir suchen eine Wohnung mit Garten"),
    "umzug": ("2025-06-15", "Heute war der Umzug"),
    "fest": ("2026-02-01", "Die Hochzeit war am See, mit Musik"),
    "garten": ("2026-04-20", "Der Garten braucht Wasser"),
    "maison": ("2025-03-11", "Nous cherchons une maison avec jardin"),
    "camion": ("2025-06-16", "Le déménagement a duré deux jours"),
    "noces": ("2026-02-02", "Notre mariage était au bord du lac"),
    "jardin": ("2026-04-21", "Le jardin manque d'eau"),
}


@pytest.fixture
def abroad(tmp_path: Path) -> Generator[Diary]:
    """German and French notes, in November 2026."""
    opened = Diary(tmp_path / "abroad")
    opened.stage.clock.time = datetime(2026, 11, 17, 12, tzinfo=UTC)
    for name, (day, text) in ELSEWHERE.items():
        opened.engine.do(RememberItem(name, text, happened_at=f"{day}T12:00:00Z"))
    yield opened
    opened.log.close()


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("Was habe ich vor dem Umzug gesagt?", {"wohnung", "maison"}),
        ("Was haben wir nach der Hochzeit besprochen?", {"fest", "noces", "garten", "jardin"}),
        ("Was ist seit unserer Hochzeit passiert?", {"fest", "noces", "garten", "jardin"}),
        ("Was habe ich bis zur Hochzeit notiert?", {"wohnung", "umzug", "maison", "camion"}),
        ("Was habe ich während der Hochzeit gesagt?", {"fest"}),
        ("Qu'est-ce que j'ai dit avant le déménagement ?", {"wohnung", "umzug", "maison"}),
        ("Qu'est-ce qui s'est passé depuis notre mariage ?", {"noces", "garten", "jardin"}),
        ("Qu'avons-nous décidé pendant le déménagement ?", {"umzug", "camion"}),
    ],
)
def test_an_event_filters_by_time_in_german_and_french(
    abroad: Diary, text: str, there: set[str]
) -> None:
    assert set(found(abroad, text)) == there


def test_items_on_the_topic_before_an_event_come_first(abroad: Diary) -> None:
    of_the_garden = "was hab ich vor dem umzug alles über den garten gesagt"
    assert found(abroad, of_the_garden) == ["wohnung", "maison"]
    assert found(abroad, "Qu'ai-je noté après le mariage sur le jardin ?")[0] == "jardin"


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("Was habe ich vor der Prüfung über den Garten gesagt?", "garten"),
        ("Was habe ich vor dem Ende des Kurses über den Garten gesagt, bist du sicher?", "garten"),
        ("Qu'est-ce que j'ai dit avant la fin du cours sur le jardin ?", "jardin"),
    ],
)
def test_an_unknown_event_excludes_nothing_in_any_language(
    abroad: Diary, text: str, there: str
) -> None:
    for name, said in (
        ("du", "Wo bist du, vor der Tür?"),
        ("des", "Il a vu des gens avant la mer"),
    ):
        abroad.engine.do(RememberItem(name, said, happened_at="2025-01-01T12:00:00Z"))
    assert there in found(abroad, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Was habe ich vor dem Notar gesagt?", "Vor dem Notar: das Haus geht an Anna"),
        ("Was ist vor dem Museum passiert?", "Vor dem Museum wurde mein Rad gestohlen"),
    ],
)
def test_a_person_or_a_place_is_not_taken_for_an_event(abroad: Diary, text: str, said: str) -> None:
    abroad.engine.do(RememberItem("there", said, happened_at="2025-05-01T12:00:00Z"))
    assert found(abroad, text)[0] == "there"
