"""Splits a SELECT: an inner one keeps its inputs, an outer one computes its outputs.

In between the kept rows can be counted. Pure.
"""

from __future__ import annotations

from dataclasses import field

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query, Stage
from journal.sql.relations import column
from journal.sql.sql import named, named_table, relation, select
from rewriter.definitions.sequences import NEXT, sequence_calls, whole_call
from rewriter.functions import function_name
from rewriter.reading.spelling import result_spelling
from rewriter.writing.number_places import place_refusal

_CONSTANT = (exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.DataType, exp.Identifier)
_ORDER = "place"
"""The column of kept rows that says in which order they were."""
_KEPT = "kept"
"""Marks, in a node's ``meta``, what stands for a value that is kept or a number that was taken."""


@dataclass(slots=True)
class SplitSelect:
    """A SELECT in two: ``place`` keeps what its outputs read, ``shown`` computes them from that."""

    place: exp.Select
    name: str
    outputs: dict[int, exp.Expr] = field(default_factory=dict)
    inner: dict[int, exp.Expr] = field(default_factory=dict)
    pieces: list[exp.Expr] = field(default_factory=list)

    def keep(self, index: int, node: exp.Expr) -> None:
        """An output that is kept as it is."""
        if node.is_star:
            raise place_refusal(node, "beside *", "name the columns")
        self.inner[index] = node
        self.outputs[index] = named_output(column(f"c{index}"), node)

    def output(self, index: int, node: exp.Expr, value: exp.Expr) -> None:
        """An output that is computed; its place in the kept rows stays."""
        self.inner[index] = named_output(exp.Literal.number(0), node)
        self.outputs[index] = named_output(value, node)

    def piece(self, node: exp.Expr) -> exp.Expr:
        """A value that is kept besides; what stands for it."""
        if not isinstance(node, _CONSTANT):
            self.pieces.append(node)
            node = column(f"d{len(self.pieces) - 1}")
        return mark_kept(node)

    def replaced(self, node: exp.Expr) -> exp.Expr:
        """An expression with calls, over pieces of what has none."""
        if function_name(node) == NEXT or _KEPT in node.meta:
            return node
        is_value = not isinstance(node, exp.If)
        if is_value and not sequence_calls(node) and not any(_KEPT in p.meta for p in node.walk()):
            return self.piece(node.copy())
        for key, value in list(node.args.items()):
            if isinstance(value, exp.Expr):
                node.set(key, self._replaced_part(value))
            elif isinstance(value, list):
                node.set(
                    key,
                    [self._replaced_part(v) if isinstance(v, exp.Expr) else v for v in value],
                )
        return node

    def _replaced_part(self, node: exp.Expr) -> exp.Expr:
        return node if isinstance(node, _CONSTANT) else self.replaced(node)

    @property
    def order(self) -> exp.Expr | None:
        """The column by which the kept rows lie in order; None if they lie in none."""
        return column(_ORDER) if self.place.args.get("order") is not None else None

    def relation(self) -> exp.Table:
        """The kept rows."""
        return named_table(self.name)

    def computed(self) -> exp.Select:
        """What takes the place of the SELECT."""
        shown = select([self.outputs[i] for i in sorted(self.outputs)], self.relation())
        return shown if self.order is None else shown.order_by(self.order, copy=False)

    def stage(self, ctes: list[exp.Expr]) -> Stage:
        """The step that keeps the rows."""
        kept = [self.inner[i] for i in sorted(self.inner)]
        kept += [named(node, f"d{i}") for i, node in enumerate(self.pieces)]
        names = [
            *(f"c{i}" for i in sorted(self.inner)),
            *(f"d{i}" for i in range(len(self.pieces))),
        ]
        rows = self.place.copy()
        rows.set("expressions", kept)
        if ctes:
            rows.set("with_", exp.With(expressions=ctes))
        alias = exp.TableAlias(
            this=exp.to_identifier("q"), columns=[exp.to_identifier(n) for n in names]
        )
        source = relation(rows)
        source.set("alias", alias)
        outputs: list[exp.Expr] = [column(n) for n in names]
        if self.order is not None:
            outputs.append(named(exp.Window(this=exp.RowNumber()), _ORDER))
        return Stage(self.name, Query.of(select(outputs, source)))


def mark_kept(node: exp.Expr) -> exp.Expr:
    """``node``, which stands for something that is kept or taken, so that it is left alone."""
    node.meta[_KEPT] = True
    return node


def named_output(value: exp.Expr, node: exp.Expr) -> exp.Expr:
    """A value under the name of the output that it stands for."""
    is_named = isinstance(node, exp.Alias | exp.Column)
    name = str(node.alias_or_name) if is_named else result_spelling(node)
    return exp.alias_(value, exp.to_identifier(name, quoted=True), copy=False)


def name_output(call: exp.Anonymous) -> None:
    """Name the output of a SELECT that a call is part of, as it would be called without that."""
    node = whole_call(call)
    while node.parent is not None and not isinstance(node.parent, exp.Select):
        node = node.parent
    if (
        node.arg_key == "expressions"
        and not isinstance(node, exp.Alias)
        and node.parent is not None
    ):
        node.replace(named_output(node.copy(), node))
