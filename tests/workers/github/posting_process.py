"""The GitHub flow as a process of its own, to be killed: `python … HOME CLONE URL`."""

import sys
import time
from pathlib import Path

from tests.workers.github.fake_github import FakeGitHub
from tests.workers.github.flow import Flow, github_settings

from everloop.adapters.system import system_ports


def main(home: Path, clone: Path, url: str) -> None:
    """Look and post until somebody ends this process."""
    fake = FakeGitHub()
    fake.url = url
    flow = Flow(home, fake, github_settings(fake, clone), system_ports(5.0))
    while True:
        flow.task.tick()
        time.sleep(0.02)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
