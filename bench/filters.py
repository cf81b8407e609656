"""What do filters cost: time to build them beside the time to write, and their bytes?

Times are of the processor, for what builds them runs in one thread and what writes in several.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace

from bench import visits
from bench.contenders import fresh_gateway
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from gateway.procedures import embedded
from journal.erasure.descriptor import PROPERTY
from journal.plan import Query
from journal.schema import Table
from journal.stores.duckdb import DuckDBSession
from journal.warehouse import SIDECAR, Warehouse

WITHOUT = "without filters"
_ROWS, _QUICK_ROWS = 2_000_000, 250_000
_WIDE = 3
"""How many times the columns of a log line stand in a row."""


def measure(options: Options) -> Report:
    """Write the same rows with a filter of one column, and with none, in turns."""
    count = _QUICK_ROWS if options.quick else _ROWS
    report = Report("building filters", count)
    with fresh_gateway(options.work / "filters") as ours:
        ours.run(visits.CREATE.replace("trace VARCHAR)", f"trace VARCHAR{_more()})"))
        journal = embedded(ours.connection.session, "the benchmark")
        table = journal.state.catalog.by_id(1)
        assert table is not None
        source = f"SELECT * {_copies()} FROM ({visits.rows(count, count)})"
        ours.run(f"INSERT INTO visits {source}")
        segments = journal.state.tables[1].manifest.segments
        files = [str(journal.root / f.path) for s in segments for f in s.files]
        tables = {OURS: _described(table, "visitor"), WITHOUT: _described(table, None)}
        warehouse = Warehouse(options.work / "filters", iter(map(str, range(10_000))).__next__)
        with journal.reading_session() as session:
            rows = _rows(session, files)

            def write(name: str) -> float:
                began = time.process_time()
                written = warehouse.write_segment(session, tables[name], rows, {})
                spent = time.process_time() - began
                folder = (journal.root / written[0].path).parent
                if name == OURS:
                    report.facts["bytes of segments"] = sum(f.bytes for f in written)
                    report.facts["bytes of filters"] = (folder / SIDECAR).stat().st_size
                shutil.rmtree(folder)
                return spent

            contenders = {name: (lambda n=name: write(n)) for name in tables}
            promise = Promise(WITHOUT, 1.03)
            report.compare("write, one column", contenders, options.repeats, (promise,))
    share = report.facts["bytes of filters"] / report.facts["bytes of segments"]
    report.facts["share of bytes"] = f"{share:.2%}"
    return report


def _rows(session: DuckDBSession, files: list[str]) -> Query:
    """The rows of files, held in memory, so that nothing but the writing is timed."""
    import sqlglot

    names = ", ".join(f"'{f}'" for f in files)
    held = Query.of(sqlglot.parse_one(f"SELECT * FROM read_parquet([{names}])", read="duckdb"))
    session.stage("held", held, {})
    return Query.of(sqlglot.parse_one("SELECT * FROM held ORDER BY k", read="duckdb"))


def _described(table: Table, descriptor: str | None) -> Table:
    properties = () if descriptor is None else ((PROPERTY, descriptor),)
    return replace(table, properties=properties)


def _more() -> str:
    columns = ("url VARCHAR", "agent VARCHAR", "session VARCHAR", "trace VARCHAR", "price INTEGER")
    return "".join(f", {c.replace(' ', f'_{i} ')}" for i in range(_WIDE) for c in columns)


def _copies() -> str:
    names = ("url", "agent", "session", "trace")
    return "".join(
        "".join(f", {n} || '{i}' AS {n}_{i}" for n in names) + f", price + {i} AS price_{i}"
        for i in range(_WIDE)
    )


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
