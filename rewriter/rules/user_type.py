"""CREATE, ALTER and DROP of types and domains: they change the catalog, and tables that use them.

Values stay as they were written: those of a type that has got further ones are cast when read.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.errors import ParseError

from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import (
    DOMAIN,
    ENUM,
    DropDefinition,
    PutDefinition,
    UserType,
    definition_key,
)
from journal.model.plan import Change, StatementPlan, Step
from journal.model.schema import TableName
from rewriter.context import RewriteContext
from rewriter.definitions.column_types import type_text
from rewriter.definitions.definition import canonical_text, default_text
from rewriter.definitions.new_relations import (
    check_schema_name,
    ddl_plan,
    new_definition_name,
    resolve_schema,
)
from rewriter.definitions.type_changes import (
    changed_enum,
    check_type_unused,
    renamed_type,
    without_columns,
    without_types,
)
from rewriter.definitions.user_types import (
    check_condition,
    enum_text,
    expanded_text,
    find_type,
    labels_of,
    named_type,
    unknown_type,
)
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of
from rewriter.statement import AlterType, CreateType, DropTypes
from rewriter.writing.renamed_values import rename_value


def rewrite_create_type(ast: CreateType, context: RewriteContext) -> StatementPlan:
    """CREATE TYPE and CREATE DOMAIN."""
    node, tag = ast.name, f"CREATE {'DOMAIN' if ast.kind == DOMAIN else 'TYPE'}"
    name = new_definition_name(node, context, temporary=ast.temporary)
    if "." in name.name or '"' in name.name:
        raise _refusal("a type's name with a dot or a quote in it", "use another name", node)
    made = _user_type(ast, name, context)
    known = context.catalog.definitions.get(definition_key(made))
    if known is not None and ast.exists:
        return ddl_plan([], tag)
    steps: list[Step] = []
    if known is not None and ast.replace and isinstance(known, UserType):
        steps = [*without_types([known], context), Change(DropDefinition(known))]
    elif known is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TYPE,
            f"type {name} exists already",
            advice="use IF NOT EXISTS, or another name",
            position=position_of(node),
        )
    return ddl_plan([*steps, Change(PutDefinition(made))], tag)


def rewrite_alter_type(ast: AlterType, context: RewriteContext) -> StatementPlan:
    """ALTER TYPE and ALTER DOMAIN."""
    found = _type_to_change(ast.name, ast.is_domain, context)
    tag = f"ALTER {'DOMAIN' if ast.is_domain else 'TYPE'}"
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
    name = found.name
    if ast.new_name is not None:
        name = TableName(name.schema, ast.new_name.name)
    if ast.new_schema is not None:
        check_schema_name(ast.new_schema, ast.name)
        name = resolve_schema(TableName(ast.new_schema, name.name), ast.name, context)
    named = replace(found, name=name)
    if name.key != found.name.key and definition_key(named) in context.catalog.definitions:
        raise PalimpsestError(
            Code.DUPLICATE_TYPE,
            f"type {name} exists already",
            advice="use another name",
            position=position_of(ast.name),
        )
    return ddl_plan(renamed_type(found, named, context), tag)


def rewrite_drop_types(ast: DropTypes, context: RewriteContext) -> StatementPlan:
    """DROP TYPE and DROP DOMAIN; with CASCADE the columns declared with it go as well.

    As in DuckDB a type may go that columns were declared with, unless RESTRICT is said: they keep
    what it stood for. As in PostgreSQL, where that is the dialect, it may not.
    """
    gone: list[UserType] = []
    for node in ast.names:
        found = named_type(node, context)
        if found is not None and (found.kind == DOMAIN) == ast.is_domain:
            gone.append(found)
        elif found is not None:
            _type_to_change(node, ast.is_domain, context)
        elif not ast.exists:
            raise unknown_type(node, context)
    names = [found.name for found in gone]
    restrict = ast.restrict or semantics_of(context.dialect).types_hold
    if restrict and not ast.cascade:
        check_type_unused(names, context, ast.names[0])
    drops = ast.cascade and semantics_of(context.dialect).types_hold
    steps = without_columns(names, context) if drops else without_types(gone, context)
    steps += [Change(DropDefinition(found)) for found in gone]
    return ddl_plan(steps, f"DROP {'DOMAIN' if ast.is_domain else 'TYPE'}")


def _user_type(ast: CreateType, name: TableName, context: RewriteContext) -> UserType:
    node = ast.name
    if ast.query is not None:
        raise _refusal("ENUM of a query", "write its values out", node)
    if ast.kind == ENUM:
        if not context.capabilities.enums:
            advice = "CREATE DOMAIN .. AS VARCHAR CHECK (VALUE IN (..)); its values are texts"
            raise _refusal("an ENUM type in this store", advice, node)
        double = next((v for i, v in enumerate(ast.labels) if v in ast.labels[:i]), None)
        if double is not None:
            raise _invalid(f"the value '{double}' stands twice in {name}", "name it once", node)
        return UserType(name, ENUM, enum_text(ast.labels))
    assert ast.type is not None
    base = find_type(ast.type, context)
    text, declared = expanded_text(ast.type, context)
    try:
        built = exp.DataType.build(text, dialect="duckdb")
    except ParseError as error:
        raise _invalid(f"{text} is no type", "write the name of a type", node) from error
    type_text(built)
    kind = base.kind if base is not None and ast.kind != DOMAIN else ast.kind
    if kind != DOMAIN:
        return UserType(name, kind, text, declared=declared)
    checks = list(base.checks) if base is not None else []
    for given, condition in ast.checks:
        check_condition(condition, node)
        number = 1
        shown = given or f"{name.name}_check"
        while given is None and shown in {n for n, _ in checks}:
            shown = f"{name.name}_check{number}"
            number += 1
        if shown in {n for n, _ in checks}:
            raise _invalid(f'{name} has two constraints "{shown}"', "name each anew", node)
        checks.append((shown, canonical_text(condition)))
    not_null = ast.not_null or (base is not None and base.not_null)
    default = None if base is None else base.default
    if ast.default is not None:
        default = default_text(ast.default, f"the DEFAULT of {name}")
    return UserType(name, DOMAIN, text, not_null, default, tuple(checks), declared)


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


def _type_to_change(node: exp.Table, is_domain: bool, context: RewriteContext) -> UserType:
    found = named_type(node, context)
    if found is None:
        raise unknown_type(node, context)
    if (found.kind == DOMAIN) != is_domain:
        word = "domain" if found.kind == DOMAIN else "type"
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{found.name} is a {word}",
            advice=f"use the statement for a {word.upper()}",
            position=position_of(node),
        )
    return found


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


def _invalid(message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(Code.SETTING_VALUE, message, advice=advice, position=position_of(node))


def _refusal(what: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice, position=position_of(node)
    )
