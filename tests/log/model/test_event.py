"""Events: wire names, encoding, upcasting, and what this build does not know."""

import math
from typing import Any

import pytest
from tests.log.samples import Counted, Said

from everloop.errors import Corrupt, Invalid
from everloop.log import Event, Unknown, catalogue, event, upcast
from everloop.log.model.event import decode, encode


@event("sample.renamed", schema=3)
class Renamed(Event, frozen=True):
    """A thing got a name. Schema 1 had `label`, schema 2 had no `lang`."""

    name: str
    lang: str


@upcast("sample.renamed", from_schema=1)
def _name_not_label(data: dict[str, Any]) -> dict[str, Any]:
    return {"name": data["label"]}


@upcast("sample.renamed", from_schema=2)
def _with_language(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "lang": "en"}


@pytest.mark.parametrize(
    "text", ["", "é", "\x00", "\u202e", "\U0001d4b3", '"\\', "line\nline", " " * 3]
)
def test_any_text_is_decoded_as_it_was_encoded(text: str) -> None:
    assert decode("sample.said", 1, encode(Said(text)).decode()) == Said(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_represent_is_refused(value: float) -> None:
    with pytest.raises(Invalid, match="NaN or Infinity") as refusal:
        encode(Counted(value))
    assert refusal.value.hint


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(Invalid, match="JSON"):
        encode(Said("\ud800"))


def test_an_undeclared_event_is_refused() -> None:
    class Stray(Event, frozen=True):
        pass

    with pytest.raises(Invalid, match="not a declared event"):
        encode(Stray())


def test_two_events_cannot_have_the_same_wire_name() -> None:
    with pytest.raises(Invalid, match=r"sample\.said"):

        @event("sample.said")
        class Copycat(Event, frozen=True):  # pyright: ignore[reportUnusedClass]
            pass


@pytest.mark.promise("P-LOG-18")
def test_an_old_event_is_upcast_through_every_schema() -> None:
    assert decode("sample.renamed", 1, '{"label":"x"}') == Renamed(name="x", lang="en")
    assert decode("sample.renamed", 2, '{"name":"x"}') == Renamed(name="x", lang="en")
    assert decode("sample.renamed", 3, '{"name":"x","lang":"de"}') == Renamed(name="x", lang="de")


@pytest.mark.promise("P-LOG-18")
def test_an_event_of_an_unknown_or_newer_kind_is_skipped_not_refused() -> None:
    assert decode("future.thing", 1, '{"a":1}') == Unknown(kind="future.thing", kind_schema=1)
    assert decode("sample.renamed", 9, "{}") == Unknown(kind="sample.renamed", kind_schema=9)


def test_data_that_does_not_match_its_kind_is_corrupt() -> None:
    with pytest.raises(Corrupt, match=r"sample\.said"):
        decode("sample.said", 1, '{"text":7}')
    with pytest.raises(Corrupt):
        decode("sample.said", 1, "{not json")


def test_the_catalogue_lists_every_event_with_a_documented_class() -> None:
    for wire, cls in catalogue().items():
        assert cls.wire == wire
        assert cls.__doc__
