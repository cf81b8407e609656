"""Exchanges the table of an adopted journal, with its indexes, grants and readers.

    like      an empty copy in our schema
    exchange  the copy takes the name, the journal goes to our schema; views of others follow

The sequence behind a SERIAL column goes on under its name, and belongs to the copy. What hangs on a
table by its identity (foreign keys, triggers, materialized views, identity columns) cannot follow,
and is refused. Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.stores.postgres.adopt.readers import following
from journal.stores.postgres.adopt.survey import find
from journal.stores.postgres.dialect.text import exact, rendered
from journal.stores.postgres.flat import journal_table
from journal.stores.postgres.store import PostgresSession

_BLOCKING = (
    "SELECT 'the materialized view ' || v.oid::regclass FROM pg_depend d"
    " JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class"
    " WHERE d.refobjid = ?::bigint AND d.classid = 'pg_rewrite'::regclass AND v.relkind = 'm'"
    " UNION SELECT 'the publication ' || p.pubname FROM pg_publication_rel pr"
    " JOIN pg_publication p ON p.oid = pr.prpubid WHERE pr.prrelid = ?::bigint"
    " UNION SELECT 'the policy ' || polname FROM pg_policy WHERE polrelid = ?::bigint"
    " UNION SELECT 'partitions' FROM pg_class WHERE oid = ?::bigint"
    " AND (relkind = 'p' OR relispartition)"
)
_GRANTS = (
    "SELECT format('GRANT %s ON %s TO %s%s', a.privilege_type, ?::text,"
    " CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,"
    " CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)"
    " FROM pg_class c, aclexplode(c.relacl) a"
    " WHERE c.oid = ?::bigint AND a.grantee <> c.relowner"
    " UNION ALL SELECT format('ALTER TABLE %s OWNER TO %I', ?::text, pg_get_userbyid(relowner))"
    " FROM pg_class WHERE oid = ?::bigint AND relowner <> current_user::regrole"
)

_OWNED = (
    "SELECT format('%I.%I', n.nspname, s.relname), quote_ident(a.attname) FROM pg_depend d"
    " JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'"
    " JOIN pg_namespace n ON n.oid = s.relnamespace"
    " JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid"
    " WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass"
    " AND d.refobjid = ?::bigint AND d.deptype = 'a' ORDER BY s.relname"
)


def refuse_ties(session: PostgresSession, table: Table) -> None:
    """Raise DEPENDENT_OBJECTS if something hangs on the journal that cannot follow."""
    found = find(session, table.journal_name.schema, table.journal_name.name)
    assert found is not None
    ties = [*found.hanging, *(f"the key {c.name}" for c in found.constraints if c.kind == "f")]
    ties += [
        f"the identity column {c.name}" for c in found.columns if c.generated and c.default is None
    ]
    ties += [text for (text,) in session.text(_BLOCKING, [found.oid] * 4)]
    if ties:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"{table.journal_name} cannot be rewritten while it has {', '.join(ties)}",
            advice="drop that first, and make it again afterwards",
        )


def like(session: PostgresSession, table: Table, target: exp.Table) -> None:
    """Make an empty table that is like a journal in all that a table has by itself."""
    place, copy = rendered(journal_table(table)).sql, rendered(target).sql
    session.text(f"CREATE TABLE {copy} (LIKE {place} INCLUDING ALL)")


def exchange(session: PostgresSession, table: Table, target: exp.Table, retired: str) -> None:
    """Let ``target`` be the journal from now on; what was is ``retired`` in our schema."""
    name = table.journal_name
    found = find(session, name.schema, name.name)
    assert found is not None
    with following(session, [found.oid]):
        _exchange(session, table, found.oid, target, retired)


def _exchange(
    session: PostgresSession, table: Table, oid: int, target: exp.Table, retired: str
) -> None:
    name = table.journal_name
    place, copy = rendered(journal_table(table)).sql, rendered(target).sql
    grants = session.text(_GRANTS, [place, oid, place, oid])
    new, old = exact(name.name).sql("postgres"), exact(retired).sql("postgres")
    moved, given = f"{STORE_SCHEMA}.{new}", f"{STORE_SCHEMA}.{old}"
    owned = session.text(_OWNED, [oid])
    for sequence, _ in owned:
        # What belongs to a table moves to another schema with it.
        session.text(f"ALTER SEQUENCE {sequence} OWNED BY NONE")
    session.text(f"ALTER TABLE {place} SET SCHEMA {STORE_SCHEMA}")
    session.text(f"ALTER TABLE {moved} RENAME TO {old}")
    session.text(f"ALTER TABLE {copy} RENAME TO {new}")
    session.text(f"ALTER TABLE {moved} SET SCHEMA {exact(name.schema).sql('postgres')}")
    for (grant,) in grants:
        session.text(grant)
    for sequence, column in owned:
        session.text(f"ALTER TABLE {given} ALTER COLUMN {column} DROP DEFAULT")
        session.text(f"ALTER SEQUENCE {sequence} OWNED BY {place}.{column}")
    session.text(f"REVOKE ALL ON {given} FROM PUBLIC")
