"""VARCHAR(n), CHAR(n), BIT(n) of tables, whose length PostgreSQL keeps to: a CHECK does. Pure.

CREATE TABLE t (a varchar(5))                  .. CONSTRAINT t_a_length CHECK (length(a) <= 5)
CREATE TABLE t (a varchar(5)[])                the same of each element
CREATE TABLE t (b bit(5))                      .. CONSTRAINT t_b_length CHECK (length(b) = 5)
ALTER TABLE t ALTER COLUMN a TYPE varchar(9)   the same with another CHECK
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table
from journal.sql.builders import fill
from journal.sql.relations import ident
from journal.sql.sql import expression
from journal.sql.text_lengths import bit_length, text_length, text_lengths
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name

_VARYING = frozenset({exp.DType.VARCHAR, exp.DType.NVARCHAR})
_FIXED = frozenset({exp.DType.CHAR, exp.DType.NCHAR, exp.DType.BPCHAR})

_BITS = frozenset({exp.DType.BIT})


def concerns_lengths(node: exp.Expr) -> bool:
    """True for a definition of a column whose texts have a length, and for a change of a type."""
    if isinstance(node, exp.AlterColumn):
        return isinstance(node.args.get("dtype"), exp.DataType)
    return isinstance(node, exp.ColumnDef) and _length(node.args.get("kind")) is not None


def keep_lengths(node: exp.Expr, context: RewriteContext) -> None:
    """Add the CHECK of a column's length, or change it with the type, in place."""
    statement = node.find_ancestor(exp.Create, exp.Alter)
    made = statement.this if statement is not None else None
    target = made.this if isinstance(made, exp.Schema) else made
    if statement is None or not isinstance(target, exp.Table):
        return
    if str(statement.args.get("kind")).upper() != "TABLE":
        return
    if isinstance(node, exp.ColumnDef):
        if isinstance(node.parent, exp.Schema | exp.Alter):
            check = _check(node.name, node.args["kind"])
            name = ident(f"{target.name}_{node.name}_length")
            node.append("constraints", exp.ColumnConstraint(this=name, kind=check))
    elif isinstance(statement, exp.Alter):
        _change(node, statement, target, context)


def _change(
    node: exp.Expr, statement: exp.Alter, target: exp.Table, context: RewriteContext
) -> None:
    """Take the CHECK that a column has away, and add the one of its new type."""
    table = context.catalog.get(table_name(target, context))
    old = _present(table, node.name) if isinstance(table, Table) else None
    if isinstance(table, Table) and _only_casts(node, table):
        node.set("using", None)
    actions = list(statement.args["actions"])
    place = next(i for i, action in enumerate(actions) if action is node)
    if _length(node.args["dtype"]) is not None:
        check = _check(node.name, node.args["dtype"])
        name = ident(old or f"{target.name}_{node.name}_length")
        added = exp.Constraint(this=name, expressions=[check])
        actions.insert(place + 1, exp.AddConstraint(expressions=[added]))
    if old is not None:
        gone = exp.Table(this=ident(old))
        actions.insert(place, exp.Drop(tables=[gone], kind="CONSTRAINT", exists=True))
    statement.set("actions", actions)


def _only_casts(node: exp.Expr, table: Table) -> bool:
    """True for ``USING name::varchar(9)`` of a column whose texts are no longer than that."""
    using, kind, column = node.args.get("using"), node.args["dtype"], table.find(node.name)
    if type(using) is not exp.Cast or using.to != kind or kind.this not in _VARYING:
        return False
    if column is None or not isinstance(using.this, exp.Column) or using.this.table:
        return False
    most = text_lengths(table).get(column.physical)
    length = _length(kind)
    is_long = length is None or (most is not None and not most.is_fixed and most.most <= length)
    return table.find(using.this.name) is column and is_long


def _present(table: Table, name: str) -> str | None:
    """The name of the CHECK that keeps a column's length."""
    column = table.find(name)
    for check in table.checks if column is not None else ():
        length = text_length(check)
        kept = bit_length(check) if length is None else length.column
        if column is not None and kept == column.physical:
            return check.name
    return None


def _length(kind: exp.Expr | None) -> int | None:
    """How many characters or bits a type takes; None for any number, and for other types."""
    while isinstance(kind, exp.DataType) and kind.is_type(exp.DType.ARRAY) and kind.expressions:
        kind = kind.expressions[0]
        if kind.is_type(*_BITS):
            return None
    if not isinstance(kind, exp.DataType) or kind.this not in _VARYING | _FIXED | _BITS:
        return None
    # CHAR alone is CHAR(1), unlike the name that PostgreSQL has for CHAR(n) of any length.
    alone = "1" if kind.this in (_FIXED | _BITS) - {exp.DType.BPCHAR} else ""
    size = kind.expressions[0].name if kind.expressions else alone
    return int(size) if size.isdigit() else None


def _check(name: str, kind: exp.DataType) -> exp.CheckColumnConstraint:
    return exp.CheckColumnConstraint(this=length_condition(exp.Column(this=ident(name)), kind))


def length_condition(value: exp.Expr, kind: exp.DataType) -> exp.Expr | None:
    """That a value is as short as its type says; None for types that say nothing of it.

    Blanks at the end of a CHAR(n) do not count; a BIT(n) has so many bits.
    """
    length = _length(kind)
    if length is None:
        return None
    if kind.is_type(exp.DType.ARRAY):
        return _elements_condition(value, kind, length)
    if kind.this in _BITS:
        return fill("length(c) = n", c=value, n=length)
    text = "length(rtrim(c, ' ')) <= n" if kind.this in _FIXED else "length(c) <= n"
    return fill(text, c=value, n=length)


_ELEMENTS = "len(list_filter(c, LAMBDA element: length(element) > n)) = 0"


def _elements_condition(value: exp.Expr, kind: exp.DataType, length: int) -> exp.Expr:
    """The same of each element of an array, of whatever depth; blanks count."""
    element = kind.expressions[0]
    while element.is_type(exp.DType.ARRAY) and element.expressions:
        value, element = exp.Flatten(this=value), element.expressions[0]
    made = expression(_ELEMENTS)
    parts = {"c": value, "n": exp.Literal.number(length)}
    for place in [c for c in made.find_all(exp.Column) if c.name in parts]:
        place.replace(parts[place.name].copy())
    return made
