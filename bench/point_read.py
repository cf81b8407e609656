"""How long does it take to read one row by key, also after 1,000 single-row commits?"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import duckdb

from bench import lineitem
from bench.contenders import TABLE, Gateway, loaded_gateway, native, plain
from bench.measure import OURS, Promise, Report, Run
from bench.options import Options, read_options
from bench.peers import Peer, peer

PARQUET = "plain parquet"
_LIMIT = 2.0
_COMMITS = 1_000
_ROUNDS = 10


def measure(options: Options) -> Report:
    """Read random keys before and after many small commits, then after a flush."""
    report = Report("point read by key", options.rows)
    source = lineitem.lineitem_file(options.work, options.rows)
    keys = random.Random(7)
    with (
        loaded_gateway(options.work / "point_read", source) as ours,
        native(options.work, "point_read", source, key=True) as table,
        peer(options.work, options.peers) as other,
        plain() as store,
    ):
        if other is not None:
            other.call("lake_load", path=str(options.work / "lake"), parquet=str(source))
        contenders = _contenders(options, ours, store, table, other, keys)
        repeats = options.repeats * _ROUNDS
        promises = (Promise(PARQUET, _LIMIT),)
        report.compare("sealed", contenders, repeats, promises, warm_ups=10)
        for _ in range(_COMMITS):
            key = keys.randint(1, options.rows)
            ours.run(f"UPDATE {TABLE} SET l_quantity = l_quantity + 1 WHERE k = ?", (key,))
        case = f"after {_COMMITS:,} single-row commits"
        report.compare(case, contenders, repeats, promises, warm_ups=10)
        ours.rows("CALL system.flush()")
        report.compare("after a flush", contenders, repeats, promises, warm_ups=10)
    return report


def _contenders(
    options: Options,
    ours: Gateway,
    store: duckdb.DuckDBPyConnection,
    table: duckdb.DuckDBPyConnection,
    other: Peer | None,
    keys: random.Random,
) -> dict[str, Run]:
    source = lineitem.lineitem_file(options.work, options.rows)

    def one(read: Callable[[int], Sequence[object]]) -> Run:
        def run() -> None:
            found = read(keys.randint(1, options.rows))
            assert len(found) == 1

        return run

    contenders = {
        PARQUET: one(
            lambda k: store.execute(f"SELECT * FROM '{source}' WHERE k = ?", [k]).fetchall()
        ),
        "plain duckdb table": one(
            lambda k: table.execute("SELECT * FROM t WHERE k = ?", [k]).fetchall()
        ),
        OURS: one(lambda k: ours.rows(f"SELECT * FROM {TABLE} WHERE k = ?", (k,))),
    }
    if other is not None:
        contenders["ducklake"] = lambda: float(
            other.call(
                "lake_sql",
                sql="SELECT * FROM t WHERE k = ?",
                values=[keys.randint(1, options.rows)],
            )
        )
    return contenders


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
