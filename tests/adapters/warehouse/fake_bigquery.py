"""BigQuery's REST interface on the loopback, as far as a copy of the log needs it.

Datasets, tables, resumable uploads with load jobs, job lookups and queries. Statements are really
carried out, by SQLite. A load job checks its rows against the table's columns, and is all or
nothing; a job id is run once. Tests say which calls fail, and how.
"""

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NATURE = {"INT64": int, "INTEGER": int, "STRING": str, "TIMESTAMP": str, "BYTES": str}
UNNEST = re.compile(r"IN UNNEST\(@(\w+)\)")
HUNG_UP = -1


class Refused(Exception):
    """An answer that is an error, in the form that Google gives to it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.body = {
            "error": {
                "code": status,
                "message": f"made up: {reason}",
                "errors": [{"reason": reason, "message": f"made up: {reason}"}],
            }
        }


@dataclass
class Fault:
    """The next so many calls of a method whose path matches get this instead of an answer."""

    call: str
    status: int
    reason: str
    times: int = 1


class _MaxBy:
    """`MAX_BY(value, order)`, which SQLite does not have."""

    def __init__(self) -> None:
        self._best: tuple[Any, Any] | None = None

    def step(self, value: Any, order: Any) -> None:
        if self._best is None or order > self._best[1]:
            self._best = (value, order)

    def finalize(self) -> Any:
        return self._best[0] if self._best else None


@dataclass
class FakeBigQuery:
    """A project under test control."""

    url: str = ""
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    tables: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    faults: list[Fault] = field(default_factory=list[Fault])
    calls: list[str] = field(default_factory=list[str])
    load_errors: list[str] = field(default_factory=list[str])  # what the next jobs fail of
    polls: int = 0  # how often a job is still running when it is looked up
    before_load: Callable[[], None] = lambda: None
    after_load: Callable[[], None] = lambda: None
    births: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._uploads: dict[str, dict[str, Any]] = {}
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        # Typed by hand: its stub asks for more than SQLite does.
        aggregate: Any = _MaxBy
        self._db.create_aggregate("MAX_BY", 2, aggregate)

    def close(self) -> None:
        self._db.close()

    def rows(self, table: str = "demo-project.copy.log") -> list[dict[str, Any]]:
        """What a table holds, in the order of positions."""
        with self._lock:
            found = self._db.execute(f"SELECT * FROM `{table}` ORDER BY position")  # noqa: S608
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found]

    def run(self, statement: str) -> None:
        """Change a table as somebody else might."""
        with self._lock:
            self._db.execute(statement)

    def loads(self) -> list[str]:
        """The ids of the load jobs there were."""
        return list(self.jobs)

    def answer(self, method: str, path: str, body: bytes) -> tuple[Any, str]:
        """The answer to a call, and the address of an upload that it began."""
        plain, _, options = path.partition("?")
        call = f"{method} {plain}"
        with self._lock:
            self.calls.append(call)
            self._fail(call)
        if "uploadType=resumable" in options and method == "POST":
            return self._begin(json.loads(body))
        if method == "PUT":
            return self._load(self._uploads[plain.rpartition("/")[2]], body), ""
        with self._lock:
            return self._resource(method, plain.split("/projects/")[1].split("/"), body), ""

    def _fail(self, call: str) -> None:
        for fault in self.faults:
            if fault.times and re.search(fault.call, call):
                fault.times -= 1
                raise Refused(fault.status, fault.reason)

    def _resource(self, method: str, parts: list[str], body: bytes) -> Any:
        match (method, parts):
            case "GET", [_, "datasets", name]:
                return self._found(self.datasets, name)
            case "POST", [_, "datasets"]:
                made = json.loads(body)
                made.setdefault("location", "US")
                return self.datasets.setdefault(made["datasetReference"]["datasetId"], made)
            case "GET" | "PATCH", [project, "datasets", dataset, "tables", name]:
                found = self._found(self.tables, f"{project}.{dataset}.{name}")
                found.update(json.loads(body or b"{}"))
                return found
            case "POST", [project, "datasets", dataset, "tables"]:
                return self._create(project, dataset, json.loads(body))
            case "GET", [_, "jobs", name]:
                return self._looked_up(self._found(self.jobs, name))
            case "POST", [project, "queries"]:
                return self._query(project, json.loads(body))
            case _:
                raise Refused(404, f"no such call: {method} {parts}")

    def _found(self, shelf: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
        if name not in shelf:
            raise Refused(404, "notFound")
        return shelf[name]

    def _create(self, project: str, dataset: str, made: dict[str, Any]) -> dict[str, Any]:
        name = f"{project}.{dataset}.{made['tableReference']['tableId']}"
        self._found(self.datasets, dataset)
        if "view" in made:
            return self.tables.setdefault(name, {**made, "type": "VIEW"})
        self.births += 1
        made["creationTime"] = str(1_790_000_000_000 + self.births)
        columns = ", ".join(f"`{column['name']}`" for column in made["schema"]["fields"])
        self._db.execute(f"CREATE TABLE `{name}` ({columns})")
        return self.tables.setdefault(name, made)

    def _begin(self, job: dict[str, Any]) -> tuple[Any, str]:
        with self._lock:
            name = f"upload{len(self._uploads)}"
            self._uploads[name] = job
            return {}, f"{self.url}/upload/{name}"

    def _load(self, job: dict[str, Any], body: bytes) -> dict[str, Any]:
        self.before_load()
        name = job["jobReference"]["jobId"]
        with self._lock:
            if name in self.jobs:
                raise Refused(409, "duplicate")
            self.jobs[name] = job
            error = self._insert(job["configuration"]["load"], body)
            job["status"] = {"state": "DONE", **({"errorResult": error} if error else {})}
            done = {**job, "status": {"state": "RUNNING"}} if self.polls else job
        self.after_load()
        return done

    def _insert(self, load: dict[str, Any], body: bytes) -> dict[str, str] | None:
        """Put the rows into the table, all or none, or say why not."""
        if self.load_errors:
            reason = self.load_errors.pop(0)
            return {"reason": reason, "message": f"made up: {reason}"}
        assert load["sourceFormat"] == "NEWLINE_DELIMITED_JSON"
        assert load["writeDisposition"] == "WRITE_APPEND"
        place = load["destinationTable"]
        name = f"{place['projectId']}.{place['datasetId']}.{place['tableId']}"
        columns = self.tables[name]["schema"]["fields"]
        try:
            rows = [_row(json.loads(line), columns) for line in body.splitlines()]
        except (ValueError, TypeError) as problem:
            return {"reason": "invalid", "message": str(problem)}
        marks = ", ".join("?" for _ in columns)
        self._db.executemany(f"INSERT INTO `{name}` VALUES ({marks})", rows)  # noqa: S608
        return None

    def _looked_up(self, job: dict[str, Any]) -> dict[str, Any]:
        if self.polls:
            self.polls -= 1
            return {**job, "status": {"state": "RUNNING"}}
        return job

    def _query(self, project: str, asked: dict[str, Any]) -> dict[str, Any]:
        given = {each["name"]: _parameter(each) for each in asked.get("queryParameters", ())}
        statement = UNNEST.sub(r"IN (SELECT value FROM json_each(@\1))", asked["query"])
        found = self._db.execute(statement, given)
        answer = {
            "jobComplete": True,
            "jobReference": {"projectId": project, "jobId": "asked", "location": "US"},
        }
        if found.description is None:
            return {**answer, "numDmlAffectedRows": str(found.rowcount)}
        rows = [{"f": [{"v": _text(value)} for value in row]} for row in found]
        kinds = {"total": "INTEGER", "newest": "INTEGER", "digest": "BYTES"}
        fields = [{"name": name[0], "type": kinds[name[0]]} for name in found.description]
        return {**answer, "schema": {"fields": fields}, "rows": rows, "totalRows": str(len(rows))}


def _row(values: dict[str, Any], columns: list[dict[str, Any]]) -> list[Any]:
    """The values of a row in the table's order, checked as a load job checks them."""
    if unknown := set(values) - {column["name"] for column in columns}:
        raise ValueError(f"no such field: {sorted(unknown)}")
    return [_value(values.get(column["name"]), column) for column in columns]


def _value(value: Any, column: dict[str, Any]) -> Any:
    if column["mode"] == "REPEATED":
        assert isinstance(value, list)
        return json.dumps(value)
    if column["type"] == "JSON":
        return None if value is None else json.dumps(value)
    if not isinstance(value, NATURE[column["type"]]):
        raise TypeError(f"{column['name']} cannot be {value!r}")
    return value


def _parameter(given: dict[str, Any]) -> str:
    return json.dumps([int(each["value"]) for each in given["parameterValue"]["arrayValues"]])


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


@contextmanager
def fake_bigquery() -> Generator[FakeBigQuery]:
    """A running service."""
    service = FakeBigQuery()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(service))
    server.daemon_threads = False
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        service.close()


def _handler(service: FakeBigQuery) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        """Answers for this service."""

        _service = service

    return Handler


class _Handler(BaseHTTPRequestHandler):
    """One call for each connection."""

    _service: FakeBigQuery

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            answer, upload = self._service.answer(self.command, self.path, body)
            self._send(200, answer, upload)
        except Refused as refusal:
            if refusal.status != HUNG_UP:
                self._send(refusal.status, refusal.body, "")

    def _send(self, status: int, answer: Any, upload: str) -> None:
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if upload:
            self.send_header("Location", upload)
        self.end_headers()
        self.wfile.write(text)
