"""The catalog tables of the embedded store: made, read and written inside a given transaction.

All SQL here is constant text over schema ``_palimpsest``; values are parameters. The catalog log,
transactions and counters only grow; of manifests only the newest is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from journal.local_engine.session import DuckDBSession
from journal.model.catalog import change_from_json, change_to_json
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import CatalogChange
from journal.model.segment import Manifest
from journal.model.version import Version
from journal.records import catalog_format
from journal.records.catalog_format import check_format, put_meta
from journal.transactions.transaction_rows import TransactionRow

FORMAT = "1"
_TABLES = (
    "CREATE SCHEMA _palimpsest",
    "CREATE TABLE _palimpsest.meta (key VARCHAR, value VARCHAR)",
    "CREATE TABLE _palimpsest.catalog_log (version BIGINT, ordinal INTEGER, change VARCHAR)",
    "CREATE TABLE _palimpsest.manifests (table_id BIGINT, generation BIGINT, manifest VARCHAR)",
    "CREATE TABLE _palimpsest.counters (table_id BIGINT, column_name VARCHAR, value HUGEINT)",
    (
        "CREATE TABLE _palimpsest.transactions (version BIGINT, first_version BIGINT,"
        " committed_at TIMESTAMPTZ, user_name VARCHAR, application VARCHAR, statements INTEGER,"
        " statement_digest VARCHAR, message VARCHAR, tables VARCHAR[], rows_written BIGINT)"
    ),
)
_ADD_TRANSACTION = "INSERT INTO _palimpsest.transactions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_AND_ONE_MORE = ", (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


@contextmanager
def reading() -> Iterator[None]:
    """Turn whatever a damaged catalog leads to into the error that says so."""
    try:
        yield
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise _damaged(f"{type(error).__name__} {error}") from error
    except PalimpsestError as error:
        if error.code in {Code.UNKNOWN_TABLE, Code.UNKNOWN_COLUMN, Code.BIND, Code.STORE}:
            raise _damaged(error.message) from error
        raise


def _damaged(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.WAREHOUSE_FORMAT,
        f"the catalog of the warehouse is damaged: {what}",
        advice="restore the warehouse from a backup",
    )


def exists(session: DuckDBSession) -> bool:
    """True when the database holds a warehouse; refuses one of another format."""
    found = session.text(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = '_palimpsest'"
        " AND table_name = 'meta'"
    )
    if not found:
        return False
    check_format(session.text(catalog_format.QUERY), FORMAT, "the warehouse")
    return True


def create(session: DuckDBSession, warehouse_id: str) -> None:
    """Make the catalog tables of a new warehouse."""
    for statement in _TABLES:
        session.text(statement)
    put_meta(session, "format", FORMAT)
    put_meta(session, "id", warehouse_id)


def last_version(session: DuckDBSession) -> Version:
    """The highest version ever committed; 0 in a new warehouse."""
    rows = session.text(
        "SELECT greatest((SELECT coalesce(max(version), 0) FROM _palimpsest.transactions),"
        " (SELECT coalesce(max(version), 0) FROM _palimpsest.catalog_log))"
    )
    return int(rows[0][0])


def load_changes(session: DuckDBSession) -> list[tuple[Version, CatalogChange]]:
    """Every catalog change ever made, in order."""
    rows = session.text(
        "SELECT version, change FROM _palimpsest.catalog_log ORDER BY version, ordinal"
    )
    return [(version, change_from_json(json.loads(text))) for version, text in rows]


def add_changes(session: DuckDBSession, changes: Iterable[tuple[Version, CatalogChange]]) -> None:
    """Append catalog changes to the log."""
    for ordinal, (version, change) in enumerate(changes):
        text = json.dumps(change_to_json(change))
        session.text(
            "INSERT INTO _palimpsest.catalog_log VALUES (?, ?, ?)", [version, ordinal, text]
        )


def load_manifests(session: DuckDBSession) -> dict[int, Manifest]:
    """The live manifest of each journal."""
    rows = session.text("SELECT table_id, manifest FROM _palimpsest.manifests")
    return {table_id: Manifest.from_json(json.loads(text)) for table_id, text in rows}


def listed_paths(session: DuckDBSession) -> set[str]:
    """Every segment file that a live manifest lists."""
    manifests = load_manifests(session).values()
    return {f.path for m in manifests for s in m.segments for f in s.files}


def put_manifest(session: DuckDBSession, table_id: int, manifest: Manifest) -> None:
    """Replace the live manifest of a journal."""
    session.text("DELETE FROM _palimpsest.manifests WHERE table_id = ?", [table_id])
    session.text(
        "INSERT INTO _palimpsest.manifests VALUES (?, ?, ?)",
        [table_id, manifest.generation, json.dumps(manifest.to_json())],
    )


def load_counters(session: DuckDBSession) -> dict[tuple[int, str], int]:
    """The next value of each generated number."""
    rows = session.text(
        "SELECT table_id, column_name, max(value) FROM _palimpsest.counters GROUP BY ALL"
    )
    return {(table_id, name): int(value) for table_id, name, value in rows}


def add_counter(session: DuckDBSession, table_id: int, column_name: str, value: int) -> None:
    """Record that values below ``value`` may be in use."""
    session.text(
        "INSERT INTO _palimpsest.counters VALUES (?, ?, ?)", [table_id, column_name, value]
    )


def add_transactions(session: DuckDBSession, rows: Sequence[TransactionRow]) -> None:
    """Record commits."""
    values = [value for row in rows for value in row.values]
    session.text(_ADD_TRANSACTION + _AND_ONE_MORE * (len(rows) - 1), values)
