"""Writers of a classic tool and of the gateway on one row, each adding one to a column of its own.

A classic writer changes the row in one statement under READ COMMITTED, and runs it again when it
is refused with 40001; classic writers take turns among themselves, since nothing of the classic
convention keeps them from losing each other's changes. What a column says in the end is compared
with how often its writer was told that it had succeeded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg

import gateway
from gateway.procedures.adopting import adopt

_NAMES = ("_journal", "version_number", "subsequent_version_number")
_TYPES = {"timestamptz": "TIMESTAMP WITH TIME ZONE", "bigint": "BIGINT"}
_NEXT = {"timestamptz": "now()", "bigint": "j.version_number + 1"}
_TURN = 42


@dataclass
class Contention:
    """How often each writer succeeded, and how many of its changes the row lacks in the end."""

    made: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)


def contend(
    conninfo: str, url: str, kind: str, *, classic: int, ours: int, seconds: float
) -> Contention:
    """Let writers contend for a while; ``kind`` is the type of versions."""
    theirs = [f"c{i}" for i in range(classic)]
    columns = [*theirs, *(f"g{i}" for i in range(ours))]
    with psycopg.connect(conninfo, autocommit=True) as admin:
        _create(admin, kind, columns)
        with gateway.connect(url, autocommit=True) as con:
            adopt(con.session, "t", ("k",), _NAMES, run=True)
        found, until = Contention(), time.monotonic() + seconds
        failures: list[BaseException] = []

        def started(write: Callable[[str], None], column: str) -> threading.Thread:
            def run() -> None:
                try:
                    write(column)
                except BaseException as error:
                    failures.append(error)
                    raise

            thread = threading.Thread(target=run)
            thread.start()
            return thread

        def classic_writer(column: str) -> None:
            _write_classic(conninfo, kind, columns, column, until, found)

        def our_writer(column: str) -> None:
            _write_ours(url, column, until, found)

        threads = [started(classic_writer if c in theirs else our_writer, c) for c in columns]
        for thread in threads:
            thread.join()
        assert not failures, failures
        row = admin.execute(f"SELECT {', '.join(columns)} FROM t").fetchone()
        assert row is not None
        for column, value in zip(columns, row, strict=True):
            if value != found.made[column]:
                found.lost[column] = found.made[column] - value
    return found


def _create(admin: psycopg.Connection[Any], kind: str, columns: list[str]) -> None:
    spelt = ", ".join(f"{c} BIGINT" for c in columns)
    admin.execute(
        f"CREATE TABLE t_journal (k INTEGER, {spelt}, version_number {_TYPES[kind]},"
        f" subsequent_version_number {_TYPES[kind]}, PRIMARY KEY (k, version_number))"
    )
    zeros = ", ".join("0" for _ in columns)
    first = "now()" if kind == "timestamptz" else "1"
    admin.execute(f"INSERT INTO t_journal VALUES (1, {zeros}, {first}, NULL)")


def _write_classic(
    conninfo: str, kind: str, columns: list[str], column: str, until: float, found: Contention
) -> None:
    values = ", ".join(f"{c} + 1" if c == column else c for c in columns)
    sql = (
        f"INSERT INTO t_journal SELECT k, {values}, {_NEXT[kind]}, NULL FROM t_journal AS j"
        " WHERE k = 1 AND version_number = (SELECT max(version_number) FROM t_journal WHERE k = 1)"
    )
    made = refused = 0
    with psycopg.connect(conninfo, autocommit=True) as con:
        while time.monotonic() < until:
            con.execute("SELECT pg_advisory_lock(%s)", [_TURN])
            try:
                con.execute(sql)
                made += 1
            except (psycopg.errors.SerializationFailure, psycopg.errors.UniqueViolation):
                refused += 1
            finally:
                con.execute("SELECT pg_advisory_unlock(%s)", [_TURN])
            time.sleep(0.02)
    found.made[column], found.refused[column] = made, refused


def _write_ours(url: str, column: str, until: float, found: Contention) -> None:
    made = refused = 0
    with gateway.connect(url, autocommit=True) as con:
        while time.monotonic() < until:
            try:
                con.execute(f"UPDATE t SET {column} = {column} + 1 WHERE k = 1")
                made += 1
            except gateway.OperationalError as error:
                if error.sqlstate != "40001":
                    raise
                refused += 1
    found.made[column], found.refused[column] = made, refused
