"""The MCP tools that read a world: only granted ones, and only what someone in it knows."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.mcp.clients import McpClient, connect_to
from tests.worlds.properties.test_leaks import Play
from tests.worlds.simulation import Simulation, codes, simulation
from tests.worlds.stage import RULES

from everloop.app import USER, Engine
from everloop.interfaces.mcp.server import make_tool_context
from everloop.memory import GrantAudience
from everloop.worlds import ChangePresence, DescribeScene

HOST = "agent:test-host"
STEPS = 60


@pytest.fixture
def sim(tmp_path: Path) -> Generator[Simulation]:
    with simulation(tmp_path) as sim:
        yield sim


@pytest.fixture
def host(sim: Simulation) -> Generator[McpClient]:
    room = make_tool_context(sim.engine, RULES, run="mcp-run", embeds=False)
    with connect_to(room) as host:
        yield host


def grant(engine: Engine, *scopes: str) -> None:
    engine.do(GrantAudience(HOST, scopes), by=USER)


def everything(host: McpClient, world_id: str, who: str, queries: tuple[str, ...] = ()) -> str:
    """All that the tools say of what someone knows, with every scene they know of."""
    asked = {"world": world_id, "who": who}
    known = host.call("what_does_character_know", **asked)
    found: list[Any] = [known]
    found += [host.call("what_does_character_know", **asked, query=each) for each in queries]
    found += [host.call("read_scene", **asked, scene=one["scene"]) for one in known["scenes"]]
    return json.dumps(found)


def test_a_host_reads_no_world_without_a_grant_of_it(sim: Simulation, host: McpClient) -> None:
    grant(sim.engine, "*")
    answer = host.call("list_worlds")
    assert answer["worlds"] == []
    assert "everloop grants allow agent:test-host '*' world:ID" in answer["notices"][0]
    refused = host.error("read_scene", world=sim.id, who="Ada")
    assert refused.replace(sim.id, "x") == host.error("read_scene", world="x", who="Ada")


def test_a_granted_world_is_read_as_someone_in_it_saw_it(sim: Simulation, host: McpClient) -> None:
    grant(sim.engine, "*", f"world:{sim.id}")
    (world,) = host.call("list_worlds")["worlds"]
    assert world["people"] == {"you": "Robin", sim.ada: "Ada", sim.ben: "Ben"}
    sim.say("Good evening, both of you.")
    sim.say("Ben must not hear this.", witnesses=("you", sim.ada))
    for who, heard in (("Ada", 2), ("ben", 1), ("you", 2)):
        scene = host.call("read_scene", world=sim.id, who=who)
        assert len(scene["lines"]) == heard
        assert scene["lines"][0]["speaker"] == "Robin"
    newest = host.call("read_scene", world=sim.id, who="Ada", limit=1)
    assert ([line["text"] for line in newest["lines"]], newest["earlier"]) == (
        ["Ben must not hear this."],
        1,
    )
    first = host.call("read_scene", world=sim.id, who="Ada", limit=1, skip=1)
    assert first["lines"][0]["text"] == "Good evening, both of you."
    assert "In it: Robin, Ada, Ben." in host.error("read_scene", world=sim.id, who="Cleo")
    assert "knows of no such scene 'other'" in host.error(
        "read_scene", world=sim.id, who="Ada", scene="other"
    )


def test_who_comes_later_is_not_told_what_a_scene_began_with(
    sim: Simulation, host: McpClient
) -> None:
    grant(sim.engine, f"world:{sim.id}")
    sim.next_scene(("you", sim.ada))
    sim.do(DescribeScene(sim.id, "They plan a surprise for Ben.", None))
    sim.do(ChangePresence(sim.id, ("you", sim.ada, sim.ben)))
    sim.say("Hello, Ben.")
    assert "surprise" in everything(host, sim.id, "Ada")
    assert "surprise" not in everything(host, sim.id, "Ben")


def test_a_grant_of_a_world_lets_no_host_search_or_write_what_characters_remember(
    sim: Simulation, host: McpClient
) -> None:
    grant(sim.engine, "*", f"world:{sim.id}")
    sim.say("The treasure is under the pier.")
    sim.reply(sim.ada, "Under the pier, then.")
    sim.read()
    scope = f"world:{sim.id}"
    assert host.call("recall", query="treasure pier", scope=scope)["memories"] == []
    assert host.call("browse", what="memories", scope=scope)["memories"] == []
    assert host.call("what_does_character_know", world=sim.id, who="Ada", query="treasure pier")[
        "memories"
    ]
    refused = host.error("propose_lesson", scope=scope, description="Dig.", body="Under the pier.")
    assert "cannot write into" in refused
    assert "cannot be granted" in _refusal(sim.engine, "world:*")


def _refusal(engine: Engine, scope: str) -> str:
    with pytest.raises(Exception, match="cannot be granted") as refused:
        grant(engine, scope)
    return str(refused.value)


def test_the_tools_of_worlds_only_read(host: McpClient) -> None:
    tools = {tool.name: tool for tool in host.ask("list_tools").tools}
    for name in ("list_worlds", "read_scene", "what_does_character_know"):
        assert tools[name].annotations.read_only_hint


@pytest.mark.promise("P-WORLD-1")
@pytest.mark.parametrize("seed", [3, 4])
def test_no_host_is_told_what_the_person_it_reads_as_did_not_witness(
    sim: Simulation, host: McpClient, seed: int, soaking: bool
) -> None:
    grant(sim.engine, f"world:{sim.id}")
    play = Play(sim, seed)
    told = 0
    for step in range(STEPS * 10 if soaking else STEPS):
        play.step()
        if step % 10:
            continue
        for who in sim.world.people:
            words = tuple(word for word in list(play.known)[-8:])
            found = codes(everything(host, sim.id, who, words)) & play.known.keys()
            assert [word for word in found if who not in play.known[word]] == []
            told += len(found)
    assert told
