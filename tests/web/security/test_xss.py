"""XSS: no script in messages, memories or titles runs."""

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.servers import Server, key_headers, start_server
from tests.web.thread.test_thread import say
from tests.web.xss_payloads import payloads

from everloop.app import USER
from everloop.errors import ModelFailed
from everloop.lessons.crew.commands import EnlistEntry
from everloop.lessons.crew.events import Skill
from everloop.lessons.model.commands import ProposeLesson
from everloop.memory.model.commands import RememberItem
from everloop.ports import ToolCall

pytestmark = pytest.mark.xdist_group("web")

ASK = {"query": "onerror"}
PAGES = (
    "search?q=onerror",
    "memory",
    "memory?view=ask&q=onerror",
    "memory?view=timeline",
    "lessons",
    "lessons?view=skill",
    "branches/home",
    "devices",
    "settings",
    "usage",
)

WALK = """
async () => { const list = document.querySelector('.history');
  for (let top = 0; top < list.scrollHeight; top += 600) {
    list.scrollTo(0, top); await new Promise(done => setTimeout(done, 60)); } }
"""
SPIED = """
() => { window.__spied = [];
  document.addEventListener('securitypolicyviolation', e => window.__spied.push(e.blockedURI)); }
"""


def test_no_script_in_a_model_answer_runs(tmp_path: Path, visit: Visit) -> None:
    texts = payloads()
    assert len(texts) >= 300
    whole = ["\n\n---\n\n".join(texts[start : start + 60]) for start in range(0, len(texts), 60)]
    with start_server(tmp_path, whole) as server:
        page = visit(server.link())
        page.evaluate(SPIED)
        for number, _ in enumerate(whole):
            say(page, f"Say it, {number}")
            expect(page.locator("[data-pending-answer]")).to_have_count(0)
        page.evaluate(WALK)
        assert page.evaluate("window.__ran") is None
        assert page.evaluate("window.__spied") == []
        assert page.locator(".prose script, .prose iframe, .prose img, .prose object").count() == 0
        assert page.locator(".prose a[href^='javascript' i]").count() == 0


def test_no_script_in_a_user_message_runs(tmp_path: Path, visit: Visit) -> None:
    text = "\n".join(payloads()[:120])
    bad = "<img src=x onerror=window.__ran=1>"
    with start_server(tmp_path, [ModelFailed(bad, hint=bad)]) as server:
        page = visit(server.link())
        say(page, text)
        expect(page.locator("[data-state=failed]")).to_contain_text(bad)
        server.running.talk.open(bad, USER)
        expect(page.locator("[data-role=user]")).to_contain_text("onerror")
        assert page.evaluate("window.__ran") is None
        assert page.locator("main img").count() == 0


def test_no_script_in_stored_text_runs_on_any_page(tmp_path: Path, visit: Visit) -> None:
    texts = payloads()
    parts = ["\n\n".join(texts[start : start + 60]) for start in range(0, len(texts), 60)]
    tools = [
        ToolCall("c1", "<img src=x onerror=window.__ran=1>", {}),
        ToolCall("c2", "recall", ASK),
    ]
    with start_server(tmp_path, [tools, texts[3]]) as server:
        keep(server, parts)
        page = visit(server.link())
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        say(page, "onerror")
        expect(page.locator("[data-role=assistant]")).to_have_count(1)
        newest = f"{server.address}/api/threads/home/messages?way=before"
        context = page.request.get(newest, headers=key_headers(page)).json()
        kept = [
            *(f"memory/mem-{n}" for n, _ in enumerate(parts)),
            "lessons/les-0",
            "lessons/skill/bad",
        ]
        pages = [*PAGES, *kept, f"inspect/{context['messages'][-1]['context_id']}"]
        for path in [*pages, f"nowhere/{quote(texts[0], safe='')}", f"search?q={quote(texts[3])}"]:
            page.goto(f"{server.address}/{path}")
            page.get_by_role("heading", level=1).first.wait_for()
            expect(page.locator("#main [role=status][aria-label]")).to_have_count(0)
            assert page.evaluate("window.__ran") is None, path
            assert page.locator("main img, main iframe, main script, main object").count() == 0, (
                path
            )
        assert [url for url in asked if not url.startswith((server.address, "data:"))] == []


def keep(server: Server, parts: list[str]) -> None:
    """Store hostile texts as memories, lessons, a skill and titles."""
    for number, words in enumerate(parts):
        server.engine.memory.remember(RememberItem(f"mem-{number}", words, words[:90]), by=USER)
        lesson = ProposeLesson(f"les-{number}", words[:90], words[:3_000], author="user")
        server.engine.do(lesson, by=USER)
        server.running.talk.open(words[:90], USER)
    skill = Skill(parts[0][:90], parts[1], when_to_use=parts[2][:90])
    server.engine.crew.enlist(EnlistEntry("skill", "bad", skill, author="user"), by=USER)


def test_a_hostile_file_name_is_shown_as_text(tmp_path: Path, visit: Visit) -> None:
    name = '"><img src=x onerror=window.__ran=1>.txt'
    with start_server(tmp_path, ["Thanks."]) as server:
        page = visit(server.link())
        page.locator("input[data-from=files]").set_input_files(
            {"name": name, "mimeType": "text/html", "buffer": b"<script>1</script>"}
        )
        expect(page.get_by_label("Attached")).to_contain_text("onerror")
        say(page, "A file")
        link = page.locator("[data-role=user] a[download]")
        expect(link).to_contain_text("onerror")
        answer = page.request.get(server.address + str(link.get_attribute("href")))
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert page.evaluate("window.__ran") is None


def test_safe_markdown_is_rendered(tmp_path: Path, visit: Visit) -> None:
    text = "**bold** and $e^2$\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    with start_server(tmp_path, [text]) as server:
        page = visit(server.link())
        say(page, "Show me")
        prose = page.locator("[data-role=assistant] .prose")
        expect(prose.locator("strong")).to_have_text("bold")
        expect(prose.locator(".katex")).to_have_count(1)
        expect(prose.locator("table td")).to_have_count(2)
        expect(prose.locator(".shiki span").first).to_be_visible()
        prose.get_by_role("button", name="Copy").click()
