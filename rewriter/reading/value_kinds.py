"""Of which type the result of an operator is, as far as PostgreSQL's rules go by it. Pure.

Types are DuckDB's texts; NUMERIC is ``DECIMAL`` where its digits are not known. None stands for
what is not known at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

WHOLE_KINDS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT"})
"""The whole numbers that PostgreSQL has, and one byte."""
_SMALL = frozenset({"TINYINT", "SMALLINT", "INTEGER", "INT", "UTINYINT", "USMALLINT"})
_LARGE = frozenset({"BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT", "UINTEGER"})
_ORDER = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE", "INTERVAL")
"""From the narrowest: what takes two of them is of the later one."""
_INTEGER_MAX = 2**31 - 1
DIGITS, FRACTION = 38, 10
KEPT_AS = f"DECIMAL({DIGITS}, {FRACTION})"
"""What NUMERIC without digits is on stores that have no such type, as the catalog spells it."""


def sum_kind(kind: str | None) -> str | None:
    """What ``sum`` of such values is: NUMERIC of large whole numbers."""
    if kind == KEPT_AS:
        return kind
    of = _class_of(kind)
    return {"INTEGER": "BIGINT", "BIGINT": "DECIMAL"}.get(of or "", of)


def widest(kinds: Iterable[str | None]) -> str | None:
    """What arithmetic on such values is.

    None if one is not known, unless the others say that it is no whole number.
    """
    kinds = list(kinds)
    if kinds and all(kind == "SMALLINT" for kind in kinds):
        return "SMALLINT"
    found = [_class_of(kind) for kind in kinds]
    known = [_ORDER.index(kind) for kind in found if kind is not None]
    top = max(known, default=0)
    return _ORDER[top] if top > 1 or (known and None not in found) else None


def with_kept_number(kinds: Sequence[str | None]) -> str | None:
    """``KEPT_AS`` if values of it and whole numbers make one more of it; else None."""
    is_so = KEPT_AS in kinds and all(k == KEPT_AS or k in WHOLE_KINDS for k in kinds)
    return KEPT_AS if is_so else None


def constant_kind(node: exp.Expr) -> str | None:
    """What a number or truth value is that is written out."""
    if isinstance(node, exp.Boolean):
        return "BOOLEAN"
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    if not node.name.isdigit():
        return "DECIMAL"
    return "INTEGER" if int(node.name) <= _INTEGER_MAX else "BIGINT"


def _class_of(kind: str | None) -> str | None:
    if kind is None:
        return None
    if kind.endswith("]"):
        return None
    name = kind.partition("(")[0]
    if name in _SMALL:
        return "INTEGER"
    if name in _LARGE:
        return "BIGINT"
    if name in {"FLOAT", "REAL"}:
        return "DOUBLE"
    return name if name in _ORDER else None
