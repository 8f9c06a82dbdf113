"""What is kept in mind: of much that was ever noted, the newest of what is open."""

from pathlib import Path

import pytest
from tests.thread.fixtures import parlour

from everloop.errors import NotFound
from everloop.thread.model.commands import (
    HOME,
    CloseTopic,
    NoteDecision,
    NoteIntent,
    NoteTopic,
    OpenTopic,
    SettleIntent,
)
from everloop.thread.model.state import CONVERSATION, thread_stream
from everloop.thread.queries.notes import NAMED_NOTES, find_note, list_notes, notes_for_prompt


@pytest.mark.parametrize("most", [1, 3, 5, 100])
def test_notes_for_the_prompt_are_the_newest_open_ones(tmp_path: Path, most: int) -> None:
    with parlour(tmp_path) as talking:
        engine = talking.engine
        for number in range(4):
            engine.do(OpenTopic(HOME, f"top-{number}", f"Topic {number}"))
            engine.do(NoteDecision(HOME, f"dec-{number}", f"Decision {number}"))
            engine.do(NoteIntent(HOME, f"int-{number}", f"Intent {number}"))
        engine.do(NoteTopic(HOME, "top-0", "Where it stands"))
        engine.do(CloseTopic(HOME, "top-1"))
        engine.do(SettleIntent(HOME, "int-2"))
        known = engine.log.state(CONVERSATION, thread_stream(HOME))
        assert known is not None
        with engine.reading() as reader:
            found = notes_for_prompt(reader, HOME, [*known.topics, *known.intents], most)
            assert found == list_notes(reader, HOME)[:most]
        assert found[0].title == "Topic 0"
        assert found[0].text == "Where it stands"


def test_one_note_is_found_without_reading_the_others(tmp_path: Path) -> None:
    with parlour(tmp_path) as talking:
        for number in range(3):
            talking.engine.do(OpenTopic(HOME, f"top-{number}", f"Topic {number}"))
        with talking.engine.reading() as reader:
            assert find_note(reader, HOME, "top-1") in list_notes(reader, HOME)
            rows = reader.rows(f"EXPLAIN QUERY PLAN {NAMED_NOTES}", ('["top-1"]', HOME))
            with pytest.raises(NotFound, match="no note 'top-9'"):
                find_note(reader, HOME, "top-9")
        assert any("thread_notes_id (note_id=?)" in row[3] for row in rows)
