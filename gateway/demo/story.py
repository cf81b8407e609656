"""The whole demonstration: load, replay, query, compare, maintain, and summarize."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import Any

import gateway
from gateway.dbapi.connection import Connection
from gateway.demo import demo_queries, statements, upkeep
from gateway.demo.comparison import Comparison, PlainRun, compare, plain_run
from gateway.demo.demo_queries import DemoQuery, TierSize
from gateway.demo.governed import govern
from gateway.demo.lineage import show_report_lineage
from gateway.demo.own_folders import clear
from gateway.demo.replay import Load, Replay, load, replay
from gateway.demo.serving import read_through_server
from gateway.demo.source import SourceFiles, find_files
from gateway.demo.teller import Teller
from gateway.errors import mapping
from gateway.shell.previewing import preview_lines, preview_on
from gateway.shell.result import ShownColumn
from journal.local_engine.scratch import scratch
from journal.stores.embedded.file_names import DATABASE_FILE


def run(root: Path, teller: Teller) -> dict[str, Any]:
    """Run it in ``root``; ``equal`` in the summary says whether it came out right."""
    started = time.perf_counter()
    with mapping():
        with scratch() as folder:
            files = find_files(folder)
            clear(root)
            return _run(root, files, teller, started)


def _run(root: Path, files: SourceFiles, teller: Teller, started: float) -> dict[str, Any]:
    url = f"palimpsest:///{root.resolve()}"
    with gateway.connect(url, user="demo", application="palimpsest demo") as connection:
        teller.chapter("Load: a year of flights out of New York, as scheduled")
        loads = []
        for one in load(connection, files):
            loads.append(one)
            teller.say(f"  {one.table:<12}{one.rows:>9,} rows {one.seconds:6.2f} s")
        teller.chapter("Replay: 365 days, each one transaction")
        _show_statements(teller)
        with teller.progress("replaying") as advance:
            replayed = replay(connection, advance)
        _show_replay(teller, replayed)
        _run_queries(connection, teller)
        show_report_lineage(connection, teller, root)
        with teller.progress("sealing the heads"):
            connection.cursor().callproc("system.flush")
        sizes = demo_queries.tier_sizes(connection)
        _show_tiers(teller, sizes, root)
        teller.chapter("The same year on an ordinary DuckDB, for comparison")
        with teller.progress("ordinary DuckDB"):
            plain = plain_run(files, demo_queries.EVE)
        with plain.database:
            compared = compare(connection, plain.database)
        past = demo_queries.before_blizzard(connection)
        eve = demo_queries.version_after(connection, demo_queries.EVE)
        same_past = past.rows == plain.before
        _show_comparison(teller, compared, plain, same_past)
        ending = upkeep.finish(connection, teller)
        governed = govern(connection, root, teller)
    summary = _summary(root, loads, replayed, sizes, compared, same_past)
    summary["upkeep"] = ending
    served = read_through_server(root, teller)
    summary["served"] = served
    summary["governed"] = governed
    parts = (ending, governed, served)
    summary["equal"] = summary["equal"] and all(part["equal"] for part in parts)
    summary["seconds"] = round(time.perf_counter() - started, 2)
    summary["plain_seconds"] = round(plain.seconds, 2)
    _show_next_steps(teller, root, summary, eve)
    return summary


def _show_statements(teller: Teller) -> None:
    teller.say("Every day the delays are updated and the cancelled flights deleted:")
    teller.sql(statements.DELAYS + ";\n" + statements.CANCELLATIONS + ";")
    teller.say("Each month the planes and airports seen are merged, new ones and known ones:")
    teller.sql(statements.PLANES + ";")


def _show_replay(teller: Teller, done: Replay) -> None:
    rate = (done.updated + done.deleted + done.merged) / max(done.seconds, 0.001)
    teller.say(
        f"  {done.commits} commits: {done.updated:,} rows updated, {done.deleted:,} deleted, "
        f"{done.merged:,} merged in {done.seconds:.1f} s ({rate:,.0f} rows a second)"
    )


def _run_queries(connection: Connection, teller: Teller) -> None:
    for ask in (
        demo_queries.current_year,
        demo_queries.flight_versions,
        demo_queries.before_blizzard,
        demo_queries.after_blizzard,
    ):
        _show_query(teller, ask(connection))
    _show_query(teller, demo_queries.changes_between(connection))
    teller.chapter("What becomes of a statement: every UPDATE is an append")
    teller.say("The client says:")
    teller.sql(REWRITTEN)
    teller.say("The store gets:")
    teller.sql("\n".join(preview_lines(preview_on(connection, REWRITTEN))))


REWRITTEN = "UPDATE airlines SET name = 'American Airlines Inc.' WHERE carrier = 'US'"


def _show_query(teller: Teller, found: DemoQuery) -> None:
    teller.chapter(found.title)
    teller.sql(found.sql)
    teller.table(found.columns, found.rows)


def _show_tiers(teller: Teller, sizes: list[TierSize], root: Path) -> None:
    teller.chapter("Rows and bytes per tier: nothing was overwritten")
    columns = [
        ShownColumn("table", "VARCHAR"),
        ShownColumn("tier", "VARCHAR"),
        ShownColumn("segments", "BIGINT"),
    ]
    columns += [
        ShownColumn("rows", "BIGINT"),
        ShownColumn("bytes", "BIGINT"),
        ShownColumn("per row", "DOUBLE"),
    ]
    rows = [
        (s.table, s.tier, s.segments, f"{s.rows:,}", _bytes(s.bytes), _per_row(s)) for s in sizes
    ]
    teller.table(columns, rows)
    catalog = (root / DATABASE_FILE).stat().st_size
    teller.say(f"  and {_bytes(catalog)} in {DATABASE_FILE}: the catalog and the heads")


def _bytes(size: int | None) -> str | None:
    return None if size is None else f"{size:,}"


def _per_row(size: TierSize) -> str | None:
    return None if size.bytes is None or not size.rows else f"{size.bytes / size.rows:.1f}"


def _show_comparison(
    teller: Teller, compared: list[Comparison], plain: PlainRun, same_past: bool
) -> None:
    columns = [
        ShownColumn(n, "VARCHAR") for n in ("table", "total", "Palimpsest", "ordinary DuckDB", "")
    ]
    rows = []
    for one in compared:
        names = statements.TOTAL_NAMES[one.table]
        for name, ours, theirs in zip(names, one.totals, one.plain, strict=True):
            verdict = "equal" if ours == theirs else "DIFFERENT"
            rows.append((one.table, name, _number(ours), _number(theirs), verdict))
        verdict = "equal" if one.same_rows else "DIFFERENT"
        rows.append((one.table, "every row", _number(one.rows), _number(one.rows), verdict))
    verdict = "equal" if same_past else "DIFFERENT"
    rows.append(("flights", "as of 7 February", "4 rows", "4 rows", verdict))
    teller.table(columns, rows)
    teller.say(f"  The ordinary run took {plain.seconds:.1f} s, in memory and without any history.")


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _summary(
    root: Path,
    loads: list[Load],
    replayed: Replay,
    sizes: list[TierSize],
    compared: list[Comparison],
    same_past: bool,
) -> dict[str, Any]:
    equal = same_past and all(one.equal for one in compared)
    return {
        "equal": equal,
        "warehouse": str(root),
        "python": platform.python_version(),
        "loaded": {one.table: one.rows for one in loads},
        "load_seconds": round(sum(one.seconds for one in loads), 2),
        "replay": {
            "commits": replayed.commits,
            "updated": replayed.updated,
            "deleted": replayed.deleted,
            "merged": replayed.merged,
            "seconds": round(replayed.seconds, 2),
        },
        "tiers": [
            {
                "table": s.table,
                "tier": s.tier,
                "segments": s.segments,
                "rows": s.rows,
                "bytes": s.bytes,
            }
            for s in sizes
        ],
        "totals": {
            one.table: {
                "palimpsest": [str(v) for v in one.totals],
                "plain": [str(v) for v in one.plain],
                "rows": one.rows,
                "same_rows": one.same_rows,
            }
            for one in compared
        },
        "same_past": same_past,
    }


def _show_next_steps(teller: Teller, root: Path, summary: dict[str, Any], eve: int) -> None:
    teller.say("")
    if not summary["equal"]:
        teller.say("The two runs DIFFER; please report this with the output above.", "bold red")
        return
    teller.say(
        f"Done in {summary['seconds']:.0f} s; both runs agree on every row. "
        f"The warehouse stays in {root}. Try next:",
        "bold green",
    )
    teller.say(f"  palimpsest shell {root}")
    for line in TRY_NEXT:
        teller.say(f"    {line.format(eve=eve)}")
    teller.say(f"  palimpsest verify -w {root}")
    teller.say(f"  palimpsest serve {root}, then from another terminal: psql -h {root} -p 5433")


TRY_NEXT = (
    "SELECT * FROM airline_report;",
    "\\d flights",
    "SELECT * FROM flights WHERE carrier = 'HA' AND dep_delay > 120;",
    "SELECT status, count(*) FROM flights FOR SYSTEM_VERSION AS OF {eve} GROUP BY status;",
    "SELECT version, message FROM system.transactions ORDER BY version DESC LIMIT 5;",
    "\\preview DELETE FROM airports WHERE arrivals = 0",
)
