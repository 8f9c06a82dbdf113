"""Documents at the composer: read as text, or the chip says why not before they are sent."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.adapters.documents import samples
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import start_server
from tests.web.thread.test_thread import say

from everloop.testing.model import ScriptedModel

pytestmark = pytest.mark.xdist_group("web")


@pytest.mark.promise("P-FILES-1")
def test_an_unreadable_document_says_so_on_its_chip_and_a_pdf_reaches_the_model(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    for name, content in (("heron.pdf", samples.pdf()), ("locked.pdf", samples.locked_pdf())):
        (tmp_path / name).write_bytes(content)
    model = ScriptedModel(["It stood still."])
    with start_server(tmp_path / "home", model=model) as server:
        page = visit(server.link())
        files = [tmp_path / "heron.pdf", tmp_path / "locked.pdf"]
        page.locator("input[data-from=files]").set_input_files(files)
        chips = page.get_by_label("Attached").get_by_role("listitem")
        locked = chips.filter(has_text="locked.pdf")
        expect(locked).to_contain_text("Can\u2019t be read: it is protected by a password")
        expect(chips.filter(has_text="heron.pdf")).not_to_contain_text("Can\u2019t be read")
        screenshot(page, "document-chips")
        locked.get_by_label("Remove locked.pdf").click()
        say(page, "What did it do?")
        expect(page.locator("[data-role=assistant]")).to_contain_text("It stood still.")
        assert samples.WORDS in str(model.calls[0][0].messages[-1])
