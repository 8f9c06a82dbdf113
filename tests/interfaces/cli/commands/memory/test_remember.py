"""Saving, changing and forgetting memories: remember, revise, rate, pin, forget."""

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.app import Engine
from everloop.memory.model.commands import CiteItem
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings


@pytest.fixture
def memory(everloop: CommandLine) -> CommandLine:
    """A command line without an embedder: keyword search only."""
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    return everloop


def take_in(memory: CommandLine, *words: str) -> str:
    """Save a memory as the user and return its id."""
    answer = memory.typed("remember", *words, "--json")
    assert answer.code == 0, answer.out
    return str(answer.document["item_id"])


def listed(memory: CommandLine, *words: str) -> list[str]:
    """The titles that the user sees."""
    answer = memory.typed("memories", *words, "--json").document
    return [item["title"] for item in answer["items"]]


def test_a_new_memory_is_saved_with_an_undo_command(memory: CommandLine) -> None:
    answer = memory.typed("remember", "The", "key", "is", "under", "the", "mat")
    assert answer.out.startswith("Saved as ")
    assert "To undo: everloop log retract 1" in answer.out
    assert listed(memory) == ["The key is under the mat"]
    memory.typed("log", "retract", "1", "--yes")
    assert listed(memory) == []


def test_a_near_duplicate_is_linked_to_the_existing_memory(memory: CommandLine) -> None:
    first = take_in(memory, "The key is under the mat")
    again = memory.typed("remember", "The key is under the mat")
    assert "Already saved" in again.out
    assert first[-8:] in again.out
    assert len(listed(memory)) == 1


def test_contradicting_memories_are_shown_newest_first(memory: CommandLine) -> None:
    take_in(memory, "The train leaves at 9:30 every morning")
    answer = memory.typed("remember", "The train leaves at 10:30 every morning")
    assert "contradicts" in answer.out
    assert answer.out.index("10:30") < answer.out.index("9:30")
    assert len(listed(memory)) == 2


def test_the_text_is_read_from_standard_input(memory: CommandLine) -> None:
    answer = memory("remember", "-", "--json", piped="first line\nsecond line\n")
    assert answer.document["new"]
    memory.typed("grants", "allow", "agent:cli", "*")
    assert memory("memories", "--json").document["items"][0]["text"] == "first line\nsecond line"


def test_all_fields_of_a_memory_can_be_set_at_once(memory: CommandLine) -> None:
    words = ("--title=T", "--kind=rule", "--scope=project:x", "--witness=ada", "--witness=ben")
    more = ("--pin", "--significance=2", "--happened=2026-05-17", "--until=2030-01-01")
    name = take_in(memory, "a text of some words", *words, *more)
    item = memory.typed("memories", "show", name[-8:], "--json").document["item"]
    assert (item["title"], item["kind"], item["scope"]) == ("T", "rule", "project:x")
    assert item["witnesses"] == ["ada", "ben"]
    assert (item["pinned"], item["significance"]) == (True, 2)
    assert item["happened_at"].startswith("2026-05-1")
    assert item["holds_until"] is not None


@pytest.mark.parametrize("part", [slice(-8, None), slice(-8, -4), slice(-4, None)])
def test_a_memory_is_found_by_its_listed_id(memory: CommandLine, part: slice) -> None:
    name = memory.typed("remember", "The plumber comes on Friday.", "--json").document["item_id"]
    shown = memory.typed("memories", "show", name[part], "--json").document["item"]
    assert shown["item_id"] == name


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "  "),
        ("remember", "x", "--scope", "nowhere"),
        ("remember", "x", "--happened", "some time"),
        ("revise", "mem-x"),
        ("revise", "mem-x", "--witness", "a", "--everyone"),
        ("rate", "mem-x", "4"),
        ("memories", "--offset", "-1"),
        ("memories", "--scope", "planet:*"),
        ("memories", "--scope", "project:x", "--scope", "team:*"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_refused_with_a_hint(memory: CommandLine, words: tuple[str, ...]) -> None:
    answer = memory.typed(*words)
    assert answer.code == 2
    assert "hint:" in answer.err


def test_a_revision_based_on_an_older_version_is_refused(memory: CommandLine) -> None:
    name = take_in(memory, "the meeting is on Monday")
    seen = memory.typed("memories", "show", name, "--json").document["item"]["version"]
    memory.typed("revise", name, "--text", "the meeting is on Tuesday")
    late = ("revise", name, "--text", "the meeting is at nine", "--base")
    refused = memory.typed(*late, str(seen))
    assert (refused.code, "hint:" in refused.err) == (4, True)
    life = memory.typed("memories", "show", name, "--json").document
    assert life["item"]["text"] == "the meeting is on Tuesday"
    assert memory.typed(*late, str(life["item"]["version"])).code == 0


def test_a_memory_is_revised_and_its_versions_are_kept(memory: CommandLine) -> None:
    name = take_in(memory, "the meeting is on Monday")
    assert "Revised" in memory.typed("revise", name, "--text", "the meeting is on Tuesday").out
    shown = memory.typed("memories", "show", name)
    assert "Monday" in shown.out
    assert "Tuesday" in shown.out
    life = memory.typed("memories", "show", name, "--json").document
    assert [version["text"] for version in life["versions"]] == [
        "the meeting is on Monday",
        "the meeting is on Tuesday",
    ]


def test_rating_and_pinning_are_idempotent(
    memory: CommandLine,
) -> None:
    name = take_in(memory, "something that matters")
    assert "Rated pivotal" in memory.typed("rate", name, "3").out
    assert listed(memory, "--pinned") == ["something that matters"]
    assert "Unpinned" in memory.typed("unpin", name).out
    assert listed(memory, "--pinned") == []
    assert "Pinned" in memory.typed("pin", name).out
    assert "No change needed" in memory.typed("pin", name).out


def test_unpinning_an_unpinned_memory_records_nothing(memory: CommandLine) -> None:
    name = take_in(memory, "something that matters")
    before = memory.typed("log", "tail", "--json").out
    assert "No change needed" in memory.typed("unpin", name).out
    assert memory.typed("unpin", name, "--json").document["positions"] == []
    assert memory.typed("log", "tail", "--json").out == before
    memory.typed("pin", name)
    assert "Unpinned" in memory.typed("unpin", name).out
    assert "No change needed" in memory.typed("unpin", name).out


@pytest.fixture
def pivotal(memory: CommandLine) -> list[str]:
    """As many pivotal memories as are pinned automatically, oldest first."""
    memory.environment["EVERLOOP_MEMORY_PINS_MAX"] = "2"
    return [take_in(memory, text, "--significance", "3") for text in ("Ada keeps bees", "Red roof")]


def test_an_evicted_pin_is_reported_and_restored_by_undo(
    memory: CommandLine, pivotal: list[str]
) -> None:
    third = take_in(memory, "The ferry is late")
    rated = memory.typed("rate", third, "3")
    assert "an older memory was unpinned" in rated.out
    assert f"{pivotal[0][-8:]}  Ada keeps bees" in rated.out
    assert listed(memory, "--pinned") == ["The ferry is late", "Red roof"]
    memory.typed(*rated.out.rpartition("everloop ")[2].split(), "--yes")
    assert listed(memory, "--pinned") == ["Red roof", "Ada keeps bees"]
    again = memory.typed("rate", third, "3", "--json").document
    assert again["gave_way"] == pivotal[:1]


def test_a_pin_evicted_by_a_new_memory_is_reported(memory: CommandLine, pivotal: list[str]) -> None:
    answer = memory.typed("remember", "The ferry is late", "--significance", "3")
    assert f"{pivotal[0][-8:]}  Ada keeps bees" in answer.out
    told = memory.typed("remember", "A new cellar", "--significance", "3", "--json").document
    assert told["gave_way"] == pivotal[1:]
    memory.typed("log", "retract", str(told["positions"][1]), "--yes")
    assert listed(memory, "--pinned") == ["The ferry is late", "Red roof"]


def test_a_pivotal_memory_without_a_pin_shows_the_reason(memory: CommandLine) -> None:
    name = take_in(memory, "something that matters", "--pin")
    memory.typed("unpin", name)
    rated = memory.typed("rate", name, "3").out
    assert "Not pinned: it was unpinned before" in rated
    assert f"everloop pin {name[-8:]}" in rated
    assert "not pinned" not in memory.typed("rate", name, "2").out


def test_an_expiry_date_in_the_past_is_refused(memory: CommandLine) -> None:
    for when in ("yesterday", "2020-05-01"):
        refused = memory.typed("remember", "The bridge is closed", "--until", when)
        assert refused.code == 2
        assert "is in the past" in refused.err
        assert "--until a future time" in refused.err
    assert memory.typed("remember", "The bridge is closed", "--until", "today").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "x", "--until", ""),
        ("remember", "x", "--happened", " "),
        ("recall", "x", "--since", ""),
        ("recall", "x", "--before", ""),
        ("search", "x", "--since", ""),
        ("search", "x", "--before", ""),
    ],
    ids=" ".join,
)
def test_an_empty_time_is_refused(memory: CommandLine, words: tuple[str, ...]) -> None:
    refused = memory.typed(*words)
    assert refused.code == 2
    assert "is not a date or time" in refused.err


def test_forgetting_asks_retires_and_can_be_undone(memory: CommandLine) -> None:
    name = take_in(memory, "an old address")
    assert memory("forget", name).code == 3  # whom nobody let in knows of no item
    assert memory.typed("forget", name, answers="n\n").code == 1
    answer = memory.typed("forget", name, "--reason", "moved", answers="y\n")
    assert "Retiring" in answer.err
    assert listed(memory) == []
    assert listed(memory, "--retired") == ["an old address"]
    assert "moved" in memory.typed("memories", "show", name).out
    assert "already" in memory.typed("forget", name).out
    position = answer.out.split("log retract ")[1].split()[0]
    memory.typed("log", "retract", position, "--yes")
    assert listed(memory) == ["an old address"]


def test_forgetting_a_memory_cited_by_the_user_needs_force(memory: CommandLine) -> None:
    name = take_in(memory, "the source of it all")
    settings = Settings(home=str(memory.home), memory=MemorySettings(embedder="none"))
    with Engine.open(settings=settings) as engine:
        engine.do(CiteItem(name, "letter:1", by_user=True))
    assert "letter:1" in memory.typed("forget", name, "--preview").out
    assert memory.typed("forget", name, "--yes").code == 5
    assert memory.typed("forget", name, "--yes", "--force").code == 0


def test_erasing_asks_first_and_removes_the_text(memory: CommandLine) -> None:
    name = take_in(memory, "the password is xyzzy")
    assert "cannot be undone" in memory.typed("forget", name, "--erase", "--preview").out
    assert memory.typed("forget", name, "--erase", answers="n\n").code == 1
    assert memory.typed("forget", name, "--erase", answers="y\n").code == 0
    assert "xyzzy" not in memory.typed("log", "tail").out
    assert memory.typed("memories", "show", name).code == 3


@pytest.mark.promise("P-CLI-5")
def test_an_agent_can_neither_erase_nor_grant_itself_access(memory: CommandLine) -> None:
    name = take_in(memory, "the users own words")
    assert memory("grants", "allow", "agent:cli", "*").code == 5
    assert memory("grants", "list").code == 5
    refused = memory("memories", "--json")
    assert refused.code == 5
    assert refused.document["error"]["message"] == "agent:cli has no access to memory"
    memory.typed("grants", "allow", "agent:cli", "user")
    assert memory("forget", name, "--erase", "--yes").code == 5
    assert memory("forget", name, "--yes").code == 5
    assert memory("recall", "words", "--for", "user").code == 5


def test_grants_are_listed_and_revoked(memory: CommandLine) -> None:
    assert "Only you have access" in memory.typed("grants", "list").out
    assert (
        "can read user, project:*"
        in memory.typed("grants", "allow", "ada", "user", "project:*").out
    )
    (grant,) = memory.typed("grants", "list", "--json").document
    assert (grant["principal"], grant["scopes"]) == ("ada", ["project:*", "user"])
    assert "ada" in memory.typed("grants", "list").out
    assert "has no access" in memory.typed("grants", "revoke", "ada").out
    assert memory.typed("grants", "list", "--json").document == []


def test_a_unique_ending_of_an_id_finds_a_memory(memory: CommandLine) -> None:
    name = take_in(memory, "one of a kind")
    assert memory.typed("memories", "show", name[-6:]).code == 0
    assert memory.typed("memories", "show", name[-3:]).code == 3
    assert memory.typed("memories", "show", "zzzz").code == 3


def test_a_status_note_shows_its_expiry_and_how_to_keep_it(memory: CommandLine) -> None:
    told = memory.typed("remember", "RESUME of Jane Doe: ten years of joinery.").out
    assert "Expires: " in told
    assert "--until durable" in told
    old = memory.typed("remember", "HANDOFF: the gate.", "--happened", "2026-01-05").out
    assert "Expired: the end of 2026-01-11" in old
    lasting = memory.typed("remember", "RESUME of John: a cook.", "--until", "durable", "--json")
    assert lasting.document["item"]["holds_until"] is None
    assert "It h" not in memory.typed("remember", "TO SHIP: x", "--until", "durable").out


@pytest.mark.parametrize(
    "words",
    [
        ("memories", "export", ""),
        ("memories", "import", " "),
        ("memories", "--kind", ""),
        ("recall", "x", "--for", ""),
        ("recall", "x", "--kind", ""),
        ("recall", "x", "--branch", ""),
        ("remember", "x", "--kind", " "),
        ("remember", "x", "--witness", ""),
        ("grants", "revoke", ""),
    ],
    ids=" ".join,
)
def test_an_empty_argument_is_refused(memory: CommandLine, words: tuple[str, ...]) -> None:
    refused = memory.typed(*words)
    assert refused.code == 2
    assert "is empty" in refused.err
    assert listed(memory) == []


def test_the_owner_cannot_revoke_their_own_access(memory: CommandLine) -> None:
    refused = memory.typed("grants", "revoke", "user")
    assert refused.code == 2
    assert "always has access" in refused.err
    assert memory("grants", "revoke", "user").code == 5


def test_an_empty_filter_result_differs_from_an_empty_memory(memory: CommandLine) -> None:
    assert "No memories yet" in memory.typed("memories").out
    take_in(memory, "The key is under the mat")
    assert "without filters" in memory.typed("memories", "--kind", "quote").out
    assert "without filters" in memory.typed("recall", "key", "--scope", "global").out
    assert "filter" not in memory.typed("recall", "zebra", "--mode", "text").out
