"""Keeps classic tools and the gateway from losing each other's rows in adopted journals.

    lock     a commit keeps other writers out while it reads, takes its version and appends
    trigger  a row of others at or below the version that its key has is refused with 40001

The lock lets a classic tool that changes a row in one statement read what the gateway has written.
Such a statement may have taken its version before it waited, and the row would never be seen: that
one the trigger refuses. Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table, TableName
from journal.sql.relations import column, ident
from journal.sql.relations_flat import REFUSE, STALE_WRITES
from journal.stores.postgres.adopt.guards import A_GATEWAY
from journal.stores.postgres.dialect.text import exact, rendered
from journal.stores.postgres.flat import journal_table, named_journal
from journal.stores.postgres.store import PostgresSession

TRIGGER = "palimpsest_stale_writes"
_NEW = "palimpsest_new"
_QUOTE = "$stale$"
_SETTING, _, _VALUE = A_GATEWAY.partition(", ")
_OF_OTHERS = f"current_setting({_SETTING}, true) IS DISTINCT FROM {_VALUE}"
"""A gateway looks at the versions of its rows itself, under the lock: ``versions_above``."""
_PATIENTLY = (
    "set_config('lock_timeout', CASE current_setting('lock_timeout') WHEN '0' THEN '2s'"
    " ELSE current_setting('lock_timeout') END, true)"
)
_PATIENCE = f"SELECT {_PATIENTLY}"
"""Two seconds, or what is set for the role: a commit that waits keeps every other one waiting."""


def lock_journal(session: PostgresSession, table: Table) -> None:
    """Let nobody else write to a flat journal until the session's transaction ends.

    Waits for those who have written to it and not yet ended; raises JOB_BUSY when that takes long.
    """
    try:
        session.text("; ".join(lock_statements(table.journal_name)))
    except PalimpsestError as error:
        if error.code is not Code.JOB_BUSY:
            raise
        raise PalimpsestError(
            Code.JOB_BUSY,
            f"another transaction has written to {table.journal_name} and is still open:"
            f" {error.message}",
            advice="nothing was changed; run it again when that transaction has ended"
            " (pg_stat_activity shows it), or set a longer lock_timeout for the role",
        ) from error


@lru_cache(maxsize=256)
def lock_statements(journal: TableName) -> tuple[str, ...]:
    """The statements by which nobody else writes to a flat journal, in their order."""
    place = rendered(named_journal(journal)).sql
    return (
        _PATIENCE,
        f"LOCK TABLE {place} IN SHARE ROW EXCLUSIVE MODE",
        "SET LOCAL lock_timeout TO DEFAULT",
    )


def lock_all(journals: Sequence[TableName], first: str, also: str = "") -> list[str]:
    """The same for several, in one trip, behind constant SQL ``first``, a SELECT of one row.

    ``also``: what that selects besides, once it has what it waits for.
    """
    if not journals:
        return [f"{first}{also}"]
    locks = [sql for journal in journals for sql in lock_statements(journal)[1:-1]]
    return [f"{first}{also}, {_PATIENTLY}", *locks, lock_statements(journals[0])[-1]]


def is_refused(session: PostgresSession, table: Table) -> bool:
    """True if rows of others that could never be seen are to be refused, and can be."""
    wanted = dict(table.properties).get(STALE_WRITES) == REFUSE
    return wanted and session.abilities.has_statement_triggers


def put_trigger(session: PostgresSession, table: Table) -> None:
    """Make the trigger of a flat journal as the table's property says, or take it away."""
    if not is_refused(session, table):
        drop_trigger(session, table)
        return
    place = rendered(journal_table(table)).sql
    session.text(_body(table))
    session.text(f"DROP TRIGGER IF EXISTS {TRIGGER} ON {place}")
    session.text(
        f"CREATE TRIGGER {TRIGGER} AFTER INSERT ON {place} REFERENCING NEW TABLE AS {_NEW}"
        f" FOR EACH STATEMENT WHEN ({_OF_OTHERS}) EXECUTE FUNCTION {_function(table)}()"
    )


def drop_trigger(session: PostgresSession, table: Table) -> None:
    """Take the trigger of a flat journal away, if it has one."""
    function = _function(table)
    if session.text("SELECT to_regproc(?)", [function]) != [(None,)]:
        session.text(f"DROP FUNCTION {function}() CASCADE")


def _function(table: Table) -> str:
    return f"{STORE_SCHEMA}.stale_{table.id}"


def _body(table: Table) -> str:
    """The function of the trigger; it reads the journal with the rights of who made it."""
    found = rendered(_stale(table)).sql
    assert _QUOTE not in found, "no value stands in a trigger"
    return (
        f"CREATE OR REPLACE FUNCTION {_function(table)}() RETURNS trigger LANGUAGE plpgsql"
        f" SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {_QUOTE}"
        f" DECLARE stale text; BEGIN stale := ({found}); IF stale IS NOT NULL THEN"
        " RAISE EXCEPTION 'could not serialize access: key % of % has this version or a later one"
        " already', stale, TG_RELID::regclass USING ERRCODE = '40001', HINT = 'nobody would see"
        " the row; run the statement again, with a version above that of the latest row'; END IF;"
        f" RETURN NULL; END {_QUOTE}"
    )


def _stale(table: Table) -> exp.Select:
    """A key whose latest rows are not those of the statement alone; NULL if there is none.

    By counts, which an index on key and version answers however many rows the statement has.
    """
    keys, start = table.key, table.format.version_column
    lowest = exp.alias_(exp.Min(this=exp.column(exact(start), "n")), ident("lowest"))
    number = exp.alias_(exp.Count(this=exp.Star()), ident("number"))
    new = exp.select(*[exp.column(exact(k), "n") for k in keys], lowest, number)
    new = new.from_(exp.alias_(exp.to_table(_NEW), "n", table=True))
    new = new.group_by(*[exp.column(exact(k), "n") for k in keys])
    same = [
        exp.EQ(this=exp.column(exact(k), "j"), expression=exp.column(exact(k), "w")) for k in keys
    ]
    after = exp.GTE(this=exp.column(exact(start), "j"), expression=column("lowest", "w"))
    shown = [exp.cast(exp.column(exact(k), "w"), "TEXT") for k in keys]
    rows = exp.select(exp.alias_(_concat(shown), ident("key")))
    rows = rows.from_(new.subquery("w"))
    rows = rows.join(exp.alias_(journal_table(table), "j", table=True), on=exp.and_(*same, after))
    rows = rows.group_by(*[exp.column(exact(k), "w") for k in keys], column("number", "w"))
    more = exp.GT(this=exp.Count(this=exp.Star()), expression=column("number", "w"))
    return rows.having(more).limit(1)


def _concat(texts: Sequence[exp.Expr]) -> exp.Expr:
    joined: exp.Expr = texts[0]
    for text in texts[1:]:
        joined = exp.DPipe(this=joined, expression=exp.Literal.string(", "), safe=False)
        joined = exp.DPipe(this=joined, expression=text, safe=False)
    return joined
