"""What do filters cost: time to build them beside the time to write, and their bytes?

Judged are the processor's time, which a machine has to give, and the clock's, for which people
wait: of the step that builds the filters, beside a whole write without it in the same round. By the
clock that is all that follows the COPY, less the same without filters, beside which they are built.
Two whole writes differ by more than that; their difference is told, too.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from statistics import median

from bench import filtered_jobs, visits
from bench.contenders import Gateway, fresh_gateway
from bench.filter_steps import Steps, watched
from bench.measure import OURS, Promise, Report
from bench.options import Options, options_of, parser
from gateway.procedures.procedures import embedded
from journal.identity.descriptor import PROPERTY
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import SIDECAR
from journal.stores.embedded.warehouse import Warehouse

WITHOUT = "without filters"
_ROWS, _QUICK_ROWS = 1_000_000, 250_000
_WIDE, _LINE, _NARROW = "26 columns", "11 columns", "3 columns"
_VARIED = "11 columns, lengths differ"
_TIMES = 3
"""How many times the texts of a log line stand in a wide row, besides the line itself."""
_IDENTITY = {_VARIED: "account"}
_AT_MOST = {_WIDE: 1.05, _LINE: 1.15, _VARIED: 1.15}
"""Rows of a log are wide: the promise is theirs. What rows of 3 columns pay is only shown."""


def measure(options: Options) -> Report:
    """Write the same rows with a filter of one column, and with none, in turns."""
    began = time.perf_counter()
    count = _QUICK_ROWS if options.quick else _ROWS
    report = Report("building filters", count)
    for case in (_WIDE, _LINE, _VARIED, _NARROW):
        with fresh_gateway(options.work / "filters") as ours:
            _compare(report, ours, case, options)
    report.facts["seconds this took"] = round(time.perf_counter() - began, 1)
    return report


@dataclass(frozen=True, slots=True)
class _Write:
    """A segment written: seconds of the processor, of a clock, and those of ``Steps``."""

    cpu: float
    wall: float
    steps: Steps


def _compare(report: Report, ours: Gateway, case: str, options: Options) -> None:
    ours.run(_CREATE[case])
    journal = embedded(ours.connection.session, "the benchmark")
    found = journal.state.catalog.by_id(1)
    assert found is not None
    with_filters = _described(found, _IDENTITY.get(case, "visitor"))
    tables = {OURS: with_filters, WITHOUT: _described(found, None)}
    ours.run(
        f"INSERT INTO visits SELECT {_COLUMNS[case]} FROM ({visits.rows(report.rows, report.rows)})"
    )
    segments = journal.state.tables[1].manifest.segments
    files = [str(journal.root / f.path) for s in segments for f in s.files]
    warehouse = Warehouse(options.work / "filters", iter(map(str, range(10_000))).__next__)
    writes: dict[str, list[_Write]] = {name: [] for name in tables}
    sizes = (0, 0)
    with journal.reading_session() as session:
        rows = _rows(session, files)

        def write(name: str) -> float:
            nonlocal sizes
            began = time.process_time(), time.perf_counter()
            with watched() as steps:
                written = warehouse.write_segment(session, tables[name], rows, {})
            cpu, wall = time.process_time() - began[0], time.perf_counter() - began[1]
            writes[name].append(_Write(cpu, wall, steps))
            folder = (journal.root / written[0].path).parent
            if name != WITHOUT:
                sizes = (folder / SIDECAR).stat().st_size, sum(f.bytes for f in written)
            shutil.rmtree(folder)
            return cpu

        report.compare(case, {n: (lambda n=n: write(n)) for n in tables}, options.repeats)
    kept = {name: found[-options.repeats :] for name, found in writes.items()}
    _tell(report, case, kept)
    report.facts[f"{case}: share of bytes"] = f"{sizes[0] / sizes[1]:.2%}"


def _tell(report: Report, case: str, writes: dict[str, list[_Write]]) -> None:
    """Judge what the filters of a case took beside writing without them."""
    pairs = list(zip(writes[OURS], writes[WITHOUT], strict=True))
    cpu = [1 + a.steps.filters_cpu / b.cpu for a, b in pairs]
    wall = [1 + (a.steps.finishing - b.steps.finishing) / b.wall for a, b in pairs]
    if case in _AT_MOST:
        report.judge(case, Promise(WITHOUT, _AT_MOST[case]), cpu)
        report.judge(f"{case}, by the clock", Promise(WITHOUT, _AT_MOST[case]), wall)
    each = median(a.steps.filters_cpu for a in writes[OURS]) * 1e9 / report.rows
    report.facts[case] = (
        f"{median(cpu) - 1:.1%} of processor time, {median(wall) - 1:.1%} of time that passes,"
        f" {each:.0f} ns a row"
    )
    report.facts[f"{case}: difference of whole writes"] = (
        f"{median(a.cpu / b.cpu for a, b in pairs) - 1:+.1%} of processor time,"
        f" {median(a.wall / b.wall for a, b in pairs) - 1:+.1%} of time that passes"
    )


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


_COLUMNS = {_WIDE: f"*{_copies()}", _LINE: "*", _VARIED: "*", _NARROW: "k, visitor, price"}
_CREATE = {
    _WIDE: visits.CREATE.replace("trace VARCHAR)", f"trace VARCHAR{_more()})"),
    _LINE: visits.CREATE,
    _VARIED: visits.CREATE,
    _NARROW: "CREATE TABLE visits (k BIGINT PRIMARY KEY, visitor VARCHAR, price INTEGER)",
}


def main() -> None:
    """Measure the write, or whole jobs."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--jobs", action="store_true", help="whole imports and compactions")
    parsed = arguments.parse_args()
    chosen = options_of(parsed)
    if parsed.jobs:
        count = parsed.rows or (_QUICK_ROWS if chosen.quick else _ROWS)
        creates = {case: _CREATE[case] for case in (_WIDE, _LINE, _NARROW)}
        report = filtered_jobs.measure(chosen, count, creates, _COLUMNS)
    else:
        report = measure(chosen)
    report.finish(chosen.json)


if __name__ == "__main__":
    main()
