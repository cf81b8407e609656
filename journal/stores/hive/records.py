"""What upkeep keeps on record in a Hive store: requests, suppressions, audit log, holds, runs.

    catalog's rows --load--> relations of a local session --constant SQL--> rows --keep--> catalog

The catalog is a database that others write to as well, and the code that records is written for
sessions of a store. So the records are relations of a local transaction while somebody reads or
changes them, and rows of the catalog otherwise; both change in one transaction of the catalog.
Of the runs of jobs, which grow in number, only those under way are loaded to be changed.
"""

from __future__ import annotations

import pyarrow as pa

from journal.erasure.guard import load_fence
from journal.identity.suppression_list import SuppressionList
from journal.local_engine.session import DuckDBSession
from journal.records import erasure_rows
from journal.records import maintenance as duckdb_maintenance
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db import jobs as sql_jobs
from journal.stores.hive.catalog_db.engine import CatalogConnection

_RELATIONS = {
    "erasures": "id state accepted updated detail".split(),
    "suppressions": "kind table_id hash request since expires".split(),
    "audit": "seq happened actor action object detail previous hash".split(),
    "meta": ["key", "value"],
    "holds": duckdb_maintenance.HOLD,
    "backups": duckdb_maintenance.BACKUP_COLUMNS,
}
_SHOWN = "palimpsest_records"
_Rows = list[list[str | None]]

_JOBS = "jobs"
_COLUMNS = {**_RELATIONS, _JOBS: duckdb_maintenance.JOB}

_FILL = {
    name: f"INSERT INTO _palimpsest.{name} SELECT * FROM {_SHOWN}"  # noqa: S608
    for name in _COLUMNS
}
_READ = {
    name: f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM _palimpsest.{name}"  # noqa: S608
    for name in _COLUMNS
}
_CLEAR = {name: f"DELETE FROM _palimpsest.{name}" for name in _COLUMNS}  # noqa: S608


def ensure(local: DuckDBSession) -> None:
    """Make the relations of records, which are empty outside of transactions."""
    duckdb_maintenance.ensure(local)
    erasure_rows.ensure(local)
    local.text("CREATE TABLE _palimpsest.meta (key VARCHAR, value VARCHAR)")


def load(
    local: DuckDBSession, connection: CatalogConnection, *, all_runs: bool = False
) -> dict[str, _Rows]:
    """Fill the relations of a local transaction; the rows by relation.

    Of runs of jobs those under way, unless ``all_runs`` are wanted.
    """
    found = rows_of.load_records(connection)
    found[_JOBS] = sql_jobs.load_jobs(connection, under_way=not all_runs)
    for name, rows in found.items():
        columns = _COLUMNS[name]
        shown = {c: pa.array([r[i] for r in rows], pa.string()) for i, c in enumerate(columns)}
        local.show_arrow(_SHOWN, pa.table(shown))
        local.text(_FILL[name])
        local.hide(_SHOWN)
    return found


def keep(local: DuckDBSession, connection: CatalogConnection, before: dict[str, _Rows]) -> None:
    """Write what has changed to the catalog, and empty the relations."""
    for name in _RELATIONS:
        rows = [list(row) for row in local.text(_READ[name])]
        if rows != before.get(name, []):
            rows_of.put_records(connection, name, rows)
        local.text(_CLEAR[name])
    place, state = (duckdb_maintenance.JOB.index(name) for name in ("id", "state"))
    for row in (list(row) for row in local.text(_READ[_JOBS])):
        if row not in before[_JOBS]:
            sql_jobs.put_job(connection, row[place], row[state], row)
    local.text(_CLEAR[_JOBS])


def fence_in(local: DuckDBSession, connection: CatalogConnection) -> SuppressionList:
    """What may not be written, as the catalog says; ``local`` is a session to read it in."""
    local.begin()
    try:
        load(local, connection)
        return load_fence(local)
    finally:
        local.rollback()
