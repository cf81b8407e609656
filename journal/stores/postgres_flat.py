"""A flat journal of the classic convention in PostgreSQL: a table that stays as it was.

It has a row per version and a tombstone per delete, and no closing rows, so two views show it as
tiers: ``base`` the latest row of each key unless that is a tombstone, ``history`` the rows before
with the version that ended each. Names are spelt as the table spells them.
"""

from __future__ import annotations

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import Query, physical
from journal.relations import column, ident
from journal.schema import Table
from journal.segment import Manifest, RowCounts, Segment, Tier
from journal.stores.base import Parameters
from journal.stores.postgres import PostgresSession
from journal.stores.postgres_text import Text, exact, rendered
from journal.version import Version, VersionType

FLAT = "adopted"
"""Property of a table whose journal is flat: what its version columns are in the database."""


def is_flat(table: Table) -> bool:
    """True for a table over a flat journal."""
    return any(name == FLAT for name, _ in table.properties)


def flat_manifest(fields: tuple[tuple[str, str], ...], version: Version) -> Manifest:
    """What stands for a flat journal: its two views, whose rows nobody counts."""
    tiers = (Tier.BASE, Tier.HISTORY)
    segments = [Segment(f"flat_{t}", t, (), fields, RowCounts(), 0, version) for t in tiers]
    return Manifest(1, (), tuple(segments))


def journal_table(table: Table) -> exp.Table:
    """The flat journal itself."""
    name = table.journal_name
    return exp.Table(this=exact(name.name), db=exact(name.schema))


def refresh_views(session: PostgresSession, table: Table) -> None:
    """Make the views that show a flat journal as tiers."""
    for tier, body in ((Tier.BASE, _base(table)), (Tier.HISTORY, _history(table))):
        name = rendered(physical(table.id, tier, table.layout)).sql
        session.text(f"CREATE OR REPLACE VIEW {name} AS {body}")


def _quoted(name: str) -> str:
    return str(ident(name).sql(dialect="postgres"))


def _parts(table: Table) -> tuple[str, str, str, str, str]:
    """Columns as the views show them, key, version, end, and the journal, as text."""
    columns = ", ".join(
        f"{_quoted(c.physical)} AS {_quoted(c.physical.casefold())}" for c in table.stored
    )
    keys = ", ".join(_quoted(k) for k in table.key)
    start, end = table.format.version_column, table.format.subsequent_column
    source = rendered(journal_table(table)).sql
    return columns, keys, _quoted(start), _quoted(end), source


def _ends(table: Table) -> tuple[str, str]:
    """The version columns as the views name them."""
    names = (table.format.version_column, table.format.subsequent_column)
    first, last = (_quoted(name.casefold()) for name in names)
    return first, last


def _shown(table: Table, value: str) -> str:
    """A version as the views show it: with a time zone, where the table's have none."""
    return f"({value} AT TIME ZONE 'UTC')" if _kind(table) == "timestamp" else value


def _kind(table: Table) -> str:
    return dict(table.properties)[FLAT]


def _type(table: Table) -> str:
    bigint = table.format.version_type is VersionType.BIGINT
    return "bigint" if bigint else "timestamptz"


def _base(table: Table) -> str:
    columns, keys, start, end, source = _parts(table)
    first, last = _ends(table)
    return (
        f"SELECT {columns}, {_shown(table, start)} AS {first}, NULL::{_type(table)} AS {last}"  # noqa: S608
        f" FROM (SELECT DISTINCT ON ({keys}) * FROM {source}"
        f" ORDER BY {keys}, {start} DESC, {end} NULLS FIRST) AS j"
        f" WHERE {end} IS DISTINCT FROM {start}"
    )


def _history(table: Table) -> str:
    columns, keys, start, end, source = _parts(table)
    first, last = _ends(table)
    return (
        f"SELECT {columns}, {_shown(table, start)} AS {first},"  # noqa: S608
        f" {_shown(table, '_ended')} AS {last} FROM (SELECT *, lead({start}) OVER"
        f" (PARTITION BY {keys} ORDER BY {start}, ({end} IS NULL)) AS _ended FROM {source}) AS j"
        f" WHERE {end} IS DISTINCT FROM {start} AND _ended > {start}"
    )


def append(session: PostgresSession, table: Table, query: Query, parameters: Parameters) -> int:
    """Append a query's journal rows, those that close others left out; how many there were."""
    text = session.rendered(query.ast)
    names = [c.physical for c in table.stored]
    ends = (table.format.version_column, table.format.subsequent_column)
    start, end = (_quoted(n.casefold()) for n in ends)
    targets = ", ".join(_quoted(n) for n in (*names, *ends))
    values = [_quoted(n.casefold()) for n in names]
    values += [_stored(table, start), _stored(table, end)]
    source = rendered(journal_table(table)).sql
    sql = (
        f"WITH new_rows AS MATERIALIZED ({text.sql}), written AS (INSERT INTO {source} ({targets})"  # noqa: S608
        f" SELECT {', '.join(values)} FROM new_rows WHERE {end} IS NULL OR {end} = {start})"
        " SELECT count(*) FROM new_rows"
    )
    try:
        session.put(Text(sql, text.parameters), parameters)
    except PalimpsestError as error:
        if error.code is not Code.DUPLICATE_KEY:
            raise
        raise PalimpsestError(
            Code.FOREIGN_WRITE,
            f"somebody else wrote to {table.journal_name} under the same key and version:"
            f" {error.message}",
            advice="run the transaction again; write to the journal through the gateway only",
        ) from error
    return int(session.fetch_many(1)[0][0])


def _stored(table: Table, value: str) -> str:
    return f"({value} AT TIME ZONE 'UTC')" if _kind(table) == "timestamp" else value


def conflicting(table: Table, mine: str) -> exp.Query:
    """Rows of ``mine`` whose keys somebody else has written since they were read.

    A row that ends another must end the latest one of its key; a row that begins a key must find
    none. Nothing is assumed of versions, for other writers may make their own.
    """
    start, end = table.format.version_column, table.format.subsequent_column
    base = physical(table.id, Tier.BASE, table.layout)
    history = physical(table.id, Tier.HISTORY, table.layout)
    same = [exp.EQ(this=column(k, "t"), expression=column(k, "m")) for k in table.key]
    row = [*same, exp.EQ(this=column(start, "t"), expression=column(start, "m"))]
    one = exp.Literal.number(1)
    still = exp.select(one).from_(exp.alias_(base, "t", table=True)).where(*row)
    known = exp.select(one).from_(exp.alias_(history, "t", table=True)).where(*row)
    here = exp.select(one).from_(exp.alias_(base, "t", table=True)).where(*same)
    own = exp.select(one).from_(exp.alias_(exp.to_table(mine), "e", table=True))
    ended = [exp.EQ(this=column(k, "e"), expression=column(k, "m")) for k in table.key]
    own = own.where(*ended, exp.Not(this=exp.Is(this=column(end, "e"), expression=exp.Null())))
    closing = exp.GT(this=column(end, "m"), expression=column(start, "m"))
    # A row that this transaction has made itself is in neither view.
    lost = exp.and_(
        closing,
        exp.Not(this=exp.Exists(this=still)),
        exp.or_(exp.Exists(this=known), exp.Not(this=exp.Exists(this=_own_row(table, mine)))),
    )
    taken = exp.and_(
        exp.Is(this=column(end, "m"), expression=exp.Null()),
        exp.Not(this=exp.Exists(this=own)),
        exp.Exists(this=here),
    )
    rows = exp.select(one.copy()).from_(exp.alias_(exp.to_table(mine), "m", table=True))
    return rows.where(exp.or_(lost, taken)).limit(1)


def _own_row(table: Table, mine: str) -> exp.Select:
    start, end = table.format.version_column, table.format.subsequent_column
    same = [exp.EQ(this=column(c, "w"), expression=column(c, "m")) for c in (*table.key, start)]
    rows = exp.select(exp.Literal.number(1)).from_(exp.alias_(exp.to_table(mine), "w", table=True))
    return rows.where(*same, exp.Is(this=column(end, "w"), expression=exp.Null()))
