"""Columns whose values are made, not given: generated ones and identities, as written. Pure."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import SPELLED_SERIAL, Column, Identity
from journal.sql.sql import data_type
from rewriter.definitions.column_types import SERIAL
from rewriter.definitions.constraint_options import check_identity_options
from rewriter.definitions.user_types import OF_DOMAIN
from rewriter.name_resolution import position_of

IDENTITY_ADVICE = "an identity is NOT NULL, SMALLINT, INTEGER or BIGINT, and has no DEFAULT"
_WHOLE = exp.DataType.INTEGER_TYPES


def numbered_if_serial(column: Column) -> Column:
    """What a column of type SERIAL is: an identity of the type it stands for; others stay."""
    stored = SERIAL.get(column.type.upper())
    if stored is None:
        return column
    identity = Identity()
    return replace(column, type=stored, identity=identity, not_null=True, spelled=SPELLED_SERIAL)


def generation_clauses(node: exp.ColumnDef) -> list[exp.Expr]:
    """The clause that says how a column is generated, if there is one; raises SYNTAX for two."""
    constraints = node.args.get("constraints") or ()
    found = [c for c in constraints if generated_expression(c) is not None]
    if len(found) > 1:
        raise PalimpsestError(
            Code.SYNTAX,
            f'multiple generation clauses specified for column "{node.name}"',
            advice="write one GENERATED ALWAYS AS",
            position=position_of(node),
        )
    return found


def generated_expression(node: exp.Expr) -> exp.Expr | None:
    """The expression of a generated column, which has two shapes; None for other constraints."""
    kind = node.args.get("kind")
    found = None
    if isinstance(kind, exp.ComputedColumnConstraint):
        found = kind.this
    elif isinstance(kind, exp.GeneratedAsIdentityColumnConstraint):
        found = kind.args.get("expression")
    return found if isinstance(found, exp.Expr) else None


def is_identity(node: exp.GeneratedAsIdentityColumnConstraint) -> bool:
    """True for generated numbers."""
    return node.this is not None and node.args.get("expression") is None


def numbered(column: Column, node: exp.GeneratedAsIdentityColumnConstraint) -> Column:
    """A column whose numbers are generated as a constraint says."""
    return replace(column, identity=identity_options(node, column), not_null=True)


def identity_options(node: exp.GeneratedAsIdentityColumnConstraint, column: Column) -> Identity:
    """How numbers of a column are generated; raises NOT_SUPPORTED for bounds of their own."""
    check_identity_options(node, data_type(column.type).this)

    def number(name: str, default: int) -> int:
        value = node.args.get(name)
        return default if value is None else int(value.sql())

    return Identity(bool(node.this), number("start", 1), number("increment", 1))


def identity_fault(column: Column) -> str | None:
    """What keeps a column from being one of generated numbers; None if nothing does."""
    if column.default is not None:
        return "has a DEFAULT"
    is_whole = data_type(column.type).this in _WHOLE
    return None if is_whole and column.generated is None else f"is no plain number: {column.type}"


def check_identity(column: Column, node: exp.ColumnDef) -> None:
    """Raise INVALID_DEFINITION if a new column has an identity that does not fit it.

    Raises SYNTAX for two defaults, of which one would have no effect.
    """
    kinds = [c.args.get("kind") for c in node.args.get("constraints") or []]
    if sum(isinstance(k, exp.DefaultColumnConstraint) for k in kinds) > 1:
        raise PalimpsestError(
            Code.SYNTAX,
            f'column "{column.name}" has two defaults',
            advice="write one",
            position=position_of(node),
        )
    if column.identity is None:
        return
    numbers = [k for k in kinds if isinstance(k, exp.GeneratedAsIdentityColumnConstraint)]
    written = node.args.get("kind")
    is_serial = written is not None and written.sql().upper() in SERIAL
    fault = identity_fault(column)
    if len(numbers) + is_serial > 1:
        fault = "has two identities"
    elif written is not None and OF_DOMAIN in written.meta:
        fault = f"is of the domain {written.meta[OF_DOMAIN].name}"
    elif numbers and any(
        isinstance(k, exp.NotNullColumnConstraint) and k.args.get("allow_null") for k in kinds
    ):
        fault = "may be NULL"
    if fault is not None:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f'identity column "{column.name}" {fault}',
            advice=IDENTITY_ADVICE,
            position=position_of(node),
        )
