"""Reads the identifiers that a condition names by = or IN on descriptor columns.

    email = 'a' AND customer IN (1, 2)      names a by email, 1 and 2 by customer
    email = 'a' OR n = 1,  email LIKE 'a%'  name nobody

A value must be what the column holds: text, or a whole number. What is not understood names nobody,
and the request suppresses keys alone. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from journal.identity.descriptor import DescriptorEntry, descriptor_of
from journal.identity.identifiers import numbers_of
from journal.identity.paths import leaf_type
from journal.model.schema import Table, fold
from rewriter.statement import Erase


def identifiers_in(
    erase: Erase, table: Table, parameters: Mapping[str, Any]
) -> dict[str, list[str]]:
    """The identifiers that the condition names, by type; empty if it is of another kind."""
    alias = fold(erase.table.alias or erase.table.name)
    found: dict[DescriptorEntry, list[str]] = {}
    for part in _conjuncts(erase.where):
        compared = _comparison(part)
        if compared is None:
            return {}
        identities = _entries_of(table, alias, compared[0])
        values = _values(table, identities, compared[1], parameters)
        if values is None:
            return {}
        for identity in identities:
            known = found.get(identity)
            found[identity] = values if known is None else [v for v in known if v in values]
    named: dict[str, list[str]] = {}
    for identity, values in found.items():
        named.setdefault(identity.type, []).extend(values)
    return {name: list(dict.fromkeys(values)) for name, values in named.items() if values}


def _conjuncts(condition: exp.Expr) -> Iterable[exp.Expr]:
    """The conditions that AND joins."""
    left = [condition]
    while left:
        part = left.pop().unnest()
        if isinstance(part, exp.And):
            left += [part.expression, part.this]
        else:
            yield part


def _comparison(part: exp.Expr) -> tuple[exp.Expr, Sequence[exp.Expr]] | None:
    """The column and the values of = or IN; None for another kind of condition."""
    if isinstance(part, exp.EQ):
        one, other = part.this.unnest(), part.expression.unnest()
        return (one, [other]) if isinstance(one, exp.Column | exp.Dot) else (other, [one])
    if isinstance(part, exp.In) and part.expressions:
        if {name for name, value in part.args.items() if value} <= {"this", "expressions"}:
            return part.this.unnest(), part.expressions
    return None


def _entries_of(table: Table, alias: str, place: exp.Expr) -> list[DescriptorEntry]:
    """What of the descriptor a column, or a field of one, is."""
    if not isinstance(place, exp.Column | exp.Dot):
        return []
    names = [fold(part.name) for part in place.parts]
    if len(names) > 1 and names[0] == alias:
        names = names[1:]
    held = table.find(names[0])
    if held is None:
        return []
    steps = tuple(f".{name}" for name in names[1:])
    return [
        identity
        for identity in descriptor_of(table)
        if identity.path.root == held.physical and tuple(map(fold, identity.path.steps)) == steps
    ]


def _values(
    table: Table,
    identities: Sequence[DescriptorEntry],
    given: Sequence[exp.Expr],
    parameters: Mapping[str, Any],
) -> list[str] | None:
    """The values as text, without NULL, which is equal to nothing; None if one is not understood.

    So is none of something else than an identifier.
    """
    if not identities:
        return None
    path = identities[0].path
    kind = exp.DataType.build(table.by_physical(path.root).type, dialect="duckdb")
    leaf = leaf_type(kind, path)
    is_text = leaf is not None and leaf.is_type(*exp.DataType.TEXT_TYPES)
    found = [_value(node.unnest(), parameters) for node in given]
    if any(value is _UNKNOWN for value in found):
        return None
    texts = []
    for value in found:
        if value is None:
            continue
        if is_text and not isinstance(value, str):
            return None
        text = str(value)
        if not text.strip() or (not is_text and not numbers_of([text])):
            return None
        texts.append(text)
    return texts


_UNKNOWN = object()


def _value(node: exp.Expr, parameters: Mapping[str, Any]) -> Any:
    """A literal's or a parameter's value: text, a whole number, or None for NULL."""
    if isinstance(node, exp.Placeholder):
        value = parameters.get(node.name, _UNKNOWN)
        whole = isinstance(value, int) and not isinstance(value, bool)
        return value if value is None or whole or isinstance(value, str) else _UNKNOWN
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Literal) and (node.is_string or node.is_int):
        return node.name if node.is_string else int(node.name)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and node.this.is_int:
        return -int(node.this.name)
    if isinstance(node, exp.Cast) and node.to.is_type(exp.DType.TEXT, exp.DType.VARCHAR):
        value = _value(node.this.unnest(), parameters)
        return value if isinstance(value, str) and not node.to.expressions else _UNKNOWN
    return _UNKNOWN
