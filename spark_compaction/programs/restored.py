"""The rows of a restore, written where Spark puts the work: a file of keys a unit.

What is restored was decided by whoever owns the warehouse: its steps travel as text. A unit runs
them in a database of its own in memory, over both states of the table and the keys it is given; it
looks at the constraints of its rows, writes them as files of a segment and compares what it reads
back. Opens no warehouse and lists nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from journal.files.memory import memory_session
from journal.local_engine.hash import row_hash
from journal.local_engine.layout import (
    conformed,
    fields_of,
    refresh_tiers,
    segment_query,
    segment_rows,
)
from journal.local_engine.session import DuckDBSession
from journal.model.catalog import change_from_json
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA, PutRelation, Query
from journal.model.schema import Table
from journal.model.segment import Manifest, SegmentFile
from journal.sql.counting import count_rows
from journal.sql.relations import column
from journal.stores.embedded.warehouse import ROWS_PER_FILE, Warehouse

UNIT = "spark_compaction.programs.restored:write"
_ROWS = "restored"


def write(unit: Mapping[str, Any]) -> dict[str, Any]:
    """Write the journal rows for some keys; how many rows change, what was written, or why not.

    ``refused`` are the values with which the first guard that found a row is told, and its number.
    """
    root = Path(unit["root"])
    table = _table(unit["table"])
    with memory_session(root, unit["folder"], {"TimeZone": unit["timezone"]}) as session:
        create = exp.Create(this=exp.to_table(STORE_SCHEMA), kind="SCHEMA", exists=True)
        session.execute(Query(create, ()), {})
        for number, manifest in unit["sides"]:
            side = replace(table, id=number)
            refresh_tiers(session, side, Manifest.from_json(manifest), root)
        for name, text in unit["stages"]:
            _stage(session, name, text, unit)
        found: dict[str, Any] = {"refused": None, "rows": 0, "files": [], "counts": None}
        (found["rows"],) = session.row(_query(unit["count"]), {})
        refused = _refused(session, unit)
        if refused is not None or not found["rows"] or not unit["writes"]:
            return {**found, "refused": refused}
        return {**found, **_write_rows(session, table, root, unit)}


def _refused(session: DuckDBSession, unit: Mapping[str, Any]) -> list[Any] | None:
    for number, text in enumerate(unit["guards"]):
        session.execute(_query(text), unit["parameters"])
        found = session.fetch_many(1)
        if found:
            return [number, [str(value) for value in found[0]]]
    return None


def _write_rows(
    session: DuckDBSession, table: Table, root: Path, unit: Mapping[str, Any]
) -> dict[str, Any]:
    rows = conformed(table, _query(unit["append"]))
    session.stage(_ROWS, rows, unit["parameters"])
    counts = count_rows(session, table, exp.to_table(_ROWS))
    order = [column(name) for name in (*table.key, table.format.version_column)]
    sorted_rows = exp.select("*").from_(exp.to_table(_ROWS)).order_by(*order)
    warehouse = Warehouse(root, lambda: uuid.uuid4().hex)
    files = warehouse.write_into(
        *(session, table, segment_query(table, sorted_rows), unit["folder"]),
        *(counts.total, ROWS_PER_FILE),
    )
    _verify(session, table, root, files)
    return {"files": [asdict(f) for f in files], "counts": asdict(counts)}


def _verify(session: DuckDBSession, table: Table, root: Path, files: Sequence[SegmentFile]) -> None:
    """Raise JOB_VERIFICATION unless the files hold the rows, as many and the same."""
    fields = fields_of(table)
    there = segment_rows(table, [f.path for f in files], fields, root)
    sums = []
    for source in (exp.to_table(_ROWS), there.subquery("f")):
        ends = (table.format.version_column, table.format.subsequent_column)
        one = row_hash(fields, [column(name, "r") for name in ends], "r")
        outputs = [exp.Count(this=exp.Star()), exp.Sum(this=one)]
        rows = exp.select("*").from_(source)
        sums.append(session.row(Query(exp.select(*outputs).from_(rows.subquery("r")), ()), {}))
    if sums[0] != sums[1]:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"files of restored rows of {table.name} do not hold what was to be written",
            advice="nothing was changed; run the restore again",
        )


def _stage(session: DuckDBSession, name: str, text: str, unit: Mapping[str, Any]) -> None:
    session.stage(name, _query(text), unit["parameters"])


def _query(text: str) -> Query:
    return Query.of(sqlglot.parse_one(text, read="duckdb"))


def _table(raw: Any) -> Table:
    change = change_from_json(raw)
    assert isinstance(change, PutRelation)
    assert isinstance(change.relation, Table)
    return change.relation
