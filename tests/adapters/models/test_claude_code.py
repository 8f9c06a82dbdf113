"""Claude Code as a model: the real CLI, with nothing inherited, against a loopback service."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.adapters.models.claude_programme import CHECKS

from everloop.adapters.models.claude_code import ClaudeCodeModel

ROOT = Path(__file__).parents[3]


@pytest.mark.timeout(240)
@pytest.mark.xdist_group("claude")
def test_claude_code_fulfils_the_model_contract(tmp_path: Path) -> None:
    pytest.importorskip("claude_agent_sdk")
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    child = [sys.executable, "-m", "tests.adapters.models.claude_programme"]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        child, cwd=ROOT, env=clean, capture_output=True, text=True, check=False
    )
    kept = [check.__name__ for check in CHECKS]
    assert done.stdout.split() == kept, done.stderr[-4000:]
    assert not list(tmp_path.glob("everloop-claude-*"))


def test_its_name_says_which_model_was_chosen() -> None:
    assert ClaudeCodeModel().name == "claude"
    assert ClaudeCodeModel("sonnet").name == "claude:sonnet"
