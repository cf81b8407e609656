"""ALTER TYPE, and the names of domains: values stay as they were written, and are cast when read.

ALTER TYPE name ADD VALUE [IF NOT EXISTS] 'a' [BEFORE | AFTER 'b'] | RENAME VALUE 'a' TO 'b'
ALTER TYPE name ADD ATTRIBUTE a type | DROP ATTRIBUTE [IF EXISTS] a | ALTER ATTRIBUTE a TYPE type
  | RENAME ATTRIBUTE a TO b, ..
ALTER TYPE | DOMAIN name RENAME TO name | SET SCHEMA schema
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import ENUM, PutDefinition, UserType, definition_key
from journal.model.plan import Change, StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.composite_attributes import (
    AttributeChange,
    changed_composite,
    read_attribute_changes,
)
from rewriter.definitions.new_relations import ddl_plan, moved_name
from rewriter.definitions.type_changes import changed_enum, renamed_type
from rewriter.definitions.user_types import labels_of, type_to_change
from rewriter.name_resolution import position_of
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader
from rewriter.writing.renamed_values import rename_value


@dataclass(frozen=True, slots=True)
class AlterType(OwnStatement):
    """ALTER TYPE or DOMAIN: one of a label that is added, one that is renamed, and other names.

    ``beside`` is the label that the one to ``add`` stands before or behind; None: the last one.
    """

    makes_ids: ClassVar[bool] = True
    name: exp.Table
    is_domain: bool = False
    add: str | None = None
    exists: bool = False
    beside: str | None = None
    before: bool = False
    rename_label: tuple[str, str] | None = None
    new_name: exp.Table | None = None
    new_schema: str | None = None
    attributes: tuple[AttributeChange, ...] = ()

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> AlterType | None:
        """The statement; None where something else is altered, or who owns the type."""
        reader = TokenReader(tokens, parse, 1)
        is_domain = reader.takes("DOMAIN")
        if not is_domain and not reader.takes("TYPE"):
            return None
        name = reader.name()
        if reader.takes("OWNER", "TO"):
            return None
        attributes = () if is_domain else read_attribute_changes(reader)
        if attributes:
            found = cls(name, attributes=attributes)
        elif reader.takes("RENAME", "TO"):
            found = cls(name, is_domain, new_name=reader.name())
        elif reader.takes("SET", "SCHEMA"):
            found = cls(name, is_domain, new_schema=reader.word())
        elif not is_domain and reader.takes("ADD", "VALUE"):
            exists = reader.takes("IF", "NOT", "EXISTS")
            label = reader.text()
            before = reader.takes("BEFORE")
            beside = reader.text() if before or reader.takes("AFTER") else None
            found = cls(name, add=label, exists=exists, beside=beside, before=before)
        elif not is_domain and reader.takes("RENAME", "VALUE"):
            old = reader.text()
            if not reader.takes("TO"):
                raise reader.error("RENAME VALUE needs TO and the new value")
            found = cls(name, rename_label=(old, reader.text()))
        else:
            forms = (
                "ADD, DROP, SET, VALIDATE or RENAME"
                if is_domain
                else "ADD VALUE, RENAME VALUE, RENAME TO, or ADD, DROP or ALTER ATTRIBUTE"
            )
            raise reader.error(f"{forms} was expected")
        reader.ends("nothing else stands here")
        return found

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the type's schema may alter it."""
        access.owners.owned_schema(self.name)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Change the catalog, and the tables that use the type."""
        return _plan(self, context)


STATEMENT = AlterType


def _plan(ast: AlterType, context: RewriteContext) -> StatementPlan:
    found = type_to_change(ast.name, ast.is_domain, context)
    tag = f"ALTER {'DOMAIN' if ast.is_domain else 'TYPE'}"
    if ast.attributes:
        made = changed_composite(found, ast.attributes, ast.name, context)
        return ddl_plan([] if made == found else [Change(PutDefinition(made))], tag)
    if ast.add is not None or ast.rename_label is not None:
        if found.kind != ENUM:
            raise PalimpsestError(
                Code.WRONG_OBJECT,
                f"{found.name} is not an enum",
                advice="only an enum has values to add or rename",
                position=position_of(ast.name),
            )
        labels = _labels(ast, found)
        if ast.rename_label is not None:
            assert labels is not None
            return rename_value(found, labels, ast.rename_label, ast.name, context)
        return ddl_plan([] if labels is None else changed_enum(found, labels, context), tag)
    name = moved_name(found.name, ast.name, ast.new_name, ast.new_schema, context)
    named = replace(found, name=name)
    if name.key != found.name.key and definition_key(named) in context.catalog.definitions:
        raise PalimpsestError(
            Code.DUPLICATE_TYPE,
            f"type {name} exists already",
            advice="use another name",
            position=position_of(ast.name),
        )
    return ddl_plan(renamed_type(found, named, context), tag)


def _labels(ast: AlterType, found: UserType) -> list[str] | None:
    """The values of an enum once it is changed; None if it stays."""
    labels = labels_of(found.type)
    if ast.rename_label is not None:
        old, new = ast.rename_label
        _check_label(found, old, labels, ast.name)
        if new in labels:
            raise _twice(found, new, ast.name)
        return [new if label == old else label for label in labels]
    assert ast.add is not None
    if ast.add in labels:
        if ast.exists:
            return None
        raise _twice(found, ast.add, ast.name)
    place = len(labels)
    if ast.beside is not None:
        _check_label(found, ast.beside, labels, ast.name)
        place = labels.index(ast.beside) + (not ast.before)
    return [*labels[:place], ast.add, *labels[place:]]


def _check_label(found: UserType, label: str, labels: list[str], node: exp.Expr) -> None:
    if label not in labels:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"'{label}' is not a value of {found.name}",
            advice=f"its values are {', '.join(labels) or 'none'}",
            position=position_of(node),
        )


def _twice(found: UserType, label: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.DUPLICATE_TYPE,
        f"'{label}' is a value of {found.name} already",
        advice="use ADD VALUE IF NOT EXISTS, or another value",
        position=position_of(node),
    )
