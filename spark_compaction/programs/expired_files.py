"""Counts expired rows in files, and rewrites these files on executors.

An executor opens a database of its own in memory, and no warehouse. The text it runs was made from
the conditions the plan counted with; a segment keeps the columns and types it was written in.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from journal.files.staging import spill_folder
from journal.local_engine import layout
from journal.local_engine.database_file import IN_MEMORY, DuckDBStore
from journal.local_engine.session import DuckDBSession
from journal.model.catalog import change_from_json
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import PutRelation, Query
from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts, Segment
from journal.sql.counting import count_rows
from journal.sql.relations import column
from journal.stores.embedded.warehouse import ROWS_PER_FILE, Warehouse
from journal.transactions.expiry import Expiry, substituted

NONE = RowCounts()
_SETTINGS = {"threads": "1", "memory_limit": "2GB"}


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Rows of a file: all, those that go, and of these the ones past their date."""

    total: RowCounts = NONE
    gone: RowCounts = NONE
    dated: RowCounts = NONE


def count_file(session: DuckDBSession, found: Expiry, segment: Segment) -> FileCounts:
    """The rows of a segment's files; totals only if any row goes."""
    files = [f.path for f in segment.files]
    rows = layout.segment_rows(found.table, files, segment.fields, session.root)
    gone = by_kind(session, found, rows, found.goes("r"))
    if not gone.total:
        return FileCounts()
    dated = found.archived("r")
    return FileCounts(
        by_kind(session, found, rows, None),
        gone,
        NONE if dated is None else by_kind(session, found, rows, dated),
    )


def by_kind(
    session: DuckDBSession, found: Expiry, rows: exp.Query, condition: exp.Expr | None
) -> RowCounts:
    """How many of some rows, as ``r``, meet a condition."""
    source = exp.select("*").from_(rows.copy().subquery("r"))
    if condition is not None:
        source = source.where(condition)
    return count_rows(session, found.table, source.subquery("c"))


def rewriting(
    found: Expiry, shape: Table, fields: Fields, files: Sequence[str], root: Path, *, archive: bool
) -> str:
    """The rows of files that stay, or those to archive, in the columns they were written in."""
    present = layout.segment_rows(found.table, files, fields, root)
    assert isinstance(present, exp.Select)
    condition = found.archived("r") if archive else exp.not_(found.goes("r"))
    assert condition is not None
    names = [name for name, _ in fields]
    names += [shape.format.version_column, shape.format.subsequent_column]
    rows = exp.select(*[column(n, "p") for n in names])
    rows = rows.from_(present.args["from_"].this.copy())
    rows = rows.where(substituted(condition, "r", present.selects))
    rows = rows.order_by(*[column(n, "p") for n in [*shape.key, shape.format.version_column]])
    return rows.sql(dialect="duckdb")


def rewrite(unit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Write one segment anew, on an executor; its files."""
    change = change_from_json(unit["table"])
    assert isinstance(change, PutRelation)
    assert isinstance(change.relation, Table)
    warehouse = Warehouse(Path(unit["root"]), lambda: uuid.uuid4().hex)
    rows = RowCounts(**unit["counts"]).total
    with spill_folder(warehouse.root, unit["folder"]) as place:
        store = DuckDBStore(IN_MEMORY, {**_SETTINGS, "temp_directory": str(place)})
        session = store.acquire()
        try:
            session.begin()
            for name, path in unit["lists"].items():
                source = exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(path)])
                listed = exp.select("*").from_(exp.Table(this=source))
                session.stage(name, Query(listed, ()), {})
            query = Query(sqlglot.parse_one(unit["sql"], read="duckdb"), ())
            files = warehouse.write_into(
                session, change.relation, query, unit["folder"], rows, ROWS_PER_FILE
            )
            session.rollback()
        finally:
            store.release(session)
            store.close()
    return [asdict(f) for f in files]
