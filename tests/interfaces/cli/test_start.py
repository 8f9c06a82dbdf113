"""A short command starts fast: it loads and compiles only what its answer needs."""

import json
import subprocess
import sys
from pathlib import Path

from tests.interfaces.cli.commandline import CommandLine

NOT_NEEDED = (
    "asyncio",
    "ssl",
    "urllib.request",
    "numpy.ma",
    "rich.progress",
    "fastapi",
    "everloop.worlds.service",
    "everloop.worlds.exchange.service",
)
PROGRAMME = """
import json, sys
sys.stdin.isatty = lambda: True
from everloop.__main__ import main
assert main(sys.argv[1:]) == 0
from everloop.memory.text.lazy_pattern import LazyPattern
from everloop.memory.time_query import english, german_french
unused = [row for row, _ in (*english.ENGLISH_PATTERNS, *german_french.GERMAN_FRENCH_PATTERNS)]
assert all(isinstance(one, LazyPattern) for one in unused)
used = [one.pattern for one in unused if "_compiled" in vars(one)]
print(json.dumps({"modules": sorted(sys.modules), "time_patterns": used}))
"""


def _loaded(home: Path, question: str) -> tuple[set[str], list[str]]:
    """The modules that a question loads, and the time patterns that it compiles."""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAMME, "--home", str(home), "recall", question],
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    return set(answer["modules"]), answer["time_patterns"]


def test_a_question_loads_no_event_loop_no_network_and_no_stories(everloop: CommandLine) -> None:
    assert everloop.typed("remember", "The blue key opens the shed").code == 0
    modules, time_patterns = _loaded(everloop.home, "the blue key")
    assert not modules & set(NOT_NEEDED)
    assert time_patterns == []


def test_a_question_about_a_time_still_reads_it(everloop: CommandLine) -> None:
    assert everloop.typed("remember", "The blue key opens the shed").code == 0
    _, time_patterns = _loaded(everloop.home, "what did I say in May 2023")
    assert time_patterns
