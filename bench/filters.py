"""What do filters cost: time to build them beside the time to write, and their bytes?

Times are of the processor, for what builds them runs in one thread and what writes in several.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace

from bench import visits
from bench.contenders import Gateway, fresh_gateway
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from gateway.procedures import embedded
from journal.erasure.descriptor import PROPERTY
from journal.plan import Query
from journal.schema import Table
from journal.stores.duckdb import DuckDBSession
from journal.warehouse import SIDECAR, Warehouse

WITHOUT = "without filters"
_ROWS, _QUICK_ROWS = 1_000_000, 250_000
_WIDE, _LINE, _NARROW = "26 columns", "11 columns", "3 columns"
_TIMES = 3
"""How many times the texts of a log line stand in a wide row, besides the line itself."""


def measure(options: Options) -> Report:
    """Write the same rows with a filter of one column, and with none, in turns."""
    count = _QUICK_ROWS if options.quick else _ROWS
    report = Report("building filters", count)
    for case in (_WIDE, _LINE, _NARROW):
        with fresh_gateway(options.work / "filters") as ours:
            # Rows of a log are wide: the promise is theirs. What narrow ones pay is only told.
            promises = (Promise(WITHOUT, 1.03),) if case == _WIDE else ()
            _compare(report, ours, case, options, promises)
    return report


def _compare(
    report: Report, ours: Gateway, case: str, options: Options, promises: tuple[Promise, ...]
) -> None:
    ours.run(_CREATE[case])
    journal = embedded(ours.connection.session, "the benchmark")
    found = journal.state.catalog.by_id(1)
    assert found is not None
    tables = {OURS: _described(found, "visitor"), WITHOUT: _described(found, None)}
    ours.run(
        f"INSERT INTO visits SELECT {_COLUMNS[case]} FROM ({visits.rows(report.rows, report.rows)})"
    )
    segments = journal.state.tables[1].manifest.segments
    files = [str(journal.root / f.path) for s in segments for f in s.files]
    warehouse = Warehouse(options.work / "filters", iter(map(str, range(10_000))).__next__)
    sizes = {}
    with journal.reading_session() as session:
        rows = _rows(session, files)

        def write(name: str) -> float:
            began = time.process_time()
            written = warehouse.write_segment(session, tables[name], rows, {})
            spent = time.process_time() - began
            folder = (journal.root / written[0].path).parent
            if name == OURS:
                bytes_of = (folder / SIDECAR).stat().st_size, sum(f.bytes for f in written)
                sizes[case] = bytes_of[0] / bytes_of[1]
            shutil.rmtree(folder)
            return spent

        contenders = {name: (lambda n=name: write(n)) for name in tables}
        report.compare(case, contenders, options.repeats, promises)
    extra = report.median_ms(case, OURS) - report.median_ms(case, WITHOUT)
    report.facts[f"{case}: share of time"] = f"{extra / report.median_ms(case, WITHOUT):.1%}"
    report.facts[f"{case}: share of bytes"] = f"{sizes[case]:.2%}"
    report.facts[f"{case}: ms for a million rows"] = round(extra * 1e6 / report.rows, 1)


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


def _copies() -> str:
    names = ("url", "agent", "session", "trace")
    return "".join(
        "".join(f", {n} || '{i}' AS {n}_{i}" for n in names) + f", price + {i} AS price_{i}"
        for i in range(_TIMES)
    )


def _more() -> str:
    columns = ("url VARCHAR", "agent VARCHAR", "session VARCHAR", "trace VARCHAR", "price INTEGER")
    return "".join(f", {c.replace(' ', f'_{i} ')}" for i in range(_TIMES) for c in columns)


_COLUMNS = {_WIDE: f"*{_copies()}", _LINE: "*", _NARROW: "k, visitor, price"}
_CREATE = {
    _WIDE: visits.CREATE.replace("trace VARCHAR)", f"trace VARCHAR{_more()})"),
    _LINE: visits.CREATE,
    _NARROW: "CREATE TABLE visits (k BIGINT PRIMARY KEY, visitor VARCHAR, price INTEGER)",
}


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
