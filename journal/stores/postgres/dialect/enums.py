"""Enums as types of the server's own, each named after its values, in their order.

So the server compares, sorts and checks them. A type is made when a text first needs it, in a
transaction of its own, and never changes: an enum with one value more is another type. Pure.
"""

from __future__ import annotations

import hashlib
import json

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.sql.sql import data_type

_CONSTANTS = (exp.Literal, exp.Null)
"""The server reads these as of the type that they are cast to."""
Enums = tuple[tuple[str, ...], ...]
"""The values of each enum that a text names."""


def name_enums(tree: exp.Expr) -> Enums:
    """Put the names of the server's types in the place of enums, in place; which they were.

    One enum becomes another by its text: the server has no such cast. Raises NOT_SUPPORTED for
    lists of them.
    """
    if not any(node.this is exp.DType.ENUM for node in tree.find_all(exp.DataType)):
        return ()
    for node in list(tree.find_all(exp.Cast)):
        is_enum = node.args["to"].this is exp.DType.ENUM
        if type(node) is exp.Cast and is_enum and not isinstance(node.this, _CONSTANTS):
            node.set("this", exp.Cast(this=node.this, to=exp.DataType(this=exp.DType.TEXT)))
    found: dict[tuple[str, ...], None] = {}
    for part in list(tree.find_all(exp.DataType)):
        if part.this is exp.DType.ENUM:
            if isinstance(part.parent, exp.DataType):
                raise PalimpsestError(
                    Code.NOT_SUPPORTED,
                    "a PostgreSQL store has no lists of an enum",
                    advice="use a list of texts, or a table with a row for each value",
                )
            values = tuple(value.name for value in part.expressions)
            found[values] = None
            _name(part, values)
    return tuple(found)


def enums_in(kind: str) -> Enums:
    """The enums in a type, canonical text."""
    return name_enums(exp.Paren(this=data_type(kind))) if "ENUM" in kind.upper() else ()


def type_of(values: tuple[str, ...]) -> str:
    """The name of the server's type for an enum, without its schema."""
    return f"enum_{hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]}"


def place_of(values: tuple[str, ...]) -> str:
    """The server's type for an enum, with its schema."""
    return f"{STORE_SCHEMA}.{type_of(values)}"


def creation(values: tuple[str, ...], place: str) -> str:
    """What makes a type of these values, unless somebody has made it."""
    literals = ", ".join(exp.Literal.string(v).sql(dialect="postgres") for v in values)
    return (
        "DO $enum$ BEGIN"
        f" CREATE TYPE {place} AS ENUM ({literals});"
        " EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $enum$"
    )


def _name(node: exp.DataType, values: tuple[str, ...]) -> None:
    node.set("this", exp.DType.USERDEFINED)
    node.set("kind", place_of(values))
    node.set("expressions", None)
    node.set("values", None)
