"""The readable views in BigQuery: that they are made, and what they show.

Google's client makes them at a service on loopback. What they show is tried in DuckDB on the
Parquet copy, with BigQuery's own functions as macros: the same as the views of docs/warehouse.md.
"""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.adapters.warehouse.fake_bigquery import FakeBigQuery, Fault, fake_bigquery
from tests.interfaces.cli.commandline import CommandLine

from everloop.adapters.warehouse.bigquery import open_bigquery
from everloop.adapters.warehouse.bigquery_views import view_statements
from everloop.errors import Conflict, Forbidden
from everloop.log import Log, WarehouseSync
from everloop.log.model.facts import NoteWritten
from everloop.log.transfer.warehouse import SinkLimits
from everloop.testing.deterministic import DeterministicPorts

PAGE = Path(__file__).parents[3] / "docs/warehouse.md"
NAMES = ["facts", "messages", "memories", "summaries", "lessons", "cost"]
MACROS = """
CREATE MACRO JSON_VALUE(document, path) AS document ->> path;
CREATE MACRO JSON_VALUE_ARRAY(document, path) AS CAST(document -> path AS VARCHAR[]);
CREATE TYPE FLOAT64 AS DOUBLE;
"""


@pytest.fixture
def google() -> Generator[FakeBigQuery]:
    with fake_bigquery() as service:
        yield service


@pytest.fixture
def log(tmp_path: Path) -> Generator[Log]:
    opened = DeterministicPorts().open(tmp_path / "log.db")
    opened.append("notes", [NoteWritten("one")], actor="user")
    yield opened
    opened.close()


def _sync(log: Log, google: FakeBigQuery, table: str = "log") -> int:
    limits = SinkLimits(endpoint=google.url, retry_s=0.3)
    return WarehouseSync(log, open_bigquery("demo-project.copy", table, limits), limits).catch_up()[
        0
    ]


def test_the_views_of_each_table_are_made_with_names_of_their_own(
    log: Log, google: FakeBigQuery
) -> None:
    _sync(log, google)
    _sync(log, google, "log_acme")
    made = {name.rpartition(".")[2] for name, one in google.tables.items() if "view" in one}
    assert made == {*NAMES, *(f"log_acme_{name}" for name in NAMES)}
    facts = google.tables["demo-project.copy.log_acme_facts"]["view"]
    assert "`demo-project.copy.log_acme`" in facts["query"]
    assert facts["useLegacySql"] is False


def test_a_view_of_an_earlier_version_is_brought_up_to_date(log: Log, google: FakeBigQuery) -> None:
    _sync(log, google)
    google.tables["demo-project.copy.cost"]["view"]["query"] = "SELECT 1"
    assert _sync(log, google) == 0
    assert "cost_usd" in google.tables["demo-project.copy.cost"]["view"]["query"]


def test_a_table_of_somebody_else_is_left_alone_and_the_copy_goes_on(
    log: Log, google: FakeBigQuery
) -> None:
    _sync(log, google)
    google.tables["demo-project.copy.cost"]["description"] = "Groceries"
    google.tables["demo-project.copy.cost"]["view"]["query"] = "SELECT 1"
    log.append("notes", [NoteWritten("two")], actor="user")
    with pytest.raises(Conflict, match="cost"):
        _sync(log, google)
    assert len(google.rows()) == 2
    assert google.tables["demo-project.copy.cost"]["view"]["query"] == "SELECT 1"


def test_a_refused_view_says_which_role_is_missing(log: Log, google: FakeBigQuery) -> None:
    google.faults = [Fault("GET .*tables/facts", 403, "accessDenied")]
    with pytest.raises(Forbidden) as refusal:
        _sync(log, google)
    assert "BigQuery Data Editor" in refusal.value.hint
    assert len(google.rows()) == 1


def test_they_show_the_same_as_the_views_for_duckdb(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path / "home", {"EVERLOOP_MEMORY_EMBEDDER": "none"})
    kept = cli.typed("remember", "Anna is allergic to nuts.", "--json").document["item_id"]
    cli.typed("revise", kept, "--text", "Anna is allergic to all nuts.")
    wrong = cli.typed("remember", "Anna likes nuts.", "--json").document["item_id"]
    cli.typed("forget", wrong, "--yes")
    cli.typed("grants", "allow", "agent:cli", "*")
    cli("chat", piped="What is Anna allergic to?")
    cli.typed("lessons", "propose", "Ask before you cook", "--body", "Allergies.")
    cli.typed("log", "sink", "parquet", str(tmp_path / "copy"))
    page = "".join(re.findall(r"```sql\n(CREATE VIEW.*?)```", PAGE.read_text(), re.DOTALL))
    shown: list[dict[str, list[Any]]] = []
    for statements in (page, f"{page.partition(';')[0]};{MACROS}{_as_duckdb()}"):
        with duckdb.connect() as db:
            db.execute(statements.replace("FOLDER", str(tmp_path / "copy")))
            asked = "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM {} ORDER BY 1"
            shown.append({name: db.execute(asked.format(name)).fetchall() for name in NAMES})
    assert shown[0] == shown[1]
    assert all(shown[0][name] for name in ("facts", "messages", "memories", "lessons"))


def _as_duckdb() -> str:
    """The views with names that DuckDB knows, and its way to name an unnested value."""
    made = ""
    for name, statement in view_statements("demo-project.copy", "log").items():
        said = re.sub(r"`demo-project\.copy\.(\w+)`", r"\1", statement)
        said = re.sub(r"(UNNEST\(.+\)) AS (\w+)", r"\1 AS of_\2(\2)", said)
        made += f"CREATE VIEW {name} AS {said};\n"
    return made
