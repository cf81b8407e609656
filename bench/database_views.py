"""What do views and adopted journals on PostgreSQL cost, beside plain tables of the same rows?

    python -m bench.database_views --rows 1000000 --repeats 5 --cpu

Starts a server of its own, which waits for the disk. Three tables hold the same rows in three
states: all in the head, 1 % changed after a compaction, compacted. psql's statements go past the
gateway to their views, and the same through it. Small commits go to an adopted flat journal. With
--cpu it is the processor time of server and client that is compared: in nanoseconds while a process
runs, in ticks of 10 ms once it has ended, as a parallel worker does.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

import gateway
from bench.measure import OURS, Promise, Report, Run, repeated
from bench.options import Options, options_of, parser
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from tests.support.postgres import Cluster

_PLAIN = "an ordinary table"
_PAST = "its view, past the gateway"
_STATES = {"head": 1.3, "one_percent": 1.5, "compacted": 1.1}
"""The tables, and at most how many times an ordinary one their views may take."""
_WRITES_AT_MOST = 2.0
_WORKERS_END_S = 1.0
_BUFFERS = "1GB"
"""Holds all tables: the server keeps no table that is larger than a quarter of its memory whole,
so that whichever was written last would be read faster than the others."""
_COLUMNS = "id INTEGER PRIMARY KEY, grp INTEGER, amount DECIMAL(12,2), name VARCHAR, day DATE"
_ROWS = (
    "SELECT i, i * 79 % 1000, i * 31 % 100000 / 100.0, 'name ' || i,"
    " DATE '2020-01-01' + (i % 1500)::INTEGER FROM range({rows}) AS r(i)"
)
_READS = {
    "sum": ("SELECT sum(amount), count(*) FROM {t}", 3),
    "count(*)": ("SELECT count(*) FROM {t}", 3),
    "group by": ("SELECT grp, sum(amount), count(*) FROM {t} GROUP BY grp", 3),
    "join": (
        "SELECT k, sum(amount) FROM {t} JOIN grps ON grp = grps.id GROUP BY k",
        1,
    ),
    "rows by an index": ("SELECT * FROM {t} WHERE grp = 77", 20),
    "row by key": ("SELECT * FROM {t} WHERE id = 777", 100),
    "page by key": ("SELECT * FROM {t} WHERE id > 5000 ORDER BY id LIMIT 20", 100),
}
"""Statements, and how often each is run at once."""
_UPDATE = "UPDATE {t} SET amount = amount + 1 WHERE id = {p}"
_INSERT = "INSERT INTO {t} VALUES (10000000 + {p}, 1, 1, 'new', DATE '2024-01-01')"
_WRITES = {
    "update": (_UPDATE,),
    "insert": (_INSERT,),
    "delete": ("DELETE FROM {t} WHERE id = {p}",),
    "two updates in a transaction": (_UPDATE, _UPDATE),
    "a read and two writes in a transaction": (
        "SELECT * FROM {t} WHERE id = {p}",
        _UPDATE,
        _INSERT,
    ),
}
"""Statements, each with a key as its parameter."""
_POINTS = 50


def server_cpu(cluster: Cluster) -> float:
    """Seconds of processor time of a server and of this process, as far as they are counted.

    Parallel workers are waited for: their time counts when the server notices that they ended.
    """
    pid = cluster.process_id
    until = time.monotonic() + _WORKERS_END_S
    children = _children(pid)
    while any(map(_is_worker, children)) and time.monotonic() < until:
        time.sleep(0.005)
        children = _children(pid)
    ended = _ticks_of_ended(pid) / os.sysconf("SC_CLK_TCK")
    return ended + sum(map(_running_s, (*children, str(pid)))) + time.process_time()


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()


def _is_worker(pid: str) -> bool:
    """True for a process that runs a part of somebody's query."""
    try:
        return b"parallel worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _running_s(pid: str) -> float:
    """Seconds of processor time of a process of one thread, counted in nanoseconds."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text("utf-8").split()[0]) / 1e9
    except FileNotFoundError:
        return 0.0


def _ticks_of_ended(pid: int) -> int:
    """Ticks of those children of a process that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return int(fields[13]) + int(fields[14])


def fill(direct: psycopg.Connection[Any], con: Connection, rows: int) -> None:
    """The ordinary table, and three of the gateway's in their states."""
    for table in _STATES:
        con.execute(f"CREATE TABLE {table} ({_COLUMNS})")
        con.execute(f"CREATE INDEX {table}_grp ON {table} (grp)")
        con.execute(f"INSERT INTO {table} {_ROWS.format(rows=rows)}")
        if table != "head":
            con.execute(f"CALL system.compact('{table}')")
    con.execute("UPDATE one_percent SET amount = amount + 1 WHERE id % 100 = 7")
    con.execute("CREATE TABLE grps (id INTEGER PRIMARY KEY, k VARCHAR)")
    con.execute("INSERT INTO grps SELECT i, 'k' || i FROM range(1000) AS r(i)")
    direct.execute("CREATE TABLE plain (LIKE head)")
    direct.execute("INSERT INTO plain SELECT * FROM head ORDER BY id")
    direct.execute("ALTER TABLE plain ADD PRIMARY KEY (id)")
    direct.execute("CREATE INDEX ON plain (grp)")
    direct.execute(
        "CREATE TABLE flat_journal AS SELECT *, TIMESTAMPTZ '2020-01-01' AS version_number,"
        " NULL::timestamptz AS subsequent_version_number FROM plain WHERE id < 100000"
    )
    direct.execute("CREATE UNIQUE INDEX ON flat_journal (id, version_number)")
    direct.execute("CREATE TABLE flat_plain AS SELECT * FROM plain WHERE id < 100000")
    direct.execute("ALTER TABLE flat_plain ADD PRIMARY KEY (id)")
    direct.execute("VACUUM ANALYZE")
    names = ("_journal", "version_number", "subsequent_version_number")
    adopt(con.session, "public.flat", ("id",), names, run=True)


def reads(report: Report, direct: psycopg.Connection[Any], con: Connection, repeats: int) -> None:
    """The statements over each state, past the gateway and through it."""
    for table, at_most in _STATES.items():
        for case in _READS:
            _compare(report, direct, con, repeats, (f"{table}, {case}", table, case), at_most)


def untold(report: Report, direct: psycopg.Connection[Any], con: Connection, repeats: int) -> None:
    """Reads of a head of which rows have ended since the server has looked at it."""
    con.execute("UPDATE head SET amount = amount + 1 WHERE id % 100 = 9")
    for case in ("rows by an index", "page by key"):
        name = f"head, 1 % changed since ANALYZE, {case}"
        _compare(report, direct, con, repeats, (name, "head", case), _STATES["one_percent"])


def _compare(
    report: Report,
    direct: psycopg.Connection[Any],
    con: Connection,
    repeats: int,
    named: tuple[str, str, str],
    at_most: float,
) -> None:
    """A case of a table, under a name, past the gateway and through it."""
    name, table, case = named
    sql, often = _READS[case]
    own, theirs = sql.format(t=table), sql.format(t="plain")
    report.compare(
        name,
        {
            OURS: repeated(con.execute, own, often),
            _PAST: repeated(direct.execute, own, often),
            _PLAIN: repeated(direct.execute, theirs, often),
        },
        repeats,
        (Promise(_PLAIN, at_most),),
    )
    report.judge_against(name, _PAST, Promise(_PLAIN, at_most))


def writes(report: Report, direct: psycopg.Connection[Any], con: Connection, repeats: int) -> None:
    """Small commits to an adopted flat journal, and to an ordinary table."""
    for case, statements in _WRITES.items():
        keys = (count(1000 * len(report.measured), 2), count(1000 * len(report.measured), 2))
        report.compare(
            f"flat journal, {case}",
            {
                OURS: _commits(con.execute, _texts(statements, "flat", "?"), keys[0]),
                _PLAIN: _commits(direct.execute, _texts(statements, "flat_plain", "%s"), keys[1]),
            },
            repeats,
            (Promise(_PLAIN, _WRITES_AT_MOST),),
        )


def _texts(statements: tuple[str, ...], table: str, parameter: str) -> tuple[str, ...]:
    return tuple(sql.format(t=table, p=parameter) for sql in statements)


def _commits(execute: Callable[..., Any], statements: tuple[str, ...], keys: Iterator[int]) -> Run:
    def run() -> None:
        for key in (next(keys) for _ in range(_POINTS)):
            if len(statements) > 1:
                execute("BEGIN")
            for place, sql in enumerate(statements):
                cursor = execute(sql, [key + place])
                if cursor.description is not None:
                    cursor.fetchall()
            if len(statements) > 1:
                execute("COMMIT")

    return run


def measure(options: Options) -> Report:
    """All of it, on a server that is removed again."""
    cluster = Cluster.start(waits_for_disk=True, settings={"shared_buffers": _BUFFERS})
    clock = (lambda: server_cpu(cluster)) if options.cpu else time.perf_counter
    report = Report("current views and adopted journals on PostgreSQL", options.rows, clock=clock)
    if options.cpu:
        report.notes.append("processor time of server and client, not time that passes")
    try:
        database = cluster.database()
        with (
            psycopg.connect(cluster.conninfo(database), autocommit=True) as direct,
            gateway.connect(cluster.url(database), autocommit=True) as con,
        ):
            fill(direct, con, options.rows)
            reads(report, direct, con, options.repeats)
            untold(report, direct, con, options.repeats)
            writes(report, direct, con, options.repeats)
    finally:
        cluster.remove()
    return report


def main() -> int:
    """Run the command line."""
    made = parser(__doc__ or "")
    made.set_defaults(rows=1_000_000, repeats=5)
    options = options_of(made.parse_args())
    measure(options).finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
