"""The last part of the demonstration: compacts journals, erases a plane, expires half a year.

Then a restore brings that half year back. Every step is a job that a client requests, on Spark if
Java is installed. The demonstration compares totals, and the evening before the blizzard, before
and after each job.
"""

from __future__ import annotations

import json
import time
from typing import Any

from gateway.dbapi.connection import Connection
from gateway.demo import demo_queries, statements
from gateway.demo.erasure import erase_plane
from gateway.demo.teller import Teller
from gateway.shell.result import ShownColumn
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.segment import Tier

TODAY = "2014-01-01"
POLICY = "ALTER TABLE flights SET POLICY (RETENTION = 6 MONTHS ON COLUMN day, BACKUP = 30 DAYS)"
COMPACT = "CALL system.compact(table => '{table}')"
RETAIN = "CALL system.retain('flights', now => '{today}'{dry_run})"
RESTORE = "CALL system.restore('flights')"
TABLES = ("flights", "planes", "airports")


@dataclass(frozen=True, slots=True)
class Step:
    """One job: the statement, what its report says, and how long it took."""

    sql: str
    state: str
    rows: dict[str, int]
    seconds: float
    report: dict[str, Any]


def finish(connection: Connection, teller: Teller) -> dict[str, Any]:
    """Run the ending; ``equal`` in the summary says whether it came out right."""
    engine = choose_engine(connection)
    teller.chapter("Compaction: the changes become part of the base")
    teller.say(f"Jobs run {_engine_text(engine)}.")
    before = _invariant_facts(connection)
    compacted = _compact(connection, teller)
    same = _invariant_facts(connection) == before
    teller.say(f"  Totals now and on the eve of the blizzard: {_verdict(same)}")
    forgotten = erase_plane(connection, teller)
    before = _invariant_facts(connection)
    expired = _expire(connection, teller)
    restored = _restore(connection, teller)
    back = _invariant_facts(connection)["totals"] == before["totals"]
    teller.say(f"  Totals as before the retention: {_verdict(back)}")
    steps = [*compacted, *expired, restored]
    return {
        "engine": engine,
        "equal": same and back and forgotten["equal"],
        "erasure": forgotten,
        "steps": [{"sql": s.sql, "state": s.state, **s.rows, "seconds": s.seconds} for s in steps],
    }


def choose_engine(connection: Connection) -> str:
    """Spark where it can run, else this process."""
    from importlib.util import find_spec

    from spark_compaction.engines.client import check_java

    engine = "spark" if find_spec("pyspark") is not None else "local"
    try:
        check_java()
    except PalimpsestError:
        engine = "local"
    connection.execute(f"SET job_engine = '{engine}'")
    return engine


def _engine_text(engine: str) -> str:
    if engine == "spark":
        return "on Spark in local mode; the first one starts it"
    return "in this process, since Spark or Java 17 is not there"


def _compact(connection: Connection, teller: Teller) -> list[Step]:
    teller.sql("\n".join(COMPACT.format(table=t) + ";" for t in TABLES))
    changes = _changes(connection)
    with teller.progress("compacting"):
        steps = [run(connection, COMPACT.format(table=t)) for t in TABLES]
    columns = [ShownColumn("table", "VARCHAR")]
    columns += [
        ShownColumn(n, "VARCHAR")
        for n in ("rows read", "rows written", "changes before", "now", "seconds")
    ]
    left = _changes(connection)
    rows = [
        (table, f"{s.rows['read']:,}", f"{s.rows['written']:,}", f"{changes[table]:,}",
         f"{left[table]:,}", f"{s.seconds:.1f}")
        for table, s in zip(TABLES, steps, strict=True)
    ]  # fmt: skip
    teller.table(columns, rows)
    return steps


def _expire(connection: Connection, teller: Teller) -> list[Step]:
    teller.chapter(f"Retention: it is {TODAY}, and flights are kept for six months")
    connection.execute(POLICY)
    connection.commit()
    planned = RETAIN.format(today=TODAY, dry_run=", dry_run => true")
    real = RETAIN.format(today=TODAY, dry_run="")
    teller.sql(f"{POLICY};\n{planned};\n{real};")
    steps = [run(connection, planned)]
    with teller.progress("removing what is past its time"):
        steps.append(run(connection, real))
    (first,) = connection.execute("SELECT min(day)::VARCHAR, count(*) FROM flights").fetchall()
    cut_off = steps[0].report["details"]["cut_off"]
    teller.say(
        f"  Everything dated before {cut_off[:10]} goes, in every version:"
        f" {sum(steps[0].report['details']['rows'].values()):,} journal rows planned,"
        f" {steps[1].rows['removed']:,} removed in {steps[1].seconds:.1f} s."
    )
    teller.say(f"  {first[1]:,} flights are left; the first is of {first[0]}.")
    return steps


def _restore(connection: Connection, teller: Teller) -> Step:
    teller.chapter("Restore: the last known good backup, written as one more version")
    teller.sql(f"{RESTORE};")
    with teller.progress("restoring"):
        step = run(connection, RESTORE)
    details = step.report["details"]
    teller.say(
        f"  {step.rows['written']:,} flights are back from {details['backup']} in"
        f" {step.seconds:.1f} s; what was there before is kept as {details['trash']}."
    )
    return step


def run(connection: Connection, sql: str) -> Step:
    """Run one job and read its report."""
    started = time.perf_counter()
    cursor = connection.execute(sql)
    names = [d[0] for d in cursor.description or ()]
    (row,) = cursor.fetchall()
    found = dict(zip(names, row, strict=True))
    rows = {name: found[f"rows_{name}"] for name in ("read", "written", "removed")}
    seconds = round(time.perf_counter() - started, 2)
    return Step(sql, found["state"], rows, seconds, json.loads(found["report"]))


def _invariant_facts(connection: Connection) -> dict[str, Any]:
    """What no upkeep may change."""
    totals = {
        table: connection.execute(query).fetchall() for table, query in statements.TOTALS.items()
    }
    return {"totals": totals, "eve": demo_queries.before_blizzard(connection).rows}


def _changes(connection: Connection) -> dict[str, int]:
    sizes = demo_queries.tier_sizes(connection)
    return {
        table: sum(s.rows for s in sizes if s.table == table and s.tier == Tier.DELTA.value)
        for table in TABLES
    }


def _verdict(same: bool) -> str:
    return "equal" if same else "DIFFERENT"
