"""The fence of an adopted journal: whoever writes to it, what was erased is not written again.

A trigger after each INSERT and UPDATE compares the new rows with the list of what may not come
back, by the same hashes as the gateway does for its own; where statements have no triggers, each
row has it, on the segment where it lies, which is why the list lies on every segment. It stands
while the list concerns the table, and goes with the gateway's care for it. Runs in the session it
is given; commits nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.erasure.fence import P_NOW, P_SECRET, Fence
from journal.errors import Code, PalimpsestError
from journal.plan import STORE_SCHEMA
from journal.relations import column, ident
from journal.schema import Table
from journal.stores.postgres.flat import journal_table
from journal.stores.postgres.store import PostgresSession
from journal.stores.postgres.text import exact, rendered
from journal.stores.row_layout import fields_of

_NEW = "palimpsest_new"
_EVENTS = ("INSERT", "UPDATE")
_STANDING = "SELECT 1 FROM pg_trigger WHERE tgrelid = ?::regclass AND tgname = ?"
_QUOTE = "$fence$"
_KIND = "SELECT a.amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.oid = ?::regclass"


def fence_journal(session: PostgresSession, table: Table, fence: Fence) -> None:
    """Make the fence of a flat journal say what is suppressed for its table now.

    Setting it up waits for writers that are in the middle of a transaction.
    """
    if not fence.concerns(table):
        unfence_journal(session, table)
        return
    function = _function(table)
    place = rendered(journal_table(table)).sql
    by_row = not session.abilities.has_statement_triggers
    if by_row:
        _check_kind(session, table, place)
    session.text(_body(table, fence, by_row=by_row))
    how = "FOR EACH ROW" if by_row else f"REFERENCING NEW TABLE AS {_NEW} FOR EACH STATEMENT"
    for event in _EVENTS:
        name = f"palimpsest_fence_{event.lower()}"
        if not session.text(_STANDING, [place, name]):
            session.text(
                f"CREATE TRIGGER {name} AFTER {event} ON {place} {how}"
                f" EXECUTE FUNCTION {function}()"
            )


def unfence_journal(session: PostgresSession, table: Table) -> None:
    """Take the fence of a flat journal away, if it has one."""
    function = _function(table)
    if session.text("SELECT to_regproc(?)", [function]) != [(None,)]:
        session.text(f"DROP FUNCTION {function}() CASCADE")


def hold_writers(session: PostgresSession, table: Table) -> None:
    """Let nobody write to a flat journal until the session's transaction ends."""
    place = rendered(journal_table(table)).sql
    session.text(f"LOCK TABLE {place} IN SHARE ROW EXCLUSIVE MODE")


def _function(table: Table) -> str:
    return f"{STORE_SCHEMA}.fence_{table.id}"


def _check_kind(session: PostgresSession, table: Table, place: str) -> None:
    """Raise NOT_SUPPORTED for a journal whose rows can have no trigger."""
    kinds = session.text(_KIND, [place])
    if kinds and kinds != [("heap",)]:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{table.journal_name} is append-optimized, and has no triggers by which what is erased"
            " could be kept from coming back",
            advice=f"eject {table.name}, write its journal to a table WITH (appendoptimized=false),"
            " and adopt that; or leave it out of the request",
        )


def _body(table: Table, fence: Fence, *, by_row: bool) -> str:
    """The function of the trigger; it reads the list with the rights of who made it."""
    names = [name for name, _ in fields_of(table)]
    of = "new" if by_row else "n"
    outputs = [exp.alias_(exp.column(exact(n), of), ident(n.casefold())) for n in names]
    rows = exp.select(*outputs)
    if not by_row:
        rows = rows.from_(exp.alias_(exp.to_table(_NEW), "n", table=True))
    caught = fence.caught(table, rows.subquery(copy=False)).ast.copy()
    for node in list(caught.find_all(exp.Placeholder)):
        node.replace({P_SECRET: _secret, P_NOW: _now}[node.name]())
    found = rendered(caught).sql
    assert _QUOTE not in found, "no value stands in a fence"
    return (
        f"CREATE OR REPLACE FUNCTION {_function(table)}() RETURNS trigger LANGUAGE plpgsql"
        f" SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {_QUOTE} BEGIN"
        f" IF ({found}) IS NOT NULL THEN RAISE EXCEPTION"
        " 'rows for % carry an identifier or a key that was erased', TG_RELID::regclass"
        " USING ERRCODE = '23001', HINT = 'leave them out; if the person came back,"
        " `palimpsest erase readmit` lets them in'; END IF; RETURN NULL; END "
        f"{_QUOTE}"
    )


def _secret() -> exp.Expr:
    is_secret = exp.EQ(this=column("key"), expression=exp.Literal.string("secret"))
    found = exp.select(column("value")).from_(exp.table_("meta", db=STORE_SCHEMA))
    return found.where(is_secret).subquery(copy=False)


def _now() -> exp.Expr:
    return exp.maybe_parse(
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)", dialect="postgres"
    )
