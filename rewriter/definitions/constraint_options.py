"""Checks the options of PRIMARY KEY, UNIQUE and AS IDENTITY. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from rewriter.name_resolution import position_of

_PLAIN = frozenset({"NOT DEFERRABLE", "INITIALLY IMMEDIATE"})
"""What a key does anyway."""
_BOUNDS = ("minvalue", "maxvalue", "cycle", "order")
_LARGEST = {
    exp.DType.SMALLINT: (1 << 15) - 1,
    exp.DType.INT: (1 << 31) - 1,
    exp.DType.BIGINT: (1 << 63) - 1,
}


def check_key(names: Sequence[str], node: exp.Expr) -> None:
    """Raise NOT_SUPPORTED for a PRIMARY KEY or UNIQUE that is to hold at another time or for NULL.

    ``node`` is the constraint as it was parsed, of a table or of a column, and ``names`` are its
    columns; raises DUPLICATE_COLUMN for one that is named twice.
    """
    folded = [fold(name) for name in names]
    twice = next((name for name in names if folded.count(fold(name)) > 1), None)
    if twice is not None:
        raise PalimpsestError(
            Code.DUPLICATE_COLUMN,
            f'column "{twice}" appears twice in a key',
            advice="name each column once",
            position=position_of(node),
        )
    kind = node.args["kind"] if isinstance(node, exp.ColumnConstraint) else node
    if not isinstance(kind, exp.Expr):
        return
    options = [" ".join(str(option).upper().split()) for option in kind.args.get("options") or []]
    for option in options:
        if option not in _PLAIN:
            advice = "leave it out: keys are checked at the end of each statement"
            raise _refusal(f"a key with {option}", advice, node)
    if not isinstance(kind, exp.UniqueColumnConstraint):
        return
    if kind.args.get("nulls"):
        advice = (
            "leave it out, as a NULL equals no other, or CREATE UNIQUE INDEX over"
            " ((a IS NULL), COALESCE(a, 0)) for each of its columns a"
        )
        raise _refusal("UNIQUE NULLS NOT DISTINCT", advice, node)
    if kind.args.get("on_conflict"):
        raise _refusal("UNIQUE with ON CONFLICT", "write ON CONFLICT behind the INSERT", node)
    # DuckDB's grammar reads a word behind a column's UNIQUE as a name.
    if isinstance(kind.this, exp.Identifier):
        advice = "leave the word out, or write CONSTRAINT name UNIQUE"
        raise _refusal(f"UNIQUE {kind.this.name.upper()}", advice, node)


def check_identity_options(node: exp.GeneratedAsIdentityColumnConstraint, kind: exp.DType) -> None:
    """Raise NOT_SUPPORTED for numbers that are to stay within bounds or to begin again.

    ``kind`` is the type of the column, whose own bounds change nothing.
    """
    given = [name for name in _BOUNDS if node.args.get(name)]
    asked = [name.upper() for name in given if not _is_of_the_type(node, name, kind)]
    if asked:
        advice = "leave it out: START WITH and INCREMENT BY are what there is; a CHECK sets bounds"
        raise _refusal(f"an identity column with {', '.join(asked)}", advice, node)


def _is_of_the_type(
    node: exp.GeneratedAsIdentityColumnConstraint, bound: str, kind: exp.DType
) -> bool:
    """True for MINVALUE 1 and the MAXVALUE of numbers that grow, which hold without a word."""
    step = node.args.get("increment")
    if bound not in {"minvalue", "maxvalue"} or (step is not None and int(step.sql()) < 0):
        return False
    wanted = 1 if bound == "minvalue" else _LARGEST.get(kind)
    return int(node.args[bound].sql()) == wanted


def _refusal(what: str, advice: str, node: exp.Expr) -> PalimpsestError:
    where = position_of(node)
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice, position=where
    )
