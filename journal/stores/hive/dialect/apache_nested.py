"""Lists, maps and structs on Apache Hive: JSON text in journals, values in views.

    rows of the gateway's    -> '["1.50",null]'
    views, and what leaves   -> json_read(l, 'array<decimal(4,2)>')
    a query's columns        -> only what it gives as it is: Hive compares no such values as we do

Hive loses members of such values when it sorts rows of Parquet files: a list of one NULL becomes
NULL, a list of an empty list an empty one. Texts it keeps. Of numbers with a point it makes
doubles, and knows no word for what is none, so these are texts as well. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Table, fold
from journal.sql.relations import column, ident
from journal.stores.hive.dialect.apache_checks import GIVEN, refused
from journal.stores.hive.dialect.types import DIALECT, spark_type
from journal.stores.hive.engine import HiveEngine

_T = exp.DType
NESTED = frozenset({_T.ARRAY, _T.LIST, _T.MAP, _T.STRUCT})
_WHOLE = {_T.TINYINT, _T.SMALLINT, _T.INT, _T.BIGINT}
_KEYS = _WHOLE | {_T.VARCHAR, _T.TEXT, _T.DATE}
_MEMBERS = _KEYS | {_T.BOOLEAN, _T.DECIMAL, _T.FLOAT, _T.DOUBLE, _T.TIMESTAMP, _T.TIMESTAMPNTZ}
_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def check_nested(table: Table) -> None:
    """Raise NOT_SUPPORTED for columns whose values would not come back from Hive as they were."""
    for found in table.columns:
        kind = exp.DataType.build(found.type, dialect="duckdb")
        odd = _unsupported_part(kind) if kind.this in NESTED else None
        if kind.this in NESTED and found.physical in table.key:
            odd = "a key of that type"
        if found.earlier_types and any(is_nested(k) for k in (found.type, *found.earlier_types)):
            odd = "another type of a nested one"
        if odd is not None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f'column "{found.name}": a journal of Apache Hive takes no {odd} in {found.type}',
                advice="take numbers, texts, dates and timestamps as members, names in lower case"
                " for those of structs, or keep the value as JSON text",
            )


def check_adopted(columns: Sequence[Column], engine: HiveEngine) -> None:
    """Raise NOT_SUPPORTED for nested columns of a table that is there already, where they are no
    texts."""
    found = next((c for c in columns if is_nested(c.type)), None)
    if engine is HiveEngine.APACHE and found is not None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f'column "{found.name}" is {found.type}: Apache Hive loses members of such values when'
            " it sorts rows",
            advice="make a table through the gateway, and insert the rows there",
        )


def _unsupported_part(kind: exp.DataType) -> str | None:
    """What a nested type has that Hive would not keep; None if it keeps everything."""
    if kind.this not in NESTED:
        return None if kind.this in _MEMBERS else kind.sql(dialect="duckdb")
    if kind.this is _T.MAP and kind.expressions[0].this not in _KEYS:
        return f"key {kind.expressions[0].sql(dialect='duckdb')}"
    for member in kind.expressions:
        if isinstance(member, exp.ColumnDef):
            if not _NAME.fullmatch(member.name):
                return f'member "{member.name}"'
            member = member.args["kind"]
        found = _unsupported_part(member)
        if found is not None:
            return found
    return None


def check_use(ast: exp.Expr, kinds: Mapping[str, Collection[exp.DType]]) -> None:
    """Raise where a query does more with a nested column than to give it, or to look if it is NULL.

    ``kinds`` are the types that columns of a name may have, by folded names.
    """
    nested = {name for name, found in kinds.items() if NESTED.intersection(found)}
    if not nested:
        return
    for node in ast.find_all(exp.Distinct, exp.SetOperation, exp.Join):
        if isinstance(node, exp.SetOperation) and not node.args.get("distinct"):
            continue
        using = node.args.get("using") or () if isinstance(node, exp.Join) else None
        if using is None or any(fold(i.name) in nested for i in using):
            raise refused("the comparison of nested values")
    relations = {fold(r.alias_or_name) for r in ast.find_all(exp.Table, exp.Subquery, exp.CTE)}
    for node in ast.find_all(exp.Column):
        is_member = fold(node.table) in nested - relations
        if is_member or (fold(node.name) in nested and not _is_given(node)):
            raise refused(f"what is done with {node.sql(dialect='duckdb')}, a nested value")


def _is_given(asked: exp.Column) -> bool:
    """True for a column that is an output of a query, or looked at for NULL."""
    node: exp.Expr = asked
    above = asked.parent
    if isinstance(above, exp.Is):
        return isinstance(above.expression, exp.Null)
    if isinstance(above, exp.Alias):
        node, above = above, above.parent
    return isinstance(above, exp.Select) and any(node is e for e in above.expressions)


def quote_numbers(holder: exp.Expr) -> None:
    """Let numbers with a point be texts in rows of the gateway's, where they are members."""
    for call in list(holder.find_all(exp.Anonymous)):
        if str(call.this).lower() != "from_json" or isinstance(call.expressions[0], exp.Literal):
            continue
        select, value = call.find_ancestor(exp.Select), call.expressions[0]
        source = None if select is None else select.args["from_"].find(exp.Literal)
        if source is None or not isinstance(value, exp.Anonymous):
            raise refused("from_json")
        place = int(value.expressions[1].name) - 1
        rows = json.loads(source.name)
        for row in rows:
            row[place] = _numbers_as_text(row[place])
        source.set("this", json.dumps(rows, separators=(",", ":")))


def _numbers_as_text(text: str | None) -> str | None:
    if text is None:
        return None
    return json.dumps(json.loads(text, parse_float=str, parse_constant=str), separators=(",", ":"))


def given(text: exp.Expr) -> exp.Expr:
    """What a text of the gateway's stands for in a journal: itself."""
    if not text.meta.get(GIVEN):
        raise refused("from_json")
    return text.copy()


def as_shown(rows: exp.Expr, table: Table, engine: HiveEngine) -> exp.Expr:
    """Rows of a journal, or current ones, with its nested values as everybody has them."""
    if engine is not HiveEngine.APACHE:
        return rows
    assert isinstance(rows, exp.Query)
    kinds = {name: c.type for c in table.stored for name in (c.name, c.physical)}
    nested = {n: k for n in rows.named_selects if (k := _nested(kinds.get(n))) is not None}
    if not nested:
        return rows
    outputs = [
        exp.alias_(_value(column(n, "q"), nested[n]), ident(n)) if n in nested else column(n, "q")
        for n in rows.named_selects
    ]
    return exp.select(*outputs).from_(rows.subquery("q"))


def _value(text: exp.Expr, kind: exp.DataType) -> exp.Expr:
    name = exp.DataType.build(spark_type(kind.sql(dialect="duckdb")), dialect=DIALECT)
    written = name.sql(dialect="hive").lower().replace(" ", "")
    return exp.Anonymous(this="json_read", expressions=[text, exp.Literal.string(written)])


def is_nested(kind: str) -> bool:
    """True for the canonical name of a type whose values journals hold as text."""
    return _nested(kind) is not None


def _nested(kind: str | None) -> exp.DataType | None:
    found = None if kind is None else exp.DataType.build(kind, dialect="duckdb")
    return found if found is not None and found.this in NESTED else None


def is_declared(kind: exp.DataType) -> bool:
    """True for the type of a column that is made, or of a NULL: both are text."""
    node: exp.Expr = kind
    while isinstance(node.parent, exp.DataType | exp.ColumnDef):
        node = node.parent
    above = node.parent
    return isinstance(above, exp.Schema) or (
        isinstance(above, exp.Cast) and isinstance(above.this, exp.Null)
    )
