"""Appends that share a transaction have the same result as one by one."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.places import scratch_place
from tests.log.postgres.nodes import Nodes
from tests.log.samples import WORDS, Said, Sayings, Tally

from everloop.errors import Conflict, Invalid, Rejected
from everloop.log import Draft, Event, Fact, Limits, Log, Projection, RowInsert, adds, event, on
from everloop.log.history.impact_preview import purge_impact, retraction_impact
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.log.integrity.verify import verify_log
from everloop.log.model.facts import STREAM, BranchForked, BranchStood, Purged, Retracted
from everloop.log.write.append import WAITING_MAX, AppendRequest, TransactionContext
from everloop.testing.deterministic import DeterministicPorts

STREAMS = ("a", "b", "tree", "tree:c")
UNWANTED, UNHEARD = "unwanted", "unheard"


@event("sample.said_anew")
class SaidAnew(Event, frozen=True):
    """Something was reworded; what was derived from it is stale."""

    supersedes: ClassVar[bool] = True

    text: str


class Choosy(Projection):
    """A view that rejects some facts: its table refuses one, its handler another."""

    name = "choosy"
    tables: ClassVar[tuple[str, ...]] = ("choosy", "choosy_after")
    schema = f"""
    CREATE TABLE choosy (
        position INTEGER PRIMARY KEY,
        text     TEXT NOT NULL CHECK (text <> '{UNWANTED}')
    ) STRICT;
    CREATE TABLE choosy_after (position INTEGER PRIMARY KEY, earlier INTEGER NOT NULL) STRICT;
    """

    @adds(Said)
    def _said(self, said: Said, fact: Fact) -> Iterator[RowInsert]:
        if said.text == UNHEARD:
            raise Invalid("nobody wants to hear that")
        yield "INSERT INTO choosy VALUES (?, ?)", (fact.position, said.text)

    @on(SaidAnew)
    def _reworded(self, db: apsw.Connection, said: SaidAnew, fact: Fact) -> None:
        del said
        db.execute(
            "INSERT INTO choosy_after SELECT ?1, count(*) FROM choosy WHERE position < ?1",
            (fact.position,),
        )


# Each makes a work on a log. Positions and names are small, so that works meet one another.
Make = Callable[[Log], AppendRequest]
Decide = Callable[[TransactionContext], Sequence[Draft]]


def saying(stream: str, text: str, request: str | None, expected: int | None) -> Make:
    """Append a text, perhaps with a request id, perhaps with an expected version."""

    def decide(desk: TransactionContext) -> list[Draft]:
        del desk
        return [Draft(Said(text))]

    return lambda log: log.prepare_append(
        stream, decide, actor="user", request_id=request, expected=expected
    )


def deciding(stream: str, decide: Decide) -> Make:
    """Decide something in the transaction."""
    return lambda log: log.prepare_append(stream, decide, actor="user")


def count_up(stream: str, looked_at: str) -> Make:
    """Append the size of a stream, by its state and by a view."""

    def decide(desk: TransactionContext) -> list[Draft]:
        state = desk.state(WORDS, looked_at)
        shown = desk.reader.rows("SELECT count(*), total(position) FROM tally")
        return [Draft(Said(f"{state} {shown} {desk.reader.head()}"))]

    return deciding(stream, decide)


def once(stream: str) -> Make:
    """Append a text if the stream is empty, and refuse if it is long."""

    def decide(desk: TransactionContext) -> list[Draft]:
        state = desk.state(WORDS, stream)
        if state is not None and len(state.texts) > 2:
            raise Conflict("enough was said")
        return [] if state else [Draft(Said("first")), Draft(Said("second"), beside=(0,))]

    return deciding(stream, decide)


def derive(stream: str, source: int, *, reworded: bool) -> Make:
    """Append a text derived from a position, or a rewording of it."""
    happened = SaidAnew("anew") if reworded else Said("derived")
    return deciding(stream, lambda _: [Draft(happened, (source,))])


def retract(position: int) -> Make:
    """Retract something."""

    def decide(desk: TransactionContext) -> list[Draft]:
        retraction_impact(desk.reader, [position], desk.sight)
        return [Draft(Retracted((position,), ""))]

    return deciding(STREAM, decide)


def purge(position: int) -> Make:
    """Erase something."""

    def decide(desk: TransactionContext) -> list[Draft]:
        erased = tuple(touched.position for touched in purge_impact(desk.reader, [position]).hides)
        return [Draft(Purged(erased, ""))] if erased else []

    return deciding(STREAM, decide)


def rewind(to: int, name: str) -> Make:
    """Go back, on a branch of its own."""

    def decide(desk: TransactionContext) -> list[Draft]:
        if name in desk.file.branches or to > desk.reader.head():
            raise Conflict("no such place, or no such name")
        parent = desk.file.branches.current["main"]
        fork = BranchForked(name, parent, to)
        return [Draft(fork), Draft(BranchStood(name))]

    return deciding(STREAM, decide)


streams, positions = st.sampled_from(STREAMS), st.integers(1, 12)
makes = st.one_of(
    st.builds(
        saying,
        streams,
        st.sampled_from(("one", "two", UNWANTED, UNHEARD)),
        st.sampled_from((None, None, "request-1", "request-2")),
        st.sampled_from((None, None, None, 0, 1)),
    ),
    st.builds(count_up, streams, streams),
    st.builds(once, streams),
    st.builds(derive, streams, positions, reworded=st.booleans()),
    st.builds(retract, positions),
    st.builds(purge, positions),
    st.builds(rewind, positions, st.sampled_from(("fork", "other"))),
)


@given(before=st.lists(makes, max_size=4), batch=st.lists(makes, min_size=2, max_size=10))
def test_a_batch_has_the_same_result_as_its_appends_one_by_one(
    before: list[Make], batch: list[Make]
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="everloop-batches-", dir=scratch_place()))
    try:
        told = [
            outcome_of(folder / f"{together}.db", before, batch, together=together)
            for together in (True, False)
        ]
        assert told[0] == told[1]
    finally:
        shutil.rmtree(folder)


def outcome_of(
    path: Path, before: Sequence[Make], batch: Sequence[Make], *, together: bool
) -> tuple[Any, ...]:
    """The result of appends: each receipt or error, the records and the views, all audited."""
    log = DeterministicPorts().open(
        path, [Sayings(), Tally(), Choosy()], limits=Limits(snapshot_every=2)
    )
    carry_out(log, before, together=False)
    told = carry_out(log, batch, together=together)
    assert verify_log(log).ok
    live = shown(log)
    rebuild_projections(log)
    assert shown(log)[:-1] == live[:-1]  # what Choosy counted may have been purged since
    with log.file.reading() as reader:
        rows = reader.rows(
            "SELECT position, stream, branch, version, kind, data, because, request_id FROM log"
        )
    log.close()
    return told, rows, live


def carry_out(log: Log, makes: Sequence[Make], *, together: bool) -> list[Any]:
    """Write appends in one transaction, or each in its own; returns each result."""
    works = [make(log) for make in makes]
    for some in [works] if together else [[work] for work in works]:
        with suppress(Rejected, apsw.ConstraintError):
            log.commit_queue.write_all(some)
    return [
        (
            work.receipt.version,
            work.receipt.repeated,
            [fact.position for fact in work.receipt.facts],
        )
        if work.receipt
        else (type(work.error), str(work.error))
        for work in works
    ]


def shown(log: Log) -> list[Any]:
    """Every row of every view."""
    with log.reading() as reader:
        return [list(view.dump(reader.db)) for view in log.file.views.all]


def test_a_view_that_refuses_one_fact_fails_that_append_alone(tmp_path: Path) -> None:
    opened = DeterministicPorts().open(tmp_path / "choosy.db", [Choosy()])
    for unwanted in (UNWANTED, UNHEARD):
        texts = ("a", unwanted, "b")
        reading = count_up_choosy("last")
        works = [
            saying(f"{unwanted}-{n}", text, None, None)(opened) for n, text in enumerate(texts)
        ]
        works.append(reading(opened))  # it has the others flushed, and is not the one to blame
        with pytest.raises((Invalid, apsw.ConstraintError)):
            opened.commit_queue.write_all(works)
        assert [work.error is None for work in works] == [True, False, True, True]
    assert verify_log(opened).ok
    opened.close()


def count_up_choosy(stream: str) -> Make:
    """Say what the choosy view holds."""
    return deciding(
        stream, lambda desk: [Draft(Said(str(desk.reader.rows("SELECT count(*) FROM choosy"))))]
    )


def test_a_fact_replaced_in_a_batch_is_hidden_for_later_decisions_of_the_batch(log: Log) -> None:
    log.append("a", [Said("source")], actor="user")
    log.append("b", [Draft(Said("made of it"), (1,))], actor="user")
    works = [derive("a", 1, reworded=True)(log), telling("b")(log)]
    log.commit_queue.write_all(works)
    assert [fact.event for fact in works[1].outcome().facts] == [Said("None")]


def telling(stream: str) -> Make:
    """Say what the state of the stream is."""

    def decide(desk: TransactionContext) -> list[Draft]:
        state = desk.state(WORDS, stream)
        return [Draft(Said(repr(state)))]

    return deciding(stream, decide)


def test_a_large_batch_is_flushed_in_parts(log: Log) -> None:
    texts = [Draft(Said(f"{n}")) for n in range(WAITING_MAX // 2 + 1)]
    works = [deciding(f"s{n}", lambda _: texts)(log) for n in range(5)]
    log.commit_queue.write_all(works)
    assert log.head == 5 * len(texts)
    assert verify_log(log).ok


def test_nodes_that_write_batches_have_the_same_log_and_views(nodes: Nodes) -> None:
    one, other = nodes.open("one"), nodes.open("other")
    for number, log in enumerate((one, other, one)):
        makes = [saying(f"s{n}", f"{number}", None, None) for n in range(20)]
        makes += [count_up("s0", "s1"), derive("t", 3, reworded=False), retract(2 + 30 * number)]
        makes += [rewind(5 + number, f"fork-{number}"), once("s3"), once("new")]
        assert len(carry_out(log, makes, together=True)) == len(makes)
    last = other.append("s", [Said("which has it take in what it lacks")], actor="user").position
    one.append("s", [Said("and so has this")], actor="user")
    assert verify_log(one).ok
    assert verify_log(other).ok
    assert rows_upto(one, last) == rows_upto(other, last)


def rows_upto(log: Log, position: int) -> list[Any]:
    """The log, and what was folded of it, up to a position."""
    with log.reading() as reader:
        return [
            reader.rows(f"SELECT * FROM {table} WHERE position <= ? ORDER BY 1, 2", (position,))  # noqa: S608
            for table in ("log", "sayings", "tally", "log_hidden", "log_needs", "log_branches")
        ]
