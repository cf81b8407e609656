"""Grants on views for clients that do not come through the gateway.

PostgreSQL lets a simple view be written to like a table, which would change journal rows in place.
A trigger on each view refuses that, or rules, where views have no triggers. Grants stay when a view
has to be made anew. Runs in the session it is given; commits nothing, and reads no rows of anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import TableName
from journal.stores.postgres.dialect.text import quoted_text, shortened
from journal.stores.postgres.store import PostgresSession

Key = tuple[str, str]
"""Schema and name as the database has them."""
_TRIGGER = "palimpsest_read_only"
_MAKE = (
    f"CREATE TRIGGER {_TRIGGER} INSTEAD OF INSERT OR UPDATE OR DELETE ON {{}}"
    " FOR EACH ROW EXECUTE FUNCTION _palimpsest.read_only()"
)
_STANDING = "SELECT 1 FROM pg_trigger WHERE tgrelid = ?::regclass AND tgname = ?"
_RULE = (
    "CREATE OR REPLACE RULE palimpsest_no_{0} AS ON {0} TO {1} DO INSTEAD"
    " SELECT _palimpsest.refuse_write({2}::regclass)"
)
PROTECT_ALL = f"""DO $do$ DECLARE place text; BEGIN
 FOR place IN SELECT DISTINCT v.oid::regclass::text
  FROM pg_class t JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
  JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
  JOIN pg_class v ON v.oid = r.ev_class AND v.relkind = 'v'
  WHERE t.relnamespace = '_palimpsest'::regnamespace AND t.relname ~ '^t[0-9]'
  AND v.relnamespace <> t.relnamespace AND pg_has_role(v.relowner, 'USAGE')
  AND NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = v.oid AND g.tgname = '{_TRIGGER}')
 LOOP EXECUTE format('{_MAKE.format("%s")}', place); END LOOP;
END $do$"""  # noqa: S608
"""Refuses writes to all views that an earlier version made."""
_GRANTS = (
    "SELECT n.nspname, c.relname, g.column_name, r.rolname, g.privilege_type, g.is_grantable"
    " FROM unnest(?::text[], ?::text[]) AS w (schema, name)"
    " JOIN pg_namespace n ON n.nspname = w.schema"
    " JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name"
    " AND c.relkind IN ('v', 'r', 'p')"
    " CROSS JOIN LATERAL (SELECT NULL::name AS column_name, a.*"
    " FROM aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a"
    " UNION ALL SELECT t.attname, a.* FROM pg_attribute t, aclexplode(t.attacl) a"
    " WHERE t.attrelid = c.oid AND NOT t.attisdropped) AS g"
    " LEFT JOIN pg_roles r ON r.oid = g.grantee WHERE r.rolname IS DISTINCT FROM current_user"
)
_COLUMNS = (
    "SELECT a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
    " WHERE a.attrelid = to_regclass(?) AND c.relkind IN ('v', 'r', 'p') AND a.attnum > 0"
)


@dataclass(frozen=True, slots=True)
class Grant:
    """One privilege on a relation or on a column of it; without a role it is everybody's."""

    schema: str
    view: str
    column: str | None
    role: str | None
    privilege: str
    is_grantable: bool


def refuse_writes(session: PostgresSession, place: str) -> None:
    """Let nobody write to a view, whose name is given as SQL."""
    if not session.abilities.has_view_triggers:
        shown = quoted_text(place)
        for event in ("insert", "update", "delete"):
            session.text(_RULE.format(event, place, shown))
    elif not session.text(_STANDING, [place, _TRIGGER]):
        session.text(_MAKE.format(place))


def known_as(name: TableName) -> Key:
    """A name as the database has it."""
    schema, relation = name.key
    return shortened(schema), shortened(relation)


def grants(session: PostgresSession, names: Iterable[TableName]) -> list[Grant]:
    """What others may do with relations: what they were granted, and what is an owner's."""
    return _grants(session, [known_as(name) for name in names])


def _grants(session: PostgresSession, keys: Sequence[Key]) -> list[Grant]:
    schemas, views = ([key[i] for key in keys] for i in (0, 1))
    return [Grant(*row) for row in session.text(_GRANTS, [schemas, views])]


def grant_again(
    session: PostgresSession, found: Sequence[Grant], renamed: Mapping[Key, Key]
) -> None:
    """Grant on the relations there are now what was granted on those that they replace.

    What still holds is left alone: on somebody else's relation the role may grant nothing.
    """
    places = {
        key: renamed.get(key, key) for key in dict.fromkeys((g.schema, g.view) for g in found)
    }
    there = set(_grants(session, list(places.values())))
    for grant in found:
        schema, view = places[grant.schema, grant.view]
        if replace(grant, schema=schema, view=view) in there:
            continue
        place = f"{quote_exactly(schema)}.{quote_exactly(view)}"
        columns = {column for (column,) in session.text(_COLUMNS, [place])}
        if not columns or not {grant.column} <= columns | {None}:
            continue
        what = grant.privilege + (f" ({quote_exactly(grant.column)})" if grant.column else "")
        whom = "PUBLIC" if grant.role is None else quote_exactly(grant.role)
        more = " WITH GRANT OPTION" if grant.is_grantable else ""
        session.text(f"GRANT {what} ON {place} TO {whom}{more}")


def quote_exactly(name: str) -> str:
    """A name as SQL spells it, exactly."""
    return '"' + name.replace('"', '""') + '"'
