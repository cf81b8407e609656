"""A flat journal of the classic convention in PostgreSQL: a table that stays as it was.

It has a row per version and a tombstone per delete, and no closing rows, so two views show it as
tiers: ``base`` the latest row of each key unless that is a tombstone, ``history`` the rows before
with the version that ended each. Names are spelt as the table spells them.
"""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import Query, physical
from journal.relations import Output, column, ident, version_type
from journal.relations_flat import FlatReader, FlatShape
from journal.schema import Table
from journal.segment import Manifest, RowCounts, Segment, Tier
from journal.sql import cast
from journal.stores.base import Parameters
from journal.stores.postgres import PostgresSession
from journal.stores.postgres_text import EXACT, exact
from journal.version import Version

_Tree = TypeVar("_Tree", bound=exp.Expr)
_ENDED = "_ended"
_NEW = "new_rows"
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
        name = physical(table.id, tier, table.layout)
        view = exp.Create(this=name, kind="VIEW", replace=True, expression=_as_spelt(body))
        session.run(view)


def index_of(table: Table) -> exp.Create:
    """The index by which a flat journal is looked up and put in order."""
    columns: list[exp.Expr] = [exp.Ordered(this=column(k)) for k in table.key]
    columns.append(exp.Ordered(this=column(table.format.version_column)))
    index = exp.Index(
        table=journal_table(table), params=exp.IndexParameters(columns=columns, using=None)
    )
    return _as_spelt(exp.Create(this=index, kind="INDEX"))


def _as_spelt(tree: _Tree) -> _Tree:
    """The tree, all of whose names are spelt as they are."""
    for name in tree.find_all(exp.Identifier):
        name.meta[EXACT] = True
    return tree


def _ends(table: Table) -> tuple[str, str]:
    """The version columns as the views name them."""
    return table.format.version_column.casefold(), table.format.subsequent_column.casefold()


def _shown(table: Table, value: exp.Expr) -> exp.Expr:
    """A version as the views show it: with a time zone, where the table's have none."""
    if dict(table.properties)[FLAT] != "timestamp":
        return value
    return exp.AtTimeZone(this=value, zone=exp.Literal.string("UTC"))


def _outputs(table: Table, end: exp.Expr) -> list[Output]:
    """What both views show: columns in lower case, the version, and the end that is given."""
    start, last = _ends(table)
    columns = [(column(c.physical), c.physical.casefold()) for c in table.stored]
    shown = _shown(table, column(table.format.version_column))
    return [*columns, (shown, start), (end, last)]


def _base(table: Table) -> exp.Select:
    """The latest row of each key, unless that is a tombstone.

    DISTINCT ON is the fastest shape with and without an index; see ``bench.flat_shapes``.
    """
    nothing = cast(exp.Null(), version_type(table))
    return FlatReader(table, FlatShape.DISTINCT_ON).current(_outputs(table, nothing))


def _history(table: Table) -> exp.Select:
    start, end = table.format.version_column, table.format.subsequent_column
    is_open = exp.Is(this=column(end), expression=exp.Null())
    newest_last = [exp.Ordered(this=column(start)), exp.Ordered(this=exp.Paren(this=is_open))]
    following = exp.Window(
        this=exp.Anonymous(this="lead", expressions=[column(start)]),
        partition_by=[column(k) for k in table.key],
        order=exp.Order(expressions=newest_last),
    )
    rows = exp.select("*", exp.alias_(following, _ENDED)).from_(journal_table(table))
    outputs = _outputs(table, _shown(table, column(_ENDED)))
    tombstone = exp.NullSafeNEQ(this=column(end), expression=column(start))
    ended = exp.GT(this=column(_ENDED), expression=column(start))
    found = [exp.alias_(value, ident(name)) for value, name in outputs]
    return exp.select(*found).from_(rows.subquery("j")).where(tombstone, ended)


def append(session: PostgresSession, table: Table, query: Query, parameters: Parameters) -> int:
    """Append a query's journal rows, those that close others left out; how many there were."""
    names = [c.physical for c in table.stored]
    ends = [table.format.version_column, table.format.subsequent_column]
    start, end = (column(n.casefold()) for n in ends)
    values: list[exp.Expr] = [column(n.casefold()) for n in names]
    values += [_shown(table, start), _shown(table, end)]
    kept = exp.or_(
        exp.Is(this=end.copy(), expression=exp.Null()),
        exp.EQ(this=end.copy(), expression=start.copy()),
    )
    target = exp.Schema(this=journal_table(table), expressions=[exact(n) for n in (*names, *ends)])
    rows = exp.select(*[v.copy() for v in values]).from_(_NEW).where(kept)
    written = exp.Insert(this=target, expression=rows)
    counted = exp.select(exp.Count(this=exp.Star())).from_(_NEW)
    counted = counted.with_(_NEW, as_=query.ast.copy(), materialized=True, copy=False)
    counted = counted.with_("written", as_=written, copy=False)
    text = session.rendered(counted)
    try:
        session.put(text, parameters)
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
