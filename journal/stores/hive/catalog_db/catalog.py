"""The catalog of journals whose store has no transactions: tables in a database beside it.

``palimpsest_state`` has one row that every commit replaces: who reads it knows at once whether
anything has changed. Here are rows; when they are read and written is decided above.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from journal.model.catalog import change_from_json, change_to_json
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import CatalogChange
from journal.model.segment import Manifest, RowCounts
from journal.model.version import Version
from journal.records.catalog_format import JournalRow, StateRow, check_format
from journal.stores.hive.catalog_db.engine import CatalogDatabase
from journal.transactions.transaction_rows import TransactionRow

FORMAT = "1"
_ADD_FENCE = "ALTER TABLE palimpsest_state ADD COLUMN fence BIGINT NOT NULL DEFAULT 0"
_STATE_NOW = "SELECT generation, version, settled, catalog, fence FROM palimpsest_state"
_SECRET, _SECRET_BYTES = "secret", 32
_META = sa.MetaData()
_big = sa.BigInteger


def define(name: str, *columns: sa.Column[Any]) -> sa.Table:
    """A table of the catalog's."""
    return sa.Table(f"palimpsest_{name}", _META, *columns)


def primary(name: str, kind: Any) -> sa.Column[Any]:
    """A column of its primary key."""
    return sa.Column(name, kind, primary_key=True, autoincrement=False)


META = define("meta", primary("name", sa.String(64)), sa.Column("value", sa.Text))
STATE = define(
    "state",
    sa.Column("generation", _big, nullable=False),
    sa.Column("version", _big, nullable=False),
    sa.Column("settled", _big, nullable=False),
    sa.Column("catalog", _big, nullable=False),
    sa.Column("fence", _big, nullable=False, server_default="0"),
)
LOG = define(
    "log", primary("version", _big), primary("ordinal", sa.Integer), sa.Column("change", sa.Text)
)
JOURNALS = define(
    "journals",
    primary("table_id", _big),
    sa.Column("changed", _big, nullable=False, index=True),
    sa.Column("manifest", sa.Text, nullable=False),
    sa.Column("last_version", _big, nullable=False),
)
COUNTERS = define(
    "counters", primary("table_id", _big), primary("name", sa.String(512)), sa.Column("value", _big)
)
TRANSACTIONS = define(
    "transactions",
    primary("version", _big),
    sa.Column("first_version", _big, nullable=False),
    sa.Column("user_name", sa.Text),
    sa.Column("application", sa.Text),
    sa.Column("statements", sa.Integer),
    sa.Column("statement_digest", sa.Text),
    sa.Column("message", sa.Text),
    sa.Column("tables", sa.Text),
    sa.Column("rows_written", _big),
)
CLAIMS = define(
    "claims", primary("version", _big), primary("table_id", _big), sa.Column("claims", sa.Text)
)
LEASES = define(
    "leases",
    primary("name", sa.String(64)),
    sa.Column("holder", sa.String(64)),
    sa.Column("token", _big, nullable=False),
    sa.Column("expires_us", _big, nullable=False),
)
RECORDS = define(
    "records", primary("relation", sa.String(32)), primary("place", _big), sa.Column("row", sa.Text)
)
SHOWN = define(
    "shown", primary("name", sa.String(512)), sa.Column("stands_for", sa.Text, nullable=False)
)


def open_catalog(connection: Connection, store_id: str) -> str:
    """Make the tables of a new catalog, or check those of one that is there; the store's id."""
    found: str | None = None
    if sa.inspect(connection).has_table(META.name):
        rows = connection.execute(sa.select(META.c.value).where(META.c.name == "format"))
        check_format([tuple(r) for r in rows], FORMAT, "the catalog")
        found = connection.scalar(sa.select(META.c.value).where(META.c.name == "id"))
    # A catalog made by an earlier version lacks what came since.
    _META.create_all(connection)
    if all(c["name"] != "fence" for c in sa.inspect(connection).get_columns(STATE.name)):
        connection.execute(sa.DDL(_ADD_FENCE))  # type: ignore[no-untyped-call]
    if found is None:
        found = store_id
        values = [{"name": "format", "value": FORMAT}, {"name": "id", "value": found}]
        connection.execute(sa.insert(META), values)
        first = {"generation": 1, "version": 0, "settled": 0, "catalog": 0}
        connection.execute(sa.insert(STATE).values(first))
        ids = {"table_id": 0, "name": "table_ids", "value": 1}
        connection.execute(sa.insert(COUNTERS).values(ids))
    return found


def state_now(catalog: CatalogDatabase) -> StateRow | None:
    """The state, read the shortest way; None where ``state_row`` must tell what is wrong."""
    found = catalog.glance(_STATE_NOW)
    return None if found is None else StateRow(*found)


def state_row(connection: Connection) -> StateRow:
    """The state that the connection's transaction sees."""
    found = connection.execute(sa.select(STATE)).all()
    if len(found) != 1:
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            "the catalog is damaged: palimpsest_state must hold one row",
            advice="restore the catalog's database from a backup",
        )
    return StateRow(*found[0])


def load_changes(session: Connection, after: Version) -> list[tuple[Version, CatalogChange]]:
    """Catalog changes made after a version, in order."""
    wanted = sa.select(LOG.c.version, LOG.c.change).where(LOG.c.version > after)
    rows = session.execute(wanted.order_by(LOG.c.version, LOG.c.ordinal))
    return [(version, change_from_json(json.loads(text))) for version, text in rows]


def add_changes(connection: Connection, changes: Iterable[tuple[Version, CatalogChange]]) -> None:
    """Append catalog changes to the log."""
    rows = [
        {"version": version, "ordinal": i, "change": json.dumps(change_to_json(change))}
        for i, (version, change) in enumerate(changes)
    ]
    if rows:
        connection.execute(sa.insert(LOG), rows)


def load_journals(session: Connection, after: int) -> list[JournalRow]:
    """The journals that changed after a generation of the state."""
    columns = (JOURNALS.c.table_id, JOURNALS.c.manifest, JOURNALS.c.last_version)
    rows = session.execute(sa.select(*columns).where(JOURNALS.c.changed > after))
    return [JournalRow(i, Manifest.from_json(json.loads(m)), v, RowCounts()) for i, m, v in rows]


def put_journal(connection: Connection, row: JournalRow, generation: int) -> None:
    """Say what is true of a journal from a generation of the state on."""
    values = {
        "changed": generation,
        "manifest": json.dumps(row.manifest.to_json()),
        "last_version": row.last_version,
    }
    _put(connection, JOURNALS, {"table_id": row.table_id}, values)


def put_state(connection: Connection, row: StateRow) -> None:
    """Replace the state."""
    values = {
        "generation": row.generation,
        "version": row.version,
        "settled": row.settled,
        "catalog": row.catalog,
        "fence": row.fence,
    }
    connection.execute(sa.update(STATE).values(values))


def settle(connection: Connection, version: Version) -> None:
    """Note that a question about the past up to ``version`` was answered."""
    below = STATE.c.settled < version
    connection.execute(sa.update(STATE).where(below).values(settled=version))


def reserve(connection: Connection, table_id: int, column: str, size: int, start: int) -> int:
    """Take ``size`` (signed by the increment) off a counter; the first number taken."""
    where = (COUNTERS.c.table_id == table_id) & (COUNTERS.c.name == column)
    value = connection.scalar(sa.select(COUNTERS.c.value).where(where))
    first = start if value is None else int(value)
    _put(connection, COUNTERS, {"table_id": table_id, "name": column}, {"value": first + size})
    return first


def skip_past(
    connection: Connection, table_id: int, column: str, value: int, increment: int
) -> None:
    """Make sure a number given explicitly is not generated later."""
    where = (COUNTERS.c.table_id == table_id) & (COUNTERS.c.name == column)
    known = connection.scalar(sa.select(COUNTERS.c.value).where(where))
    if known is None or (value + increment - int(known)) * increment > 0:
        key = {"table_id": table_id, "name": column}
        _put(connection, COUNTERS, key, {"value": value + increment})


def add_transaction(connection: Connection, row: TransactionRow) -> None:
    """Record a commit."""
    values = {
        "version": row.version,
        "first_version": row.first_version,
        "user_name": row.user,
        "application": row.application,
        "statements": row.statements,
        "statement_digest": row.digest,
        "message": row.message,
        "tables": json.dumps(row.tables),
        "rows_written": row.rows,
    }
    connection.execute(sa.insert(TRANSACTIONS).values(values))


def load_transactions(connection: Connection, after: Version) -> list[TransactionRow]:
    """The commits after a version, in order."""
    wanted = sa.select(TRANSACTIONS).where(TRANSACTIONS.c.version > after)
    rows = connection.execute(wanted.order_by(TRANSACTIONS.c.version))
    return [
        TransactionRow(
            version=r.version,
            first_version=r.first_version,
            user=r.user_name,
            application=r.application,
            statements=r.statements,
            digest=r.statement_digest,
            message=r.message,
            tables=tuple(json.loads(r.tables)),
            rows=r.rows_written,
        )
        for r in rows
    ]


def was_committed(connection: Connection, version: Version) -> bool:
    """Whether a commit of that version is durable."""
    where = TRANSACTIONS.c.version == version
    return connection.scalar(sa.select(sa.func.count()).where(where)) == 1


def add_claims(connection: Connection, version: Version, claims: dict[int, str | None]) -> None:
    """Note which keys a commit has written, by table; None where they are too many to list."""
    rows = [{"version": version, "table_id": i, "claims": text} for i, text in claims.items()]
    if rows:
        connection.execute(sa.insert(CLAIMS), rows)


def load_claims(connection: Connection, table_id: int, after: Version) -> list[str | None]:
    """What commits after a version have written to a table."""
    where = (CLAIMS.c.table_id == table_id) & (CLAIMS.c.version > after)
    return list(connection.scalars(sa.select(CLAIMS.c.claims).where(where)))


def forget_claims(connection: Connection, before: Version) -> None:
    """Forget which keys were written before a version; later conflicts are looked up in rows."""
    connection.execute(sa.delete(CLAIMS).where(CLAIMS.c.version < before))


def forget_claims_of(connection: Connection, table_id: int) -> None:
    """Forget which keys were written to a table; the epoch of its manifest tells who is late."""
    connection.execute(sa.delete(CLAIMS).where(CLAIMS.c.table_id == table_id))


def load_records(connection: Connection) -> dict[str, list[list[str | None]]]:
    """What upkeep keeps on record: rows of text by relation."""
    found: dict[str, list[list[str | None]]] = {}
    wanted = sa.select(RECORDS).order_by(RECORDS.c.relation, RECORDS.c.place)
    for row in connection.execute(wanted):
        found.setdefault(row.relation, []).append(json.loads(row.row))
    return found


def put_records(
    connection: Connection, relation: str, rows: Sequence[Sequence[str | None]]
) -> None:
    """Replace the records of a relation."""
    connection.execute(sa.delete(RECORDS).where(RECORDS.c.relation == relation))
    values = [
        {"relation": relation, "place": i, "row": json.dumps(row)} for i, row in enumerate(rows)
    ]
    if values:
        connection.execute(sa.insert(RECORDS), values)


def secret(connection: Connection) -> str:
    """What keyed hashes are made with: as old as the catalog, or made now where it has none."""
    found = connection.scalar(sa.select(META.c.value).where(META.c.name == _SECRET))
    if found is None:
        found = os.urandom(_SECRET_BYTES).hex()
        connection.execute(sa.insert(META).values(name=_SECRET, value=found))
    return str(found)


def load_shown(connection: Connection) -> dict[str, str]:
    """What the store's views stand for, by name."""
    return {row.name: row.stands_for for row in connection.execute(sa.select(SHOWN))}


def put_shown(connection: Connection, name: str, stands_for: str | None) -> None:
    """Note what a view stands for now; None: it is gone."""
    if stands_for is None:
        connection.execute(sa.delete(SHOWN).where(SHOWN.c.name == name))
    else:
        _put(connection, SHOWN, {"name": name}, {"stands_for": stands_for})


def take_lease(
    connection: Connection, name: str, holder: str, now_us: int, until_us: int
) -> int | None:
    """Take a lease that is free or has ended: its new fencing token; None while it is another's."""
    found = connection.execute(sa.select(LEASES).where(LEASES.c.name == name)).first()
    if found is not None and found.holder is not None and found.expires_us > now_us:
        return None
    token = 1 if found is None else int(found.token) + 1
    values = {"holder": holder, "token": token, "expires_us": until_us}
    _put(connection, LEASES, {"name": name}, values)
    return token


def is_held_by_another(connection: Connection, name: str, holder: str, now_us: int) -> bool:
    """True while somebody else holds a lease."""
    found = connection.execute(sa.select(LEASES).where(LEASES.c.name == name)).first()
    if found is None or found.holder in {None, holder}:
        return False
    return bool(found.expires_us > now_us)


def renew_leases(connection: Connection, held: Sequence[tuple[str, int]], until_us: int) -> bool:
    """Let leases last longer; False if one of them is no longer held under its token."""
    for name, token in held:
        mine = (LEASES.c.name == name) & (LEASES.c.token == token) & LEASES.c.holder.is_not(None)
        if (
            connection.execute(sa.update(LEASES).where(mine).values(expires_us=until_us)).rowcount
            != 1
        ):
            return False
    return True


def release_lease(connection: Connection, name: str, token: int, *, forget: bool = False) -> None:
    """Give a lease back, if it is still held under that token; ``forget`` that there was one."""
    mine = (LEASES.c.name == name) & (LEASES.c.token == token)
    freed = sa.delete(LEASES) if forget else sa.update(LEASES).values(holder=None)
    connection.execute(freed.where(mine))


def _put(
    connection: Connection, table: sa.Table, key: dict[str, object], values: dict[str, object]
) -> None:
    where = sa.and_(*[table.c[name] == value for name, value in key.items()])
    if connection.execute(sa.update(table).where(where).values(values)).rowcount == 0:
        connection.execute(sa.insert(table).values({**key, **values}))
