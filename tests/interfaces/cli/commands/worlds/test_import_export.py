"""`everloop worlds` at a terminal: import, look at the report, export, undo."""

import json
from pathlib import Path

from tests.interfaces.cli.commandline import CommandLine
from tests.worlds.exchange.samples import CHAT, V2, chat_file, encode, png_card, user_folder


def test_a_card_is_imported_listed_exported_and_undone(
    everloop: CommandLine, tmp_path: Path
) -> None:
    card = tmp_path / "ada.png"
    card.write_bytes(png_card({"chara": V2}))
    done = everloop.typed("worlds", "import", str(card))
    assert done.code == 0, done.err
    assert "Imported 1 character." in done.out
    assert "everloop worlds undo" in done.out
    assert "Ada" in everloop.typed("worlds", "characters").out
    out = tmp_path / "out.json"
    assert everloop.typed("worlds", "export", "Ada", "--to", str(out)).code == 0
    assert json.loads(out.read_bytes()) == V2
    assert "ada.png" in everloop.typed("worlds", "imports").out
    undone = everloop.typed("worlds", "undo", answers="y\n")
    assert undone.code == 0, undone.err
    assert "No characters yet" in everloop.typed("worlds", "characters").out


def test_a_chat_is_imported_and_exported_as_a_book(everloop: CommandLine, tmp_path: Path) -> None:
    chat = tmp_path / "evening.jsonl"
    chat.write_bytes(chat_file())
    assert everloop.typed("worlds", "import", str(chat)).code == 0
    assert "evening" in everloop.typed("worlds").out
    assert CHAT[0]["mes"] in everloop.typed("worlds", "show", "evening").out
    assert everloop.typed("worlds", "knows", "evening", "Ada").code == 0
    assert "no world 'morning'" in everloop.typed("worlds", "rewind", "morning", "m1").err
    for form, ending in (("markdown", "md"), ("epub", "epub"), ("chat", "jsonl"), ("json", "json")):
        told = everloop.typed(
            "worlds", "export", "evening", "--format", form, "--to", str(tmp_path)
        )
        if form == "chat":  # the chat itself lies there
            assert "exists" in told.err
            continue
        assert told.code == 0, told.err
        assert (tmp_path / f"evening.{ending}").stat().st_size > 100
    answer = everloop.typed("worlds", "import", str(tmp_path / "evening.json"), "--json")
    assert json.loads(answer.out)["worlds"]
    assert CHAT[0]["mes"] in (tmp_path / "evening.md").read_text()


def test_a_group_of_four_asks_which_two_and_takes_the_answer(
    everloop: CommandLine, tmp_path: Path
) -> None:
    folder = str(user_folder(tmp_path / "default-user"))
    asked = everloop.typed("worlds", "import", folder)
    assert "--cast 'Crew=Ada,Bo'" in asked.out.replace("\n", " ")
    again = everloop.typed("worlds", "import", folder, "--cast", "Crew=Ada,Bo", "--json")
    assert json.loads(again.out)["questions"] == []
    assert "Crew" in everloop.typed("worlds").out


def test_an_agent_imports_nothing(everloop: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "ada.json"
    path.write_bytes(encode(V2))
    assert "only the user" in everloop("worlds", "import", str(path)).err
    assert "only the user" in everloop("worlds", "undo").err


def test_a_hostile_file_is_refused_with_a_hint(everloop: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(png_card({"chara": V2})[:-20])
    answer = everloop.typed("worlds", "import", str(path))
    assert answer.code != 0
    assert "cut off" in answer.err
    assert "No imports yet" in everloop.typed("worlds", "imports").out
