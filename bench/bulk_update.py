"""How long does one UPDATE of one percent of the rows take?

Each round changes another percent, in a plain table and in ours, and the sums agree at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from bench import lineitem
from bench.contenders import TABLE, loaded_gateway, native
from bench.measure import OURS, Promise, Report, Run
from bench.options import Options, read_options
from bench.peers import peer

PLAIN, KEYED = "plain duckdb", "plain duckdb, key"
_ROUNDS_MAX = 5
_SUM = "SELECT sum(l_quantity), count(*) FROM {table}"


def measure(options: Options) -> Report:
    """Update scattered percents."""
    report = Report("UPDATE of 1 % in one statement", options.rows)
    source = lineitem.lineitem_file(options.work, options.rows)
    with (
        loaded_gateway(options.work / "bulk_update", source) as ours,
        native(options.work, "bulk_plain", source, key=False) as table,
        native(options.work, "bulk_key", source, key=True) as keyed,
        peer(options.work, options.peers) as other,
    ):
        runs: dict[str, Run] = {
            PLAIN: _each_percent("t", lambda sql: table.execute(sql).fetchall()),
            KEYED: _each_percent("t", lambda sql: keyed.execute(sql).fetchall()),
            OURS: _each_percent(TABLE, ours.run),
        }
        if other is not None:
            other.call("lake_load", path=str(options.work / "lake"), parquet=str(source))
            statements = map(_update, [("t", n) for n in range(100)])
            runs["ducklake"] = lambda: float(other.call("lake_sql", sql=next(statements)))
        promises = (Promise(PLAIN, 3.0), Promise(KEYED, 3.0), Promise("ducklake", 1.0))
        report.compare("UPDATE of 1 %", runs, min(options.repeats, _ROUNDS_MAX), promises)
        wanted = table.execute(_SUM.format(table="t")).fetchall()
        if ours.rows(_SUM.format(table=TABLE)) != wanted:
            raise SystemExit("the tables differ after the updates")
    return report


def _update(place: tuple[str, int]) -> str:
    table, rest = place
    return f"UPDATE {table} SET l_quantity = l_quantity + 1 WHERE (k * 7919) % 100 = {rest}"


def _each_percent(table: str, execute: Callable[[str], object]) -> Run:
    rests = count()

    def run() -> None:
        execute(_update((table, next(rests))))

    return run


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
