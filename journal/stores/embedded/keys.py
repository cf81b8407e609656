"""Files of keys: the keys of rows that are being erased, one file for a request and table.

Parquet, in the types that survive it. Written and on disk before anything refers to them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from journal.files.parquet_files import sync_folder
from journal.local_engine.file_modes import follow_modes
from journal.local_engine.layout import parquet_type
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.schema import Table
from journal.sql.relations import column, ident

_SHOWN = "keys_found"


def write_keys(session: DuckDBSession, table: Table, found: Sequence[pa.Table], path: Path) -> int:
    """Write the distinct keys of some Arrow tables to a new file; how many there are."""
    parts: list[exp.Expr] = []
    for name in table.key:
        kind = table.by_physical(name).type
        value = exp.cast(column(name), parquet_type(kind), dialect="duckdb")
        parts.append(exp.alias_(value, ident(name)))
    session.show_arrow(_SHOWN, pa.concat_tables(found, promote_options="permissive"))
    rows = exp.select(*parts).distinct().from_(_SHOWN)
    options = [exp.CopyParameter(this=exp.var("FORMAT"), expression=exp.Literal.string("parquet"))]
    copy = exp.Copy(
        this=exp.Subquery(this=rows),
        kind=False,
        files=[exp.Literal.string(str(path))],
        params=options,
    )
    session.execute(Query(copy, ()), {})
    count = int(session.fetch_many(1)[0][0])
    follow_modes(path)
    with path.open("rb") as handle:
        os.fsync(handle.fileno())
    sync_folder(path.parent)
    return count
