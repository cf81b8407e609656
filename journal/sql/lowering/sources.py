"""Sources of a FROM clause that PostgreSQL lacks: samples of relations, and ASOF joins.

A sample is a filter or a limit by chance, as views have no other. An ASOF join takes, for each row,
the nearest one of the other side: a LATERAL subquery in its order. Pure; changes the tree it is
given.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.relations import column, ident, union_all

_SAMPLED = "_palimpsest_sampled"
_JOINED = "_palimpsest_joined"
_METHODS = frozenset({"BERNOULLI", "SYSTEM", "RESERVOIR"})
_NEAREST: dict[type[exp.Expr], bool] = {exp.GTE: True, exp.GT: True, exp.LTE: False, exp.LT: False}
"""Whether the nearest row is the highest, where the left side is compared so with the right."""
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GTE: exp.LTE,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.LT: exp.GT,
}


def prepare_sources(holder: exp.Expr) -> None:
    """Write out every sample and ASOF join inside; refuses other joins that there are not."""
    for sample in list(holder.find_all(exp.TableSample)):
        _sampled(sample)
    for join in list(holder.find_all(exp.Join)):
        if join.kind.upper() in {"SEMI", "ANTI"} and join.args.get("using"):
            _name_joined(join)
        if join.args.get("nearest") is not None:
            _nearest(join)
        elif join.method.upper() == "ASOF":
            _as_of(join)
        elif join.method.upper() == "POSITIONAL":
            raise _refused("POSITIONAL JOIN", "number the rows of both sides, and join on that")


def _sampled(sample: exp.TableSample) -> None:
    source = sample.parent
    assert source is not None
    if sample.args.get("seed") is not None:
        raise _refused("sample that can be repeated", "filter by a hash of the key")
    _check_sample(sample)
    chance = exp.Anonymous(this="random")
    alias = source.args.get("alias")
    percent, size = sample.args.get("percent"), sample.args.get("size")
    part = exp.Div(this=percent and percent.copy(), expression=exp.Literal.number(100))
    taken = exp.LT(this=chance, expression=part)
    if percent is None and not isinstance(size, exp.Literal):
        raise _refused("such a sample", "give a percentage, or a number of rows")
    if isinstance(source, exp.Select):
        source.set("sample", None)
        if percent is not None:
            source.where(taken, copy=False)
            return
        source = _single_source(source)
        alias = source.args.get("alias")
    inner = source.copy()
    inner.set("sample", None)
    found = exp.select("*").from_(inner)
    if isinstance(size, exp.Literal):
        found = found.order_by(exp.Ordered(this=chance)).limit(size.copy())
    else:
        found = found.where(taken)
    subquery = found.subquery(copy=False)
    named = alias.copy() if alias is not None else exp.TableAlias(this=ident(source.alias_or_name))
    subquery.set("alias", named)
    source.replace(subquery)


def _single_source(select: exp.Select) -> exp.Expr:
    """The one relation of a query, from which USING SAMPLE takes rows before WHERE and GROUP BY."""
    from_ = select.args.get("from_")
    several = select.args.get("joins") or select.args.get("laterals")
    if from_ is None or several or from_.this.args.get("joins"):
        raise _refused("sample of so many rows of a join", "take it of a subquery")
    return from_.this  # type: ignore[no-any-return]


def _check_sample(sample: exp.TableSample) -> None:
    method, percent = sample.args.get("method"), sample.args.get("percent")
    if method is not None and method.name.upper() not in _METHODS:
        raise _refused(f"sample method {method.name}", "write BERNOULLI or SYSTEM")
    is_part = not isinstance(percent, exp.Null)
    if isinstance(percent, exp.Literal) and not percent.is_string:
        is_part = 0 <= float(percent.name) <= 100
    if percent is not None and not is_part:
        raise PalimpsestError(
            Code.OUT_OF_RANGE,
            f"a sample has between 0 and 100 percent of the rows, not {percent.name or 'NULL'}",
            advice="give such a percentage, or a number of rows: (10 ROWS)",
        )


def _as_of(join: exp.Join) -> None:
    """``a ASOF JOIN b ON a.x = b.x AND a.t >= b.t``."""
    on, right = join.args.get("on"), join.this
    if on is None or join.side.upper() not in {"", "LEFT"}:
        raise _refused("ASOF JOIN like this", "give its condition behind ON")
    name = right.alias_or_name
    ordered = [c for c in on.flatten() if type(c) in _NEAREST] if isinstance(on, exp.And) else [on]
    if len(ordered) != 1 or type(ordered[0]) not in _NEAREST:
        raise _refused("ASOF JOIN without one inequality", "write one of >=, >, <= and <")
    (nearest,) = ordered
    kind: type[exp.Expr] = type(nearest)
    value = nearest.expression
    if not _is_of(value, name):
        kind, value = _TURNED[kind], nearest.this
        if not _is_of(value, name):
            raise _refused("ASOF JOIN whose columns have no table", f"qualify columns with {name}")
    picked = exp.select("*").from_(right.copy()).where(on.copy())
    picked = picked.order_by(exp.Ordered(this=value.copy(), desc=_NEAREST[kind])).limit(1)
    lateral = exp.Lateral(this=picked.subquery(copy=False))
    lateral.set("alias", exp.TableAlias(this=ident(name)))
    join.set("this", lateral)
    join.set("method", None)
    join.set("on", exp.true())


def _nearest(join: exp.Join) -> None:
    """``a JOIN b NEAREST 2 BY DISTANCE f(a.x, b.x)``: so many rows of b for each of a."""
    nearest, right = join.args["nearest"], join.this
    value = exp.Ordered(this=nearest.this.copy(), desc=bool(nearest.args.get("similarity")))
    picked = exp.select("*").from_(right.copy()).where(exp.not_(_null(nearest.this)))
    picked = picked.order_by(value).limit(nearest.args["count"].copy())
    lateral = exp.Lateral(this=picked.subquery(copy=False))
    alias = right.args.get("alias") or exp.TableAlias(this=ident(right.alias_or_name or _SAMPLED))
    lateral.set("alias", alias.copy())
    join.set("this", lateral)
    join.set("nearest", None)
    if join.args.get("on") is None:
        join.set("on", exp.true())


def _null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(value.copy(), copy=False), expression=exp.Null())


def _name_joined(join: exp.Join) -> None:
    """``a SEMI JOIN b USING (x)`` as one ON a condition, beside a single relation before it."""
    select = join.parent
    first = None
    if isinstance(select, exp.Select) and select.args["joins"][0] is join:
        first = select.args["from_"].this
    if first is None or not first.alias_or_name:
        raise _refused("SEMI or ANTI JOIN .. USING like this", "give its condition behind ON")
    if not join.this.alias_or_name:
        join.this.set("alias", exp.TableAlias(this=ident(_JOINED)))
    sides = first.alias_or_name, join.this.alias_or_name
    equal = [
        exp.EQ(this=column(name.name, sides[0]), expression=column(name.name, sides[1]))
        for name in join.args["using"]
    ]
    join.set("using", None)
    join.set("on", exp.and_(*equal, copy=False))


def _is_of(value: exp.Expr, name: str) -> bool:
    """True if all columns of a value are those of a relation."""
    columns = list(value.find_all(exp.Column))
    return bool(columns) and all(c.table.casefold() == name.casefold() for c in columns)


def _refused(what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, f"this store has no {what}", advice=advice)


def spread_values(holder: exp.Expr) -> None:
    """Put a union of SELECTs in the place of each VALUES that asks a query for a value."""
    for values in list(holder.find_all(exp.Values)):
        if any(row.find(exp.Query) is not None for row in values.expressions):
            rows: list[exp.Query] = [row_of(row) for row in values.expressions]
            alias = values.args.get("alias")
            values.replace(exp.Subquery(this=union_all(rows), alias=alias))


def row_of(row: exp.Expr) -> exp.Select:
    """A row of VALUES as a SELECT."""
    cells = row.expressions if isinstance(row, exp.Tuple) else [row]
    return exp.select(*[exp.alias_(cell.copy(), f"c{i}") for i, cell in enumerate(cells)])
