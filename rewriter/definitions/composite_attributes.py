"""ALTER TYPE .. ADD, DROP, ALTER and RENAME ATTRIBUTE of a composite type. Pure.

A type that a column or another type was declared with stays as it is: the rows of a table keep
their values in the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import STRUCT, UserType
from journal.model.schema import fold
from rewriter.context import RewriteContext
from rewriter.definitions.type_changes import check_type_unused
from rewriter.definitions.user_types import check_types_known, declared_type, expanded_text
from rewriter.name_resolution import position_of
from rewriter.syntax.token_reader import TokenReader

_VERBS = ("ADD", "DROP", "ALTER", "RENAME")


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """What is to become of one attribute: its ``type``, or its ``new_name``.

    ``verb`` is ADD, DROP, ALTER or RENAME; ``exists``: IF EXISTS stands before the name.
    """

    verb: str
    name: exp.Identifier
    type: exp.DataType | None = None
    new_name: exp.Identifier | None = None
    exists: bool = False


def read_attribute_changes(reader: TokenReader) -> tuple[AttributeChange, ...]:
    """The changes that stand here; none where the next words are others. Raises SYNTAX."""
    found: list[AttributeChange] = []
    while True:
        verb = next((verb for verb in _VERBS if reader.takes(verb, "ATTRIBUTE")), None)
        if verb is None:
            if found:
                raise reader.error("ADD, DROP or ALTER ATTRIBUTE was expected")
            return ()
        found.append(_change(reader, verb))
        _ = reader.takes("CASCADE") or reader.takes("RESTRICT")
        if not reader.takes(","):
            return tuple(found)


def _change(reader: TokenReader, verb: str) -> AttributeChange:
    exists = verb == "DROP" and reader.takes("IF", "EXISTS")
    name = _name(reader)
    if verb == "RENAME":
        if not reader.takes("TO"):
            raise reader.error("RENAME ATTRIBUTE needs TO and the new name")
        return AttributeChange(verb, name, new_name=_name(reader))
    if verb == "ALTER":
        reader.takes("SET", "DATA")
        if not reader.takes("TYPE"):
            raise reader.error("ALTER ATTRIBUTE needs TYPE and a type")
    kind = None if verb == "DROP" else reader.data_type({",", "CASCADE", "RESTRICT"})
    return AttributeChange(verb, name, kind, exists=exists)


def _name(reader: TokenReader) -> exp.Identifier:
    token = reader.tokens[reader.place] if reader.place < len(reader.tokens) else None
    quoted = token is not None and token.token_type is TokenType.IDENTIFIER
    made = exp.to_identifier(reader.word(), quoted=quoted)
    if token is not None:
        made.update_positions(token)
    return made


def changed_composite(
    found: UserType, changes: Sequence[AttributeChange], node: exp.Expr, context: RewriteContext
) -> UserType:
    """The type after the changes, one after the other.

    Raises WRONG_OBJECT, DUPLICATE_COLUMN and UNKNOWN_COLUMN as PostgreSQL does, DEPENDENT_OBJECTS
    for a type that is used, INVALID_DEFINITION where no attribute is left.
    """
    if found.kind != STRUCT:
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{found.name} is not a composite type",
            advice="only a composite type has attributes",
            position=position_of(node),
        )
    kind = declared_type(found.declared or found.type)
    fields = list(kind.expressions)
    for change in changes:
        fields = _changed_fields(found, fields, change)
    if [field.sql() for field in fields] == [field.sql() for field in kind.expressions]:
        return found
    check_type_unused([found.name], context, node)
    if not fields:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"no attribute of {found.name} would be left",
            advice="DROP TYPE drops the type",
            position=position_of(node),
        )
    kind.set("expressions", fields)
    check_types_known(kind, context)
    text, declared = expanded_text(kind, context)
    return replace(found, type=text, declared=declared)


def _changed_fields(
    found: UserType, fields: Sequence[exp.Expr], change: AttributeChange
) -> list[exp.Expr]:
    names = [fold(field.name) for field in fields]
    made = change.new_name or change.name
    others = [name for name in names if change.verb != "RENAME" or name != fold(change.name.name)]
    if change.verb in {"ADD", "RENAME"} and fold(made.name) in others:
        raise PalimpsestError(
            Code.DUPLICATE_COLUMN,
            f'{found.name} has an attribute "{made.name}" already',
            advice="use another name",
            position=position_of(made),
        )
    if change.verb == "ADD":
        return [*fields, exp.ColumnDef(this=made, kind=change.type)]
    if fold(change.name.name) not in names:
        if change.exists:
            return list(fields)
        raise PalimpsestError(
            Code.UNKNOWN_COLUMN,
            f'{found.name} has no attribute "{change.name.name}"',
            advice=f"its attributes are {', '.join(field.name for field in fields)}",
            position=position_of(change.name),
        )
    place = names.index(fold(change.name.name))
    after = list(fields)
    old = after.pop(place)
    if change.verb == "RENAME":
        after.insert(place, exp.ColumnDef(this=made, kind=old.args["kind"]))
    elif change.verb == "ALTER":
        after.insert(place, exp.ColumnDef(this=old.this, kind=change.type))
    return after
