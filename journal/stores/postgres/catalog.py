"""The catalog of a PostgreSQL store: made, brought to this format, and what only it can do.

Everything else about its rows is in ``journal.records``. Runs inside a given transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from journal.model.errors import Code, PalimpsestError
from journal.model.segment import RowCounts
from journal.model.store_session import RecordDialect
from journal.records import catalog_format
from journal.records.catalog import (
    PUT_STATE,
    STATE_NOW,
    add_transactions,
    create_catalog,
    make_secret,
    put_state,
    state_row,
    state_values,
)
from journal.records.catalog_format import StateRow, put_meta
from journal.records.schema import (
    FORMAT,
    META,
    OF_DATABASE,
    RETIRED,
    STATE,
    SUPPRESSIONS,
    TRANSACTIONS,
)
from journal.records.statements import columns_of, execute, insert, rename_column, text_of
from journal.stores.postgres.adopt.guards import guard_all
from journal.stores.postgres.arrow import array_text
from journal.stores.postgres.dialect.server_functions import statements
from journal.stores.postgres.pipeline_cursor import FirstRow
from journal.stores.postgres.privileges import PROTECT_ALL
from journal.stores.postgres.store import PostgresSession
from journal.transactions.transaction_rows import TransactionRow

WHAT = "the database's catalog"
LOCK = 5283_1905_7734
"""The advisory lock that commit sections of one database take turns by."""
TAKE_LOCK = f"SELECT pg_advisory_xact_lock({LOCK})"
READ_STATE = text_of(STATE_NOW, RecordDialect.POSTGRES)
_GROW = (
    "UPDATE _palimpsest.journals AS j SET changed = ?, last_version = ?,"
    " open_rows = j.open_rows + a.open_rows, closing_rows = j.closing_rows + a.closing_rows,"
    " tombstones = j.tombstones + a.tombstones"
    " FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[])"
    " AS a (table_id, open_rows, closing_rows, tombstones) WHERE j.table_id = a.table_id"
)
_ADD_ONE = text_of(insert(TRANSACTIONS), RecordDialect.POSTGRES)
_PUT_STATE = text_of(PUT_STATE, RecordDialect.POSTGRES)
_RECORD_DIRECT = f"WITH grown AS ({_GROW}), recorded AS ({_ADD_ONE}) {_PUT_STATE}"
_EVERYWHERE = (META, STATE, SUPPRESSIONS)
"""Tables that every segment of a distributing server has whole: statements and fences read them."""
_EARLY = (
    "SELECT to_regnamespace('main') IS NULL AND EXISTS (SELECT 1 FROM _palimpsest.catalog_log"
    """ WHERE change LIKE '%"schema": "main"%')"""
)
_NUMBER_TYPE = (
    "ALTER TABLE _palimpsest.retired ALTER COLUMN replaced_by TYPE bigint"
    " USING replaced_by::text::bigint"
)


def exists(session: PostgresSession) -> bool:
    """True when the database holds journals, brought to this format if their catalog is older.

    The caller has the lock. Raises WAREHOUSE_FORMAT for a format that this version does not know.
    """
    if session.text("SELECT to_regclass('_palimpsest.meta')") == [(None,)]:
        return False
    _use_heap(session)
    if catalog_format.bring_up(session, OF_DATABASE, WHAT, 1, lambda _: _prepare(session)):
        _complete(session)
        if session.abilities.has_view_triggers:
            session.text(PROTECT_ALL)
        guard_all(session)
    return True


def create(session: PostgresSession, store_id: str) -> None:
    """Make the catalog of a new store."""
    session.text("CREATE SCHEMA IF NOT EXISTS _palimpsest")
    session.text("CREATE SEQUENCE IF NOT EXISTS _palimpsest.table_ids AS bigint")
    _use_heap(session)
    _make_functions(session)
    create_catalog(session, OF_DATABASE)
    put_meta(session, "id", store_id)
    _complete(session)


def _use_heap(session: PostgresSession) -> None:
    """Rows of the catalog are updated and have keys, whatever tables are by default."""
    if session.abilities.distributes:
        session.text("SET LOCAL default_table_access_method = heap")


def _make_functions(session: PostgresSession) -> None:
    for statement in statements():
        session.text(statement)


def _complete(session: PostgresSession) -> None:
    """Give a catalog whose tables are there its secret, and each server the tables it needs."""
    make_secret(session)
    if session.abilities.distributes:
        for table in _EVERYWHERE:
            session.text(f"ALTER TABLE _palimpsest.{table.name} SET DISTRIBUTED REPLICATED")


def _prepare(session: PostgresSession) -> None:
    """Change what stands in an older catalog under other names; make functions anew.

    Raises WAREHOUSE_FORMAT for one whose default schema had a name that no schema of the database
    has: its views would be left behind.
    """
    if session.text(_EARLY) == [(True,)]:
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            "the catalog is of a time when the database's schema public was called main",
            advice="eject its tables with the version that wrote it, and adopt them with this one",
        )
    _make_functions(session)
    if "name" in columns_of(session).get(RETIRED.name, ()):
        execute(session, rename_column(RETIRED, "name", "id"))
        execute(session, rename_column(RETIRED, "epoch", "generation"))
        session.text(_NUMBER_TYPE)


def state_of(rows: Iterable[tuple[Any, ...]]) -> StateRow:
    """The state a query of ``READ_STATE`` has found; raises WAREHOUSE_FORMAT for another format."""
    return state_row(list(rows), WHAT)


@lru_cache(maxsize=8)
def text_of_state(row: StateRow) -> FirstRow:
    """What the server answers to ``READ_STATE`` where the state is that, in our format."""
    return tuple(str(value).encode() for value in (*state_values(row), FORMAT))


def record_inline(
    session: PostgresSession,
    added: Mapping[int, RowCounts],
    transaction: TransactionRow,
    state: StateRow,
) -> None:
    """Record a commit that left manifests as they are: journals, transaction, state.

    ``added`` are the rows it has appended, by table. One trip where the server takes it so.
    """
    counts = list(added.values())
    numbers = list(added), [c.open for c in counts], [c.closing for c in counts]
    # As text, for which the client library need not look at each number to find a type.
    listed = map(array_text, (*numbers, [c.tombstone for c in counts]))
    grown = [state.generation, state.version, *listed]
    if session.abilities.writes_several_at_once:
        values = [*grown, *transaction.values, *state_values(state)]
        session.text(_RECORD_DIRECT, values, often=True)
        return
    session.text(_GROW, grown)
    add_transactions(session, [transaction])
    put_state(session, state)


def new_table_id(session: PostgresSession) -> int:
    """An id no table and no layout of a table has had."""
    return int(session.text("SELECT nextval('_palimpsest.table_ids')")[0][0])


def pass_table_ids(session: PostgresSession, highest: int) -> None:
    """Give no id up to one that somebody else has given."""
    session.text(
        "SELECT max(nextval('_palimpsest.table_ids')) FROM generate_series(1, ?::bigint"
        " - (SELECT last_value FROM _palimpsest.table_ids))",
        [highest],
    )


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


def change_number(
    session: PostgresSession, table_id: int, column: str, start: int, change: Callable[[int], int]
) -> None:
    """Put in the place of a counter's next number what is made of it."""
    following = change(reserve(session, table_id, column, 0, start))
    session.text(
        "UPDATE _palimpsest.counters SET value = ?::numeric WHERE table_id = ? AND column_name = ?",
        [following, table_id, column],
    )
