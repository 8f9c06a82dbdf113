"""Packs: idempotent, one bad entry does not stop the others, removed entries stay removed."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from everloop.adapters.files.packs import read_pack, read_pack_folder, write_skill
from everloop.app import Engine
from everloop.errors import Invalid, NotFound
from everloop.lessons.crew.commands import RemoveEntry, ReviseEntry
from everloop.lessons.crew.events import Member, Skill, Team
from everloop.lessons.crew.service import PackResult
from everloop.lessons.model.commands import DiscardLesson, GiveFeedback, TrustHost, UseLesson
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

USER = Context()
AGENT = Context(actor="agent:x", session="s1")
TIDY: dict[str, Any] = {
    "id": "tidy",
    "lessons": [
        {"external_id": "l1", "description": "Look first", "body": "b", "promoted": True},
        {"external_id": "l2", "description": "Ask then", "body": "b"},
    ],
    "skills": [{"name": "deploy", "description": "Ships", "body": "b", "paths": ["*.py"]}],
    "personas": [{"id": "ada", "name": "Ada", "description": "Careful", "body": "b"}],
    "teams": [{"id": "home", "description": "d", "body": "b", "members": ["persona:ada", "ben"]}],
}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    settings = Settings(home=str(tmp_path / "home"), memory=MemorySettings(embedder="none"))
    with Engine.open(settings=settings, ports=DeterministicPorts().ports) as opened:
        yield opened


def packed(tmp_path: Path, document: Any = TIDY) -> Path:
    path = tmp_path / "tidy.json"
    path.write_text(json.dumps(document))
    return path


def install(engine: Engine, path: Path, by: Context = USER) -> PackResult:
    return engine.crew.install(read_pack(path), by=by)


def outcome(done: PackResult) -> dict[str, tuple[str, str]]:
    return {
        each.sort if each.sort == "lesson" else each.name: (each.what, each.status)
        for each in done.entries
    }


def test_a_users_pack_is_active_at_once(engine: Engine, tmp_path: Path) -> None:
    done = install(engine, packed(tmp_path))
    assert done.troubles == ()
    assert [(each.sort, each.what, each.status) for each in done.entries] == [
        ("lesson", "new", "promoted"),
        ("lesson", "new", "active"),
        ("skill", "new", "active"),
        ("persona", "new", "active"),
        ("team", "new", "active"),
    ]
    assert not any(each.withheld for each in done.entries)
    team = engine.crew.find_entry("user", "team", "home").profile
    assert team == Team("home", "d", "b", (Member("persona", "ada"), Member("user", "ben")))
    counts = {"lesson": 2, "persona": 1, "skill": 1, "team": 1}
    assert engine.crew.pack_counts("user") == {"tidy": counts}
    assert engine.crew.pack_counts("agent:x") == {}


@pytest.mark.promise("P-CREW-3")
def test_an_agents_pack_stays_inactive_unless_its_host_is_trusted(
    engine: Engine, tmp_path: Path
) -> None:
    done = install(engine, packed(tmp_path), by=AGENT)
    assert {each.status for each in done.entries} == {"pending", "draft"}
    assert all(each.withheld for each in done.entries)
    engine.do(TrustHost("y"), by=USER)
    other: dict[str, Any] = {**TIDY, "id": "neat", "skills": [], "personas": [], "teams": []}
    trusted = install(engine, packed(tmp_path, other), by=Context(actor="agent:y", session="s2"))
    assert [(each.status, each.withheld) for each in trusted.entries] == [
        ("active", True),  # it is to be promoted: that, only the user says, in person
        ("active", False),
    ]


@pytest.mark.promise("P-CREW-2")
def test_installing_twice_records_nothing(engine: Engine, tmp_path: Path) -> None:
    install(engine, packed(tmp_path))
    head = engine.log.head
    again = install(engine, packed(tmp_path))
    assert engine.log.head == head
    assert {each.what for each in again.entries} == {"known", "unchanged"}


@pytest.mark.promise("P-CREW-2")
def test_a_newer_pack_keeps_uses_and_feedback(engine: Engine, tmp_path: Path) -> None:
    first = install(engine, packed(tmp_path)).entries[1].name
    engine.do(GrantAudience("agent:x", ("*",)), by=USER)
    engine.lessons.use(UseLesson(first), by=AGENT)
    engine.lessons.feedback(GiveFeedback(first, False, "s1"), by=USER)
    newer = {**TIDY, "lessons": [TIDY["lessons"][0], {**TIDY["lessons"][1], "body": "better"}]}
    install(engine, packed(tmp_path, newer))
    lesson = engine.lessons.find("user", first)
    assert (lesson.body, lesson.uses, lesson.thumbs_down) == ("better", 1, 1)


@pytest.mark.promise("P-CREW-2")
def test_what_was_removed_is_not_restored(engine: Engine, tmp_path: Path) -> None:
    done = install(engine, packed(tmp_path))
    engine.lessons.discard(DiscardLesson(done.entries[1].name, force=True), by=USER)
    engine.crew.change_status(RemoveEntry("skill", "deploy", force=True), by=USER)
    again = install(engine, packed(tmp_path))
    assert engine.lessons.find("user", done.entries[1].name).status == "discarded"
    with pytest.raises(NotFound):
        engine.crew.find_entry("user", "skill", "deploy")
    assert outcome(again)["deploy"] == ("unchanged", "removed")


@pytest.mark.promise("P-CREW-2")
def test_a_users_edit_is_not_overwritten(engine: Engine, tmp_path: Path) -> None:
    install(engine, packed(tmp_path))
    engine.crew.revise(ReviseEntry("skill", "deploy", Skill("Mine", "b")), by=USER)
    newer = {**TIDY, "skills": [{**TIDY["skills"][0], "description": "Theirs"}]}
    install(engine, packed(tmp_path, newer))
    assert engine.crew.find_entry("user", "skill", "deploy").headline.description == "Mine"


@pytest.mark.promise("P-CREW-2")
def test_one_malformed_entry_is_reported_and_does_not_stop_the_others(
    engine: Engine, tmp_path: Path
) -> None:
    document = {
        **TIDY,
        "lessons": [{"description": "no body"}, 7, {"description": "d", "body": "b", "typo": 1}],
        "skills": [{"name": "Bad Name", "description": "d", "body": "b"}, TIDY["skills"][0]],
        "teams": [{"id": "home", "description": "d", "members": {"a": 1}}],
    }
    done = install(engine, packed(tmp_path, document))
    names = {trouble.name for trouble in done.troubles}
    assert names == {"lessons[0]", "lessons[1]", "lessons[2]", "skills[0]", "teams[0]"}
    assert all(trouble.hint for trouble in done.troubles)
    assert {each.name for each in done.entries} == {"deploy", "ada"}


def folder_pack(tmp_path: Path) -> Path:
    root = tmp_path / "tidy"
    for name, text in {
        "pack.json": '{"id": "neat"}',
        "lessons/look-first.md": "---\ndescription: Look first\npromoted: true\n---\nThen leap.",
        "skills/deploy/SKILL.md": "---\ndescription: Ships\n---\nRun.\n",
        "skills/deploy/reference/more.md": "More.\n",
        "personas/ada.md": "---\nname: Ada\ndescription: Careful\n---\nBe careful.\n",
        "teams/home.md": "---\ndescription: d\nmembers:\n  - persona:ada\n---\n",
        "README.md": "Not an entry.",
        "skills/broken/SKILL.md": "---\nname: other\ndescription: d\n---\n",
        "personas/unclosed.md": "---\nname: x\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_folder_is_a_pack_too(engine: Engine, tmp_path: Path) -> None:
    done = install(engine, folder_pack(tmp_path))
    assert done.pack_id == "neat"
    assert {each.sort for each in done.entries} == {"lesson", "skill", "persona", "team"}
    troubles = {trouble.name: trouble.problem for trouble in done.troubles}
    assert set(troubles) == {"skills/broken/SKILL.md", "personas/unclosed.md"}
    assert (
        "its name is 'other', but its file or folder is called 'broken'"
        in troubles["skills/broken/SKILL.md"]
    )
    skill = engine.crew.find_entry("user", "skill", "deploy").profile
    assert isinstance(skill, Skill)
    assert [file.path for file in skill.files] == ["reference/more.md"]


def test_an_invalid_pack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_pack(tmp_path / "nothing")
    for text in ("[1]", '{"id": "x", "surprise": 1}', "{", '{"id": "Not A Name"}'):
        (tmp_path / "p.json").write_text(text)
        with pytest.raises(Invalid):
            read_pack(tmp_path / "p.json")


def test_a_folder_of_skills_is_imported_and_edits_come_back_as_revisions(
    engine: Engine, tmp_path: Path
) -> None:
    home = tmp_path / "skills" / "deploy"
    home.mkdir(parents=True)
    (home / "SKILL.md").write_text("---\ndescription: Ships\n---\nRun.\n")
    assert outcome(engine.crew.import_entries(read_pack_folder(home.parent), by=USER)) == {
        "deploy": ("new", "active")
    }
    assert (
        engine.crew.import_entries(read_pack_folder(home), by=USER).entries[0].what == "unchanged"
    )
    (home / "SKILL.md").write_text("---\ndescription: Ships well\n---\nRun.\n")
    assert engine.crew.import_entries(read_pack_folder(home), by=USER).entries[0].what == "changed"
    refused = engine.crew.import_entries(read_pack_folder(home), by=AGENT)
    assert [trouble.name for trouble in refused.troubles] == ["SKILL.md"]


def test_symbolic_links_are_not_followed_on_import_or_export(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    home = tmp_path / "in" / "deploy"
    home.mkdir(parents=True)
    (home / "SKILL.md").write_text("---\ndescription: d\n---\n")
    os.symlink(tmp_path / "secret", home / "leak.txt")
    assert read_pack_folder(home.parent).troubles[0].problem == "leak.txt: it is a symbolic link"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "out" / "deploy")
    written, troubles = write_skill(tmp_path / "out", "deploy", Skill("d", "b"))
    assert (written, len(troubles)) == ([], 1)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_skill_that_is_a_symbolic_link_is_reported(tmp_path: Path) -> None:
    home = tmp_path / "elsewhere" / "deploy"
    home.mkdir(parents=True)
    (home / "SKILL.md").write_text("---\ndescription: d\n---\n")
    for folder in (tmp_path / "in", tmp_path / "in" / "skills"):
        folder.mkdir()
        os.symlink(home, folder / "deploy")
    found = read_pack_folder(tmp_path / "in")
    assert found.offers == ()
    assert [trouble.problem for trouble in found.troubles] == ["it is a symbolic link"] * 2


def test_a_skill_that_is_too_large_for_an_event_is_reported(engine: Engine, tmp_path: Path) -> None:
    home = tmp_path / "skills" / "deploy"
    home.mkdir(parents=True)
    (home / "SKILL.md").write_text("---\ndescription: d\n---\n")
    (home / "data.bin").write_bytes(bytes(1_000_000))
    done = engine.crew.import_entries(read_pack_folder(home), by=USER)
    assert done.entries == ()
    assert "larger than" in done.troubles[0].problem


def test_an_export_overwrites_nothing_that_differs(tmp_path: Path) -> None:
    skill = Skill("d", "b")
    assert write_skill(tmp_path, "deploy", skill)[0] == ["deploy/SKILL.md"]
    assert write_skill(tmp_path, "deploy", skill) == ([], [])
    (tmp_path / "deploy" / "SKILL.md").write_text("mine")
    _, troubles = write_skill(tmp_path, "deploy", skill)
    assert [trouble.name for trouble in troubles] == ["deploy/SKILL.md"]
    assert (tmp_path / "deploy" / "SKILL.md").read_text() == "mine"
