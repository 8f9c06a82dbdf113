"""Claims to have kept something: recognised, and done or marked."""

from pathlib import Path

import pytest
from tests.thread.fixtures import parlour

from everloop.app import USER
from everloop.errors import NotFound
from everloop.memory.projections.queries import Filter, list_items, load_viewer
from everloop.ports import ToolCall
from everloop.thread.model.memory_claims import can_be_kept, claims_to_have_kept
from everloop.thread.turns import KEPT_FOR_IT, NOT_KEPT

CLAIMS = """
Noted.
Okay, noted! Anna is allergic to nuts.
Got it. I'll remember that.
I've noted your appointment for Tuesday.
I have saved this for later.
Sure, I will keep that in mind.
I've made a note of it.
Your preference has been recorded.
I will add this to my notes.
Das habe ich mir notiert.
Ich werde mir das merken.
""".strip().splitlines()
OTHERS = """
I remember that you told me about Anna in May.
As noted above, the roof is old.
You noted on Monday that the boiler leaks.
The file was saved by the editor.
Do you want me to remember that?
She recorded a song.
I do not know.
""".strip().splitlines()


@pytest.mark.parametrize("answer", CLAIMS)
def test_a_claim_is_recognised(answer: str) -> None:
    assert claims_to_have_kept(answer)


@pytest.mark.parametrize("answer", OTHERS)
def test_other_sentences_are_no_claims(answer: str) -> None:
    assert not claims_to_have_kept(answer)


def test_only_short_statements_can_be_kept() -> None:
    assert can_be_kept("Anna is allergic to nuts.")
    assert not any(map(can_be_kept, ("", "Is Anna allergic to nuts?", "long " * 400)))


def test_what_an_answer_claims_to_have_noted_is_kept_and_shown_as_a_tool_call(
    tmp_path: Path,
) -> None:
    with parlour(tmp_path, ["Noted, thank you."]) as talking:
        sent = talking.say("Anna is allergic to nuts.")
        talking.until_ended(sent.turn_id)
        (tool,) = talking.turn(sent).tools
        assert (tool.name, tool.failed) == ("remember", False)
        assert tool.result.endswith(KEPT_FOR_IT)
        with talking.engine.reading() as reader:
            kept = list_items(reader, load_viewer(reader, "user"), Filter(kinds=("fact",)))
        assert [item.text for item in kept] == ["Anna is allergic to nuts."]
        talking.talk.retract(sent.message_id, "a slip", USER)
        with pytest.raises(NotFound):
            talking.engine.memory.find("user", kept[0].item_id)


def test_a_claim_about_a_question_is_marked_and_nothing_is_kept(tmp_path: Path) -> None:
    with parlour(tmp_path, ["I'll remember that."]) as talking:
        sent = talking.say("What is Anna allergic to?")
        talking.until_ended(sent.turn_id)
        (tool,) = talking.turn(sent).tools
        assert (tool.failed, tool.result) == (True, NOT_KEPT)


def test_a_claim_after_a_tool_call_is_true(tmp_path: Path) -> None:
    call = ToolCall("c1", "remember", {"text": "Anna is allergic to nuts."})
    with parlour(tmp_path, [[call], "Noted."]) as talking:
        sent = talking.say("Anna is allergic to nuts.")
        talking.until_ended(sent.turn_id)
        (tool,) = talking.turn(sent).tools
        assert tool.call_id == "c1"
