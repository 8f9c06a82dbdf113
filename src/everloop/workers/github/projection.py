"""Tables of issues: which were named, which have tasks, and what deliveries announced."""

from typing import ClassVar

import apsw

from everloop.log import Fact, Projection, on
from everloop.workers.github.model import events as e


class IssueTable(Projection):
    """Issues with their tasks and pull requests, and deliveries of the webhook."""

    name = "github_issues"
    tables: ClassVar[tuple[str, ...]] = (
        "github_named",
        "github_links",
        "github_pull_requests",
        "github_deliveries",
    )
    schema = """
    CREATE TABLE github_named (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        repository TEXT NOT NULL,
        number     INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE github_links (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        repository TEXT NOT NULL,
        number     INTEGER NOT NULL,
        task_id    TEXT NOT NULL
    ) STRICT;
    CREATE INDEX github_links_task ON github_links (task_id);
    CREATE INDEX github_links_issue ON github_links (repository, number, position);
    CREATE TABLE github_pull_requests (
        position     INTEGER PRIMARY KEY,
        branch       TEXT NOT NULL,
        repository   TEXT NOT NULL,
        number       INTEGER NOT NULL,
        pull_request INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX github_pull_requests_number ON github_pull_requests (repository, pull_request);
    CREATE TABLE github_deliveries (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        repository TEXT NOT NULL,
        number     INTEGER NOT NULL
    ) STRICT;
    """

    @on(e.IssueNamed)
    def _named(self, db: apsw.Connection, new: e.IssueNamed, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.repository.lower(), new.number)
        db.execute("INSERT INTO github_named VALUES (?, ?, ?, ?)", row)

    @on(e.IssueLinked)
    def _linked(self, db: apsw.Connection, new: e.IssueLinked, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.repository.lower(), new.number, new.task_id)
        db.execute("INSERT INTO github_links VALUES (?, ?, ?, ?, ?)", row)

    @on(e.PullRequestOpened)
    def _opened(self, db: apsw.Connection, new: e.PullRequestOpened, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.repository.lower(), new.number, new.pull_request)
        db.execute("INSERT INTO github_pull_requests VALUES (?, ?, ?, ?, ?)", row)

    @on(e.DeliveryReceived)
    def _delivered(self, db: apsw.Connection, new: e.DeliveryReceived, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.repository.lower(), new.number)
        db.execute("INSERT INTO github_deliveries VALUES (?, ?, ?, ?)", row)
