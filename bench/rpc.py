"""The JSON-RPC door: how soon it answers, and what a round trip costs beside the engine's call."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import IO, Any, cast

from bench.comparison import Claim, Outcome, bounded, compare, dearer, require, steady
from bench.run_folder import RunFolder
from everloop.app import Engine
from everloop.host_admission import admit_host
from everloop.lessons.model.commands import ProposeLesson
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.memory.projections.citations import citation_counts
from everloop.memory.projections.queries import find_item, load_viewer
from everloop.settings import Settings

HOST = "agent:rpc"
LESSONS = 500
MEMORIES = 500
STARTS = 11
PAGE = 50


def start(run: RunFolder) -> Outcome:
    """From the start of the process to its first answer."""
    title = "everloop rpc: start to first answer"
    claim = Claim("rpc-start", title, "", "ms", "at most", goal=400)
    home = _home(run)
    return bounded(claim, [_first_answer_ms(home) for _ in range(STARTS + 1)][1:])


def get(run: RunFolder) -> Outcome:
    """`memory.get` over a pipe, beside the same look-up in this process."""
    claim = Claim("rpc-get", "memory.get, round trip", "the engine's call", "ms", "at most", goal=2)
    home = _home(run)
    with Engine.open(home) as engine, closing(_Door(home)) as call:

        def ours() -> int:
            told = call("memory.get", id="mem-7")
            require(told["id"] == "mem-7", "another memory came back")
            return 1

        def other() -> int:
            with engine.reading() as reader:
                who = load_viewer(reader, HOST)
                item = find_item(reader, who, "mem-7")
                citation_counts(reader, who, [item.item_id])
            return 1

        return dearer(claim, compare(steady(ours), steady(other), **run.pace()))


def listed(run: RunFolder) -> Outcome:
    """`lesson.list` over a pipe, beside the same page in this process."""
    title = f"lesson.list, {PAGE} of {LESSONS}, round trip"
    claim = Claim("rpc-list", title, "the engine's call", "ms", "at most", goal=2)
    home = _home(run)
    with Engine.open(home) as engine, closing(_Door(home)) as call:

        def ours() -> int:
            require(call("lesson.list")["returned"] == PAGE, "the page is not full")
            return 1

        def other() -> int:
            require(len(engine.lessons.page(HOST).lessons) == PAGE, "the page is not full")
            return 1

        return dearer(claim, compare(steady(ours), steady(other), **run.pace()))


def _home(run: RunFolder) -> Path:
    """A data home with lessons and memories in it."""
    home = run.folder("home")
    with Engine.open(home) as engine:
        admit_host(engine, HOST, Settings().doors)
        for number in range(MEMORIES):
            text = f"Note {number}: the {number}th build took {number * 7} seconds."
            engine.do(RememberItem(f"mem-{number}", text), by=Context(actor=HOST))
        for number in range(LESSONS):
            rule = f"Rule {number}: look at log {number} before you guess."
            lesson = ProposeLesson(f"les-{number:04}", f"Rule {number}", rule)
            engine.do(lesson, by=Context(actor=HOST, session="s"))
    return home


class _Door:
    """A process that serves one home on its standard input and output."""

    def __init__(self, home: Path) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "everloop", "--home", str(home), "rpc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # noqa: TID251 - of a child
        )
        self._questions = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)

    def __call__(self, method: str, **params: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._questions.write(json.dumps(request).encode() + b"\n")
        self._questions.flush()
        told = self._answers.readline()
        require(b'"result"' in told, f"the door answered {told!r}")
        return json.loads(told)["result"]

    def close(self) -> None:
        """End its input, and so the process."""
        self._questions.close()
        self._answers.close()
        self._process.wait()


def _first_answer_ms(home: Path) -> float:
    begun = perf_counter()
    with closing(_Door(home)) as door:
        door("ping")
        return 1_000 * (perf_counter() - begun)
