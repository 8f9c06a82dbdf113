"""Memory, lessons, crew and this installation over HTTP."""

import pytest
from tests.interfaces.http.serving import Served

from everloop.app import USER
from everloop.errors import ModelFailed
from everloop.lessons.crew.commands import EnlistEntry
from everloop.lessons.crew.events import Member, Persona, Skill, SkillFile, Team
from everloop.log import Context
from everloop.memory.background import EmbeddingTask
from everloop.memory.model.commands import CiteItem, RememberItem

AGENT = Context(actor="agent:x")


def test_a_memory_is_stored_changed_recalled_and_retired(server: Served) -> None:
    with server.client() as client:
        kept = client.post("/api/memories", json={"text": "The spare key is under the pot."})
        assert kept.status_code == 201
        path = f"/api/memories/{kept.json()['item_id']}"
        changed = client.patch(
            path, json={"text": "The key is under the mat.", "significance": 3, "pinned": True}
        ).json()
        assert changed["item"]["text"] == "The key is under the mat."
        assert (changed["item"]["significance"], changed["item"]["pinned"]) == (3, True)
        assert len(changed["versions"]) == 2
        found = client.get("/api/recall", params={"query": "key", "mode": "text"}).json()
        hit = found["groups"][0]["hits"][0]
        assert hit["why"]["legs"][0]["leg"]
        assert [part["text"] for part in hit["shown"] if part["found"]] == ["key"]
        assert "".join(part["text"] for part in hit["shown"]) == "The key is under the mat."
        assert client.get(f"{path}/retirement").json() == {"cited_by": [], "needs_force": False}
        done = client.post(f"{path}/retirement", json={"reason": "lost"}).json()
        assert client.get("/api/recall?query=key&mode=text").json()["groups"] == []
        assert client.get("/api/memories?retired=true").json()["total"] == 1
        client.post(f"/api/retractions/{done['position']}", json={})
        assert len(client.get("/api/recall?query=key&mode=text").json()["groups"]) == 1


@pytest.mark.promise("P-MEM-5")
def test_a_concurrent_edit_is_a_conflict_and_loses_nothing(
    server: Served,
) -> None:
    with server.client() as client:
        kept = client.post("/api/memories", json={"text": "The key is under the pot."}).json()
        path = f"/api/memories/{kept['item_id']}"
        seen = client.get(path).json()["item"]["version"]
        assert client.patch(path, json={"text": "Under the mat.", "base": seen}).is_success
        mine = {"text": "Ann has it.", "significance": 3}
        refused = client.patch(path, json={**mine, "base": seen})
        assert (refused.status_code, bool(refused.json()["hint"])) == (409, True)
        now = client.get(path).json()["item"]
        assert (now["text"], now["significance"]) == ("Under the mat.", 0)
        saved = client.patch(path, json={**mine, "base": now["version"]}).json()
        assert [version["text"] for version in saved["versions"]] == [
            "The key is under the pot.",
            "Under the mat.",
            "Ann has it.",
        ]
        assert client.patch(path, json={"pinned": True, "base": 1}).status_code == 422


def test_a_retirement_preview_lists_citations_through_a_summary(server: Served) -> None:
    source = server.engine.do(RememberItem("source", "The roof leaks."), by=AGENT).position
    made = RememberItem("summary", "Leaks.", derived_from=("source",), because=(source,))
    server.engine.do(made, by=AGENT)
    server.engine.do(CiteItem("summary", "lesson:1", by_user=True), by=USER)
    with server.client() as client:
        path = "/api/memories/source/retirement"
        told = client.get(path).json()
        assert ([link["citer"] for link in told["cited_by"]], told["needs_force"]) == (
            ["lesson:1"],
            True,
        )
        assert client.post(path, json={}).status_code == 403
        assert client.post(path, json={"force": True}).status_code == 200


def test_embedding_progress_and_problems_are_reported(server: Served) -> None:
    server.running.embedding = beside = EmbeddingTask(server.engine.memory)
    with server.client() as client:
        told = client.get("/api/reading").json()
        assert (told["done"], told["total"], told["problem"]) == (0, 0, "")
        beside.progress, beside.problem = (3, 8), ModelFailed("the endpoint answered 429")
        told = client.get("/api/reading").json()
        assert (told["done"], told["total"]) == (3, 8)
        assert "429" in told["problem"]
    server.running.embedding = None


def test_a_search_explains_step_by_step_why_a_memory_is_missing(server: Served) -> None:
    with server.client() as client:
        kept = client.post("/api/memories", json={"text": "Cats sleep a lot."}).json()
        path = f"/api/memories/{kept['item_id']}/path"
        told = client.get(path, params={"query": "submarines", "mode": "text"}).json()
        assert told["found"] is False
        assert told["steps"][-1]["sentence"]
        told = client.get(path, params={"query": "cats sleep", "mode": "text"}).json()
        assert told["found"] is True


def test_retracting_the_positions_of_a_change_undoes_it(
    server: Served,
) -> None:
    pivotal = [f"mem-{number}" for number in range(9)]
    for item_id in pivotal:
        server.engine.do(RememberItem(item_id, f"It is about {item_id}."), by=USER)
    with server.client() as client:
        for item_id in pivotal[:8]:
            client.patch(f"/api/memories/{item_id}", json={"significance": 3})
        before = client.get("/api/memories?pinned=true").json()
        done = client.patch("/api/memories/mem-8", json={"significance": 3}).json()["done"]
        assert client.get("/api/memories/mem-0").json()["item"]["pinned"] is False
        assert len(done) == 1
        client.post(f"/api/retractions/{done[0]}", json={})
        assert client.get("/api/memories?pinned=true").json() == before
        path, both = "/api/memories/mem-0", {"pinned": False, "text": "Other words."}
        assert len(client.patch(path, json=both).json()["done"]) == 2
        assert client.patch(path, json=both).json()["done"] == []


def test_an_unknown_field_or_scope_is_refused_without_effect(
    server: Served,
) -> None:
    server.engine.do(RememberItem("mem-1", "For nobody else."), by=USER)
    with server.client() as client:
        head = server.engine.log.head
        for method, path, body in (
            ("POST", "/api/memories", {"text": "Ours.", "witnesses": ["agent:x"]}),
            ("POST", "/api/memories", {"text": "Ours.", "scopes": "team:x"}),
            ("PATCH", "/api/memories/mem-1", {"witnesses": ["agent:x"]}),
            ("POST", "/api/memories/mem-1/retirement", {"why": "x"}),
        ):
            assert client.request(method, path, json=body).status_code == 422, body
        for path in ("/api/memories?scope=usr", "/api/recall?query=x&scope=*"):
            assert client.get(path).status_code == 422, path
        assert client.get("/api/memories?scope=user").json()["total"] == 1
        assert server.engine.log.head == head


def test_memories_are_listed_by_page_and_filter(server: Served) -> None:
    with server.client() as client:
        for number in range(5):
            client.post("/api/memories", json={"text": f"Fact number {number} of all."})
        first = client.get("/api/memories?limit=2").json()
        rest = client.get("/api/memories?limit=10&offset=2").json()
        assert (len(first["items"]), first["total"], len(rest["items"])) == (2, 5, 3)
        assert client.get("/api/memories?kind=message").json()["total"] == 0
        assert client.get("/api/memories?since=2030-01-01T00:00:00").json()["total"] == 0
        assert client.get("/api/memories?pinned=true").json()["total"] == 0


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "x", "1e400"])
def test_a_time_out_of_range_is_refused(shared: Served, when: str) -> None:
    with shared.client() as client:
        assert client.get("/api/memories", params={"since": when}).status_code == 422


@pytest.mark.parametrize("position", ["0", "-1", str(2**63), "9" * 30, "x"])
def test_a_position_out_of_range_is_refused(shared: Served, position: str) -> None:
    with shared.client() as client:
        assert client.get(f"/api/retractions/{position}").status_code == 422
        assert client.post(f"/api/retractions/{position}", json={}).status_code == 422


def test_a_lesson_shows_its_gate_checks_at_each_step(server: Served) -> None:
    with server.client() as client:
        proposed = client.post(
            "/api/lessons",
            json={"description": "Water in the evening", "body": "Plants lose less of it then."},
        )
        assert proposed.status_code == 201
        lesson = proposed.json()["lesson"]
        path = f"/api/lessons/{lesson['lesson_id']}"
        assert {check["passed"] for check in proposed.json()["checks"]} >= {False}
        edited = client.patch(path, json={"body": "They lose less water then."}).json()
        assert edited["lesson"]["body"] == "They lose less water then."
        said = {"trigger": "watering", "failure_mode": "dry", "correction": "evening"}
        told = client.post(f"{path}/narrative", json={**said, "confidence": "inferred"})
        assert told.is_success, told.text
        assert client.post(f"{path}/activation").json()["lesson"]["status"] == "active"
        liked = client.post(f"{path}/feedback", json={"helpful": True, "signal_id": "s1"}).json()
        assert liked["lesson"]["thumbs_up"] == 1
        taken = client.delete(f"{path}/feedback/s1").json()
        assert taken["lesson"]["thumbs_up"] == 0
        asked = client.post(f"{path}/promotion").json()
        assert (asked["passed"], bool(asked["reasons"])) == (False, True)
        gone = client.post(f"{path}/discard", json={"reason": "wrong", "force": True}).json()
        assert gone["lesson"]["status"] == "discarded"
        assert client.get("/api/lessons").json()["total"] == 0
        assert client.get("/api/lessons?status=discarded").json()["total"] == 1
        assert client.get("/api/lessons/none").status_code == 404


def test_activating_a_lesson_requires_the_text_that_was_shown(server: Served) -> None:
    with server.client() as client:
        new = {"description": "Water in the evening", "body": "Plants lose less of it then."}
        lesson = client.post("/api/lessons", json=new).json()["lesson"]
        path, seen = f"/api/lessons/{lesson['lesson_id']}", {"text_digest": lesson["digest"]}
        now = client.patch(path, json={"body": "Flood it."}).json()["lesson"]["digest"]
        assert client.post(f"{path}/activation", params=seen).status_code == 409
        praise = client.post(f"{path}/feedback", json={"helpful": True, **seen})
        assert praise.status_code == 409
        assert client.post(f"{path}/activation", params={"text_digest": now}).is_success


def test_a_lesson_replaces_another(server: Served) -> None:
    with server.client() as client:
        ids = [
            client.post(
                "/api/lessons", json={"description": f"Rule {number}", "body": f"Do it {number}."}
            ).json()["lesson"]["lesson_id"]
            for number in (1, 2)
        ]
        done = client.post(f"/api/lessons/{ids[0]}/successor", json={"by": ids[1], "force": True})
        assert done.json()["lesson"]["status"] == "superseded", done.text


def test_hosts_are_trusted_and_distrusted(server: Served) -> None:
    with server.client() as client:
        assert client.put("/api/hosts/claude", json={"trusted": False}).status_code in (200, 404)
        assert client.put("/api/hosts/claude", json={"trusted": True}).json()["trusted"] is True
        assert client.get("/api/hosts").json()[0]["host"] == "claude"
        assert client.put("/api/hosts/claude", json={"trusted": False}).json()["trusted"] is False


def test_the_crew_and_the_manifest_are_shown(server: Served) -> None:
    with server.client() as client:
        for sort in ("skill", "persona", "team"):
            assert client.get(f"/api/crew/{sort}").json() == []
        assert client.get("/api/crew/pirate").status_code == 422
        client.post("/api/memories", json={"text": "The boat is called Gull."})
        told = client.post("/api/manifest", json={"query": "boat"}).json()
        assert client.get(f"/api/contexts/{told['context_id']}").status_code == 200


def test_a_crew_entry_is_shown_in_full(server: Served) -> None:
    file = SkillFile("reference.md", "Glue sets slowly.")
    skill = Skill("Glues", "Clamp it.", when_to_use="Wood", allowed_tools=("Read",), files=(file,))
    team = Team("Shop", "The workshop", "Work together.", (Member("persona", "luthier"),))
    crew = (
        EnlistEntry("skill", "glue", skill, author="user"),
        EnlistEntry("persona", "luthier", Persona("Luthier", "Builds", "You build cellos.")),
        EnlistEntry("team", "shop", team),
    )
    with server.client() as client:
        for entry in crew:
            server.running.engine.crew.enlist(entry, by=USER)
        glue = client.get("/api/crew/skill/glue").json()
        assert (glue["body"], glue["when_to_use"]) == ("Clamp it.", "Wood")
        assert (glue["allowed_tools"], glue["files"]) == (["Read"], ["reference.md"])
        assert client.get("/api/crew/persona/luthier").json()["headline"]["title"] == "Luthier"
        shop = client.get("/api/crew/team/shop").json()
        assert shop["members"] == [{"sort": "persona", "id": "luthier"}]
        assert client.get("/api/crew/skill/nowhere").status_code == 404


def test_settings_are_shown_without_secrets_and_some_can_be_changed(server: Served) -> None:
    with server.client() as client:
        told = {one["name"]: one for one in client.get("/api/settings").json()}
        assert told["models.tries"]["changeable"] is True
        assert told["serve.host"]["changeable"] is False
        changed = client.put("/api/settings/models.tries", json={"value": "5"})
        assert changed.json()["value"] == 5
        assert "tries" in (server.running.settings.folder / "settings.toml").read_text()
        for name, value, status in (
            ("models.tries", "0", 422),
            ("models.tries", "many", 422),
            ("models.tries", "5\n[serve]", 422),
            ("models.openai_url", "http://evil.example", 404),
            ("serve.host", "::", 404),
            ("nothing", "1", 404),
        ):
            answer = client.put(f"/api/settings/{name}", json={"value": value})
            assert answer.status_code == status, (name, value)


def test_a_setting_is_reset_to_its_default(server: Served) -> None:
    with server.client() as client:
        client.put("/api/settings/models.tries", json={"value": "5"})
        assert client.delete("/api/settings/models.tries").json()["value"] == 3
        assert "tries" not in (server.running.settings.folder / "settings.toml").read_text()
        assert client.delete("/api/settings/serve.host").status_code == 404
        assert client.delete("/api/settings/nothing").status_code == 404


def test_a_change_that_needs_a_restart_is_saved_and_says_so(server: Served) -> None:
    with server.client() as client:
        path = "/api/settings/memory.embedder"
        changed = client.put(path, json={"value": "hub"}).json()
        assert (changed["value"], changed["restart"], changed["pending"]) == ("hub", True, True)
        assert changed["choices"] == ["granite", "endpoint", "hub", "none"]
        assert client.put(path, json={"value": "magic"}).status_code == 422
        switched = client.put(
            "/api/settings/worlds.memory_across_worlds", json={"value": "false"}
        ).json()
        assert switched["value"] is False
        at_once = client.put("/api/settings/thread.context.hits", json={"value": "4"}).json()
        assert (at_once["restart"], at_once["pending"]) == (False, False)
        written = (server.running.settings.folder / "settings.toml").read_text()
        assert "memory_across_worlds = false" in written
        assert "hits = 4" in written


def test_a_setting_that_is_changed_elsewhere_says_why_and_where(server: Served) -> None:
    with server.client() as client:
        told = {one["name"]: one for one in client.get("/api/settings").json()}
    fixed = {name for name, one in told.items() if one["fixed_because"]}
    assert {name for name in told if name.startswith(("serve.", "log."))} - fixed == {
        "serve.beat_s",
        "serve.import_bytes_max",
    }
    assert fixed >= {
        "home",
        "store",
        "tools",
        "doors.admit_hosts",
        "github.comment_answers",
        "github.owner",
        "github.token_file",
        "lessons.uses_min",
        "sentiment.positive_min",
        "memory.endpoint",
        "memory.endpoint_key",
        "models.openai_url",
        "models.narrative",
        "voice.callers",
        "voice.pin_key",
    }
    assert not fixed & {"voice.language", "voice.call_about", "voice.calls_max"}
    assert all(one["changeable"] is (name not in fixed) for name, one in told.items())
    assert "who can connect" in told["serve.host"]["fixed_because"]
    assert "settings.toml" in told["serve.host"]["fixed_because"]
    outside = {name for name in fixed if "Models above" not in told[name]["fixed_because"]}
    assert len(outside) < len(told) / 3


def test_a_chosen_model_takes_effect_and_is_saved(server: Served) -> None:
    with server.client() as client:
        assert client.get("/api/models").json()["narrative"] == "scripted"
        chosen = client.put("/api/models", json={"slot": "narrative", "models": "offline"}).json()
        assert (chosen["narrative"], chosen["offline"], bool(chosen["hint"])) == (
            "offline",
            True,
            True,
        )
        assert (
            'narrative = "offline"'
            in (server.running.settings.folder / "settings.toml").read_text()
        )
        for wrong in ("no service:x", "openai", '"\nx', "a\x7fb", "§:x"):
            answer = client.put("/api/models", json={"slot": "narrative", "models": wrong})
            assert answer.status_code == 422, wrong
        assert client.get("/api/models").json()["narrative"] == "offline"


def test_the_log_can_be_read_and_verified(server: Served) -> None:
    with server.client() as client:
        client.post("/api/memories", json={"text": "Something."})
        newest = client.get("/api/log?limit=1").json()[0]
        before = client.get(f"/api/log?limit=1&before={newest['position']}").json()[0]
        assert before["position"] == newest["position"] - 1
        assert client.post("/api/log/proof").json()["ok"] is True


@pytest.mark.parametrize("body", [b'{"text": "\xff"}', b"[" * 100_000])
def test_a_malformed_body_is_refused_with_a_hint(shared: Served, body: bytes) -> None:
    with shared.client() as client:
        kind = {"content-type": "application/json"}
        answer = client.post("/api/memories", content=body, headers=kind)
        assert (answer.status_code, bool(answer.json()["hint"])) == (400, True)


def test_an_unknown_address_is_a_json_error(shared: Served) -> None:
    with shared.client() as client:
        for method, status in (("GET", 404), ("POST", 405)):
            answer = client.request(method, "/api/nothing")
            assert answer.status_code == status
            assert answer.headers["content-type"] == "application/json"
            assert answer.json()["error"]
        assert "make web" in client.get("/").text or "<script" in client.get("/").text
