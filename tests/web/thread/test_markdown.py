"""Markdown of answers: footnotes, folded parts, diagrams in the colours of the theme."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import start_server
from tests.web.thread.test_thread import say

pytestmark = pytest.mark.xdist_group("web")

ANSWER = """Herons wait.[^1]

<details>
<summary>How long</summary>

Up to **an hour**.

</details>

```mermaid
graph LR
 heron --> fish
```

[^1]: Seen at the pond.
"""
FILL = "() => getComputedStyle(document.querySelector('.diagram .node rect')).fill"


def test_footnotes_and_details_render_and_diagrams_follow_the_theme(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, [ANSWER, ANSWER]) as server:
        page = visit(server.link())
        say(page, "Tell me of herons.")
        answer = page.locator("[data-role=assistant]")
        expect(answer.locator("section.footnotes")).to_contain_text("Seen at the pond.")
        answer.locator("sup a").first.click()
        expect(answer.locator("section.footnotes li")).to_be_focused()
        assert "#" not in page.url
        hidden = answer.get_by_text("an hour")
        expect(hidden).to_be_hidden()
        answer.get_by_text("How long").click()
        expect(hidden).to_be_visible()
        expect(answer.locator("details strong")).to_have_text("an hour")
        expect(answer.locator(".diagram svg")).to_be_visible()
        light = page.evaluate(FILL)
        screenshot(page, "markdown-light")
        page.emulate_media(color_scheme="dark")
        expect(answer.locator(".diagram[data-look$=dark] svg")).to_be_visible()
        assert page.evaluate(FILL) != light
        screenshot(page, "markdown-dark")
        say(page, "Again.")
        answer.nth(1).locator("sup a").click()
        expect(answer.nth(1).locator("section.footnotes li")).to_be_focused()
