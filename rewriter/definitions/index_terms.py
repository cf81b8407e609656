"""Turns the terms of CREATE INDEX and ON CONFLICT into an ``Index`` over columns.

Orders, methods and included columns are recorded as they were written: no answer depends on them.
Whatever would change answers is refused. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Index, Table, fold
from journal.model.table_index import IndexTerm
from journal.sql.sql import expression
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.generated_checks import check_same_value
from rewriter.definitions.key_types import has_zone
from rewriter.definitions.row_columns import over_physical
from rewriter.name_resolution import position_of, unknown_column

_METHODS = frozenset({"", "art", "btree", "hash", "gin", "gist", "spgist", "brin"})
_UNIQUE_METHODS = frozenset({"", "art", "btree"})
_BY_BYTES = frozenset({"c", "posix", "ucs_basic"})
_WITHOUT_EFFECT = frozenset({"using", "columns", "include", "where", "with_storage", "tablespace"})
"""What is taken of an index's clauses; storage parameters and tablespaces say nothing here."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_WITH_OFFSET = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)? ?(Z|UTC|[+-]\d\d(:?\d\d)?)", re.IGNORECASE
)
"""A moment that no zone makes another one."""


def read_index(table: Table, name: str, node: exp.Index, *, unique: bool) -> Index:
    """The index that a statement describes.

    Raises NOT_SUPPORTED for what would not hold, UNKNOWN_COLUMN, and INVALID_DEFINITION for values
    that are not always the same for the same row.
    """
    params = node.args.get("params") or exp.IndexParameters()
    for clause, value in (*node.args.items(), *params.args.items()):
        if value and clause not in {"this", "table", "params", *_WITHOUT_EFFECT}:
            raise _refusal(f"{clause.upper()} in CREATE INDEX", "leave it out", node)
    method = params.args["using"].name.lower() if params.args.get("using") else ""
    if method not in (_UNIQUE_METHODS if unique else _METHODS):
        what = f"a {'unique ' if unique else ''}index USING {method}"
        raise _refusal(what, "leave USING out: no answer depends on it", node)
    terms = [_read_term(table, n, unique=unique) for n in params.args.get("columns") or []]
    if not terms:
        raise PalimpsestError(
            Code.SYNTAX,
            "CREATE INDEX needs a table and columns of it",
            advice="write CREATE INDEX name ON table (column)",
            position=position_of(node),
        )
    where = params.args.get("where")
    predicate = None if where is None else _checked(table, where.this, "its predicate")
    included = [find_physical(table, n.name, n) for n in params.args.get("include") or []]
    index = Index(name, tuple(terms), (), unique, predicate, tuple(included), method)
    return with_columns(index)


def with_columns(index: Index) -> Index:
    """The index with the columns that its terms and its predicate read."""
    found: dict[str, None] = {}
    for term in index.terms:
        found |= dict.fromkeys([term.text] if term.is_column else columns_in(term.text))
    if index.predicate is not None:
        found |= dict.fromkeys(columns_in(index.predicate))
    return replace(index, columns=tuple(found))


def columns_in(text: str) -> list[str]:
    """The physical columns that a stored expression reads, in their order."""
    return [c.name for c in expression(text).find_all(exp.Column, bfs=False)]


def term_of(table: Table, node: exp.Expr) -> IndexTerm:
    """A column or an expression as the term of an index, without an order."""
    bare = node.unnest()
    if isinstance(bare, exp.Identifier) or (isinstance(bare, exp.Column) and len(bare.parts) == 1):
        return IndexTerm(find_physical(table, bare.name, bare))
    text = _physical_text(table, bare)
    value = expression(text)
    if isinstance(value, exp.Column):
        return IndexTerm(value.name)
    return IndexTerm(text, is_column=False)


def same_conditions(table: Table, part: exp.Expr, predicate: str) -> bool:
    """True if ``part``, which is over the columns of a table, says all that a predicate does."""
    return _conditions(expression(predicate)) <= _conditions(expression(row_text(table, part)))


def row_text(table: Table, part: exp.Expr) -> str:
    """A condition on a row as canonical text over physical columns.

    Raises UNKNOWN_COLUMN for what is no column of the table, such as ``excluded.a``.
    """
    return _physical_text(table, part.this if isinstance(part, exp.Where) else part)


def _conditions(condition: exp.Expr) -> set[str]:
    parts = condition.unnest().flatten() if isinstance(condition.unnest(), exp.And) else [condition]
    return {canonical_text(part.unnest()) for part in parts}


def _is_by_bytes(table: Table, value: exp.Collate) -> bool:
    """True for COLLATE "C" of what compares by its bytes anyway."""
    columns = [table.find(node.name) for node in value.this.find_all(exp.Column)]
    plain = all(found is not None and found.collation is None for found in columns)
    return plain and value.expression.name.lower() in _BY_BYTES


def _read_term(table: Table, node: exp.Expr, *, unique: bool) -> IndexTerm:
    ordered = node if isinstance(node, exp.Ordered) else exp.Ordered(this=node)
    value = ordered.this
    if isinstance(value, exp.Opclass):
        value = value.this
    if isinstance(value, exp.Collate) and _is_by_bytes(table, value):
        value = value.this.unnest()
    if value.find(exp.Collate) is not None:
        raise _refusal("COLLATE in an index", "leave it out: text is compared by its bytes", node)
    term = term_of(table, value)
    if not term.is_column:
        _checked(table, value, "an expression of it")
        if not columns_in(term.text):
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f"an index over {canonical_text(value)} refers to no column of {table.name}",
                advice="index columns, or expressions over columns",
                position=position_of(node),
            )
    first = bool(ordered.args.get("nulls_first"))
    return IndexTerm(term.text, term.is_column, bool(ordered.args.get("desc")), first)


def _checked(table: Table, value: exp.Expr, what: str) -> str:
    """An expression as canonical text over physical columns, once it is known to be repeatable."""
    check_same_value(exp.Paren(this=value.copy()), f"an index of {table.name}: {what}")
    text = _physical_text(table, value)
    _check_zone(table, text, what)
    return text


def check_zones(table: Table) -> None:
    """Raise INVALID_DEFINITION if the types of a table's columns do not suit its indexes."""
    for index in table.indexes:
        for term in index.terms:
            if not term.is_column:
                _check_zone(table, term.text, "an expression of it")
        if index.predicate is not None:
            _check_zone(table, index.predicate, "its predicate")


def _check_zone(table: Table, text: str, what: str) -> None:
    held = exp.Paren(this=expression(text))
    kinds = {c.physical: exp.DataType.build(c.type, dialect="duckdb") for c in table.columns}
    for node in list(held.find_all(*_COMPARISONS)):
        if all(_is_moment(side, kinds) for side in _sides(node)):
            node.replace(exp.true())
    used = [c.name for c in held.find_all(exp.Column) if not isinstance(c.parent, exp.Is)]
    if any(has_zone(kinds[n]) for n in used) or any(
        has_zone(c.to) for c in held.find_all(exp.Cast)
    ):
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"an index of {table.name}: {what} depends on the session's time zone",
            advice="index the column itself, or a TIMESTAMP without a zone;"
            " give constants their offset: '2024-01-01 00:00:00+00'",
        )


def _sides(comparison: exp.Expr) -> list[exp.Expr]:
    sides = (comparison.args.get(name) for name in ("this", "expression", "low", "high"))
    return [side for side in sides if side is not None]


def _is_moment(side: exp.Expr, kinds: Mapping[str, exp.DataType]) -> bool:
    """True for what is the same moment in every zone: a column, a constant with its offset."""
    if isinstance(side, exp.Column):
        return kinds[side.name].is_type(exp.DType.TIMESTAMPTZ)
    if isinstance(side, exp.Cast) and side.is_type(exp.DType.TIMESTAMPTZ):
        side = side.this
    return side.is_string and _WITH_OFFSET.fullmatch(side.name) is not None


def _physical_text(table: Table, value: exp.Expr) -> str:
    known = {fold(c.name) for c in table.columns}
    found = over_physical(value, table.name, known, lambda n, used: find_physical(table, n, used))
    return canonical_text(found)


def find_physical(table: Table, name: str, node: exp.Expr) -> str:
    """The physical name of a column; raises UNKNOWN_COLUMN if there is none of the name."""
    found = table.find(name)
    if found is None:
        raise unknown_column(name, table, node)
    return found.physical


def default_name(table: Table, index: Index, taken: Iterable[str]) -> str:
    """The name that PostgreSQL gives an index without one: table, columns, ``idx``, a number."""
    names = {c.physical: c.name for c in table.columns}
    parts = [table.name.name]
    for term in index.terms:
        value = None if term.is_column else expression(term.text)
        if value is None:
            parts.append(names[term.text])
        elif isinstance(value, exp.Func):
            parts.append(value.sql(dialect="duckdb").partition("(")[0].lower())
        else:
            parts.append("expr")
    base = "_".join([*parts, "idx"])
    known = {fold(name) for name in taken}
    found, number = base, 0
    while fold(found) in known:
        number += 1
        found = f"{base}{number}"
    return found


def _refusal(what: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice, position=position_of(node)
    )
