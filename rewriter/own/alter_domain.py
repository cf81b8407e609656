"""ALTER DOMAIN: its constraints and its default, and those that its columns have from it.

Rows that are there are checked for what is added. A value in a column changes never.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.identity.descriptor import with_descriptors
from journal.model.distribution import with_distribution
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import DOMAIN, PutDefinition, UserType
from journal.model.partitioning import with_partitioning
from journal.model.plan import Change, StatementKind, StatementPlan, Step
from journal.model.schema import Table, fold
from journal.sql import dialects
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.canonical_texts import canonical_text, default_text
from rewriter.definitions.renamed_constraints import rename_constraint
from rewriter.definitions.sequences import with_named_defaults
from rewriter.definitions.user_types import (
    TypeUse,
    check_condition,
    domain_check_name,
    domain_checks,
    named_type,
    types_over,
    unknown_type,
    uses_of,
)
from rewriter.name_resolution import position_of
from rewriter.reading.read_rewriter import Reads
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.domain_actions import (
    AddDomainCheck,
    DomainAction,
    DropDomainCheck,
    RenameDomainCheck,
    SetDomainDefault,
    SetDomainNotNull,
    ValidateDomainCheck,
    read_domain_action,
)
from rewriter.syntax.token_reader import Parse, TokenReader
from rewriter.writing.altered_rows import STAGE, altering_steps

ColumnChange = Callable[[Alteration, TypeUse], None]
"""What an action does to a column that was declared with the domain."""


@dataclass(frozen=True, slots=True)
class AlterDomain(OwnStatement):
    """ALTER DOMAIN name, and what becomes of its constraints or its default."""

    makes_ids: ClassVar[bool] = True
    name: exp.Table
    action: DomainAction

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> AlterDomain | None:
        """The statement, or None where something else is altered, or a domain's name."""
        reader = TokenReader(tokens, parse, 1)
        if not reader.takes("DOMAIN"):
            return None
        name = reader.name()
        action = read_domain_action(reader)
        if action is None:
            return None
        reader.ends("nothing else stands here")
        return cls(name, action)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the domain's schema may alter it."""
        access.owners.owned_schema(self.name)
        if isinstance(self.action, AddDomainCheck):
            access.reads.check(self.action.condition)
        elif isinstance(self.action, SetDomainDefault) and self.action.value is not None:
            access.reads.check(self.action.value)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Change the catalog, and the tables that use the domain."""
        return _plan(self, context)


STATEMENT = AlterDomain


def _plan(ast: AlterDomain, context: RewriteContext) -> StatementPlan:
    """The plan of an ALTER DOMAIN but for names and schemas."""
    found = _domain(ast.name, context)
    made, change = _changed(ast, found, context)
    reads = Reads(context)
    steps: list[Step] = [] if made == found else [Change(PutDefinition(made))]
    tables: list[Table] = []
    for number, (table, uses) in enumerate(_uses_by_table(found, ast, context)):
        alteration = Alteration.of(table, context.capabilities.column_name)
        for use in uses:
            change(alteration, use)
        new = replace(
            alteration.draft.table(table.id),
            comment=table.comment,
            properties=tuple(alteration.properties.items()),
            layout=table.layout,
        )
        new = with_partitioning(with_descriptors(new, table), table)
        new = with_named_defaults(with_distribution(new, table), context)
        steps += altering_steps(reads, alteration, table, new, f"{STAGE}_{number}")
        tables.append(table)
    plan = reads.plan(StatementKind.DDL, steps, None, "ALTER DOMAIN")
    return replace(plan, writes=frozenset(table.name for table in tables))


def _domain(node: exp.Table, context: RewriteContext) -> UserType:
    found = named_type(node, context)
    if found is None:
        raise unknown_type(node, context)
    if found.kind != DOMAIN:
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{found.name} is a type",
            advice="use ALTER TYPE",
            position=position_of(node),
        )
    return found


def _uses_by_table(
    found: UserType, ast: AlterDomain, context: RewriteContext
) -> list[tuple[Table, list[TypeUse]]]:
    """The tables with columns of the domain; raises NOT_SUPPORTED for types made of it."""
    over = types_over([found.name], context)
    if over:
        raise _refusal(
            f"a change of {found.name}, of which {over[0].name} is made,",
            f"drop {over[0].name} first, or change a domain that no type is made of",
            ast,
        )
    tables: dict[int, tuple[Table, list[TypeUse]]] = {}
    for use in uses_of([found.name], context):
        if use.column.type != found.type:
            raise _refusal(
                f'a change of {found.name}, which column "{use.column.name}" of'
                f" {use.table.name} has within {use.column.type},",
                "use its type there, and a CHECK of the table",
                ast,
            )
        tables.setdefault(use.table.id, (use.table, []))[1].append(use)
    return list(tables.values())


def _changed(
    ast: AlterDomain, found: UserType, context: RewriteContext
) -> tuple[UserType, ColumnChange]:
    """The domain as it is then, and what becomes of its columns."""
    match ast.action:
        case AddDomainCheck() as action:
            return _with_check(ast, action, found)
        case DropDomainCheck() as action:
            if action.exists and not _has_check(found, action.name):
                return found, lambda change, use: None
            name = _check_name(found, action.name, ast)
            kept = tuple(check for check in found.checks if check[0] != name)

            def drop(change: Alteration, use: TypeUse) -> None:
                shown = domain_check_name(use.table.name, use.column.name, name)
                change.drop_constraint(shown, ast.name, exists=True)

            return replace(found, checks=kept), drop
        case ValidateDomainCheck() as action:
            name = _check_name(found, action.name, ast)
            return found, lambda change, use: change.validate(
                domain_check_name(use.table.name, use.column.name, name), ast.name
            )
        case RenameDomainCheck() as action:
            return _with_renamed_check(ast, action, found)
        case SetDomainNotNull() as action:
            return _with_nulls(ast, action.required, found, context)
        case SetDomainDefault() as action:
            return _with_default(ast, action.value, found)


def _with_check(
    ast: AlterDomain, action: AddDomainCheck, found: UserType
) -> tuple[UserType, ColumnChange]:
    check_condition(action.condition, ast.name)
    name, number = action.name or f"{found.name.name}_check", 0
    while action.name is None and _has_check(found, name):
        number += 1
        name = f"{found.name.name}_check{number}"
    if _has_check(found, name):
        raise _invalid(f'{found.name} has a constraint "{name}" already', "name it anew", ast)
    check = (name, canonical_text(action.condition))

    def add(change: Alteration, use: TypeUse) -> None:
        one = replace(found, checks=(check,))
        for condition, shown in domain_checks(one, use.table.name, use.column.name):
            node = exp.CheckColumnConstraint(this=condition)
            change.add_constraint(node, shown, checks_rows=action.checks_rows)

    return replace(found, checks=(*found.checks, check)), add


def _with_renamed_check(
    ast: AlterDomain, action: RenameDomainCheck, found: UserType
) -> tuple[UserType, ColumnChange]:
    old = _check_name(found, action.old, ast)
    if _has_check(found, action.new):
        text = f'{found.name} has a constraint "{action.new}" already'
        raise _invalid(text, "give it another name", ast)
    checks = tuple((action.new if n == old else n, text) for n, text in found.checks)

    def rename(change: Alteration, use: TypeUse) -> None:
        names = (domain_check_name(use.table.name, use.column.name, n) for n in (old, action.new))
        shown, new = names
        if any(fold(check.name) == fold(shown) for check in use.table.checks):
            rename_constraint(change, shown, new, ast.name)

    return replace(found, checks=checks), rename


def _with_nulls(
    ast: AlterDomain, required: bool, found: UserType, context: RewriteContext
) -> tuple[UserType, ColumnChange]:
    if not required and found.not_null:
        # Whether a column has NOT NULL of its own beside the domain's, nothing says.
        for use in uses_of([found.name], context):
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f'column "{use.column.name}" of {use.table.name} is NOT NULL by {found.name},'
                " and perhaps by its own declaration",
                advice="ALTER the columns with DROP NOT NULL, give them the domain's type, and"
                " then change the domain",
                position=position_of(ast.name),
            )

    def set_not_null(change: Alteration, use: TypeUse) -> None:
        if required:
            change.set_not_null(use.column.name, required=True, node=ast.name)

    return replace(found, not_null=required), set_not_null


def _with_default(
    ast: AlterDomain, value: exp.Expr | None, found: UserType
) -> tuple[UserType, ColumnChange]:
    text = None if value is None else default_text(value, f"the DEFAULT of {found.name}")

    def set_default(change: Alteration, use: TypeUse) -> None:
        # A column with a default of its own keeps it, as in PostgreSQL.
        if use.column.default == found.default and use.column.identity is None:
            given = None if text is None else dialects.stored(text)
            change.set_default(use.column.name, given, ast.name)

    return replace(found, default=text), set_default


def _has_check(found: UserType, name: str) -> bool:
    return any(fold(known) == fold(name) for known, _ in found.checks)


def _check_name(found: UserType, name: str, ast: AlterDomain) -> str:
    for known, _ in found.checks:
        if fold(known) == fold(name):
            return known
    names = ", ".join(known for known, _ in found.checks) or "none"
    raise PalimpsestError(
        Code.INVALID_DEFINITION,
        f'{found.name} has no constraint "{name}"',
        advice=f"it has {names}",
        position=position_of(ast.name),
    )


def _invalid(message: str, advice: str, ast: AlterDomain) -> PalimpsestError:
    return PalimpsestError(
        Code.INVALID_DEFINITION, message, advice=advice, position=position_of(ast.name)
    )


def _refusal(what: str, advice: str, ast: AlterDomain) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{what} is not supported",
        advice=advice,
        position=position_of(ast.name),
    )
