"""The rewriter: an allow-list of statements, each with its rule, and the invariants after all.

``rewrite(ast, context) -> StatementPlan``. What is not on the list is refused; nothing passes
through unrewritten. Pure: no driver, clock, randomness or I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, StatementPlan
from journal.model.trees import copy_tree
from rewriter.checks.invariants import check_plan
from rewriter.checks.refusals import advice_for
from rewriter.context import PlanForm, RewriteContext
from rewriter.definitions.called_macros import check_uncalled, with_calls
from rewriter.definitions.kept_calls import note_calls
from rewriter.definitions.macros import expand_macros
from rewriter.definitions.policy_dependents import check_policy_sources
from rewriter.definitions.user_types import expand_types
from rewriter.lineage.executed.statements import rows_refreshed, rows_restored
from rewriter.lineage.executed.trace import StatementTrace
from rewriter.lineage.inherited_tags import (
    converted_columns,
    trace_writes,
    with_inherited_tags,
)
from rewriter.name_resolution import position_of
from rewriter.point_plans import point_claim, point_insert, point_plan
from rewriter.query_settings import apply_settings
from rewriter.reading.duckdb.on_postgres import in_words_of_postgres
from rewriter.reading.network.addresses import spelled_addresses
from rewriter.reading.network.results import address_results
from rewriter.reading.postgres.dialect import in_words_of_the_store
from rewriter.rules import (
    alter,
    comment,
    copy,
    create_table,
    ddl,
    delete,
    drop_owned,
    grant,
    index,
    locked_writes,
    materialized,
    restore,
    role,
    scoped_policy,
    select,
    show,
    store_upkeep,
    table_policy,
    tag,
    view,
)
from rewriter.statement import (
    CheckReferences,
    Explain,
    RefreshView,
    Restore,
    Show,
    SqlStatement,
    Statement,
    StoreUpkeep,
)
from rewriter.statements.access import (
    AlterDefaultPrivileges,
    AlterRole,
    ChangeOwner,
    CreateRole,
    DropOwned,
    DropRoles,
    GrantPrivileges,
    GrantRoles,
    OfAccess,
    ReassignOwned,
    SetTablePolicy,
    SetTagPolicy,
    SetTags,
)
from rewriter.statements.own_statement import OwnStatement
from rewriter.statements.scoped_policies import SetScopedPolicy
from rewriter.writing.collations import without_collations
from rewriter.writing.deferred_references import rewrite_check_references
from rewriter.writing.rounded_seconds import with_rounding
from rewriter.writing.sequence_numbers import with_numbers
from rewriter.writing.views_of_macros import read_words
from rewriter.writing_statements import has_modifying_ctes, rewrite_parts

Rule = Callable[[Any, RewriteContext], StatementPlan]
"""Takes the kind of node it stands beside in RULES."""


def _rewrite_change(ast: exp.Expr, context: RewriteContext) -> StatementPlan:
    """The plan of an UPDATE or DELETE, which may lock the rows that it writes."""
    skipped = locked_writes.take_locks(ast, context)
    plan = rewrite_parts(ast, context)
    return replace(plan, skipped=skipped) if skipped else plan


RULES: tuple[tuple[type[exp.Expr], str, Rule], ...] = (
    (exp.Select, "", select.rewrite_select),
    (exp.SetOperation, "", select.rewrite_select),
    (exp.Subquery, "", select.rewrite_select),
    (exp.Values, "", select.rewrite_select),
    (exp.Pivot, "", select.rewrite_pivot),
    (exp.Describe, "", show.rewrite_describe),
    (exp.Summarize, "", show.rewrite_summarize),
    (exp.Insert, "", rewrite_parts),
    (exp.Update, "", _rewrite_change),
    (exp.Delete, "", _rewrite_change),
    (exp.Merge, "", rewrite_parts),
    (exp.MultitableInserts, "", rewrite_parts),
    (exp.Copy, "", copy.rewrite_copy),
    (exp.TruncateTable, "", delete.rewrite_truncate),
    (exp.Create, "TABLE", create_table.rewrite_create_table),
    (exp.Create, "VIEW", view.rewrite_create_view),
    (exp.Create, "MATERIALIZED VIEW", materialized.rewrite_create_materialized),
    (exp.Drop, "MATERIALIZED VIEW", ddl.rewrite_drop_table),
    (exp.Alter, "MATERIALIZED VIEW", materialized.rewrite_alter_materialized),
    (exp.Create, "SCHEMA", ddl.rewrite_create_schema),
    (exp.Drop, "TABLE", ddl.rewrite_drop_table),
    (exp.Drop, "VIEW", ddl.rewrite_drop_table),
    (exp.Drop, "SCHEMA", ddl.rewrite_drop_schema),
    (exp.Create, "INDEX", index.rewrite_create_index),
    (exp.Drop, "INDEX", index.rewrite_drop_index),
    (exp.Alter, "INDEX", index.rewrite_alter_index),
    (exp.Alter, "TABLE", alter.rewrite_alter),
    (exp.Alter, "VIEW", alter.rewrite_alter_view),
    (exp.Comment, "", comment.rewrite_comment),
)
_WITH_KIND = (exp.Create, exp.Drop, exp.Alter)
_VIEWS = frozenset({"VIEW", "MATERIALIZED VIEW"})


def rewrite_statement(statement: Statement, context: RewriteContext) -> StatementPlan:
    """The plan of any statement that reads or changes data or definitions.

    Raises INVARIANT for a statement on which the rewriter itself fails: nothing of it has run.
    """
    try:
        spelled = in_words_of_postgres(in_words_of_the_store(statement, context), context)
        plan = _plan_of(spelled, context)
        check_policy_sources(plan, context)
        check_uncalled(plan, context)
        return with_calls(plan, context, partial(_plan_of, spelled))
    except (PalimpsestError, RecursionError, MemoryError):
        raise
    except Exception as error:
        raise PalimpsestError(
            Code.INVARIANT,
            f"the rewriter failed on this statement: {type(error).__name__}: {error}",
            advice="report the statement; nothing of it was run",
        ) from error


def _plan_of(statement: Statement, context: RewriteContext) -> StatementPlan:
    match statement:
        case SqlStatement(ast):
            trace = StatementTrace(ast, context)
            plain = _plain_plan(ast, context) if context.from_cache else None
            if plain is not None:
                return replace(plain, trace=trace.planned(plain))
            plan = rewrite(copy_tree(ast), context, trace)
            if plan.fails_late:
                careful = replace(context, form=PlanForm.CAREFUL)
                plan = rewrite(copy_tree(ast), careful, trace)
            is_short = context.from_cache and not any(isinstance(s, Change) for s in plan.steps)
            point = point_plan(ast, context) if is_short else plan.plain
            found = address_results(ast, context)
            return replace(plan, plain=point, addresses=found, trace=trace.planned(plan))
        case Explain(inner):
            explained = _plan_of(inner, context)
            return replace(explained, tag="EXPLAIN", bounded=False)
        case Show():
            plan = show.rewrite_show(statement, context)
        case RefreshView():
            plan = _finished(materialized.rewrite_refresh(statement, context), context)
            plan = replace(plan, trace=rows_refreshed(statement, context, plan))
        case Restore():
            plan = restore.rewrite_restore(statement, context)
            plan = replace(plan, trace=rows_restored(statement, context, plan))
        case StoreUpkeep():
            plan = store_upkeep.rewrite_store_upkeep(statement, context)
        case SetScopedPolicy():
            plan = scoped_policy.rewrite_scoped_policy(statement, context)
        case OwnStatement():
            plan = statement.rewrite(context)
        case CheckReferences():
            plan = rewrite_check_references(statement, context)
        case _ if isinstance(statement, OfAccess):
            plan = _plan_of_access(statement, context)
        case _:
            raise AssertionError(statement)
    check_plan(plan, context)
    return plan


def _plain_plan(ast: exp.Expr, context: RewriteContext) -> StatementPlan | None:
    """The plan of a statement that comes to a row in memory, without a step."""
    return point_insert(ast, context) or point_claim(ast, context)


def _plan_of_access(statement: OfAccess, context: RewriteContext) -> StatementPlan:
    if not context.capabilities.access_control:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "this store has no roles and privileges",
            advice="docs/roles.md says which stores have them",
        )
    match statement:
        case CreateRole():
            return role.rewrite_create_role(statement, context)
        case AlterRole():
            return role.rewrite_alter_role(statement, context)
        case DropRoles():
            return role.rewrite_drop_roles(statement, context)
        case GrantRoles():
            return role.rewrite_grant_roles(statement, context)
        case GrantPrivileges():
            return grant.rewrite_grant(statement, context)
        case ChangeOwner():
            return grant.rewrite_change_owner(statement, context)
        case ReassignOwned():
            return grant.rewrite_reassign(statement, context)
        case DropOwned():
            return drop_owned.rewrite_drop_owned(statement, context)
        case AlterDefaultPrivileges():
            return grant.rewrite_default_privileges(statement, context)
        case SetTablePolicy():
            return table_policy.rewrite_table_policy(statement, context)
        case SetTags():
            return tag.rewrite_set_tags(statement, context)
        case SetTagPolicy():
            return tag.rewrite_tag_policy(statement, context)


def _finished(plan: StatementPlan, context: RewriteContext) -> StatementPlan:
    """A rule's plan with what no rule knows of."""
    return with_rounding(without_collations(with_numbers(plan, context), context), context)


def rewrite(
    ast: exp.Expr, context: RewriteContext, trace: StatementTrace | None = None
) -> StatementPlan:
    """The plan of a statement; raises NOT_SUPPORTED for what no rule takes.

    ``ast`` is used up: rules may take it apart. ``trace`` is told what tags have made read of it.
    """
    kind = str(ast.args.get("kind") or "").upper() if isinstance(ast, _WITH_KIND) else ""
    with_calls = note_calls(ast, context) if kind in _VIEWS else None
    if expand_macros(ast, context):
        ast = spelled_addresses(ast, context)
    for tree in (ast,) if with_calls is None else (ast, with_calls):
        read_words(tree, context)
        apply_settings(tree, context.query_settings)
    if kind not in _VIEWS:
        expand_types(ast, context)
    traced, named = trace_writes(ast, context)
    if trace is not None and traced:
        trace.targets = (traced, named)
    if has_modifying_ctes(ast):
        plan = _finished(rewrite_parts(ast, context), context)
        check_plan(plan, context)
        return with_inherited_tags(plan, traced, context)
    for node_type, wanted, rule in RULES:
        if isinstance(ast, node_type) and wanted == kind:
            filled = traced or converted_columns(ast, context)
            plan = _finished(rule(ast, context), context)
            check_plan(plan, context)
            return with_inherited_tags(plan, filled, context)
    name = " ".join([ast.key.upper(), kind]).strip()
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{name} is not supported",
        advice=advice_for(name),
        position=position_of(ast),
    )
