"""Pipeline: several prepared statements in one round trip to the server.

Round trips dominate the time of an append, so it makes two: one to take the write lock, one to
write and commit. The driver's own pipeline polls for results after every statement, which costs
more than the server's work. So this uses libpq directly: send everything, then wait. Other threads
run meanwhile.
"""

import select
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import psycopg
from psycopg import pq
from psycopg.errors import error_from_result

from everloop.log.model.record import Record
from everloop.log.postgres.connection import Connection

Value = bytes | None
Row = Sequence[Value]

_SUCCESS = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)
_INTEGER = struct.Struct(">q")


class PreparedCall(NamedTuple):
    """A call of a prepared statement, with its values in binary format."""

    statement: str
    values: Row = ()


class Pipeline:
    """Pipelined round trips over one connection, which nobody else uses meanwhile."""

    def __init__(self, db: Connection, statements: Mapping[str, bytes]) -> None:
        self.db = db
        self._pgconn = db.pgconn
        self._socket = select.poll()
        self._unprepared = dict(statements)

    def execute(self, calls: Sequence[PreparedCall]) -> list[list[Row]]:
        """Run all calls in order, up to the first failure; returns the rows of each call.

        The first use of a statement prepares it, with one more round trip.

        Raises:
            psycopg.Error: the first failure.
        """
        if self.db.closed:
            raise psycopg.OperationalError("the connection is closed")
        try:
            for name in {call.statement for call in calls} & self._unprepared.keys():
                _check(self._pgconn.prepare(name.encode(), self._unprepared.pop(name)))
            results = self._send_and_receive(calls)
        except BaseException:
            self.db.close()  # its state is unknown
            raise
        for result in results:
            _check(result)
        return [_rows(result) for result in results]

    def _send_and_receive(self, calls: Sequence[PreparedCall]) -> list[pq.abc.PGresult]:
        self._pgconn.enter_pipeline_mode()
        for name, values in calls:
            formats = [pq.Format.BINARY] * len(values)
            self._pgconn.send_query_prepared(name.encode(), values, formats, pq.Format.BINARY)
        self._pgconn.pipeline_sync()
        while self._pgconn.flush():
            self._wait(select.POLLIN | select.POLLOUT)
            self._pgconn.consume_input()
        results = self._receive()
        self._pgconn.exit_pipeline_mode()
        return results

    def _receive(self) -> list[pq.abc.PGresult]:
        results: list[pq.abc.PGresult] = []
        while True:
            while self._pgconn.is_busy():
                self._wait(select.POLLIN)
                self._pgconn.consume_input()
            result = self._pgconn.get_result()
            if result is None:  # end of one statement's results
                if self._pgconn.status == pq.ConnStatus.BAD:
                    raise psycopg.OperationalError("the server closed the connection")
            elif result.status == pq.ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    def _wait(self, events: int) -> None:
        self._socket.register(self._pgconn.socket, events)
        self._socket.poll()


def _check(result: pq.abc.PGresult) -> None:
    if result.status not in _SUCCESS:
        raise error_from_result(result)


def _rows(result: pq.abc.PGresult) -> list[Row]:
    columns = range(result.nfields)
    return [[result.get_value(row, at) for at in columns] for row in range(result.ntuples)]


# -- values ---------------------------------------------------------------------------------------


def pack_int(number: int) -> bytes:
    """Encode a bigint in the server's binary format."""
    return _INTEGER.pack(number)


def unpack_int(value: Value) -> int:
    """Decode a bigint from the server's binary format."""
    assert value is not None, "the queries return no NULL here"
    number: int = _INTEGER.unpack(value)[0]
    return number


def pack_record(record: Record) -> Row:
    """Encode a record as the values of an insert."""
    values = msgspec.structs.astuple(record)
    return [
        None if value is None else encode(value)
        for encode, value in zip(_ENCODE, values, strict=True)
    ]


def unpack_record(row: Row) -> Record:
    """Decode a row into a record."""
    values: list[Any] = [
        None if value is None else decode(value) for decode, value in zip(_DECODE, row, strict=True)
    ]
    return Record(*values)


def _identity(value: bytes) -> bytes:
    return value


_CODECS: dict[Any, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]] = {
    int: (pack_int, unpack_int),
    str: (str.encode, bytes.decode),
    bytes: (_identity, _identity),
}
_SHAPE = [
    next(kind for kind in _CODECS if field.type in (kind, kind | None))
    for field in msgspec.structs.fields(Record)
]
_ENCODE = [_CODECS[kind][0] for kind in _SHAPE]
_DECODE = [_CODECS[kind][1] for kind in _SHAPE]
