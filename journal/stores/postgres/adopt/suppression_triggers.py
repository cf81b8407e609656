"""Triggers on adopted journals that refuse erased identifiers from any writer.

A trigger after each INSERT and UPDATE compares the new rows with the list of what may not come
back, by the same hashes as the gateway does for its own. What the row before had, of the same key,
is not brought back by the next. Where statements have no triggers, each row has it, on the segment
where it lies, which is why the list lies on every segment, and what the row before had is not known
there. It stands while the list concerns the table, and goes with the gateway's care for it. Runs in
the session it is given; commits nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.identity.key_ring import is_secret_parameter, key_of_parameter
from journal.identity.suppression_list import ENDS, FOR, SuppressionList
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.records.catalog import secret_property
from journal.sql.relations import column, ident
from journal.sql.row_layout import fields_of
from journal.sql.sql import relation
from journal.stores.postgres.dialect.text import exact, rendered
from journal.stores.postgres.flat import journal_table
from journal.stores.postgres.store import PostgresSession

_NEW, _OLD = "palimpsest_new", "palimpsest_old"
_EVENTS = {"INSERT": f"NEW TABLE AS {_NEW}", "UPDATE": f"OLD TABLE AS {_OLD} NEW TABLE AS {_NEW}"}
_STANDING = (
    "SELECT tgoldtable IS NOT NULL FROM pg_trigger WHERE tgrelid = ?::regclass AND tgname = ?"
)
_QUOTE = "$fence$"
_KIND = "SELECT a.amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.oid = ?::regclass"


def fence_journal(session: PostgresSession, table: Table, fence: SuppressionList) -> None:
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
    for event, shown in _EVENTS.items():
        how = "FOR EACH ROW" if by_row else f"REFERENCING {shown} FOR EACH STATEMENT"
        name = f"palimpsest_fence_{event.lower()}"
        standing = session.text(_STANDING, [place, name])
        if standing == [(False,)] and event == "UPDATE" and not by_row:
            # An earlier version made it, which looked at the new rows alone.
            session.text(f"DROP TRIGGER {name} ON {place}")
            standing = []
        if not standing:
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


def _body(table: Table, fence: SuppressionList, *, by_row: bool) -> str:
    """The function of the trigger; it reads the list with the rights of who made it."""
    new = _rows(table, "new", None) if by_row else _rows(table, "n", exp.to_table(_NEW))
    raising = (
        "RAISE EXCEPTION 'rows for % carry an identifier or a key that was erased',"
        " TG_RELID::regclass USING ERRCODE = '23001', HINT = 'leave them out; if the person came"
        " back, `palimpsest erase readmit` lets them in';"
    )
    caught = _text(fence.newest_suppression(table, relation(new.copy())).ast)
    # On a segment nothing but the list can be read, so the row before is not looked for there.
    checks = raising if by_row else _checks(table, fence, new, raising)
    found = f"IF ({caught}) IS NOT NULL THEN {checks} END IF;"
    assert _QUOTE not in found, "no value stands in a fence"
    return (
        f"CREATE OR REPLACE FUNCTION {_function(table)}() RETURNS trigger LANGUAGE plpgsql"
        f" SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {_QUOTE} BEGIN"
        f" {found} RETURN NULL; END {_QUOTE}"
    )


def _checks(table: Table, fence: SuppressionList, new: exp.Select, raising: str) -> str:
    """Raise for what the rows before had not; which there are depends on the event."""
    old = _rows(table, "o", exp.to_table(_OLD))
    inserted = _text(fence.brought_beside(table, new, _before(table, new)).ast)
    updated = _text(fence.brought_beside(table, new, _before(table, new), old).ast)
    return (
        f"IF TG_OP = 'INSERT' THEN IF ({inserted}) IS NOT NULL THEN {raising} END IF;"
        f" ELSE IF ({updated}) IS NOT NULL THEN {raising} END IF; END IF;"
    )


def _rows(table: Table, of: str, source: exp.Table | None) -> exp.Select:
    """Rows of a flat journal, in the names that the gateway has for its columns."""
    names = [name for name, _ in fields_of(table)]
    names += table.ends
    once = {n.casefold(): n for n in names}
    rows = exp.select(*[exp.alias_(exp.column(exact(n), of), ident(f)) for f, n in once.items()])
    return rows if source is None else rows.from_(exp.alias_(source, of, table=True))


def _before(table: Table, new: exp.Select) -> exp.Select:
    """The row before each new one, of the same key and not deleted; ``FOR`` is the new version."""
    start, end = (n.casefold() for n in table.ends)
    keys = [k.casefold() for k in table.key]
    journal = relation(_rows(table, "j", journal_table(table)), "j")
    earlier: list[exp.Expr] = [exp.EQ(this=column(k, "j"), expression=column(k, "n")) for k in keys]
    earlier.append(exp.LT(this=column(start, "j"), expression=column(start, "n")))
    named = [column(n, "j") for n in new.named_selects]
    outputs = [*named, exp.alias_(column(start, "n"), FOR), exp.alias_(column(end, "n"), ENDS)]
    of = [*[column(k, "n") for k in keys], column(start, "n")]
    latest = exp.select(*outputs).distinct(*of).from_(relation(new.copy(), "n"))
    latest = latest.join(journal, on=exp.and_(*earlier))
    latest = latest.order_by(*of, exp.Ordered(this=column(start, "j"), desc=True))
    is_open = exp.Is(this=column(end, "l"), expression=exp.Null())
    return exp.select("l.*").from_(relation(latest, "l")).where(is_open)


def _text(query: exp.Expr) -> str:
    tree = query.copy()
    for node in list(tree.find_all(exp.Placeholder)):
        is_secret = is_secret_parameter(node.name)
        node.replace(_secret(key_of_parameter(node.name)) if is_secret else _now())
    return rendered(tree).sql


def _secret(key: str | None) -> exp.Expr:
    is_secret = exp.EQ(this=column("key"), expression=exp.Literal.string(secret_property(key)))
    found = exp.select(column("value")).from_(exp.table_("meta", db=STORE_SCHEMA))
    return found.where(is_secret).subquery(copy=False)


def _now() -> exp.Expr:
    return exp.maybe_parse(
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)", dialect="postgres"
    )
