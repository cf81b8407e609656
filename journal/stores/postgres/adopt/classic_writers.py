"""How a commit reacts to classic tools that write to adopted journals.

    keep out   nobody else writes to the journal from before the rows are read until COMMIT
    pass by    the commit's version lies above every version of the keys that it writes

A version far ahead of the clock is not passed: it would carry every later one away with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.schema import Relation, Table
from journal.model.store_session import Parameters
from journal.model.version import HybridClock, Version
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import flat
from journal.stores.postgres.adopt import stale_writes
from journal.stores.postgres.store import PostgresSession


def keep_out(session: PostgresSession, relations: Iterable[Relation | None]) -> list[Table]:
    """Lock the adopted journals among these relations against all others; they are returned.

    In the order given, which is that of their ids wherever several are locked. Raises JOB_BUSY.
    """
    tables = [r for r in relations if isinstance(r, Table) and is_flat(r)]
    for table in tables:
        stale_writes.lock_journal(session, table)
    return tables


def pass_buffered(
    session: PostgresSession, table: Table, clock: HybridClock, above: Version | None, rows: str
) -> None:
    """Have the clock pass ``above``, the highest version of a key of relation ``rows``.

    Raises VERSION_AHEAD.
    """
    pass_by(session, table, clock, above, _all_of(rows), {})


@lru_cache(maxsize=256)
def _all_of(rows: str) -> Query:
    """All rows of a relation, parsed once."""
    return Query(exp.select("*").from_(rows), ())


def pass_by(
    session: PostgresSession,
    table: Table,
    clock: HybridClock,
    above: Version | None,
    rows: Query,
    parameters: Parameters,
) -> None:
    """Have the clock pass ``above``, the highest version of a key of ``rows``, if there is one.

    Raises VERSION_AHEAD.
    """
    if above is None or clock.pass_by(above):
        return
    key, version = flat.key_above(session, table, rows, parameters)
    raise PalimpsestError(
        Code.VERSION_AHEAD,
        f"key {key} of {table.name} has version {version} in {table.journal_name}, which lies more"
        f" than {clock.skew_max_us // 1_000_000} s ahead of the clock: a row written now would not"
        " be seen",
        advice="correct that version with the tool that wrote it, set clock_skew_max in the URL to"
        " more seconds, or wait until the clock has passed it; palimpsest verify lists such keys",
    )


def told_at_adoption(session: PostgresSession, table: Table, clock: HybridClock) -> list[str]:
    """What happens from now on to rows that classic tools write, for those who run them."""
    steps = []
    if stale_writes.is_refused(session, table):
        steps.append(
            "a trigger refuses rows that others write at or below their key's latest version"
            " (SQLSTATE 40001: run the statement again)"
        )
    else:
        steps.append("rows that others write at or below their key's latest version have no effect")
    steps.append(
        "others that read a row in one statement and write it in a later one, or in a REPEATABLE"
        " READ transaction, can undo changes that come in between"
    )
    steps.append(
        "UNIQUE, CHECK and NOT NULL that are added here bind the gateways alone: others write past"
        " them, which palimpsest verify and eject --dry-run find"
    )
    ahead = flat.number_ahead(session, table, clock.latest_passed)
    if ahead:
        steps.append(
            f"versions of {ahead} of its rows lie more than {clock.skew_max_us // 1_000_000} s"
            " ahead of the clock: their keys cannot be changed until it has passed them (PAL-528)"
        )
    return steps
