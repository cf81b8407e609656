"""Opening a catalog beside a Hive store: made, or brought from format 1 to this one.

In format 1 the records were texts of DuckDB's, in JSON; its tables of commits, numbers and retired
segments called some columns otherwise. Runs in the transaction it is given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from journal.local_engine.database_file import DuckDBStore
from journal.records import catalog_format
from journal.records.catalog import create_catalog, make_secret
from journal.records.catalog_format import get_meta, put_meta
from journal.records.record_types import RecordTable
from journal.records.schema import (
    AUDIT,
    BACKUPS,
    COUNTERS,
    ERASURES,
    HOLDS,
    JOBS,
    META,
    OF_HIVE_CATALOG,
    RETIRED,
    SUPPRESSIONS,
)
from journal.records.statements import (
    columns_of,
    constant,
    execute,
    insert,
    rename_column,
    select,
)
from journal.stores.hive.catalog_db.engine import CatalogConnection

_ID = "id"
_RECORDS = {t.name: t for t in (ERASURES, SUPPRESSIONS, AUDIT, META, HOLDS, BACKUPS, JOBS)}
_OLD_ROWS = "SELECT relation, row FROM palimpsest_records ORDER BY relation, place"
_OLD_JOBS = "SELECT 'jobs', row FROM palimpsest_jobs"
_SHOWN = "palimpsest_records"
_Rows = dict[str, list[list[str | None]]]


def open_catalog(connection: CatalogConnection, store_id: str, local: DuckDBStore) -> str:
    """Make a new catalog, or bring one to this format; the store's id. ``local`` reads old texts.

    Raises WAREHOUSE_FORMAT for a format that this version does not know.
    """
    known = columns_of(connection)
    if META.name not in known:
        create_catalog(connection, OF_HIVE_CATALOG)
        put_meta(connection, _ID, store_id)
    else:
        _bring_up(connection, local, known)
    make_secret(connection)
    return get_meta(connection, _ID) or store_id


def _bring_up(
    connection: CatalogConnection, local: DuckDBStore, known: Mapping[str, set[str]]
) -> None:
    if "name" in known[META.name]:
        execute(connection, rename_column(META, "name", "key"))
    rows: _Rows = {}
    change = partial(_rename, connection, known, rows)
    if catalog_format.bring_up(connection, OF_HIVE_CATALOG, "the catalog", 1, change):
        if "log" in known:
            set_moments = constant("UPDATE _palimpsest.transactions SET committed_at = version")
            execute(connection, set_moments)
        for name, texts in rows.items():
            _write(connection, local, _RECORDS[name], texts)


def _rename(
    connection: CatalogConnection, known: Mapping[str, set[str]], rows: _Rows, found: int
) -> None:
    """Give tables and columns of format 1 their names, and take its records away into ``rows``."""
    if found > 1:
        return
    for old, table in (("palimpsest_records", _OLD_ROWS), ("palimpsest_jobs", _OLD_JOBS)):
        if old.removeprefix("palimpsest_") in known:
            for relation, text in connection.text(table):
                rows.setdefault(relation, []).append(json.loads(text))
            connection.text(f"DROP TABLE {old}")
    connection.text("ALTER TABLE palimpsest_log RENAME TO palimpsest_catalog_log")
    execute(connection, rename_column(COUNTERS, "name", "column_name"))
    for old, new in (("path", "id"), ("until_us", "until"), ("since_us", "since")):
        if old in known.get(RETIRED.name, ()):
            execute(connection, rename_column(RETIRED, old, new))


def _write(
    connection: CatalogConnection,
    local: DuckDBStore,
    table: RecordTable,
    texts: Sequence[Sequence[str | None]],
) -> None:
    """Write rows whose values are DuckDB's texts to a table of this format."""
    session = local.acquire()
    try:
        session.begin()
        columns = [pa.array([r[i] for r in texts], pa.string()) for i in range(len(table.names))]
        session.show_arrow(_SHOWN, pa.table(columns, names=list(table.names)))
        session.text(f"INSERT INTO _palimpsest.{table.name} SELECT * FROM {_SHOWN}")  # noqa: S608
        rows: list[tuple[Any, ...]] = execute(session, select(table))
    finally:
        session.rollback()
        local.release(session)
    for row in rows:
        execute(connection, insert(table), row)
