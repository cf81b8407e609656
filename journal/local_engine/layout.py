"""How a journal lies in the embedded store: head tables, tier views, the views clients may read.

Schema ``_palimpsest`` holds, per table id: ``t1_head_<generation>`` (heads), ``t1_head``,
``t1_base``, ``t1_delta``, ``t1_history`` (views over heads and segments, in present columns). The
logical schema holds ``depts`` (current view) and ``depts_journal``, for readers that do not come
through the gateway. Builds AST and runs it in the session it is given; commits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.model.plan import STORE_SCHEMA, Query, physical
from journal.model.schema import Table
from journal.model.segment import Fields, Head, Manifest, Segment, SegmentFile, Tier
from journal.sql.public_views import create_view
from journal.sql.relations import column, ident, union_all
from journal.sql.row_layout import added_value, journal_fields, rows_in_layout, types_since
from journal.sql.row_layout import fields_of as fields_of
from journal.sql.sql import cast

_DIALECT = "duckdb"
_AS_TEXT = frozenset(
    {
        exp.DType.INT128,
        exp.DType.UINT128,
        exp.DType.INTERVAL,
        exp.DType.TIMETZ,
        exp.DType.BIT,
        exp.DType.BIGNUM,
        exp.DType.ENUM,
    }
)
_RETURNED_AS_WRITTEN = frozenset(
    {
        *(exp.DType.BOOLEAN, exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT),
        *(exp.DType.BIGINT, exp.DType.UTINYINT, exp.DType.USMALLINT, exp.DType.UINT),
        *(exp.DType.UBIGINT, exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL),
        *(exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.DATE, exp.DType.TIME),
        *(exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.UUID, exp.DType.INET),
    }
)
"""Types that a Parquet file gives back as they were; values of others are cast when read."""


_SEALED = (Tier.BASE, Tier.DELTA, Tier.HISTORY)
_FOOTERS_FIRST_FILES_MAX = 64
_FOOTERS_FIRST_ROWS_MIN = 250_000


@lru_cache(maxsize=4096)
def parquet_type(kind: str) -> str:
    """The type under which values of ``kind`` survive Parquet unchanged.

    Parquet has no 128-bit integers and no microsecond intervals; those are written as text.
    """
    data_type = exp.DataType.build(kind, dialect=_DIALECT)
    for leaf in list(data_type.find_all(exp.DataType)):
        if leaf.this in _AS_TEXT:
            leaf.set("this", exp.DType.TEXT)
            leaf.set("expressions", None)
    return data_type.sql(dialect=_DIALECT)


@lru_cache(maxsize=4096)
def _is_cast_when_read(kind: str) -> bool:
    """True for types that a Parquet file gives back as something else."""
    return exp.DataType.build(kind, dialect=_DIALECT).this not in _RETURNED_AS_WRITTEN


def head_table(table_id: int, head: Head) -> exp.Table:
    """The table of the store behind one head."""
    return exp.table_(f"t{table_id}_head_{head.generation}", db=STORE_SCHEMA)


def create_head(session: DuckDBSession, table: Table, head: Head) -> None:
    """Create the empty table behind a head."""
    columns = [
        exp.ColumnDef(this=ident(name), kind=exp.DataType.build(kind, dialect=_DIALECT))
        for name, kind in journal_fields(table, head.fields)
    ]
    schema = exp.Schema(this=head_table(table.id, head), expressions=columns)
    _run(session, exp.Create(this=schema, kind="TABLE"))


def drop_head(session: DuckDBSession, table_id: int, head: Head) -> None:
    """Drop the table behind a head whose rows now stand in a segment."""
    _run(session, exp.Drop(tables=[head_table(table_id, head)], kind="TABLE"))


def refresh_tiers(session: DuckDBSession, table: Table, manifest: Manifest, root: Path) -> None:
    """Make the tier views of one layout say what the manifest lists; none for an empty tier."""
    pieces = {Tier.HEAD: [head_rows(table, h) for h in manifest.heads]} if manifest.heads else {}
    for tier in _SEALED:
        segments = manifest.in_tier(tier)
        if segments:
            pieces[tier] = _segments(table, segments, root)
    masks = [str(root / mask) for mask in manifest.masks]
    for tier, parts in pieces.items():
        rows = union_all(parts)
        if masks:
            rows = unmasked(table, rows, masks)
        _run(session, create_view(physical(table.id, tier, table.layout), rows))
    for tier in [t for t in (Tier.HEAD, *_SEALED) if t not in pieces]:
        # Left as it was, it would name files that are removed.
        name = physical(table.id, tier, table.layout)
        _run(session, exp.Drop(tables=[name], kind="VIEW", exists=True))


def written_rows(table: Table, manifest: Manifest, root: Path) -> list[exp.Query]:
    """All rows of a journal in present columns, also those whose keys masks hide."""
    heads = [head_rows(table, h) for h in manifest.heads]
    return [*heads, *_segments(table, manifest.segments, root)]


def unmasked(table: Table, rows: exp.Query, masks: Sequence[str]) -> exp.Query:
    """Rows in the columns of a table, less those whose keys stand in files of keys."""
    hidden = key_rows(table, masks).subquery("m")
    same = [exp.EQ(this=column(k, "r"), expression=column(k, "m")) for k in table.key]
    found = exp.select("*").from_(rows.subquery("r"))
    return found.join(hidden, on=exp.and_(*same), join_type="anti")


def key_rows(table: Table, files: Sequence[str]) -> exp.Select:
    """The keys in files of keys, in the types of a table."""
    paths = exp.Array(expressions=[exp.Literal.string(path) for path in files])
    source = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[paths]))
    keys: list[exp.Expr] = []
    for name in table.key:
        kind = exp.DataType.build(table.by_physical(name).type, dialect=_DIALECT)
        keys.append(exp.alias_(exp.TryCast(this=column(name), to=kind), ident(name)))
    return exp.select(*keys).from_(source)


def segment_query(table: Table, source: exp.Query) -> Query:
    """Rows of a journal in the types that survive Parquet, in stored order."""
    outputs: list[exp.Expr] = []
    for name, kind in fields_of(table):
        value: exp.Expr = column(name)
        if parquet_type(kind) != kind:
            value = exp.alias_(cast(value, parquet_type(kind)), ident(name))
        outputs.append(value)
    outputs += [column(table.format.version_column), column(table.format.subsequent_column)]
    return Query.of(exp.select(*outputs).from_(source.subquery("j")))


def conformed(table: Table, query: Query) -> Query:
    """Rows for a journal in exactly the types of its columns, where the store would blur them.

    A union of two ENUMs is text, for example, even where both have the same values.
    """
    odd = {name: kind for name, kind in fields_of(table) if _is_cast_when_read(kind)}
    if not odd:
        return query
    outputs: list[exp.Expr] = []
    for name, _ in fields_of(table):
        value: exp.Expr = column(name, "r")
        if name in odd:
            value = exp.alias_(cast(value, odd[name]), ident(name))
        outputs.append(value)
    ends = table.ends
    outputs += [column(name, "r") for name in ends]
    assert isinstance(query.ast, exp.Query)
    rows = exp.select(*outputs).from_(query.ast.copy().subquery("r"))
    return Query(rows, query.parameters)


def head_rows(table: Table, head: Head) -> exp.Query:
    """Rows of a head in the table's present columns and types."""
    return rows_in_layout(table, head_table(table.id, head), head.fields)


def buffered_rows(table: Table, source: exp.Table, fields: Fields) -> exp.Query:
    """Rows held in memory in the table's present columns and types."""
    return _sealed_rows(table, source, fields)


def has_odd_types(table: Table) -> bool:
    """True if some column's values come back from outside the store as something else."""
    return any(_is_cast_when_read(kind) for _, kind in fields_of(table))


def segment_rows(
    table: Table, files: Sequence[str], fields: Fields, root: Path, *options: exp.Expr
) -> exp.Query:
    """Rows of Parquet files in the table's present columns and types."""
    # Not joined as paths are: statements name thousands of files.
    names = exp.Array(expressions=[exp.Literal.string(f"{root}/{f}") for f in files])
    call = exp.Anonymous(this="read_parquet", expressions=[names, *options])
    return _sealed_rows(table, exp.Table(this=call), fields)


def _segments(table: Table, segments: Sequence[Segment], root: Path) -> list[exp.Query]:
    ordered = sorted(segments, key=lambda s: s.fields)
    pieces: list[exp.Query] = []
    for fields, group in groupby(ordered, key=lambda s: s.fields):
        files = [f for s in group for f in s.files]
        paths = [f.path for f in files]
        pieces.append(segment_rows(table, paths, fields, root, *_footers_first(files)))
    return pieces


def _footers_first(files: Sequence[SegmentFile]) -> list[exp.Expr]:
    """The option that makes DuckDB plan a scan with what the footers of all its files say.

    Of one file it always does, of a list of files only where their columns may differ. What it
    learns, bounds and which columns have no NULL, makes groups and distinct values cheaper. It
    costs every statement about 0.1 ms for each file, so files must be few and large.
    """
    few = 1 < len(files) <= _FOOTERS_FIRST_FILES_MAX
    if not few or sum(f.rows for f in files) < len(files) * _FOOTERS_FIRST_ROWS_MIN:
        return []
    return [exp.EQ(this=exp.column("union_by_name"), expression=exp.true())]


def _sealed_rows(table: Table, source: exp.Expr, fields: Fields) -> exp.Query:
    """As ``rows_in_layout``, of rows that may have come back in other types."""
    written = dict(fields)
    outputs: list[exp.Expr] = []
    for stored in table.stored:
        kind = written.get(stored.physical)
        value: exp.Expr = column(stored.physical, "p")
        if kind is None:
            value = added_value(stored)
        elif kind != stored.type:
            # Rows that no reader of this layout sees may hold values that its type cannot hold.
            if parquet_type(kind) != kind:
                value = cast(value, kind)
            for later in types_since(stored, kind):
                value = exp.TryCast(this=value, to=exp.DataType.build(later, dialect=_DIALECT))
        elif _is_cast_when_read(kind):
            value = cast(value, stored.type)
        outputs.append(exp.alias_(value, ident(stored.physical), copy=False))
    for name in table.ends:
        outputs.append(exp.alias_(column(name, "p"), ident(name), copy=False))
    return exp.select(*outputs, copy=False).from_(exp.alias_(source, "p", table=True), copy=False)


def _run(session: DuckDBSession, ast: exp.Expr) -> None:
    session.execute(Query(ast, ()), {})
