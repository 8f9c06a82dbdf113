"""Which facts hold the words of an item, besides itself."""

from pathlib import Path

import pytest
from tests.thread.fixtures import Parlour, parlour

from everloop.memory.model.commands import RememberItem
from everloop.memory.model.scopes import OWNER
from everloop.thread.model.events import AnswerSaved
from everloop.thread.queries.originals import original_positions


def kinds_of(talking: Parlour, item_id: str) -> list[str]:
    item = talking.engine.memory.find(OWNER, item_id)
    with talking.engine.reading() as reader:
        return [reader.record(position).kind for position in original_positions(reader, item)]


def test_originals_of_an_answer_include_its_saved_parts(tmp_path: Path) -> None:
    with parlour(tmp_path, ["Hello."]) as talking:
        sent = talking.say("Hi.")
        talking.until_ended(sent.turn_id)
        talking.engine.log.append(
            "thread:home", [AnswerSaved("home", sent.turn_id, "Hel")], actor="engine"
        )
        talking.remembered()
        answer_id = talking.turn(sent).answer_id
        assert kinds_of(talking, answer_id) == ["thread.answer_saved", "thread.answer_given"]
        assert kinds_of(talking, sent.message_id) == ["thread.message_sent"]


@pytest.mark.parametrize("number", [1, 2])
def test_an_item_with_another_text_or_several_sources_is_not_a_copy(
    tmp_path: Path, number: int
) -> None:
    with parlour(tmp_path, ["Hello.", "Again."]) as talking:
        sent = [talking.say("Hi."), talking.say("Ho.")]
        for each in sent:
            talking.until_ended(each.turn_id)
        said = tuple(
            record.position
            for record in talking.engine.log.records()
            if record.kind == "thread.message_sent"
        )
        text = "Hi." if number == 2 else "They said hi."
        talking.engine.do(RememberItem("mem-sum", text, because=said[:number]))
        assert kinds_of(talking, "mem-sum") == []
