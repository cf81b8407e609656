"""Trees in terms that Apache Hive has, whose SQL says less than Spark's, and some of it otherwise.

    tree of allowed parts -> joins, casts, aggregates written out -> clauses as Hive orders them

Hive answers NULL where others raise an error: for a text that is no number, a sum too large, a
division by zero. So what could be answered otherwise is refused, and casts are checked by the
server as they are made. Pure; changes the tree that it is given.
"""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.relations import ident, union_all
from journal.schema import Table
from journal.stores.hive_values import row_of

_T = exp.DType
_MATCHED = "palimpsest_matched"
_GIVEN = "given"
"""Marks a text that the gateway wrote itself for the type it is cast to."""
_ADVICE = "raise held_rows in the URL, so that the gateway answers it, or ask Hive itself"
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
    *(exp.Create, exp.Insert, exp.Drop, exp.Alter, exp.AlterRename, exp.DropPartition),
    *(exp.Partition, exp.Schema, exp.ColumnDef, exp.Properties, exp.Property, exp.Describe),
)
_CALLS = frozenset(
    "unhex xxhash64 to_json input_file_name contains from_json explode element_at"
    " timestamp_micros".split()
)
"""Functions of trees that the gateway makes itself."""
_WHOLE = {_T.TINYINT, _T.SMALLINT, _T.INT, _T.BIGINT}
_INSTANTS = {_T.TIMESTAMPTZ, _T.TIMESTAMPLTZ}
_NESTED = {_T.ARRAY, _T.LIST, _T.MAP, _T.STRUCT}


def in_apache_terms(holder: exp.Expr) -> None:
    """Change what a holder's tree says that Hive says otherwise; raises NOT_SUPPORTED."""
    for node in holder.this.walk():
        _check(node)
    for values in list(holder.find_all(exp.Values)):
        rows = values.expressions
        alias = values.args.get("alias")
        values.replace(exp.Subquery(this=union_all([row_of(r) for r in rows]), alias=alias))
    for select in list(holder.find_all(exp.Select)):
        _check_alone(select)
    for subquery in list(holder.find_all(exp.Subquery)):
        _name_columns(subquery)
    for select in reversed(list(holder.find_all(exp.Select))):
        _write_out_anti_joins(select)
    for node in reversed(list(holder.find_all(exp.Expr))):
        change = _CHANGES.get(type(node))
        made = None if change is None else change(node)
        if made is not None:
            node.replace(made)


def check_types(table: Table) -> None:
    """Raise NOT_SUPPORTED for columns whose values would not come back from Hive as they were."""
    for found in table.columns:
        kind = exp.DataType.build(found.type, dialect="duckdb")
        if kind.this in _INSTANTS | _NESTED:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f'column "{found.name}": a journal of Apache Hive takes no {found.type}',
                advice="use TIMESTAMP, in UTC, or text; nested values as JSON text",
            )


def _refused(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"Apache Hive may answer this otherwise: {what}", advice=_ADVICE
    )


def _check(node: exp.Expr) -> None:
    if isinstance(node, exp.Anonymous):
        if str(node.this).lower() not in _CALLS:
            raise _refused(f"{node.this}(..)")
    elif not isinstance(node, _ALLOWED) and not _is_plain_pattern(node):
        raise _refused(node.sql(dialect="spark")[:60])
    elif isinstance(node, exp.DataType) and node.this in _NESTED:
        raise _refused(f"the type {node.sql(dialect='duckdb')}")
    elif isinstance(node, exp.With) and node.recursive:
        raise _refused("WITH RECURSIVE")


def _check_alone(select: exp.Select) -> None:
    """Raise for a query within a condition that asks of rows around it.

    Hive 4.0.1 answers some of those wrongly: EXISTS with OR finds none of the rows there are.
    """
    node: exp.Expr = select
    while isinstance(node.parent, exp.Subquery | exp.SetOperation | exp.Paren):
        node = node.parent
    if node.parent is None or isinstance(node.parent, exp.From | exp.Join | exp.CTE | exp.DDL):
        return
    own = {source.alias_or_name for source in select.find_all(exp.Table, exp.Subquery)}
    if any(c.table and c.table not in own for c in select.find_all(exp.Column)):
        raise _refused("a query within a condition that asks of rows around it")


def _is_plain_pattern(node: exp.Expr) -> bool:
    """True for LIKE with a pattern in which nothing is escaped, as Hive does by itself."""
    pattern = node.expression
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
        raise _refused("names for the columns of *")
    outputs = [
        exp.alias_(value.unalias().copy(), name.copy())
        for value, name in zip(select.expressions, names, strict=True)
    ]
    select.set("expressions", outputs)


def _write_out_anti_joins(select: exp.Select) -> None:
    """Rows without a match are those for which an outer join finds no mark."""
    for number, join in enumerate(select.args.get("joins") or ()):
        if join.args.get("kind") != "ANTI":
            continue
        mark = f"{_MATCHED}_{number}"
        alias = join.this.alias
        if not isinstance(join.this, exp.Subquery):
            alias = alias or join.this.name
            join.set("this", exp.select("*").from_(join.this.copy()).subquery(alias))
        inner = exp.select(exp.Column(this=exp.Star(), table=ident("r")))
        inner.append("expressions", exp.alias_(exp.Literal.number(1), ident(mark)))
        rows = join.this.this.subquery("r")
        join.set("this", inner.from_(rows).subquery(exp.to_identifier(alias, quoted=True)))
        join.set("kind", None)
        join.set("side", "LEFT")
        missing = exp.Is(this=exp.column(ident(mark), table=ident(alias)), expression=exp.Null())
        select.where(missing, copy=False)


def _counted(node: exp.Expr) -> exp.Expr:
    """How often something holds."""
    return exp.Count(this=exp.Case().when(node.this.copy(), exp.Literal.number(1)))


def _filtered(node: exp.Expr) -> exp.Expr:
    """An aggregate over those rows alone for which a condition holds."""
    aggregate, condition = node.this.copy(), node.expression.this
    if isinstance(aggregate, exp.Case) or not isinstance(aggregate, exp.AggFunc):
        raise _refused("FILTER of this aggregate")
    value = aggregate.this
    if isinstance(value, exp.Distinct):
        (value,) = value.expressions
    shown = exp.Literal.number(1) if isinstance(value, exp.Star) else value.copy()
    value.replace(exp.Case().when(condition.copy(), shown))
    return aggregate


def _held(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A value, or an error where a condition does not hold."""
    asserted = exp.Anonymous(this="assert_true", expressions=[condition])
    empty = exp.Is(this=asserted, expression=exp.Null())
    return exp.Case().when(empty, value)


def _cast(node: exp.Expr) -> exp.Expr | None:
    """A cast that fails where Hive would answer NULL, or other digits."""
    assert isinstance(node, exp.Cast)
    kind, value = node.to.this, node.this
    if kind is _T.TEXT or isinstance(value, exp.Null) or node.args.get("safe"):
        return None
    if isinstance(value, exp.Literal) and _is_sure(value.name, kind):
        return None
    if value.meta.get(_GIVEN):
        return _endless(node) if kind in {_T.DOUBLE, _T.FLOAT} else None
    made = exp.Cast(this=value.copy(), to=node.to.copy())
    if kind in _WHOLE:
        wide = exp.DataType.build("DECIMAL(38, 10)")
        holds: exp.Expr = exp.EQ(
            this=exp.Cast(this=value.copy(), to=wide.copy()),
            expression=exp.Cast(this=made.copy(), to=wide),
        )
    elif kind is _T.BOOLEAN:
        text = exp.Lower(this=exp.Cast(this=value.copy(), to=exp.DataType.build("STRING")))
        known = [exp.Literal.string("true"), exp.Literal.string("false")]
        holds = exp.In(this=text, expressions=known)
    else:
        holds = exp.Not(this=exp.Is(this=made.copy(), expression=exp.Null()))
    empty = exp.Is(this=value.copy(), expression=exp.Null())
    return _held(exp.Coalesce(this=exp.or_(empty, holds), expressions=[exp.false()]), made)


def _is_sure(text: str, kind: exp.DType) -> bool:
    """True for a text that surely stands for a finite value of a kind."""
    try:
        if kind is _T.DATE:
            datetime.date.fromisoformat(text)
        elif kind in {_T.TIMESTAMP, _T.TIMESTAMPNTZ}:
            datetime.datetime.fromisoformat(text)
        else:
            return kind in {_T.DECIMAL, _T.DOUBLE, _T.FLOAT} and Decimal(text).is_finite()
    except (ValueError, InvalidOperation):
        return False
    return True


def _endless(node: exp.Cast) -> exp.Expr:
    """A number that may be infinite, or none, whose words are others in Hive."""
    found = exp.Case(this=node.this.copy())
    for ours, theirs in (("inf", "Infinity"), ("-inf", "-Infinity"), ("nan", "NaN")):
        value = exp.Cast(this=exp.Literal.string(theirs), to=node.to.copy())
        found = found.when(exp.Literal.string(ours), value, copy=False)
    return found.else_(node.copy())


def _call(node: exp.Expr) -> exp.Expr | None:
    """Functions that the gateway's own trees use."""
    assert isinstance(node, exp.Anonymous)
    name, given = str(node.this).lower(), node.expressions
    if name == "input_file_name":
        return exp.column("INPUT__FILE__NAME")
    if name == "contains":
        found = exp.Anonymous(this="instr", expressions=[g.copy() for g in given])
        return exp.Paren(this=exp.GT(this=found, expression=exp.Literal.number(0)))
    if name == "xxhash64":
        return _hashed(given[0])
    if name == "timestamp_micros":
        return _instant(given[0])
    if name == "from_json":
        return _lines(given[0], given[1].name)
    if name == "element_at":
        return _element(given[0], int(given[1].name))
    return None


def _instant(value: exp.Expr) -> exp.Expr:
    """Microseconds since 1970 as a timestamp in UTC, which is the zone of our sessions."""
    million = exp.Literal.number(1_000_000)
    rest = exp.Anonymous(this="pmod", expressions=[value.copy(), million])
    whole = exp.Paren(this=exp.Sub(this=value.copy(), expression=rest.copy()))
    seconds = exp.IntDiv(this=whole, expression=million.copy())
    digits: list[exp.Expr] = [rest, exp.Literal.number(6), exp.Literal.string("0")]
    parts: list[exp.Expr] = [exp.Anonymous(this="from_unixtime", expressions=[seconds])]
    parts += [exp.Literal.string("."), exp.Anonymous(this="lpad", expressions=digits)]
    text = exp.Anonymous(this="concat", expressions=parts)
    return exp.Cast(this=text, to=exp.DataType.build("TIMESTAMP"))


def _lines(text: exp.Expr, shape: str) -> exp.Expr:
    """Rows of the gateway's, one line each; no sign of a value is one that parts them."""
    if shape != "array<array<string>>" or not isinstance(text, exp.Literal):
        raise _refused("from_json")
    rows = [",".join(map(_coded, row)) for row in json.loads(text.name)]
    literal = exp.Literal.string(";".join(rows))
    return exp.Anonymous(this="split", expressions=[literal, exp.Literal.string(";")])


def _coded(value: str | None) -> str:
    return "-" if value is None else "." + base64.b64encode(value.encode()).decode()


def _element(line: exp.Expr, place: int) -> exp.Expr:
    """The text that a line of the gateway's has in a place."""
    parted = exp.Anonymous(this="split", expressions=[line.copy(), exp.Literal.string(",")])
    coded = exp.Bracket(this=parted, expressions=[exp.Literal.number(place - 1)])
    rest = exp.Anonymous(this="substr", expressions=[coded.copy(), exp.Literal.number(2)])
    raw = exp.Anonymous(this="unbase64", expressions=[rest])
    text = exp.Anonymous(this="decode", expressions=[raw, exp.Literal.string("UTF-8")])
    is_null = exp.EQ(this=coded, expression=exp.Literal.string("-"))
    found = exp.Case().when(is_null, exp.Null()).else_(text)
    found.meta[_GIVEN] = True
    return found


def _hashed(members: exp.Expr) -> exp.Expr:
    """The first 60 bits of a checksum over the values of a row, each marked where it is NULL."""
    parts: list[exp.Expr] = [exp.Literal.string("|")]
    for member in members.find_all(exp.PropertyEQ):
        text = exp.Cast(this=member.expression.copy(), to=exp.DataType.build("STRING"))
        marked = exp.Anonymous(this="concat", expressions=[exp.Literal.string("v"), text])
        parts.append(exp.Coalesce(this=marked, expressions=[exp.Literal.string("n")]))
    whole = exp.Anonymous(this="concat_ws", expressions=parts)
    digits = exp.Anonymous(this="md5", expressions=[whole])
    first: list[exp.Expr] = [digits, exp.Literal.number(1), exp.Literal.number(15)]
    number: list[exp.Expr] = [exp.Anonymous(this="substr", expressions=first)]
    number += [exp.Literal.number(16), exp.Literal.number(10)]
    return exp.Anonymous(this="conv", expressions=number)


def _zoneless(node: exp.Expr) -> None:
    """Instants are kept as timestamps in UTC."""
    if node.this in _INSTANTS:
        node.set("this", _T.TIMESTAMP)


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
    exp.Cast: _cast,
    exp.Anonymous: _call,
    exp.Create: _created,
    exp.DataType: _zoneless,
}
