"""The protocol's own conformance suite, both eras, over HTTP on loopback.

Most of its scenarios call tools, resources and prompts of a made-up server by name. Those that fit
any server must pass. It takes a download from the npm registry, so `make soak` runs it.
"""

import re
from pathlib import Path

import pytest
from tests.interfaces.mcp import node

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

PACKAGE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
ANY_SERVER = {
    "2025-11-25": {
        "dns-rebinding-protection",
        "ping",
        "prompts-list",
        "resources-list",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "tools-call-error",
        "tools-list",
    },
    "2026-07-28": {
        "caching",
        "dns-rebinding-protection",
        "input-required-result-ignore-extra-params",
        "input-required-result-unsupported-methods",
        "prompts-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
        "tools-call-error",
        "tools-list",
    },
}
_PASSED = re.compile(r"^✓ ([a-z0-9-]+): [1-9]\d* passed, 0 failed$", re.MULTILINE)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    package = node.installed(tmp_path_factory.mktemp("conformance"), PACKAGE)
    return package / "dist" / "index.js"


@pytest.mark.parametrize("revision", sorted(ANY_SERVER))
def test_the_conformance_checks_for_any_server_pass(
    suite: Path, address: str, revision: str
) -> None:
    done = node.run(suite, "server", "--url", address, "--requirements", revision)
    passed = set(_PASSED.findall(done.stdout))
    assert ANY_SERVER[revision] - passed == set(), done.stdout[-4_000:]
