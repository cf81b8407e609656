"""Policies of schemas and of the database: they change the catalog alone.

What a scope states must make sense by itself and for each table that it reaches. Tables that it
does not reach are told of, since nobody can see them in the statement.
"""

from __future__ import annotations

from dataclasses import replace

from journal.model.effective_policy import unreached, why_contradicting
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, StatementPlan
from journal.model.policy import check_stated, is_policy, read_policy, rule_of
from journal.model.policy_scope import PutScopedPolicy, ScopedPolicy, ScopeKind
from journal.model.schema import CatalogSnapshot, Table, fold
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.policies import check_schedules, check_targets, with_changes
from rewriter.name_resolution import check_database, is_database, position_of
from rewriter.statements.scoped_policies import SetScopedPolicy

NOTICES_MAX = 20


def rewrite_scoped_policy(ast: SetScopedPolicy, context: RewriteContext) -> StatementPlan:
    """The plan of ALTER SCHEMA and ALTER DATABASE .. SET POLICY and UNSET POLICY."""
    tag = f"ALTER {ast.kind}".upper()
    if ast.kind is ScopeKind.DATASET:
        assert ast.name is not None
        stated = tuple(with_changes({}, ast.action).items())
        dataset = ScopedPolicy(ast.kind, ast.name.name, stated, ast.pattern)
        return scoped_policy_plan(dataset, context, tag)
    name = _name(ast, context)
    if name is None:
        return ddl_plan([], tag)
    known = context.catalog.policies.get((ast.kind, fold(name)))
    before = {} if known is None else dict(known.properties)
    properties = with_changes(before, ast.action)
    policy = ScopedPolicy(ast.kind, name, tuple(properties.items()))
    return scoped_policy_plan(policy, context, tag)


def scoped_policy_plan(policy: ScopedPolicy, context: RewriteContext, tag: str) -> StatementPlan:
    """The plan that lets a scope state a policy from now on, and nothing else."""
    found = read_policy(dict(policy.properties))
    check_stated(found)
    known = context.catalog.policies.get(policy.key)
    if known == policy or (known is None and not policy.properties):
        return ddl_plan([], tag)
    before = () if known is None else known.properties
    check_schedules(found.schedules, before, context)
    check_targets(found.replication, before, context)
    catalog = context.catalog.with_policy(policy)
    covered = [t for t in catalog.tables() if policy.covers(t.name) and not catalog.is_own(t.name)]
    for table in covered:
        error = why_contradicting(catalog, table)
        # What was wrong before, for want of a check then, is not made worse.
        if error is not None and why_contradicting(context.catalog, table) is None:
            raise error
    return replace(
        ddl_plan([Change(PutScopedPolicy(policy))], tag),
        notices=_notices(policy, covered, catalog),
    )


def _notices(
    policy: ScopedPolicy, covered: list[Table], catalog: CatalogSnapshot
) -> tuple[str, ...]:
    stated = {rule_of(n) for n, _ in policy.properties if is_policy(n)}
    if "RETENTION" not in stated:
        return ()
    ordered = sorted(covered, key=lambda table: table.name.key)
    said = [text for table in ordered for text in unreached(catalog, table)]
    left = len(said) - NOTICES_MAX
    more = [f"and {left:,} more tables; SHOW EFFECTIVE POLICY says it of each"] if left > 0 else []
    return (*said[:NOTICES_MAX], *more)


def _name(ast: SetScopedPolicy, context: RewriteContext) -> str | None:
    """The name of the scope, empty for the database; None for a schema that may be missing."""
    node = ast.name
    if node is None:
        return ""
    if ast.kind is ScopeKind.DATABASE:
        if node.db or not is_database(node.name, context.catalog):
            raise PalimpsestError(
                Code.UNKNOWN_SCHEMA,
                f"{node.sql(dialect='duckdb')} is not the database of this session",
                advice=f"it is called {context.catalog.database}; ALTER DATABASE SET POLICY"
                " needs no name",
                position=position_of(node),
            )
        return ""
    if node.db:
        check_database(node, context.catalog)
    found = context.catalog.schemas.get(fold(node.name))
    if found is None and not ast.exists:
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA,
            f"schema {node.name} does not exist",
            advice="check the spelling",
            position=position_of(node),
        )
    return found
