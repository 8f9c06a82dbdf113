"""`everloop log sink`: a copy in a data warehouse, reported to people and scripts."""

import json
import signal
import subprocess
import sys
from collections.abc import Generator

import pytest
from tests.adapters.warehouse.fake_bigquery import FakeBigQuery, Fault, fake_bigquery
from tests.interfaces.cli.commandline import CommandLine

PLACE = "demo-project.copy"


@pytest.fixture
def google() -> Generator[FakeBigQuery]:
    with fake_bigquery() as service:
        yield service


@pytest.fixture
def copying(everloop: CommandLine, google: FakeBigQuery) -> CommandLine:
    """A log of two notes, and a service to copy it to."""
    everloop.environment = {
        "EVERLOOP_SINK_ENDPOINT": google.url,
        "EVERLOOP_SINK_RETRY_S": "0.3",
        "EVERLOOP_SINK_FOLLOW_S": "0.05",
    }
    everloop("log", "note", "one")
    everloop("log", "note", "two")
    return everloop


def test_the_json_output_reports_what_was_copied(copying: CommandLine) -> None:
    answer = copying.typed("log", "sink", "bigquery", PLACE, "--json")
    assert answer.code == 0
    assert answer.document == {
        "table": "demo-project.copy.log",
        "records": 2,
        "erased": 0,
        "head": 2,
    }


def test_the_output_reports_copied_and_erased_records(copying: CommandLine) -> None:
    assert "Copied 2 records" in copying.typed("log", "sink", "bigquery", PLACE).out
    copying("log", "purge", "1", "--yes")
    said = copying.typed("log", "sink", "bigquery", PLACE).out
    assert "Copied 1 record to" in said
    assert "Erased 1 payload in the copy." in said


def test_each_tenant_has_a_table_of_its_own(copying: CommandLine, google: FakeBigQuery) -> None:
    copying("log", "note", "theirs", "--tenant", "ann-b")
    copying.typed("log", "sink", "bigquery", PLACE)
    told = copying.typed("log", "sink", "bigquery", PLACE, "--tenant", "ann-b", "--json").document
    assert (told["table"], told["head"]) == ("demo-project.copy.log_ann-b", 1)
    assert len(google.rows()) == 2


def test_the_table_name_can_be_given(copying: CommandLine, google: FakeBigQuery) -> None:
    copying.typed("log", "sink", "bigquery", PLACE, "--table", "mine")
    assert len(google.rows("demo-project.copy.mine")) == 2


def test_a_refusal_is_an_exit_code_with_a_hint(copying: CommandLine, google: FakeBigQuery) -> None:
    google.faults = [Fault("datasets", 403, "accessDenied")]
    answer = copying.typed("log", "sink", "bigquery", PLACE)
    assert answer.code not in {0, 70}
    assert "BigQuery Job User" in " ".join(answer.err.split())


def test_a_missing_extra_is_reported_with_the_install_command(
    copying: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.cloud.bigquery", None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, "google.cloud", None)
    monkeypatch.delitem(sys.modules, "everloop.adapters.warehouse.bigquery", raising=False)
    answer = copying.typed("log", "sink", "bigquery", PLACE)
    assert answer.code == 69
    assert "pip install 'everloop[bigquery]'" in answer.err


def test_following_copies_new_facts_and_retries_temporary_failures(
    copying: CommandLine, google: FakeBigQuery
) -> None:
    copying.typed("grants", "allow", "agent:cli", "*")  # a script that may read everything
    google.faults = [Fault("queries", 403, "quotaExceeded")]
    words = [sys.executable, "-m", "everloop", "log", "sink", "bigquery", PLACE, "-f", "--json"]
    environment = {"EVERLOOP_HOME": str(copying.home), **copying.environment}
    with subprocess.Popen(  # noqa: S603 - ourselves
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as follower:
        assert follower.stdout
        assert json.loads(follower.stdout.readline())["head"] == 3
        copying("log", "note", "three")
        copying("log", "purge", "1", "--yes")
        while (told := json.loads(follower.stdout.readline()))["head"] < 5:
            """Note and purge may arrive in separate batches."""
        follower.send_signal(signal.SIGINT)
        _, said = follower.communicate()
    assert told["erased"] == 1
    assert follower.returncode == 130
    assert "Retrying." in " ".join(said.split())
    assert [row["data"] is None for row in google.rows()] == [True, False, False, False, False]
