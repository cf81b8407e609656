"""Enums as texts: a cast to one checks its value, and their order is that of their places.

    x :: mood    ->  CASE WHEN x IN ('sad', 'ok') .. THEN x ELSE raise_error(..) END
    a < b        ->  array_position(array('sad', 'ok'), a) < ..

Spark has no type for them. Which expressions are enums is told by ``known_types``. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.sql.builders import call, fill
from journal.stores.hive.dialect.known_types import Type
from journal.stores.hive.engine import HiveEngine

INVALID = "invalid input value for enum"
"""How the error begins that a query raises for a text that is no value of an enum."""
_NOTE = "palimpsest_enum"


def is_enum(kind: Type | None) -> bool:
    """True for the type of an enum."""
    return kind is not None and kind.this is exp.DType.ENUM


def has_enum(kinds: Mapping[str, Type]) -> bool:
    """True if one of the columns is of an enum."""
    return any(map(is_enum, kinds.values()))


def check_enums(table: Table, engine: HiveEngine) -> None:
    """Raise NOT_SUPPORTED for columns of enums where their values could not be checked."""
    for found in table.columns:
        kind = exp.DataType.build(found.type, dialect="duckdb")
        if not any(is_enum(part) for part in kind.find_all(exp.DataType)):
            continue
        if engine is HiveEngine.APACHE or not is_enum(kind):
            what = "enums" if engine is HiveEngine.APACHE else "enums within lists"
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f'column "{found.name}": a journal of {engine.value} takes no {what}',
                advice="use text with CHECK (c IN (..)), or a domain",
            )


def note_enum(node: exp.Cast) -> None:
    """Note that a cast is one to an enum, before that is a text; raises NOT_SUPPORTED in lists."""
    if is_enum(node.to):
        node.meta[_NOTE] = [label.name for label in node.to.expressions]
    elif any(is_enum(part) for part in node.to.find_all(exp.DataType)):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "a Hive store has no enums within lists, maps and structs",
            advice="use a list of texts, or a column for each value",
        )


def cast(node: exp.Expr) -> exp.Expr | None:
    """What stands for a cast to an enum; None for other casts."""
    labels = node.meta.get(_NOTE)
    if labels is None:
        return None
    if isinstance(node.this, exp.Literal) and node.this.name in labels:
        return node.this.copy()
    text = exp.cast(node.this.copy(), "TEXT")
    known = exp.In(this=text.copy(), expressions=[exp.Literal.string(label) for label in labels])
    if isinstance(node, exp.TryCast):
        return exp.Case().when(known if labels else exp.false(), text)
    failing = call("raise_error", call("concat", f"{INVALID}: ", text.copy()))
    if not labels:
        return fill("CASE WHEN x IS NULL THEN x ELSE failing END", x=text, failing=failing)
    checking = "CASE WHEN x IS NULL OR known THEN x ELSE failing END"
    return fill(checking, x=text, known=known, failing=failing)


def place(value: exp.Expr, kind: Type) -> exp.Expr:
    """Which of the values of an enum a value is, the first being 1."""
    return call("array_position", _labels(kind), value)


def at_place(number: exp.Expr, kind: Type) -> exp.Expr:
    """The value at a place of an enum."""
    return call("element_at", _labels(kind), exp.cast(number, "INT"))


def _labels(kind: Type) -> exp.Expr:
    return call("array", *(label.name for label in kind.expressions))
