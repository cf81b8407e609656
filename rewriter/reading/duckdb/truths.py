"""Numbers as truths and collations in DuckDB's dialect on a PostgreSQL store. Pure.

42 IS TRUE, a AND b, WHERE n     a number is true unless it is zero
s COLLATE NOCASE = 'a'           lower(s) = lower('a'), also in ORDER BY
s COLLATE POSIX                  the order of bytes, which texts have anyway
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.builders import call
from rewriter.definitions.collations import BYTES
from rewriter.name_resolution import position_of
from rewriter.reading.duckdb.types import FLOATS, DuckDBTypes

NUMBERS = FLOATS | {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL"}
_CASELESS, _COMPOSED = "nocase", "nfc"
_COLLATIONS = frozenset({_CASELESS, _COMPOSED, "noaccent"})
COLLATED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_PARTS = ("this", "expression")
TRUTHS = (exp.And, exp.Or, exp.Not, exp.Is, exp.Where, exp.Having, exp.If)


def truth_of(value: exp.Expr) -> exp.Expr:
    """Whether a number is not zero."""
    other = exp.NEQ(this=exp.paren(value.copy(), copy=False), expression=exp.Literal.number(0))
    return exp.paren(other, copy=False)


def spell_truth(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A condition of which a part is a number."""
    names = _PARTS if isinstance(node, exp.Connector) else ("this",)
    if isinstance(node, exp.Is) and not isinstance(node.expression, exp.Boolean):
        return None
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case) and node.parent.this:
        return None
    found = [name for name in names if types.kind_of(node.args[name]) in NUMBERS]
    if not found:
        return None
    made = node.copy()
    for name in found:
        made.set(name, truth_of(made.args[name]))
    return made


def check_collation(node: exp.Expr) -> None:
    """Raise NOT_SUPPORTED for a column with a collation that only DuckDB has."""
    kind = node.this
    name = kind.name if isinstance(kind, exp.Expr) else ""
    if _is_own(kind) and fold(name) in _COLLATIONS:
        raise _refused(name, node)


def spell_collation(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """What is compared or ordered by a collation of DuckDB; raises NOT_SUPPORTED elsewhere."""
    if isinstance(node, exp.Collate):
        return _bare(node)
    sides = [_collation(node.args.get(name)) for name in _PARTS]
    name = next((side for side in sides if side is not None), None)
    if name is None:
        return None
    made = node.copy()
    for part in _PARTS:
        side = made.args.get(part)
        if side is not None:
            side = side.this if isinstance(side, exp.Collate) else side
            side = _named_output(side, node) or side
            made.set(part, _by(name, side, node))
    return made


def _named_output(value: exp.Expr, node: exp.Expr) -> exp.Expr | None:
    """The output by whose name alone a query is ordered; None for other values."""
    select = node.parent_select if isinstance(node, exp.Ordered) else None
    if select is None or not isinstance(value, exp.Column) or value.table:
        return None
    named = [e for e in select.expressions if isinstance(e, exp.Alias)]
    found = next((e.this for e in named if fold(e.alias) == fold(value.name)), None)
    return None if found is None else exp.paren(found.copy(), copy=False)


def _bare(node: exp.Collate) -> exp.Expr | None:
    """A value without the order of bytes; one in another order where nothing compares it."""
    order = node.expression
    if _is_own(order) and fold(order.name) in BYTES:
        return exp.paren(node.this.copy(), copy=False)
    if _collation(node) is not None and not isinstance(node.parent, (*COLLATED, exp.Ordered)):
        raise _refused(order.name, node)
    return None


def _collation(node: object) -> str | None:
    if not isinstance(node, exp.Collate) or not _is_own(node.expression):
        return None
    name = fold(node.expression.sql(dialect="duckdb").replace('"', ""))
    return name if name.split(".")[0] in _COLLATIONS else None


def _is_own(order: object) -> bool:
    return isinstance(order, exp.Column | exp.Identifier | exp.Var | exp.Dot | exp.Literal)


def _by(name: str, value: exp.Expr, node: exp.Expr) -> exp.Expr:
    if name == _CASELESS:
        return exp.Lower(this=value.copy())
    if name == _COMPOSED:
        return call("normalize", value, exp.var("NFC"))
    raise _refused(name, node)


def _refused(name: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"a PostgreSQL store has no collation {name} here",
        advice="compare and order lower(s), or use a collation of the server",
        position=position_of(node),
    )
