"""The digest as `log/DESIGN.md` defines it, written again without our own code."""

import base64
import gzip
import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from everloop.log import Draft
from everloop.log.model.facts import NoteWritten
from everloop.log.transfer.archive import export_jsonl
from everloop.testing.deterministic import DeterministicPorts

ODD = 'quotes " \\ / tab\t bell\x07 delete\x7f line\u2028 é 世界 😀'


def digest(previous: bytes, row: dict[str, Any], data: bytes) -> bytes:
    """What DESIGN.md says, and nothing else."""
    seal = base64.b64decode(row["seal"] or "")
    if row["salt"]:
        seal = hashlib.sha256(base64.b64decode(row["salt"]) + data).digest()
    covered = [
        base64.b64encode(previous).decode(),
        *(row[name] for name in ("position", "stream", "branch", "version", "kind", "schema")),
        row["actor"],
        json.dumps(row["because"], separators=(",", ":")) if row["because"] else None,
        row["request_id"],
        _microseconds(row["recorded_at"]),
        base64.b64encode(seal).decode(),
    ]
    text = json.dumps(covered, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def _microseconds(text: str) -> int:
    """The time of a record, which an archive writes as `2026-01-01T00:00:00.5Z`."""
    passed = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
    return passed // timedelta(microseconds=1)


@pytest.mark.promise("P-LOG-15")
def test_the_hash_chain_can_be_recomputed_without_our_code(tmp_path: Path) -> None:
    archive = tmp_path / "log.jsonl.gz"
    _write_a_log(tmp_path / "log.db", archive)
    lines = gzip.decompress(archive.read_bytes()).splitlines()[1:-1]
    tails: dict[tuple[str, str], bytes] = {}
    for line in lines:
        row = json.loads(line)
        data = line[line.index(b'"data":') + 7 : line.index(b',"actor":')]
        before = tails.get((row["stream"], row["branch"])) or tails.get((row["stream"], "main"))
        found = digest(before or bytes(32), row, data)
        assert base64.b64encode(found).decode() == row["digest"], row["position"]
        tails[row["stream"], row["branch"]] = found
    assert len(lines) == 7


def _write_a_log(path: Path, archive: Path) -> None:
    """One with a source, a branch, a retraction, a purge and every odd character."""
    log = DeterministicPorts().open(path)
    log.append("odd", [NoteWritten(ODD)], actor="user")
    log.append("odd", [Draft(NoteWritten("derived"), (1,))], actor="agent:ä", request_id='"r"')
    log.append("odd", [NoteWritten("secret")], actor="user")
    log.fork(name="other", at=3, actor="user")
    log.append("odd", [NoteWritten("there")], actor="user", branch="other")
    log.retract([2], reason=ODD, actor="user")
    log.purge([3], reason="private", actor="user")
    export_jsonl(log, archive)
    log.close()
