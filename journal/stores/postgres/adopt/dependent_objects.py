"""Finds objects on a plain table that would be lost if it became a journal's base.

A view would go on reading the base alone, a policy would not hold for the view that takes the
table's place, a unique index would see several rows of a key: each is named, so that the adoption
can be refused. Views can follow instead, see ``readers``. Reads the server's own catalog
in the session it is given; changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from journal.stores.postgres.store import PostgresSession

_STATE = (
    "SELECT CASE WHEN c.relrowsecurity THEN 'row level security' END,"
    " CASE WHEN c.relpersistence = 'u' THEN 'no log (UNLOGGED), so that a crash empties it' END,"
    " CASE WHEN c.relispartition THEN 'a table that it is a partition of' END"
    " FROM pg_class c WHERE c.oid = ?::bigint"
)
_TIES = (
    "SELECT 'the policy ' || polname FROM pg_policy WHERE polrelid = ?::bigint",
    "SELECT 'the rule ' || rulename FROM pg_rewrite WHERE ev_class = ?::bigint",
    (
        "SELECT 'the exclusion constraint ' || conname FROM pg_constraint"
        " WHERE conrelid = ?::bigint AND contype = 'x'"
    ),
    (
        "SELECT 'the constraint ' || conname || ', to which NULLs are alike' FROM pg_constraint"
        " WHERE conrelid = ?::bigint AND contype = 'u'"
        " AND pg_get_constraintdef(oid) LIKE 'UNIQUE NULLS NOT DISTINCT %'"
    ),
    (
        "SELECT 'the publication ' || p.pubname FROM pg_publication_rel r"
        " JOIN pg_publication p ON p.oid = r.prpubid WHERE r.prrelid = ?::bigint"
    ),
    (
        "SELECT 'the table ' || i.inhrelid::regclass || ' that inherits from it'"
        " FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
        " WHERE i.inhparent = ?::bigint AND NOT c.relispartition"
    ),
    (
        "SELECT 'the table ' || i.inhparent::regclass || ' that it inherits from'"
        " FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
        " WHERE i.inhrelid = ?::bigint AND NOT c.relispartition"
    ),
    (
        "SELECT 'the generated column ' || attname FROM pg_attribute"
        " WHERE attrelid = ?::bigint AND attgenerated <> '' AND NOT attisdropped"
    ),
    (
        "SELECT 'the collation ' || l.collname || ' of column ' || a.attname FROM pg_attribute a"
        " JOIN pg_type t ON t.oid = a.atttypid JOIN pg_collation l ON l.oid = a.attcollation"
        " WHERE a.attrelid = ?::bigint AND a.attnum > 0 AND NOT a.attisdropped"
        " AND a.attcollation <> t.typcollation"
    ),
    (
        "SELECT 'the materialized view ' || v.oid::regclass FROM pg_depend d"
        " JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class"
        " WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ?::bigint"
        " AND d.classid = 'pg_rewrite'::regclass AND v.relkind = 'm'"
    ),
    (
        "SELECT 'the ' || pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_depend d"
        " JOIN pg_class c ON c.oid = ?::bigint WHERE d.deptype = 'n'"
        " AND d.classid NOT IN ('pg_rewrite'::regclass, 'pg_constraint'::regclass,"
        " 'pg_attrdef'::regclass, 'pg_policy'::regclass, 'pg_publication_rel'::regclass)"
        " AND NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = d.objid)"
        " AND ((d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid)"
        " OR (d.refclassid = 'pg_type'::regclass AND d.refobjid = c.reltype))"
    ),
)
_UNIQUE_INDEXES = (
    "SELECT i.relname, x.indpred IS NULL AND x.indexprs IS NULL"
    " AND pg_get_indexdef(x.indexrelid) !~ 'NULLS NOT DISTINCT',"
    " ARRAY(SELECT a.attname::text FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k(n, i)"
    " JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.n"
    " WHERE k.i <= x.indnkeyatts ORDER BY k.i)"
    " FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid"
    " WHERE x.indrelid = ?::bigint AND x.indisunique"
    " AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = x.indexrelid)"
    " ORDER BY i.relname"
)


def ties(session: PostgresSession, oid: int) -> list[str]:
    """What hangs on a table and cannot follow, in words; empty if nothing does."""
    (state,) = session.text(_STATE, [oid])
    found = [said for said in state if said is not None]
    for query in _TIES:
        found += [said for (said,) in session.text(query, [oid])]
    odd = (name for name, is_plain, _ in session.text(_UNIQUE_INDEXES, [oid]) if not is_plain)
    found += [
        f"the unique index {name} of expressions, of a part of its rows or of nulls" for name in odd
    ]
    return list(dict.fromkeys(found))


def secured(session: PostgresSession, oid: int) -> bool:
    """True if who reads a table sees only some of its rows."""
    return bool(session.text(_STATE, [oid])[0][0])


def unique_indexes(session: PostgresSession, oid: int) -> Mapping[str, tuple[str, ...]]:
    """Columns of the unique indexes that belong to no constraint, by their names."""
    rows = session.text(_UNIQUE_INDEXES, [oid])
    return {name: tuple(columns) for name, is_plain, columns in rows if is_plain}
