"""The server's own indexes behind those of a logical table: one on each table of its journal.

They make reads fast and promise nothing: what is unique is held by the gateway, for a journal holds
earlier versions, too. Heads get them when an index is made, sealed tables when a job writes them.
What the server might refuse is left out: values that it cannot order, expressions that it would not
call immutable, and text, which may be too long: of heads always, for they must take every row, of
sealed tables where it is. Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Column, Index, Table
from journal.model.segment import Fields, Manifest
from journal.sql.relations import column, ident
from journal.sql.unique_keys import index_key, index_parameters
from journal.stores.postgres.dialect.text import rendered
from journal.stores.postgres.in_place import kept_going
from journal.stores.postgres.store import PostgresSession

_NOT_ORDERED = (*exp.DataType.NESTED_TYPES, exp.DType.JSON, exp.DType.JSONB, exp.DType.ARRAY)
_IMMUTABLE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Case, exp.If),
    *(exp.Lower, exp.Upper, exp.Abs, exp.Length, exp.Coalesce, exp.Trim, exp.Mod),
    *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.And, exp.Or, exp.Not, exp.Is, exp.In),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between),
    *(exp.IndexParameters, exp.Ordered, exp.Where),
)
"""What the server computes without asking for a time zone, a locale or another setting."""
_SIMPLE = (*exp.DataType.INTEGER_TYPES, *exp.DataType.TEXT_TYPES, exp.DType.BOOLEAN, exp.DType.DATE)


def add_indexes(
    session: PostgresSession, table: Table, target: exp.Table, fields: Fields, *, is_head: bool
) -> None:
    """Index a table of journal rows, which has these fields, as its logical table is indexed."""
    known = set(dict(fields))
    if is_head:
        known -= {c.physical for c in table.stored if _is_of(c, *exp.DataType.TEXT_TYPES)}
    for name, text in _texts_by_name(table, target, table.indexes, known).items():
        place = rendered(target).sql
        try:
            with kept_going(session):
                session.text(f"CREATE INDEX IF NOT EXISTS {_quote(name)} ON {place} {text}")
        except PalimpsestError as error:
            if error.code is not Code.NOT_SUPPORTED:
                raise
            # A value is too long for an index of the server. It is read without one.


def follow_indexes(
    session: PostgresSession, old: Table, new: Table, manifest: Manifest, heads: Iterable[exp.Table]
) -> None:
    """Make the indexes of a new definition on the heads there are, and drop those that are gone."""
    if old.indexes == new.indexes:
        return
    for target, head in zip(heads, manifest.heads, strict=True):
        add_indexes(session, new, target, head.fields, is_head=True)
    tables = [*heads, *(exp.table_(s.id, db=STORE_SCHEMA) for s in manifest.segments)]
    known = {c.physical for c in (*old.stored, *new.stored)}
    for target in tables:
        gone = _texts_by_name(old, target, old.indexes, known).keys()
        for name in gone - _texts_by_name(new, target, new.indexes, known).keys():
            session.text(f"DROP INDEX IF EXISTS {STORE_SCHEMA}.{_quote(name)}")


def _texts_by_name(
    table: Table, target: exp.Table, indexes: Iterable[Index], known: set[str]
) -> Mapping[str, str]:
    """What follows the table in CREATE INDEX, by the name of the index; equal ones are one."""
    texts = (_parameters(table, index) for index in indexes if known.issuperset(index.columns))
    return {f"{target.name}_x{zlib.crc32(t.encode()):08x}": t for t in texts if t is not None}


def _parameters(table: Table, index: Index) -> str | None:
    """The terms and the condition as the server says them; None for what it might refuse."""
    columns = [c for c in table.stored if c.physical in index.columns]
    if any(_is_of(c, *_NOT_ORDERED) for c in columns):
        return None
    key = index_key(index)
    if index.unique and not key.is_plain:
        # The very values by which rows are held apart.
        terms = [exp.Ordered(this=exp.paren(v)) for v in key.values(column)]
        params = exp.IndexParameters(columns=terms)
    else:
        params = index_parameters(index, column)
        params.set("include", None)
    simple = all(_is_of(c, *_SIMPLE) for c in columns)
    computed = index.predicate is not None or not all(t.is_column for t in index.terms)
    if computed and not (simple and all(isinstance(n, _IMMUTABLE) for n in params.walk())):
        return None
    return str(rendered(params).sql)


def _is_of(column: Column, *kinds: exp.DType) -> bool:
    return exp.DataType.build(column.type, dialect="duckdb").is_type(*kinds)


def _quote(name: str) -> str:
    return str(ident(name).sql(dialect="postgres"))
