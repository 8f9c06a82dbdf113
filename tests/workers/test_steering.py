"""Messages to a running agent: delivered once, and in the transcript, also over restarts."""

from pathlib import Path

import pytest
from tests.workers.rig import Rig
from tests.workers.test_acp import agent, hire, prompts

from everloop.app import USER

TEXT = "Use tabs please."


def steered(work: Rig, name: str) -> list[str]:
    """What the transcript has of messages to the agent."""
    parts = work.engine.workers.transcript(name)
    return [entry.text for part in parts for entry in part.entries if entry.kind == "steering"]


@pytest.mark.promise("P-WORK-13")
@pytest.mark.parametrize("restarts", ["before it is sent", "at every tick"])
def test_a_message_reaches_the_agent_once_and_is_in_the_transcript_over_a_restart(
    tmp_path: Path, restarts: str
) -> None:
    """A scheduler that is started anew knows nothing of what the one before it sent."""
    turns = [{"wait": str(tmp_path / "never")}], [{"say": "Tabs it is."}]
    with agent(tmp_path, *turns) as work:
        name = hire(work)
        while not (tmp_path / "state" / "prompts").exists():
            work.scheduler.tick()
        work.engine.workers.steer(name, TEXT, USER, "tap-1")
        work.engine.workers.steer(name, TEXT, USER, "tap-1")  # the phone sent it twice
        work.restart()
        while not steered(work, name):
            work.scheduler.tick()
            if restarts == "at every tick":
                work.restart()
        done = work.until(name, "done", "failed", "uncertain")
        assert (done.state, done.claim, done.steering) == ("done", "Tabs it is.", ())
        assert steered(work, name) == [TEXT]
        assert prompts(tmp_path).count(TEXT) == 1
        kinds = [record.kind for record in work.engine.log.records()]
        assert kinds.count("workers.message_delivered") == 1
