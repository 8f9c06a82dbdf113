"""Request ids: those of callers are indexed; generated ones are looked up only while writing."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.log.samples import Said

from everloop.errors import Invalid
from everloop.log import Log
from everloop.log.schema import OWN_REQUEST_PREFIX
from everloop.testing.deterministic import DeterministicPorts

FIRST_FORMAT = 1


def test_a_request_id_with_the_reserved_prefix_is_refused(store: Log) -> None:
    made = store.append("s", [Said("a")], actor="user").request_id
    assert made.startswith(OWN_REQUEST_PREFIX)
    with pytest.raises(Invalid, match="is reserved"):
        store.append("s", [Said("a")], actor="user", request_id=made)
    assert store.head == 1


def test_a_file_of_the_first_format_is_migrated_and_keeps_its_request_ids(tmp_path: Path) -> None:
    path = tmp_path / "everloop.db"
    with closing(DeterministicPorts().open(path)) as log:
        first = log.append("s", [Said("a")], actor="user", request_id="r")
    db = apsw.Connection(str(path))
    db.execute("DROP INDEX log_request; CREATE INDEX log_request ON log (request_id)")
    db.execute(f"PRAGMA user_version = {FIRST_FORMAT}")
    db.close()
    with closing(DeterministicPorts().open(path)) as log:
        again = log.append("s", [Said("a")], actor="user", request_id="r")
        assert again.repeated
        assert again.facts == first.facts
