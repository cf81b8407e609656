"""Of which type DuckDB makes the value of an expression, as far as it is told. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from rewriter.reading.value_types import ValueType, ValueTypes

FLOATS = frozenset({"DOUBLE", "FLOAT", "REAL"})
TEXTS = frozenset({"VARCHAR", "TEXT"})
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
"""From the narrowest."""
_SAME = {"INT": "INTEGER", "INT128": "HUGEINT", "TEXT": "VARCHAR", "REAL": "FLOAT"}
_SUMMED = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
_OF_TEXTS = (
    *(exp.Concat, exp.ConcatWs, exp.Upper, exp.Lower, exp.Substring, exp.Trim, exp.Replace),
    *(exp.Left, exp.Right, exp.Pad, exp.Repeat, exp.RegexpReplace, exp.GroupConcat, exp.MD5),
    *(exp.TimeToStr, exp.Reverse, exp.SplitPart),
)


class DuckDBTypes(ValueTypes):
    """The types of expressions in one statement, by DuckDB's rules; they are its own words."""

    def kind_of(self, node: exp.Expr) -> str | None:
        """The type of a value, without the digits of a DECIMAL; None where it is not told."""
        kind = self.of(node).kind
        return None if kind is None else _SAME.get(name := kind.partition("(")[0], name)

    def is_whole(self, node: exp.Expr) -> bool:
        """True for whole numbers."""
        return self.kind_of(node) in _WHOLE

    def _made_kind(self, node: exp.Expr, depth: int) -> str | None:
        if isinstance(node, exp.Literal) and node.is_string:
            return "VARCHAR"
        if isinstance(node, exp.Literal) and "e" in node.name.lower():
            return "DOUBLE"
        if isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean):
            return "BOOLEAN"
        if isinstance(node, _OF_TEXTS):
            return "VARCHAR"
        if isinstance(node, exp.Factorial):
            return "HUGEINT"
        if isinstance(node, exp.Interval):
            return "INTERVAL"
        if isinstance(node, exp.Avg | exp.Stddev | exp.Variance | exp.Sqrt | exp.Pow | exp.Rand):
            return "DOUBLE"
        if isinstance(node, exp.Sum):
            kind = self._short(node.this, depth)
            return "HUGEINT" if kind in _WHOLE or kind == "BOOLEAN" else kind
        if isinstance(node, exp.Anonymous) and node.name.lower() == "list_sum":
            kind = self.of(node.expressions[0], depth).kind or ""
            element = _SAME.get(name := kind.removesuffix("[]"), name)
            return "HUGEINT" if kind.endswith("[]") and element in _WHOLE else None
        if isinstance(node, exp.Div | exp.IntDiv):
            return self._quotient(node, depth)
        if isinstance(node, _SUMMED):
            return self._of_sum(node, depth)
        if isinstance(node, exp.DPipe):
            kinds = [self._short(side, depth) for side in (node.this, node.expression)]
            return "VARCHAR" if TEXTS & {*kinds} else None
        return super()._made_kind(node, depth)

    def _first(self, nodes: list[exp.Expr], depth: int) -> ValueType:
        """What a choice between values is: of whole numbers the widest."""
        told = [node for node in nodes if not isinstance(node, exp.Null)]
        kinds = {self._short(node, depth + 1) for node in told}
        if kinds and kinds <= {*_WHOLE}:
            return ValueType(kind=max(kinds, key=lambda kind: _WHOLE.index(kind or "")))
        return super()._first(nodes, depth)

    def _in_source(self, source: exp.Expr, name: str, depth: int) -> ValueType | None:
        """Also of the elements that UNNEST gives."""
        alias = source.args.get("alias")
        if isinstance(source, exp.Unnest) and isinstance(alias, exp.TableAlias):
            names = [fold(column.name) for column in alias.columns] or [fold(alias.name)]
            if names[0] == fold(name) and len(source.expressions) == 1:
                kind = self.of(source.expressions[0], depth + 1).kind or ""
                return ValueType(kind=kind.removesuffix("[]")) if kind.endswith("[]") else None
        return super()._in_source(source, name, depth)

    def _short(self, node: exp.Expr, depth: int) -> str | None:
        while isinstance(node, exp.Distinct) and len(node.expressions) == 1:
            node = node.expressions[0]
        kind = self.of(node, depth).kind
        return None if kind is None else _SAME.get(name := kind.partition("(")[0], name)

    def _quotient(self, node: exp.Binary, depth: int) -> str | None:
        kinds = [self._short(side, depth) for side in (node.this, node.expression)]
        if kinds[0] == "INTERVAL":
            return "INTERVAL"
        if isinstance(node, exp.IntDiv) and (None in kinds or set(kinds) <= {*_WHOLE}):
            return self._of_sum(node, depth)
        return "DOUBLE"

    def _of_sum(self, node: exp.Binary, depth: int) -> str | None:
        """Of whole numbers the wider type; a constant takes the type of the other side."""
        sides = (node.this, node.expression)
        kinds = [self._short(side, depth) for side in sides]
        if FLOATS & {*kinds}:
            return "DOUBLE"
        if not set(kinds) <= {*_WHOLE}:
            return super()._made_kind(node, depth)
        bound = [kind for kind, side in zip(kinds, sides, strict=True) if not _is_constant(side)]
        return max(bound or kinds, key=lambda kind: _WHOLE.index(kind or ""))


def _is_constant(node: exp.Expr) -> bool:
    """True for a whole number that is written out and fits every type."""
    value = node.unnest()
    value = value.this if isinstance(value, exp.Neg) else value
    return isinstance(value, exp.Literal) and value.is_int and int(value.name) <= _BYTE_MAX


_BYTE_MAX = 127
