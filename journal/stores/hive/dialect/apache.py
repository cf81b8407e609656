"""Rewrites trees for Apache Hive, whose SQL lacks or changes some of Spark's.

    tree of allowed parts -> joins, casts, aggregates written out -> clauses as Hive orders them

Hive answers NULL where others raise an error: for a text that is no number, a sum too large, a
division by zero. So what could be answered otherwise is refused, and casts are checked by the
server as they are made. Pure; changes the tree that it is given.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.lowering.sources import row_of
from journal.sql.relations import union_all
from journal.stores.hive.dialect.apache_checks import (
    COMPARED,
    GIVEN,
    checked_cast,
    guard_compared,
    refused,
)
from journal.stores.hive.dialect.apache_joins import (
    ExistsRewrite,
    name_merged_columns,
    outer_names,
    write_out_joins,
)
from journal.stores.hive.dialect.apache_nested import NESTED, is_declared, quote_numbers
from journal.stores.hive.dialect.apache_nested import given as as_given
from journal.transactions.expiry import DATED

_T = exp.DType
_ALLOWED: tuple[type[exp.Expr], ...] = (
    *(exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered),
    *(exp.Limit, exp.Offset, exp.Subquery, exp.SetOperation, exp.With, exp.CTE, exp.Table),
    *(exp.TableAlias, exp.Column, exp.Identifier, exp.Alias, exp.Star, exp.Literal, exp.Null),
    *(exp.Boolean, exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT),
    *(exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Case),
    *(exp.If, exp.Coalesce, exp.Nullif, exp.Count, exp.CountIf, exp.Sum, exp.Min, exp.Max),
    *(exp.Cast, exp.Neg, exp.Tuple, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Window),
    *(exp.Distinct, exp.Filter, exp.DataType, exp.DataTypeParam, exp.Var, exp.Struct),
    *(exp.PropertyEQ, exp.Placeholder, exp.Lower, exp.Upper, exp.DPipe, exp.Values),
    *(exp.Exists, exp.TryCast, exp.Trim, exp.SHA2, exp.Concat, exp.Chr, exp.Translate),
    *(exp.Create, exp.Insert, exp.Drop, exp.Alter, exp.AlterRename, exp.DropPartition),
    *(exp.Partition, exp.Schema, exp.ColumnDef, exp.Properties, exp.Property, exp.Describe),
)
_CALLS = frozenset(
    "unhex xxhash64 to_json input_file_name contains from_json explode element_at"
    " json_read map timestamp_micros concat concat_ws sha256 chr translate octet_length".split()
)
"""Functions of trees that the gateway makes itself."""
_INSTANTS = {_T.TIMESTAMPTZ, _T.TIMESTAMPLTZ}


def in_apache_terms(holder: exp.Expr) -> None:
    """Change what a holder's tree says that Hive says otherwise; raises NOT_SUPPORTED."""
    for node in holder.this.walk():
        _check(node)
    quote_numbers(holder)
    for values in list(holder.find_all(exp.Values)):
        rows = values.expressions
        alias = values.args.get("alias")
        values.replace(exp.Subquery(this=union_all([row_of(r) for r in rows]), alias=alias))
    for select in list(holder.find_all(exp.Select)):
        _check_uncorrelated(select)
        name_merged_columns(select)
    for subquery in list(holder.find_all(exp.Subquery)):
        _name_columns(subquery)
    exists = ExistsRewrite()
    for select in reversed(list(holder.find_all(exp.Select))):
        exists.write_out(select)
        write_out_joins(select)
    for node in reversed(list(holder.find_all(exp.Expr))):
        change = _CHANGES.get(type(node))
        made = None if change is None else change(node)
        if made is not None:
            node.replace(made)
        elif isinstance(node, COMPARED):
            guard_compared(node)


def _check(node: exp.Expr) -> None:
    if isinstance(node, exp.Anonymous):
        if str(node.this).lower() not in _CALLS:
            raise refused(f"{node.this}(..)")
    elif not isinstance(node, _ALLOWED) and not _is_sure_pattern(node):
        raise refused(_without_texts(node))
    elif isinstance(node, exp.DataType) and node.this in NESTED and not is_declared(node):
        raise refused(f"the type {node.sql(dialect='duckdb')}")
    elif isinstance(node, exp.With) and node.recursive:
        raise refused("WITH RECURSIVE")
    elif isinstance(node, exp.In) and node.args.get("query") and isinstance(node.this, exp.Tuple):
        raise refused("IN of several columns")


def _without_texts(node: exp.Expr) -> str:
    """A part of a query without its texts, of which some are secrets of the gateway's."""
    bare = node.copy()
    for literal in list(bare.find_all(exp.Literal)):
        literal.set("this", ".." if literal.is_string else literal.this)
    return bare.sql(dialect="spark")[:60]


def _check_uncorrelated(select: exp.Select) -> None:
    """Raise for a query within a condition that asks of rows around it.

    Hive 4.0.1 answers some of those wrongly: EXISTS with OR finds none of the rows there are.
    """
    node: exp.Expr = select
    while isinstance(node.parent, exp.Subquery | exp.SetOperation | exp.Paren):
        node = node.parent
    apart = exp.From | exp.Join | exp.CTE | exp.DDL | exp.Exists
    if node.parent is None or isinstance(node.parent, apart):
        return
    if outer_names(select, select):
        raise refused("a query within a condition that asks of rows around it")


def _is_sure_pattern(node: exp.Expr) -> bool:
    """True for LIKE with a pattern in which nothing is escaped, as Hive does by itself."""
    pattern = node.expression
    if isinstance(node, exp.RegexpLike):
        return bool(pattern.is_string and pattern.name == DATED)
    return isinstance(node, exp.Like) and pattern.is_string and "\\" not in pattern.name


def _name_columns(subquery: exp.Subquery) -> None:
    """Hive takes no list of columns after a subquery's name: the columns are named inside."""
    alias = subquery.args.get("alias")
    if not isinstance(alias, exp.TableAlias) or not alias.columns:
        return
    names = list(alias.columns)
    alias.set("columns", None)
    select = subquery.this
    while isinstance(select, exp.SetOperation | exp.Subquery):
        select = select.this
    if len(select.expressions) != len(names) or select.is_star:
        raise refused("names for the columns of *")
    outputs = [
        exp.alias_(value.unalias().copy(), name.copy())
        for value, name in zip(select.expressions, names, strict=True)
    ]
    select.set("expressions", outputs)


def _counted(node: exp.Expr) -> exp.Expr:
    """How often something holds."""
    return fill("COUNT(CASE WHEN c THEN 1 END)", c=node.this)


def _filtered(node: exp.Expr) -> exp.Expr:
    """An aggregate over those rows alone for which a condition holds."""
    aggregate, condition = node.this.copy(), node.expression.this
    if isinstance(aggregate, exp.Case) or not isinstance(aggregate, exp.AggFunc):
        raise refused("FILTER of this aggregate")
    value = aggregate.this
    if isinstance(value, exp.Distinct):
        (value,) = value.expressions
    shown = exp.Literal.number(1) if isinstance(value, exp.Star) else value.copy()
    value.replace(exp.Case().when(condition.copy(), shown))
    return aggregate


def _call(node: exp.Expr) -> exp.Expr | None:
    """Functions that the gateway's own trees use."""
    assert isinstance(node, exp.Anonymous)
    given = node.expressions
    match str(node.this).lower():
        case "input_file_name":
            return exp.column("INPUT__FILE__NAME")
        case "contains":
            return fill("(found > 0)", found=call("instr", *given))
        case "sha256":
            return exp.SHA2(this=given[0].copy(), length=exp.Literal.number(256))
        case "concat":
            # Unlike Hive's, ours leaves out what is NULL.
            return call("concat", *(fill("COALESCE(x, '')", x=g) for g in given))
        case "xxhash64":
            return _row_checksum(given[0])
        case "timestamp_micros":
            return _instant(given[0])
        case "from_json":
            text = given[0]
            return _lines(text) if isinstance(text, exp.Literal) else as_given(text)
        case "element_at":
            return _element(given[0], int(given[1].name))
    return None


def _trim_by_pattern(node: exp.Expr) -> exp.Expr | None:
    """Hive trims spaces only; other characters are left out by a pattern of their numbers."""
    blanks = node.expression
    if blanks is None and not node.args.get("position"):
        return None
    if blanks is None or not blanks.is_string or node.args["position"] != "BOTH":
        raise refused("TRIM of such characters")
    each = "".join(f"\\x{{{ord(c):x}}}" for c in blanks.name)
    return call("regexp_replace", node.this, f"^[{each}]+|[{each}]+\\z", "")


def _instant(value: exp.Expr) -> exp.Expr:
    """Microseconds since 1970 as a timestamp in UTC, which is the zone of our sessions."""
    rest = call("pmod", value, 1_000_000)
    seconds = fill("(v - rest) // 1000000", v=value, rest=rest)
    digits = call("lpad", rest, 6, "0")
    text = call("concat", call("from_unixtime", seconds), ".", digits)
    made = exp.Cast(this=text, to=exp.DataType.build("TIMESTAMP"))
    made.meta[GIVEN] = True
    return made


def _lines(text: exp.Literal) -> exp.Expr:
    """Rows of the gateway's, one line each; no sign of a value is one that parts them."""
    rows = [",".join(map(_coded, row)) for row in json.loads(text.name)]
    return call("split", ";".join(rows), ";")


def _coded(value: str | None) -> str:
    return "-" if value is None else "." + base64.b64encode(value.encode()).decode()


def _element(line: exp.Expr, place: int) -> exp.Expr:
    """The text that a line of the gateway's has in a place."""
    coded = exp.Bracket(this=call("split", line, ","), expressions=[exp.Literal.number(place - 1)])
    text = call("decode", call("unbase64", call("substr", coded, 2)), "UTF-8")
    found = fill("CASE WHEN c = '-' THEN NULL ELSE t END", c=coded, t=text)
    found.meta[GIVEN] = True
    return found


def _row_checksum(members: exp.Expr) -> exp.Expr:
    """The first 60 bits of a checksum over the values of a row, each marked where it is NULL."""
    parts: list[exp.Expr] = []
    for member in members.find_all(exp.PropertyEQ):
        text = exp.Cast(this=member.expression.copy(), to=exp.DataType.build("STRING"))
        parts.append(fill("COALESCE(v, 'n')", v=call("concat", "v", text)))
    digits = call("substr", call("md5", call("concat_ws", "|", *parts)), 1, 15)
    return call("conv", digits, 16, 10)


def _joined(node: exp.Expr) -> None:
    """Texts that are put together; what is none becomes one as by a cast."""
    is_list = isinstance(node, exp.Concat)
    for part in node.expressions if is_list else [node.this, node.args["expression"]]:
        is_text = isinstance(
            part, exp.DPipe | exp.Concat | exp.SHA2 | exp.Lower | exp.Upper | exp.Trim
        )
        if part.find(exp.Column) is not None and not is_text:
            text = exp.Cast(this=part.copy(), to=exp.DataType.build("TEXT"))
            part.replace(checked_cast(text) or text)


def _numbered(node: exp.Expr) -> None:
    """Where rows are numbered in any order Hive fails over an order by NULL."""
    order = node.args.get("order")
    if order is not None and all(isinstance(o.this, exp.Null) for o in order.expressions):
        node.set("order", None)


def _bracket_not(node: exp.Expr) -> None:
    """Hive reads NOT NOT as one operator with two sides."""
    if isinstance(node.this, exp.Not):
        node.set("this", exp.Paren(this=node.this))


def _replace_ordinals(node: exp.Expr) -> None:
    """Hive takes the number of a column for a constant."""
    select = node.parent
    assert isinstance(select, exp.Select)
    found = [
        select.selects[int(e.name) - 1].unalias().copy()
        if isinstance(e, exp.Literal) and e.is_int and 0 < int(e.name) <= len(select.selects)
        else e
        for e in node.expressions
    ]
    node.set("expressions", found)


def _stored_type(node: exp.Expr) -> exp.Expr | None:
    """Instants are stored as timestamps in UTC, nested values as text."""
    if node.this in NESTED:
        return exp.DataType.build("STRING", dialect="hive")
    if node.this in _INSTANTS:
        node.set("this", _T.TIMESTAMP)
    return None


def _created(node: exp.Expr) -> None:
    """A table of files that anybody may read: external, its partition columns with their types."""
    assert isinstance(node, exp.Create)
    properties = node.args.get("properties")
    if str(node.args.get("kind")).upper() != "TABLE" or properties is None:
        return
    found = {type(p): p for p in properties.expressions}
    by, schema = found.get(exp.PartitionedByProperty), node.this
    if by is not None and isinstance(schema, exp.Schema):
        names = [i.name for i in by.this.expressions]
        kinds = {c.name: c for c in schema.expressions if c.name in names}
        schema.set("expressions", [c for c in schema.expressions if c.name not in names])
        by.set("this", exp.Schema(expressions=[kinds[n].copy() for n in names]))
    ordered = (exp.PartitionedByProperty, exp.ClusteredByProperty, exp.FileFormatProperty)
    listed = [found.pop(kind) for kind in ordered if kind in found]
    purged = exp.Property(
        this=exp.Literal.string("external.table.purge"), value=exp.Literal.string("true")
    )
    listed = [exp.ExternalProperty(), *listed, *found.values(), purged]
    node.set("properties", exp.Properties(expressions=listed))


_CHANGES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr | None]] = {
    exp.CountIf: _counted,
    exp.Filter: _filtered,
    exp.Cast: checked_cast,
    exp.TryCast: checked_cast,
    exp.Anonymous: _call,
    exp.Trim: _trim_by_pattern,
    exp.Create: _created,
    exp.Concat: _joined,
    exp.DPipe: _joined,
    exp.DataType: _stored_type,
    exp.Group: _replace_ordinals,
    exp.Not: _bracket_not,
    exp.Window: _numbered,
}
