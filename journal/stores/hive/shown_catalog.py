"""The catalog of a Hive store as relations of a local session, for statements that name them.

Filled inside the transaction of the session that is given, which forgets them again.
"""

from __future__ import annotations

import pyarrow as pa

from journal.local_engine.database_file import DuckDBStore
from journal.local_engine.session import DuckDBSession
from journal.model.plan import STORE_SCHEMA
from journal.model.version import Version
from journal.stores.hive import records
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db.engine import CatalogDatabase

_SHOWN = "palimpsest_transactions"
_FILL = f"INSERT INTO _palimpsest.transactions SELECT * FROM {_SHOWN}"  # noqa: S608


def make(local: DuckDBStore) -> None:
    """The relations that statements may name."""
    session = local.acquire()
    session.text(f"CREATE SCHEMA {STORE_SCHEMA}")
    session.text(
        f"CREATE TABLE {STORE_SCHEMA}.transactions (version BIGINT, first_version BIGINT,"
        " committed_at TIMESTAMPTZ, user_name VARCHAR, application VARCHAR,"
        " statements INTEGER, statement_digest VARCHAR, message VARCHAR, tables VARCHAR[],"
        " rows_written BIGINT)"
    )
    records.ensure(session)
    local.release(session)


def show(catalog: CatalogDatabase, local: DuckDBSession, until: Version) -> None:
    """Fill them with what the catalog says; of commits those up to a version."""
    with catalog.reading() as connection:
        found = rows_of.load_transactions(connection, 0)
        records.load(local, connection, all_runs=True)
    rows = [r for r in found if r.version <= until]
    shown = pa.table(
        {
            "version": pa.array([r.version for r in rows], pa.int64()),
            "first_version": pa.array([r.first_version for r in rows], pa.int64()),
            "committed_at": pa.array([r.version for r in rows], pa.timestamp("us", "UTC")),
            "user_name": pa.array([r.user for r in rows], pa.string()),
            "application": pa.array([r.application for r in rows], pa.string()),
            "statements": pa.array([r.statements for r in rows], pa.int32()),
            "statement_digest": pa.array([r.digest for r in rows], pa.string()),
            "message": pa.array([r.message for r in rows], pa.string()),
            "tables": pa.array([list(r.tables) for r in rows], pa.list_(pa.string())),
            "rows_written": pa.array([r.rows for r in rows], pa.int64()),
        }
    )
    local.show_arrow(_SHOWN, shown)
    local.text(_FILL)
