"""The catalog tables of a PostgreSQL store: made, read and written inside a given transaction.

All SQL here is constant text over schema ``_palimpsest``; values are parameters. ``state`` has one
row that every commit replaces: who reads it knows at once whether anything has changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from journal.model.catalog import change_from_json, change_to_json
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import CatalogChange
from journal.model.segment import Manifest, RowCounts
from journal.model.version import Version
from journal.records import catalog_format, erasure_rows
from journal.records.catalog_format import (
    JournalRow,
    StateRow,
    check_format,
    get_meta,
    put_meta,
)
from journal.stores.postgres.guards import guard_all
from journal.stores.postgres.overloads import OVERLOADS
from journal.stores.postgres.privileges import PROTECT_ALL
from journal.stores.postgres.routines import FUNCTIONS
from journal.stores.postgres.store import PostgresSession
from journal.transactions.transaction_rows import TransactionRow

FORMAT = "7"
_OLDER = ("1", "2", "3", "4", "5", "6")
"""Formats that lack tables, functions, columns and triggers, and differ in nothing else."""
_SECRET = "secret"
_SECRET_BYTES = 32
LOCK = 5283_1905_7734
"""The advisory lock that commit sections of one database take turns by."""
TAKE_LOCK = f"SELECT pg_advisory_xact_lock({LOCK})"
STATE = (
    "SELECT generation, version, settled, catalog, fence,"
    " (SELECT value FROM _palimpsest.meta WHERE key = 'format') FROM _palimpsest.state"
)
"""With the format, so that no statement goes on in a catalog that another version has upgraded."""
_ADD_TRANSACTION = "INSERT INTO _palimpsest.transactions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PUT_STATE = (
    "UPDATE _palimpsest.state SET generation = ?, version = ?, settled = ?, catalog = ?, fence = ?"
)
_GROW = (
    "UPDATE _palimpsest.journals AS j SET changed = ?, last_version = ?,"
    " open_rows = j.open_rows + a.open_rows, closing_rows = j.closing_rows + a.closing_rows,"
    " tombstones = j.tombstones + a.tombstones"
    " FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[])"
    " AS a (table_id, open_rows, closing_rows, tombstones) WHERE j.table_id = a.table_id"
)
_RECORD_DIRECT = f"WITH grown AS ({_GROW}), recorded AS ({_ADD_TRANSACTION}) {_PUT_STATE}"
_EVERYWHERE = ("meta", "state", "suppressions")
"""Tables that every segment of a distributing server has whole: statements and fences read them."""
_EARLY = (
    "SELECT to_regnamespace('main') IS NULL AND EXISTS (SELECT 1 FROM _palimpsest.catalog_log"
    """ WHERE change LIKE '%"schema": "main"%')"""
)
_TABLES = (
    "CREATE SCHEMA IF NOT EXISTS _palimpsest",
    "CREATE TABLE IF NOT EXISTS _palimpsest.meta (key text PRIMARY KEY, value text)",
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.state ("
        "generation bigint NOT NULL, version bigint NOT NULL,"
        " settled bigint NOT NULL, catalog bigint NOT NULL, fence bigint NOT NULL)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.catalog_log ("
        "version bigint, ordinal integer, change text,"
        " PRIMARY KEY (version, ordinal))"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.journals ("
        "table_id bigint PRIMARY KEY, changed bigint NOT NULL,"
        " manifest text NOT NULL, last_version bigint NOT NULL, open_rows bigint NOT NULL,"
        " closing_rows bigint NOT NULL, tombstones bigint NOT NULL)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.counters ("
        "table_id bigint, column_name text, value numeric,"
        " PRIMARY KEY (table_id, column_name))"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.transactions ("
        "version bigint PRIMARY KEY, first_version bigint,"
        " committed_at timestamptz, user_name text, application text, statements integer,"
        " statement_digest text, message text, tables text[], rows_written bigint)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.holds ("
        "id text, scope text, table_id bigint, predicate text,"
        " subject_column text, subject_value text, reason text, placed_by text,"
        " placed_at timestamptz, released_by text, released_at timestamptz)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.jobs ("
        "id text, kind text, table_id bigint, table_name text,"
        " state text, attempt integer, dry_run boolean, cause text, user_name text, options text,"
        " started_at timestamptz, ended_at timestamptz, rows_read bigint, rows_written bigint,"
        " rows_removed bigint, bytes_read bigint, bytes_written bigint, bytes_removed bigint,"
        ' error_code text, error text, report text, "log" text[])'
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.backups ("
        "name text, kind text, table_id bigint, table_name text,"
        " version bigint, rows bigint, bytes bigint, segments text, made_by text,"
        " made_at timestamptz, expires_at timestamptz)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.retired ("
        "name text PRIMARY KEY, table_id bigint, epoch bigint,"
        " since bigint, until bigint, bytes bigint, job_id text, job_kind text, replaced_by xid)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.epochs ("
        "table_id bigint, epoch bigint, began_at timestamptz,"
        " erased boolean NOT NULL, PRIMARY KEY (table_id, epoch))"
    ),
    "CREATE SEQUENCE IF NOT EXISTS _palimpsest.table_ids AS bigint",
)


def exists(session: PostgresSession) -> bool:
    """True when the database holds journals, brought to this format if their catalog is older.

    The caller has the lock. Raises WAREHOUSE_FORMAT for a format that this version does not know.
    """
    if session.text("SELECT to_regclass('_palimpsest.meta')") == [(None,)]:
        return False
    found = session.text(catalog_format.QUERY)
    if found in [[(older,)] for older in _OLDER]:
        _upgrade(session)
    else:
        check_format(found, FORMAT, "the database's catalog")
    return True


def create(session: PostgresSession, store_id: str) -> None:
    """Make the catalog tables of a new store."""
    _ensure(session)
    session.text("INSERT INTO _palimpsest.state VALUES (1, 0, 0, 0, 0)")
    secret = os.urandom(_SECRET_BYTES).hex()
    for key, value in (("format", FORMAT), ("id", store_id), (_SECRET, secret)):
        put_meta(session, key, value)


def _ensure(session: PostgresSession) -> None:
    """Make what is not there yet; rows stay as they are."""
    # Rows of the catalog are updated and have keys, whatever tables are by default.
    kind = " USING heap" if session.abilities.distributes else ""
    for statement in (*_TABLES, *FUNCTIONS, *OVERLOADS):
        session.text(statement + (kind if statement.startswith("CREATE TABLE") else ""))
    erasure_rows.ensure(session, kind)
    session.text("CREATE INDEX IF NOT EXISTS suppressions_hash ON _palimpsest.suppressions (hash)")
    if session.abilities.distributes:
        for name in _EVERYWHERE:
            session.text(f"ALTER TABLE _palimpsest.{name} SET DISTRIBUTED REPLICATED")


def _upgrade(session: PostgresSession) -> None:
    """Bring a catalog of an older format to this one, in the transaction that opens it.

    Raises WAREHOUSE_FORMAT for one whose default schema had a name that no schema of the database
    has: its views would be left behind.
    """
    if session.text(_EARLY) == [(True,)]:
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            "the catalog is of a time when the database's schema public was called main",
            advice="eject its tables with the version that wrote it, and adopt them with this one",
        )
    _ensure(session)
    session.text(
        "ALTER TABLE _palimpsest.state ADD COLUMN IF NOT EXISTS fence bigint NOT NULL DEFAULT 0"
    )
    if get_meta(session, _SECRET) is None:
        put_meta(session, _SECRET, os.urandom(_SECRET_BYTES).hex())
    if session.abilities.has_view_triggers:
        session.text(PROTECT_ALL)
    guard_all(session)
    put_meta(session, "format", FORMAT)


def secret(session: PostgresSession) -> str:
    """What the keyed hashes of a store are made with; raises WAREHOUSE_FORMAT if it is gone."""
    found = get_meta(session, _SECRET)
    if found is None:
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            "the secret in _palimpsest.meta is missing: what was erased cannot be told from what"
            " may be written",
            advice="restore schema _palimpsest from a backup",
        )
    return found


def state_row(rows: Iterable[tuple[Any, ...]]) -> StateRow:
    """The state a query of ``STATE`` has found; raises WAREHOUSE_FORMAT for another format."""
    found = list(rows)
    if len(found) != 1:
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            "the catalog of the store is damaged: _palimpsest.state must hold one row",
            advice="restore schema _palimpsest from a backup",
        )
    *numbers, format_now = found[0]
    check_format([(format_now,)], FORMAT, "the database's catalog")
    return StateRow(*numbers)


def load_changes(session: PostgresSession, after: Version) -> list[tuple[Version, CatalogChange]]:
    """Catalog changes made after a version, in order."""
    rows = session.text(
        "SELECT version, change FROM _palimpsest.catalog_log WHERE version > ?"
        " ORDER BY version, ordinal",
        [after],
    )
    return [(version, change_from_json(json.loads(text))) for version, text in rows]


def add_changes(session: PostgresSession, changes: Iterable[tuple[Version, CatalogChange]]) -> None:
    """Append catalog changes to the log."""
    for ordinal, (version, change) in enumerate(changes):
        text = json.dumps(change_to_json(change))
        session.text(
            "INSERT INTO _palimpsest.catalog_log VALUES (?, ?, ?)", [version, ordinal, text]
        )


def load_journals(session: PostgresSession, after: int) -> list[JournalRow]:
    """The journals that changed after a generation of the state."""
    rows = session.text(
        "SELECT table_id, manifest, last_version, open_rows, closing_rows, tombstones"
        " FROM _palimpsest.journals WHERE changed > ?",
        [after],
    )
    return [
        JournalRow(i, Manifest.from_json(json.loads(m)), v, RowCounts(o, c, t))
        for i, m, v, o, c, t in rows
    ]


def put_journal(session: PostgresSession, row: JournalRow, generation: int) -> None:
    """Say what is true of a journal from a generation of the state on."""
    counts = row.counts
    session.text(
        "INSERT INTO _palimpsest.journals VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (table_id) DO UPDATE SET changed = excluded.changed,"
        " manifest = excluded.manifest, last_version = excluded.last_version,"
        " open_rows = excluded.open_rows, closing_rows = excluded.closing_rows,"
        " tombstones = excluded.tombstones",
        [
            row.table_id,
            generation,
            json.dumps(row.manifest.to_json()),
            row.last_version,
            counts.open,
            counts.closing,
            counts.tombstone,
        ],
    )


def record_direct(
    session: PostgresSession,
    added: Mapping[int, RowCounts],
    transaction: TransactionRow,
    state: StateRow,
) -> None:
    """Record a commit that left manifests as they are: journals, transaction, state.

    ``added`` are the rows it has appended, by table. One trip where the server takes it so.
    """
    counts = list(added.values())
    grown: list[Any] = [state.generation, state.version, list(added)]
    grown += [[c.open for c in counts], [c.closing for c in counts], [c.tombstone for c in counts]]
    if session.abilities.writes_several_at_once:
        session.text(_RECORD_DIRECT, [*grown, *transaction.values, *_state_values(state)])
        return
    session.text(_GROW, grown)
    add_transaction(session, transaction)
    put_state(session, state)


def put_state(session: PostgresSession, row: StateRow) -> None:
    """Replace the state."""
    session.text(_PUT_STATE, _state_values(row))


def _state_values(row: StateRow) -> list[Any]:
    return [row.generation, row.version, row.settled, row.catalog, row.fence]


def settle(session: PostgresSession, version: Version) -> None:
    """Note that a question about the past up to ``version`` was answered."""
    session.text("UPDATE _palimpsest.state SET settled = greatest(settled, ?)", [version])


def new_table_id(session: PostgresSession) -> int:
    """An id no table and no layout of a table has had."""
    return int(session.text("SELECT nextval('_palimpsest.table_ids')")[0][0])


def reserve(session: PostgresSession, table_id: int, column: str, count: int, start: int) -> int:
    """Take ``count`` (signed by the increment) off a counter; the first number taken."""
    rows = session.text(
        "INSERT INTO _palimpsest.counters AS c VALUES (?, ?, ?::numeric + ?::numeric)"
        " ON CONFLICT (table_id, column_name) DO UPDATE SET value = c.value + ?::numeric"
        " RETURNING value - ?::numeric",
        [table_id, column, start, count, count, count],
    )
    return int(rows[0][0])


def skip_past(session: PostgresSession, table_id: int, column: str, value: int, step: int) -> None:
    """Make sure a number given explicitly is not generated later."""
    session.text(
        "INSERT INTO _palimpsest.counters AS c VALUES (?, ?, ?::numeric)"
        " ON CONFLICT (table_id, column_name) DO UPDATE SET value = excluded.value"
        " WHERE (excluded.value - c.value) * ?::numeric > 0",
        [table_id, column, value + step, step],
    )


def add_transaction(session: PostgresSession, row: TransactionRow) -> None:
    """Record a commit."""
    session.text(_ADD_TRANSACTION, row.values)


def was_committed(session: PostgresSession, version: Version) -> bool:
    """Whether a commit of that version is durable."""
    sql = "SELECT 1 FROM _palimpsest.transactions WHERE version = ?"
    return bool(session.text(sql, [version]))
