"""What do current views on Spark cost, beside plain Parquet tables of the same rows?

    python -m bench.hive_views --rows 2000000 --repeats 5 --cpu

Starts a Thrift Server of its own, which compiles queries as Spark does by itself. Tables hold the
same rows compacted, and with 1 % and 10 % of them changed since. Statements of PyHive go past the
gateway to their views, and the same through it; the plain table is written by Spark in as many
files. With --cpu it is the processor time of server and client that is compared, in ticks of 10 ms.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyhive import hive

import gateway
from bench.hive import served
from bench.measure import OURS, Promise, Report, repeated
from bench.options import Options, options_of, parser
from gateway.dbapi.connection import Connection
from journal.stores.hive.journal import HiveJournal
from tests.support.thrift_server import ThriftServer

_PLAIN = "a plain Parquet table"
_PAST = "its view, past the gateway"
_STATES = {"compacted": (0, 1.1), "one_percent": (100, 1.3), "ten_percent": (10, 1.5)}
"""The tables: each how manieth row is changed, and how many times a plain one they may take."""
_COLUMNS = "id INTEGER PRIMARY KEY, grp INTEGER, amount DECIMAL(12,2), name VARCHAR, day DATE"
_SEED_ROWS = 20_000
_SEED = (
    f"SELECT i, i * 79 % 1000, i * 31 % 100000 / 100.0, 'name ' || i,"
    f" DATE '2020-01-01' + (i % 1500)::INTEGER FROM range({_SEED_ROWS}) AS r(i)"
)
_READS = {
    "sum": ("SELECT sum(amount), count(*) FROM {t}", 2),
    "group by": ("SELECT grp, sum(amount), count(*) FROM {t} GROUP BY grp", 1),
    "filter": ("SELECT count(*) FROM {t} WHERE name LIKE '%77%'", 1),
    "row by key": ("SELECT * FROM {t} WHERE id = 777", 4),
}
"""Statements, and how often each is run at once."""
_WARM_UPS = 3
_MEMORY = "5g"


def server_cpu(server: ThriftServer) -> float:
    """Seconds of processor time of a server and of this process."""
    assert server.pid is not None
    fields = Path(f"/proc/{server.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK") + time.process_time()


def fill(con: Connection, direct: Any, rows: int) -> None:
    """The gateway's tables in their states, and the plain one; ``rows`` are doubled up to."""
    database = _database(con)
    for table, (nth, _) in _STATES.items():
        print(f"  {table} ..", file=sys.stderr, flush=True)
        con.execute(f"CREATE TABLE {table} ({_COLUMNS})")
        con.execute(f"INSERT INTO {table} {_SEED}")
        found = _SEED_ROWS
        while found < rows:
            more = f"SELECT id + {found}, grp, amount, name, day FROM {table}"
            con.execute(f"INSERT INTO {table} {more} WHERE id < {rows - found}")
            found += min(found, rows - found)
        con.execute(f"CALL system.compact('{table}')")
        if nth:
            con.execute(f"UPDATE {table} SET amount = amount + 1 WHERE id % {nth} = 7")
    con.execute("CALL system.flush()")
    direct.execute("DROP TABLE IF EXISTS bench_views_plain")
    direct.execute(
        "CREATE TABLE bench_views_plain USING parquet AS"
        f" SELECT /*+ COALESCE(1) */ * FROM {database}.compacted"
    )


def _database(con: Connection) -> str:
    journal = con.session.journal
    assert isinstance(journal, HiveJournal)
    return journal.names.schema("main")


def reads(report: Report, con: Connection, direct: Any, repeats: int) -> None:
    """The statements over each state, past the gateway and through it."""
    database = _database(con)

    def directly(sql: str) -> Any:
        direct.execute(sql)
        return direct

    for table, (_, at_most) in _STATES.items():
        for case, (sql, often) in _READS.items():
            name = f"{table}, {case}"
            report.compare(
                name,
                {
                    OURS: repeated(con.execute, sql.format(t=table), often),
                    _PAST: repeated(directly, sql.format(t=f"{database}.{table}"), often),
                    _PLAIN: repeated(directly, sql.format(t="bench_views_plain"), often),
                },
                repeats,
                (Promise(_PLAIN, at_most),),
                warm_ups=_WARM_UPS,
            )
            report.judge_against(name, _PAST, Promise(_PLAIN, at_most))


def measure(options: Options) -> Report:
    """All of it, on a server that is removed again."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), _MEMORY) as server:
        clock = (lambda: server_cpu(server)) if options.cpu else time.perf_counter
        report = Report("current views on Spark", options.rows, clock=clock)
        if options.cpu:
            report.notes.append("processor time of server and client, not time that passes")
        opened = hive.connect(host=server.host, port=server.port, username="tester", auth="NOSASL")
        url = server.new_store(Path(folder), views="on")
        with (
            contextlib.closing(opened) as plain,
            gateway.connect(url, autocommit=True) as con,
            contextlib.closing(plain.cursor(arraysize=10_000)) as direct,
        ):
            fill(con, direct, options.rows)
            reads(report, con, direct, options.repeats)
    return report


def main() -> int:
    """Run the command line."""
    made = parser(__doc__ or "")
    made.set_defaults(rows=2_000_000, repeats=5)
    options = options_of(made.parse_args())
    measure(options).finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
