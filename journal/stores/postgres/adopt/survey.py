"""Reads what the database knows of a table before its adoption: columns, keys, dependents.

Reads the server's own catalog in the session it is given; changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Identity
from journal.stores.postgres.dialect.types import is_known, stored_type
from journal.stores.postgres.privileges import quote_exactly
from journal.stores.postgres.store import PostgresSession

_CALLED = (
    "SELECT c.oid::bigint, n.nspname::text, c.relname::text FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE lower(n.nspname) = lower(?) AND lower(c.relname) = lower(?)"
    " AND c.relkind IN ('r', 'p')"
)
_NAMES = (
    "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE lower(n.nspname) = lower(?) AND c.relkind IN ('r', 'p')"
)
_COLUMNS = (
    "SELECT a.attname, a.atttypid::bigint, a.atttypmod, a.attnotnull, a.attidentity <> '',"
    " pg_get_expr(d.adbin, d.adrelid), format_type(a.atttypid, a.atttypmod),"
    " col_description(a.attrelid, a.attnum)"
    " FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
    " WHERE a.attrelid = ?::bigint AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
_CONSTRAINTS = (
    "SELECT c.conname, c.contype::text, pg_get_constraintdef(c.oid),"
    " ARRAY(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY AS k(n, i)"
    " JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.n ORDER BY k.i)"
    " FROM pg_constraint c WHERE c.conrelid = ?::bigint AND c.contype <> 'n' ORDER BY c.conname"
)
_ABOUT = (
    "SELECT pg_get_userbyid(c.relowner), obj_description(c.oid, 'pg_class') FROM pg_class c"
    " WHERE c.oid = ?::bigint"
)
_HANGING = (
    "SELECT 'the foreign key ' || conname FROM pg_constraint WHERE confrelid = ?::bigint"
    " UNION ALL SELECT 'the trigger ' || tgname FROM pg_trigger"
    " WHERE tgrelid = ?::bigint AND NOT tgisinternal"
    " AND tgname NOT IN ('palimpsest_fence_insert', 'palimpsest_fence_update',"
    " 'palimpsest_stale_writes')"
)

_DISTRIBUTION = (
    "SELECT a.attname FROM gp_distribution_policy p, unnest(p.distkey) WITH ORDINALITY AS k(n, i),"
    " pg_attribute a WHERE p.localoid = ?::bigint AND p.policytype = 'p'"
    " AND a.attrelid = p.localoid AND a.attnum = k.n ORDER BY k.i"
)


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column as the database has it; ``type`` is canonical, None where there is none."""

    name: str
    oid: int
    type: str | None
    spelt: str
    not_null: bool
    generated: bool
    default: str | None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class FoundConstraint:
    """A constraint: p(rimary), u(nique), c(heck) or f(oreign), its text and columns."""

    name: str
    kind: str
    text: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table as the database has it."""

    oid: int
    columns: tuple[FoundColumn, ...]
    constraints: tuple[FoundConstraint, ...]
    hanging: tuple[str, ...]
    owner: str
    comment: str | None

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of its primary key."""
        return next((c.columns for c in self.constraints if c.kind == "p"), ())


def names_in(session: PostgresSession, schema: str) -> list[str]:
    """The tables that the database has in a schema."""
    return [name for (name,) in session.text(_NAMES, [schema])]


def find(session: PostgresSession, schema: str, name: str) -> FoundTable | None:
    """The table of that name, upper and lower case alike; None if there is none.

    Raises WRONG_OBJECT if several differ in nothing else, and none is spelt so.
    """
    rows = session.text(_CALLED, [schema, name])
    exact = [row for row in rows if row[1:] == (schema, name)]
    if len(rows) > 1 and not exact:
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"the database has {len(rows)} tables that are called {schema}.{name}, if the case of"
            " letters is left out of account",
            advice="spell it as one of them is; the gateway can have only one of them",
        )
    if not rows:
        return None
    oid = (exact or rows)[0][0]
    columns = [
        FoundColumn(
            n,
            t,
            stored_type(t, m) if is_known(t) else None,
            spelt,
            nn,
            ident or (default or "").startswith("nextval("),
            default,
            comment,
        )
        for n, t, m, nn, ident, default, spelt, comment in session.text(_COLUMNS, [oid])
    ]
    constraints = [
        FoundConstraint(n, k, text, tuple(cols))
        for n, k, text, cols in session.text(_CONSTRAINTS, [oid])
    ]
    hanging = [row[0] for row in session.text(_HANGING, [oid, oid])]
    ((owner, comment),) = session.text(_ABOUT, [oid])
    return FoundTable(oid, tuple(columns), tuple(constraints), tuple(hanging), owner, comment)


def distribution_in(session: PostgresSession, oid: int) -> tuple[str, ...]:
    """The columns that a table's rows are spread by; none where they are not, or by chance."""
    if not session.abilities.distributes:
        return ()
    return tuple(name for (name,) in session.text(_DISTRIBUTION, [oid]))


def spelling(session: PostgresSession, oid: int) -> tuple[str, str]:
    """Schema and name of a table as the database spells them."""
    rows = session.text(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = c.relnamespace WHERE c.oid = ?::bigint",
        [oid],
    )
    return rows[0][0], rows[0][1]


def check_key(
    session: PostgresSession, place: str, key: Sequence[str], version: str | None = None
) -> None:
    """Raise NOT_NULL or DUPLICATE_KEY unless the key's columns tell the rows of a table apart.

    In a classic journal they do together with the ``version`` of a row. ``place`` is in SQL.
    """
    columns = [*key, version] if version is not None else [*key]
    listed = ", ".join(map(quote_exactly, columns))
    nothing = " OR ".join(f"{quote_exactly(c)} IS NULL" for c in columns)
    ((nulls,),) = session.text(f"SELECT count(*) FROM {place} WHERE {nothing}")  # noqa: S608
    if nulls:
        raise PalimpsestError(
            Code.NOT_NULL,
            f"{', '.join(columns)} cannot tell the rows apart: {nulls} have NULL there",
            advice=f"give them values, or name other columns with --key; they are those WHERE"
            f" {nothing}",
        )
    again = f"SELECT {listed} FROM {place} GROUP BY {listed} HAVING count(*) > 1"  # noqa: S608
    ((twice,),) = session.text(f"SELECT count(*) FROM ({again}) AS again")  # noqa: S608
    if twice:
        raise PalimpsestError(
            Code.DUPLICATE_KEY,
            f"{', '.join(columns)} cannot tell the rows apart: {twice} of its values stand in"
            " several",
            advice="make them differ, or name other columns with --key; they are found by"
            f" GROUP BY {listed} HAVING count(*) > 1",
        )


_SEQUENCES = (
    "SELECT a.attname, s.seqrelid::regclass::text, a.attidentity::text, s.seqincrement,"
    " coalesce(pg_sequence_last_value(s.seqrelid) + s.seqincrement, s.seqstart),"
    " EXISTS (SELECT 1 FROM pg_depend o WHERE o.refclassid = 'pg_class'::regclass"
    " AND o.refobjid = s.seqrelid AND o.classid = 'pg_attrdef'::regclass AND o.objid <> f.oid)"
    " FROM pg_attribute a LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum"
    " JOIN pg_depend d ON (d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid"
    " AND d.refclassid = 'pg_class'::regclass) OR (d.classid = 'pg_class'::regclass"
    " AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'"
    " AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum)"
    " JOIN pg_sequence s ON s.seqrelid ="
    " CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid ELSE d.refobjid END"
    " WHERE a.attrelid = ?::bigint AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)


@dataclass(frozen=True, slots=True)
class FoundSequence:
    """A sequence behind a column; ``is_shared`` if other columns take numbers of it, too."""

    name: str
    identity: Identity
    is_shared: bool


def sequences(session: PostgresSession, oid: int) -> dict[str, FoundSequence]:
    """The sequences of a table by column; their identities begin with the number that is next."""
    return {
        column: FoundSequence(name, Identity(kind == "a", int(start), int(step)), shared)
        for column, name, kind, step, start, shared in session.text(_SEQUENCES, [oid])
    }
