"""What the gateway adds over PostgreSQL: the same rewritten SQL through it and sent directly.

    python -m bench.database --rows 200000 --repeats 9

Starts a server of its own. Reads are sent as the gateway rewrites them. Of writes every statement
that the gateway sends is recorded, and sent again with its parameters to a copy of the database
that was made before the first of them, so that both sides do the same work on the same rows.
With --cpu it is the processor time of this process that is compared: the server's is the same.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg

import gateway
from bench.measure import OURS, Promise, Report, Run
from bench.options import Options, options_of, parser
from gateway.dbapi.connection import Connection
from gateway.session.request import StatementRequest
from journal.model.plan import Fetch
from journal.stores.postgres.adopt.guards import A_GATEWAY
from journal.stores.postgres.cursor import ChunkCursor
from journal.stores.postgres.dialect.text import render
from journal.stores.postgres.pipeline_cursor import Sent
from tests.support.postgres import Cluster

DIRECT = "the same, directly"
PLAIN = "an ordinary table"
POINTS = 200
MORE_MS = 2.0
SCANS = {
    "scan": "SELECT a, b, c FROM t",
    "scan of other types": "SELECT a, d, e, f FROM u",
    "sum": "SELECT b % 10 AS g, sum(c), count(*) FROM t GROUP BY b % 10",
}
WRITES = {
    "point update": "UPDATE t SET c = c + 1 WHERE a = ?",
    "point insert": "INSERT INTO t VALUES (?, 1, 1)",
    "point delete": "DELETE FROM t WHERE a = ?",
}


def rewritten(con: Connection, sql: str) -> str:
    """The text of a query as the server gets it; it must take no parameters."""
    session = con.session
    (parsed,) = session.parse(sql)
    asked = StatementRequest(parsed, {}, session.settings, session.dialect)
    plan = session.executor.plan(session.journal.begin(), asked)
    (step,) = plan.steps
    assert isinstance(step, Fetch)
    return render(step.query).sql


@contextmanager
def recorded() -> Iterator[list[Sent]]:
    """What the gateway sends meanwhile."""
    sent: list[Sent] = []
    run, run_together, run_alone, roll_back = (
        ChunkCursor.run,
        ChunkCursor.run_together,
        ChunkCursor.run_alone,
        ChunkCursor.roll_back,
    )

    def listening(self: ChunkCursor, sql: str, parameters: Any = None, **rest: Any) -> None:
        sent.append((sql, parameters))
        run(self, sql, parameters, **rest)

    def listening_together(self: ChunkCursor, statements: Sequence[Sent]) -> Any:
        sent.extend(statements)
        return run_together(self, statements)

    def listening_alone(self: ChunkCursor, sql: str, parameters: Any, then: str) -> Any:
        sent.extend([(sql, parameters), (then, None)])
        return run_alone(self, sql, parameters, then)

    def listening_back(self: ChunkCursor) -> None:
        sent.append(("ROLLBACK", None))
        roll_back(self)

    ChunkCursor.run = listening  # type: ignore[method-assign]
    ChunkCursor.run_together = listening_together  # type: ignore[method-assign]
    ChunkCursor.run_alone = listening_alone  # type: ignore[method-assign]
    ChunkCursor.roll_back = listening_back  # type: ignore[method-assign]
    try:
        yield sent
    finally:
        ChunkCursor.run = run  # type: ignore[method-assign]
        ChunkCursor.run_together = run_together  # type: ignore[method-assign]
        ChunkCursor.run_alone = run_alone  # type: ignore[method-assign]
        ChunkCursor.roll_back = roll_back  # type: ignore[method-assign]


def per_point(clock: Callable[[], float], work: Callable[[], object]) -> float:
    """Seconds for one of the points that the work consists of."""
    started = clock()
    work()
    return (clock() - started) / POINTS


def send(connection: psycopg.Connection[Any], statements: Sequence[Sent]) -> None:
    """Run statements as they are, and take their rows."""
    with psycopg.RawCursor(connection) as cursor:
        for sql, parameters in statements:
            cursor.execute(sql, parameters)
            while cursor.nextset():
                continue
            if cursor.description:
                cursor.fetchall()


def scans(report: Report, con: Connection, direct: Any, repeats: int) -> None:
    """Every row, and sums of them."""
    for case, sql in SCANS.items():
        text = rewritten(con, sql)
        contenders: dict[str, Run] = {
            OURS: lambda sql=sql: con.execute(sql).fetchall() and None,
            DIRECT: lambda text=text: direct.execute(text).fetchall() and None,
        }
        # The server works while this process does, so processor time of a scan says little.
        promises = () if report.clock is time.process_time else (Promise(DIRECT, 1.05),)
        report.compare(case, contenders, repeats, promises)


def point_reads(report: Report, con: Connection, direct: Any, repeats: int) -> None:
    """Rows by their key."""
    points = [f"SELECT a, b, c FROM t WHERE a = {i * 37 % report.rows}" for i in range(POINTS)]
    texts = [rewritten(con, sql) for sql in points]
    contenders: dict[str, Run] = {
        OURS: lambda: per_point(
            report.clock, lambda: [con.execute(sql).fetchall() for sql in points]
        ),
        DIRECT: lambda: per_point(
            report.clock, lambda: [direct.execute(sql).fetchall() for sql in texts]
        ),
    }
    report.compare("point read", contenders, repeats)


def point_writes(
    report: Report, con: Connection, twin: psycopg.Connection[Any], repeats: int
) -> None:
    """Rows by their key, changed; ``twin`` is a copy of the database as it is now."""
    for case, sql in WRITES.items():
        keys = count(report.rows if case == "point insert" else 0)
        waiting: deque[list[Sent]] = deque()

        def ours(sql: str = sql, keys: Iterator[int] = keys, waiting: Any = waiting) -> float:
            given = [next(keys) for _ in range(POINTS)]
            with recorded() as sent:
                took = per_point(report.clock, lambda: [con.execute(sql, [key]) for key in given])
            waiting.append(sent)
            return took

        def again(waiting: Any = waiting) -> float:
            statements = waiting.popleft()
            return per_point(report.clock, lambda: send(twin, statements))

        ours()
        contenders: dict[str, Run] = {
            OURS: ours,
            DIRECT: again,
        }
        if case == "point update":
            mutable, places = "UPDATE plain SET c = c + 1 WHERE a = $1", range(POINTS)
            plain = [(mutable, [place]) for place in places]
            contenders[PLAIN] = lambda plain=plain: per_point(
                report.clock, lambda: send(twin, plain)
            )
        report.compare(case, contenders, repeats)


def added(report: Report) -> None:
    """Say of points what the gateway takes besides, and whether that is what was promised."""
    for case in ("point read", *WRITES):
        ours = report.median_ms(case, OURS)
        more = ours - report.median_ms(case, DIRECT)
        kept = "kept" if more <= MORE_MS else "BROKEN"
        report.facts[f"{case}, more than {DIRECT}"] = (
            f"{more:.2f} ms, promised at most {MORE_MS:g} ms: {kept}"
        )


def fill(cluster: Cluster, database: str, rows: int) -> None:
    """Two tables of the gateway's, and an ordinary one."""
    with (
        psycopg.connect(cluster.conninfo(database), autocommit=True) as direct,
        gateway.connect(cluster.url(database), autocommit=True) as con,
    ):
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c BIGINT)")
        con.execute(f"INSERT INTO t SELECT i, i * 7, i FROM range({rows}) AS r(i)")
        direct.execute("CREATE TABLE plain (a integer PRIMARY KEY, b integer, c bigint)")
        direct.execute("INSERT INTO plain SELECT a, b, c FROM t")
        con.execute(
            "CREATE TABLE u (a INTEGER PRIMARY KEY, d VARCHAR, e DECIMAL(12,2), f TIMESTAMP)"
        )
        texts = "'name ' || a, c / 100.0, TIMESTAMP '2024-01-01' + b * INTERVAL '1 second'"
        con.execute(f"INSERT INTO u SELECT a, {texts} FROM t")
        direct.execute("ANALYZE")


def measure(options: Options) -> Report:
    """All of it, on a server that is removed again."""
    clock = time.process_time if options.cpu else time.perf_counter
    report = Report("what the gateway adds over PostgreSQL", options.rows, clock=clock)
    cluster = Cluster.start()
    try:
        database = cluster.database()
        fill(cluster, database, options.rows)
        twin = cluster.database(template=database)
        connected = [
            psycopg.connect(cluster.conninfo(name), autocommit=True, prepare_threshold=None)
            for name in (database, twin)
        ]
        for connection in connected:
            # They send what a gateway sends, which the guards of heads would refuse to others.
            connection.execute(f"SELECT set_config({A_GATEWAY}, false)")
        with gateway.connect(cluster.url(database), autocommit=True) as con:
            scans(report, con, connected[0], options.repeats)
            point_reads(report, con, connected[0], options.repeats)
            point_writes(report, con, connected[1], options.repeats)
        for connection in connected:
            connection.close()
    finally:
        cluster.remove()
    added(report)
    return report


def main() -> int:
    """Run the command line."""
    made = parser(__doc__ or "")
    made.set_defaults(rows=200_000)
    options = options_of(made.parse_args())
    measure(options).finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
