"""The records of a Hive store as relations of a local session, for statements that name them.

They are filled inside the transaction of the session that is given, which forgets them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from sqlglot import exp

from journal.local_engine.database_file import DuckDBStore
from journal.local_engine.session import DuckDBSession
from journal.model.plan import STORE_SCHEMA
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records.catalog_format import make_tables
from journal.records.record_types import RecordTable, RecordType
from journal.records.schema import OF_HIVE_CATALOG, TRANSACTIONS
from journal.records.statements import execute, select

_SHOWN = "palimpsest_records"
_TABLES = {t.name: t for t in OF_HIVE_CATALOG}
_READ = {name: select(t) for name, t in _TABLES.items() if t is not TRANSACTIONS}
_READ[TRANSACTIONS.name] = select(TRANSACTIONS, (), {"version": exp.LTE})
_ARROW = {
    RecordType.TEXT: pa.string(),
    RecordType.INTEGER: pa.int32(),
    RecordType.BIGINT: pa.int64(),
    RecordType.NUMERIC: pa.int64(),
    RecordType.BOOLEAN: pa.bool_(),
    RecordType.MOMENT: pa.timestamp("us", "UTC"),
    RecordType.TEXTS: pa.list_(pa.string()),
}


def make(local: DuckDBStore) -> None:
    """The relations that statements may name, which are empty outside of transactions."""
    session = local.acquire()
    session.text(f"CREATE SCHEMA {STORE_SCHEMA}")
    make_tables(session, OF_HIVE_CATALOG)
    local.release(session)


def show(
    records: RecordSession, local: DuckDBSession, names: Iterable[str], until: Version
) -> None:
    """Fill some of them with what the catalog says; of commits those up to a version."""
    for name in names:
        values = [until] if name == TRANSACTIONS.name else []
        rows = execute(records, _READ[name], values)
        local.show_arrow(_SHOWN, _arrow(_TABLES[name], rows))
        local.text(f"INSERT INTO _palimpsest.{name} SELECT * FROM {_SHOWN}")  # noqa: S608
        local.hide(_SHOWN)


def _arrow(table: RecordTable, rows: list[tuple[Any, ...]]) -> pa.Table:
    kinds = [_ARROW[c.type] for c in table.columns]
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    return pa.table(columns, names=list(table.names))
