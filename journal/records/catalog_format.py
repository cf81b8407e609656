"""The format of a store's records: made, brought from an older one to this one, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA
from journal.model.segment import Manifest, RowCounts
from journal.model.store_session import RecordDialect, RecordSession
from journal.model.version import Version
from journal.records.record_types import RecordTable
from journal.records.schema import FORMAT, META
from journal.records.statements import (
    add_column,
    by,
    columns_of,
    create,
    delete,
    execute,
    insert,
    select,
)

OLDEST_SERVER = 120_000
"""The oldest PostgreSQL that keeps a catalog, as its server numbers versions."""
_KEY = "format"
_MEMBER = select(META, ["value"], by("key"))
_ADD, _REMOVE = insert(META), delete(META, by("key"))


def stored_format() -> exp.Subquery:
    """The format, as a value for statements that check it in passing."""
    query = exp.select(exp.column("value")).from_(exp.table_(META.name, db=STORE_SCHEMA))
    is_format = exp.EQ(this=exp.column("key"), expression=exp.Literal.string(_KEY))
    return query.where(is_format).subquery(copy=False)


@dataclass(frozen=True, slots=True)
class StateRow:
    """The one row of ``state``; ``catalog`` is the version of the last change of definitions.

    ``fence`` is the generation that last changed what may not be written.
    """

    generation: int
    version: Version
    settled: Version
    catalog: Version
    fence: int = 0


@dataclass(frozen=True, slots=True)
class JournalRow:
    """What the catalog says of one journal."""

    table_id: int
    manifest: Manifest
    last_version: Version
    counts: RowCounts


def make_tables(session: RecordSession, tables: Iterable[RecordTable]) -> None:
    """Make those tables that are not there, where the caller has made the schema."""
    keyed = session.dialect is not RecordDialect.DUCKDB
    for table in tables:
        for statement in create(table, keyed=keyed):
            execute(session, statement)


def put_format(session: RecordSession) -> None:
    """Note that a store has this format."""
    put_meta(session, _KEY, str(FORMAT))


def bring_up(
    session: RecordSession,
    tables: Iterable[RecordTable],
    what: str,
    oldest: int,
    change: Callable[[int], object],
) -> bool:
    """Bring the records of a store from an older format to this one, in the session's transaction.

    False where they have this one.

    Tables and columns that later formats brought are made, after the store's own ``change``, which
    is given the format that was found. Raises WAREHOUSE_FORMAT for a format that is newer, or older
    than ``oldest``.
    """
    found = get_meta(session, _KEY)
    if found is None or not found.isdigit() or not oldest <= int(found) < FORMAT:
        check_format(found, what)
        return False
    change(int(found))
    known = columns_of(session)
    for table in tables:
        if table.name not in known:
            if table.since > int(found):
                make_tables(session, [table])
            continue
        for column in table.columns:
            if column.since > int(found) and column.name not in known[table.name]:
                execute(session, add_column(table, column))
    put_format(session)
    return True


def check_format(found: str | None, what: str) -> None:
    """Raise WAREHOUSE_FORMAT unless ``what`` was found to have this format."""
    if found == str(FORMAT):
        return
    shown = found or "none"
    is_newer = shown.isdigit() and int(shown) > FORMAT
    raise PalimpsestError(
        Code.WAREHOUSE_FORMAT,
        f"{what} has format {shown}{', of a newer version' if is_newer else ''}; this version"
        f" reads format {FORMAT}",
        advice="upgrade palimpsest" if is_newer else "open it with the version that wrote it",
    )


def put_meta(session: RecordSession, key: str, value: str) -> None:
    """Set one of the store's own properties."""
    execute(session, _REMOVE, [key])
    execute(session, _ADD, [key, value])


def get_meta(session: RecordSession, key: str) -> str | None:
    """One of the store's own properties."""
    rows = execute(session, _MEMBER, [key])
    return rows[0][0] if rows else None
