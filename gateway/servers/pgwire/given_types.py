"""Gives parameters among the results of a statement the types that a client sends with it.

PostgreSQL takes ``SELECT $1`` for a text only where the client leaves the type of the value open.
What a statement was described with and what it gives must be of one type: clients read the bytes of
the one as the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from sqlglot import exp

from gateway.servers.pgwire import types
from gateway.session.description import (
    StatementDescription,
    describe,
    examples_of,
    plain_kind,
)
from gateway.session.session import Session
from journal.model.plan import USER_PARAMETER
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed

_KINDS = {
    types.BOOL: "BOOLEAN", types.INT2: "SMALLINT", types.INT4: "INTEGER", types.INT8: "BIGINT",
    types.FLOAT4: "FLOAT", types.FLOAT8: "DOUBLE", types.BYTEA: "BLOB", types.DATE: "DATE",
    types.TIME: "TIME", types.TIMESTAMP: "TIMESTAMP", types.TIMESTAMPTZ: "TIMESTAMPTZ",
    types.INTERVAL: "INTERVAL", types.UUID: "UUID", types.TEXT: "VARCHAR", types.JSONB: "JSONB",
    types.TIMETZ: "TIMETZ", types.OID: "BIGINT", types.INET: "INET", types.CIDR: "INET(CIDR)",
}  # fmt: skip
"""Types whose values a cast leaves as they are; a numeric has as many digits as its value."""


_OF_OPERANDS = frozenset({"INTERVAL", "DATE", "TIME", "TIMETZ", "TIMESTAMP", "TIMESTAMPTZ", "BLOB"})
"""Types whose values may be texts, of which stores would choose another operator."""
_NUMBERS = frozenset({"SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"})
"""Types that say of which type a number is that is computed of them."""
_COMPUTED = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Abs, exp.Greatest, exp.Least, exp.Coalesce),
    *(exp.Nullif, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Sign),
)
_ONE = Decimal(1)


def describe_as_given(
    session: Session, parsed: Parsed, oids: Sequence[int]
) -> tuple[Parsed, StatementDescription]:
    """What a statement takes and gives, and the statement with casts to the types in ``oids``.

    Cast are parameters whose places say no type, where they become results, and operands and
    arguments of types that operators are chosen by.
    """
    given = {f"{USER_PARAMETER}{place}": oid for place, oid in enumerate(oids) if oid}
    kinds = {name: kind_of(oid) for name, oid in given.items()}
    examples: dict[str, Any] = {name: 1 for name, kind in kinds.items() if kind in _NUMBERS}
    examples |= {n: _ONE for n, oid in given.items() if oid == types.NUMERIC.oid}
    examples |= {n: [_ONE] for n, oid in given.items() if oid == types.NUMERIC.array}
    examples |= examples_of(kinds)
    if isinstance(parsed.statement, SqlStatement):
        computed = {n: k for n, k in kinds.items() if k and (k in _NUMBERS or k.endswith("]"))}
        parsed = _with_casts(parsed, parsed.statement, partial(_computed_kind, computed))
    found = describe(session, parsed, examples)
    # Calls of the session's own, such as pg_advisory_lock($1), give no parameter back.
    if not isinstance(parsed.statement, SqlStatement):
        return parsed, found
    by_place = {f"{USER_PARAMETER}{n}": kind for n, kind in enumerate(found.parameters)}
    free = {name: oid for name, oid in given.items() if by_place.get(name, "") is None}
    operands = {name: kinds.get(name) or plain_kind(kind) for name, kind in by_place.items()}
    results = {name: kind for name, oid in free.items() if (kind := kind_of(oid)) is not None}
    typed = _with_casts(parsed, parsed.statement, partial(_told_kind, results, operands))
    if typed is parsed:
        return parsed, found
    known = describe(session, typed, examples)
    return typed, replace(known, parameters=found.parameters)


def _computed_kind(kinds: dict[str, str], node: exp.Expr) -> str | None:
    """The type of a number that another one is computed of, and of a list in a function."""
    kind = kinds.get(node.name, "")
    if kind.endswith("]"):
        return kind if isinstance(node.parent, exp.Anonymous | exp.ArraySize) else None
    is_operand = isinstance(_above(node), _COMPUTED) or isinstance(node.parent, exp.Neg)
    return kind if kind and is_operand else None


def _told_kind(results: dict[str, str], operands: dict[str, str], node: exp.Expr) -> str | None:
    """``results`` are the types of parameters that are cast there, ``operands`` those of all."""
    kind = results.get(node.name) if _is_of_result(node) else None
    if kind is None and operands.get(node.name) in _OF_OPERANDS and _is_operand(node):
        kind = operands[node.name]
    return kind


def _with_casts(
    parsed: Parsed, statement: SqlStatement, find: Callable[[exp.Expr], str | None]
) -> Parsed:
    """The statement with parameters cast to the types that ``find`` says for their places."""
    ast = statement.ast.copy()
    named = []
    for node in list(ast.find_all(exp.Placeholder)):
        kind = find(node)
        if kind is None:
            continue
        named.append(f"{node.name} {kind}")
        cast: exp.Expr = exp.cast(node.copy(), kind, dialect="duckdb")
        if isinstance(node.parent, exp.Select):
            cast = exp.alias_(cast, "?column?", quoted=True)
        node.replace(cast)
    if not named:
        return parsed
    # The text names the plan in the cache, where that of other types may stand.
    text = f"{parsed.text} -- {', '.join(named)}"
    return replace(parsed, statement=replace(statement, ast=ast), text=text)


def _is_operand(node: exp.Expr) -> bool:
    """True for what an operator computes with, and for an argument of a function."""
    above = _above(node)
    if isinstance(above, exp.Cast | exp.Connector):
        return False
    return isinstance(above, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.DPipe | exp.Func)


def _above(node: exp.Expr) -> exp.Expr | None:
    """What takes a value, past brackets and signs."""
    above = node.parent
    while isinstance(above, exp.Paren | exp.Neg):
        above = above.parent
    return above


def kind_of(oid: int) -> str | None:
    """The gateway's name of a type that a cast leaves values of as they are; None for others."""
    element = types.ELEMENTS.get(oid)
    if element is not None:
        return f"{_KINDS[element]}[]" if element in _KINDS and element != types.JSONB else None
    known = types.BY_OID.get(oid)
    return None if known is types.TEXT or known is None else _KINDS.get(known)


def _is_of_result(node: exp.Expr) -> bool:
    """True for a part of a column of a SELECT or VALUES, and of no condition in it."""
    while node.parent is not None:
        above = node.parent
        if isinstance(above, exp.Select):
            return node.arg_key == "expressions"
        if isinstance(above, exp.Values):
            return not isinstance(above.parent, exp.Insert)
        if isinstance(above, exp.Predicate | exp.Query | exp.DML):
            return False
        node = above
    return False
