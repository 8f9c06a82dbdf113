"""Skills as pages: import and export are a lossless round trip."""

from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.adapters.files.front_matter import (
    DEPTH_MAX,
    FrontMatter,
    new_front_matter,
    split_front_matter,
)
from everloop.adapters.files.packs import read_pack_folder, render_skill_page, write_skill
from everloop.errors import Invalid
from everloop.lessons.crew.events import HookGroup, HookHandler, Skill
from everloop.lessons.crew.fields import normalise_names
from everloop.lessons.crew.pack import enlist_command
from everloop.lessons.crew.skill_page import front_matter_fields, parse_skill

PAGE = """\
---
name: release
description: >
  Ships a release:
  checks first
# a comment that a person wrote
version: "1.0"
license: no
allowed-tools: Read, Grep, Bash(git diff *)
argument-hint: [version]
disable-model-invocation: true
hooks:
  PreToolUse:
    - matcher: "Bash"
      hooks:
        - type: command
          command: "./scripts/check.sh"
          timeout: 5
          once: true
metadata: {author: "ada", tags: [a, 'b']}
---

# Release

Run the checks first.
"""


def read_back(page: str) -> Skill:
    head, body = split_front_matter(page)
    return parse_skill({**normalise_names(FrontMatter(head).fields()), "body": body}, head)


def folder_with(tmp_path: Path, page: str | bytes, name: str = "release") -> Path:
    home = tmp_path / "in" / name
    home.mkdir(parents=True)
    (home / "SKILL.md").write_bytes(page if isinstance(page, bytes) else page.encode())
    return tmp_path / "in"


def imported(folder: Path) -> tuple[str, Skill]:
    (offer,) = read_pack_folder(folder).offers
    command = enlist_command(offer)
    assert isinstance(command.profile, Skill)
    return command.name, command.profile


def test_a_page_is_read_as_hosts_read_it() -> None:
    skill = read_back(PAGE)
    assert skill.description == "Ships a release: checks first\n"
    assert (skill.version, skill.argument_hint) == ("1.0", "[version]")
    assert skill.allowed_tools == ("Read", "Grep", "Bash(git diff *)")
    assert skill.activation == "user-triggered"
    handler = HookHandler("command", {"command": "./scripts/check.sh"}, 5.0, True)
    assert skill.hooks == {"PreToolUse": (HookGroup((handler,), "Bash"),)}


@pytest.mark.promise("P-CREW-1")
@pytest.mark.parametrize(
    "page",
    [
        PAGE.encode(),
        PAGE.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + PAGE.encode(),
        b"---\nname: release\n---\nNo blank line, no line break at the end",
        b"# No front matter at all\n\nThe first line that is no heading.\n",
        b"---\ndescription: x\n---",
    ],
    ids=["full", "windows", "marked", "tight", "bare", "head only"],
)
def test_an_exported_page_equals_the_imported_one_byte_for_byte(
    tmp_path: Path, page: bytes
) -> None:
    name, skill = imported(folder_with(tmp_path, page))
    write_skill(tmp_path / "out", name, skill)
    assert (tmp_path / "out" / "release" / "SKILL.md").read_bytes() == page


@pytest.mark.promise("P-CREW-1")
def test_exported_files_of_a_skill_equal_the_imported_ones(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, PAGE)
    scripts = folder / "release" / "scripts"
    scripts.mkdir()
    (scripts / "check.sh").write_text("#!/bin/sh\ntrue\n")
    (scripts / "check.sh").chmod(0o755)
    (scripts / "logo.png").write_bytes(bytes(range(256)))
    (folder / "release" / ".secret").write_text("hidden")
    name, skill = imported(folder)
    written, troubles = write_skill(tmp_path / "out", name, skill)
    assert troubles == []
    assert written == ["release/SKILL.md", "release/scripts/check.sh", "release/scripts/logo.png"]
    out = tmp_path / "out" / "release" / "scripts"
    assert (out / "logo.png").read_bytes() == bytes(range(256))
    assert (out / "check.sh").stat().st_mode & 0o100
    assert not (out / "logo.png").stat().st_mode & 0o100


@pytest.mark.promise("P-CREW-1")
def test_a_changed_skill_keeps_unknown_fields() -> None:
    skill = read_back(PAGE)
    changed = msgspec.structs.replace(
        skill, description="Ships it", activation="auto", model="small"
    )
    page = render_skill_page("release", changed)
    assert 'version: "1.0"' in page
    assert "license: no" in page
    assert "metadata: {author: \"ada\", tags: [a, 'b']}" in page
    assert "disable-model-invocation" not in page
    again = read_back(page)
    assert (again.description, again.activation, again.model) == ("Ships it", "auto", "small")
    assert again.hooks == skill.hooks


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
lines = st.lists(words.filter(str.strip), max_size=3).map(tuple)
skills = st.builds(
    Skill,
    description=words.filter(str.strip),
    body=words,
    type=st.sampled_from(["generative", "analytical"]),
    version=words,
    when_to_use=words,
    argument_hint=words,
    arguments=lines,
    allowed_tools=lines,
    model=words,
    effort=words,
    context=st.sampled_from(["inherit", "fork"]),
    agent=words,
    hooks=st.dictionaries(
        words.filter(str.strip),
        st.tuples(
            st.builds(
                HookGroup,
                st.tuples(
                    st.builds(
                        HookHandler,
                        st.sampled_from(["command", "prompt"]),
                        st.dictionaries(st.just("command"), words.filter(str.strip)),
                        st.sampled_from([0.0, 1.0, 2.5]),
                        st.booleans(),
                    )
                ),
                words,
            )
        ),
        max_size=2,
    ),
    paths=lines,
    activation=st.sampled_from(["auto", "user-triggered"]),
)


@given(skills)
def test_every_skill_survives_a_round_trip_through_its_page(skill: Skill) -> None:
    page = new_front_matter(front_matter_fields("release", skill)) + skill.body
    head, body = split_front_matter(page)
    again = parse_skill({**normalise_names(FrontMatter(head).fields()), "body": body})
    assert again == skill


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_rejected_as_invalid(text: str) -> None:
    for page in (text, f"---\n{text}\n---\nbody"):
        with suppress(Invalid):
            head, body = split_front_matter(page)
            FrontMatter(head).fields()
            assert head + body == page


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("a: &x [1]\nb: *x", "line 3: aliases"),
        ("a: " + "[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1), "nested too deeply"),
        ("a: 1\na: 2", "line 3: 'a' occurs twice"),
        ("just words", "no fields"),
        ("b: 1\na: 'x", "line 4: found unexpected end"),
        ("? [a]\n: b", "a field name must be a string"),
    ],
)
def test_unsafe_front_matter_is_refused_with_its_line(fields: str, problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        FrontMatter(f"---\n{fields}\n---\n").fields()


def test_invalid_yaml_that_hosts_accept_is_read_leniently() -> None:
    page = "---\nargument-hint: [file] [format]\ndescription: Use it: now\nhooks: {}\n---\nb"
    skill = read_back(page)
    assert (skill.argument_hint, skill.description) == ("[file] [format]", "Use it: now")
    assert render_skill_page("x", skill).endswith("---\nb")


def test_a_list_may_be_one_text() -> None:
    page = "---\npaths: src/**/*.ts , lib/a b.ts\narguments: issue branch\n---\nb"
    skill = read_back(page)
    assert skill.paths == ("src/**/*.ts", "lib/a b.ts")
    assert skill.arguments == ("issue", "branch")
    assert skill.activation == "path-triggered"


def test_front_matter_must_be_closed_and_has_a_maximum_length() -> None:
    with pytest.raises(Invalid, match="no end"):
        split_front_matter("---\nname: x\n")
    with pytest.raises(Invalid, match="more than"):
        split_front_matter("---\n" + "a" * 70_000 + "\n---\n")
