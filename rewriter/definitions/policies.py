"""Checks properties and policies that a statement sets, also against legal holds.

What holds there are is known to the store alone, so a change that would remove rows carries a guard
that looks. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from journal.identity.descriptor import descriptor_of
from journal.model.dependents import dependents_of
from journal.model.effective_policy import (
    check_effective_policy,
    check_still_reached,
    effective_policy,
)
from journal.model.errors import Code, PalimpsestError
from journal.model.inlining import inline_commits
from journal.model.limits import Slo
from journal.model.places import is_file_system, why_no_place
from journal.model.plan import STORE_SCHEMA, Guard, Query
from journal.model.policy import is_policy, policy_of, read_policy, with_physical_column
from journal.model.replication import Replication
from journal.model.schema import CatalogSnapshot, Column, Table, fold
from journal.sql.relations import column, ident
from journal.sql.relations_flat import ALLOW, REFUSE, STALE_WRITES
from rewriter.context import RewriteContext
from rewriter.definitions.property_names import property_name
from rewriter.definitions.table_options import JOURNAL_OPTIONS
from rewriter.syntax.statements.properties import EVERYTHING


def changed_properties(
    properties: Mapping[str, str], name: str, value: str | None, columns: Sequence[Column]
) -> dict[str, str]:
    """The properties with one set, or removed if the value is None."""
    if name == EVERYTHING:
        return {n: v for n, v in properties.items() if not is_policy(n)}
    if fold(name) in JOURNAL_OPTIONS:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"the journal option {name} cannot be changed once there is a journal",
            advice="give it when the table is created",
        )
    kept = {n: v for n, v in properties.items() if fold(n) != fold(name)}
    if value is None:
        return kept
    shown = fold(name) if is_policy(name) else property_name(name)
    changed = with_physical_column({shown: value}, columns) if is_policy(name) else {shown: value}
    return kept | changed


def check_properties(new: Table, old: Table | None, context: RewriteContext) -> None:
    """Raise for policies, limits and schedules without a meaning."""
    check_effective_policy(context.catalog, new)
    if old is not None:
        check_still_reached(context.catalog, old, new)
    Slo.of(new)
    dependents_of(new)
    _check_stale_writes(new)
    check_inlining(new, context)
    before = () if old is None else old.properties
    check_schedules(policy_of(new).schedules, before, context)
    check_targets(policy_of(new).replication, before, context)


def with_changes(properties: Mapping[str, str], action: exp.AlterSet) -> dict[str, str]:
    """The properties of a scope wider than a table after SET POLICY or UNSET POLICY."""
    found = dict(properties)
    for node in action.expressions:
        value = node.args.get("value")
        found = changed_properties(found, node.name, None if value is None else value.name, ())
    return found


def check_schedules(
    schedules: Sequence[tuple[str, str]], before: Sequence[tuple[str, str]], context: RewriteContext
) -> None:
    """Raise POLICY for a new schedule of a kind of job that there is not."""
    if not schedules:
        # Which kinds installed packages have takes as long to find out as the rest of a CREATE.
        return
    known, there = context.job_kinds(), read_policy(dict(before)).schedules
    for kind, line in schedules:
        if known and kind not in known and (kind, line) not in there:
            raise PalimpsestError(
                Code.POLICY,
                f"there is no job {kind} to be scheduled",
                advice="the kinds are " + ", ".join(known),
            )


def check_targets(
    clauses: Sequence[Replication], before: Sequence[tuple[str, str]], context: RewriteContext
) -> None:
    """Raise for a new target of replication that no run could reach.

    Raises NOT_SUPPORTED for a warehouse where the store has no replicas in such, and for what is
    neither a warehouse nor a bucket; POLICY for the URL of no bucket; UNKNOWN_ENTITY for a profile
    that is not declared.
    """
    there = {clause.target for clause in read_policy(dict(before)).replication}
    for clause in clauses:
        if clause.target in there:
            continue
        if clause.names_profile and not context.is_profile(clause.target):
            raise PalimpsestError(
                Code.UNKNOWN_ENTITY,
                f"profile {clause.target} does not exist",
                advice="`palimpsest entity submit` declares it; or name a warehouse by its URL",
            )
        if clause.names_profile:
            continue
        if is_file_system(clause.target):
            why = why_no_place(clause.target)
            if why is not None:
                raise PalimpsestError(
                    Code.POLICY,
                    f"{clause.target} cannot hold a replica: {why}",
                    advice="name a bucket as 's3://bucket/folder', or a profile that has its URL",
                )
            continue
        if not context.capabilities.replicates_to:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "this kind of store cannot replicate its tables to other stores",
                advice="name a bucket, as 's3://bucket/folder', or a profile that has its URL",
            )
        schemes = context.capabilities.replicates_to
        if not clause.target.startswith(schemes):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{clause.target} is neither a store of this kind nor a bucket",
                advice=f"name one as '{schemes[0]}//..' or 's3://bucket/folder', or a profile",
            )


def check_inlining(table: Table, context: RewriteContext) -> None:
    """Raise NOT_SUPPORTED for small commits in a catalog that takes none, SETTING_VALUE for words
    that say nothing."""
    if inline_commits(table) and not context.capabilities.inline_commits:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "this kind of store has no inline commits: it appends small commits fast enough",
            advice="leave out inline_commits; it is for Spark and Hive",
        )


def _check_stale_writes(table: Table) -> None:
    """Raise INVALID_DEFINITION for a word that says nothing of writes past the gateway."""
    said = dict(table.properties).get(STALE_WRITES)
    if said not in {None, REFUSE, ALLOW}:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"{STALE_WRITES} cannot be {said!r}",
            advice=f"say '{REFUSE}' or '{ALLOW}'; it concerns adopted journals only",
        )


def hold_guard_steps(old: Table | None, new: Table, catalog: CatalogSnapshot) -> list[Guard]:
    """Guards against removing held rows, and against changing columns that a hold reads."""
    of_columns = [] if old is None else _hold_column_guards(old, new)
    return [*_hold_guards(old, new, catalog), *of_columns]


def _hold_guards(old: Table | None, new: Table, catalog: CatalogSnapshot) -> list[Guard]:
    """A guard against removing rows of a table that is held as a whole."""
    now = effective_policy(catalog, new)
    before = None if old is None else effective_policy(catalog, old)
    wanted = (now.retention, now.history, now.versions)
    known = (None,) * 3 if before is None else (before.retention, before.history, before.versions)
    if all(
        limit is None or limit == old_limit for limit, old_limit in zip(wanted, known, strict=True)
    ):
        return []
    whole = exp.and_(_hold_covers(new), _hold_scope_is("table"))
    message = f"{new.name} is under a legal hold by {{0}} ({{1}}), and the policy would remove rows"
    return [
        _no_hold_guard(
            whole, message, "release the hold first; SELECT * FROM system.holds shows it"
        )
    ]


def _hold_column_guards(old: Table, new: Table) -> list[Guard]:
    """A guard against changing columns by which a hold finds its rows, which would end it."""
    kept = {c.physical: c for c in new.columns}
    lost = [c for c in old.columns if c.physical not in kept]
    retyped = [c for c in old.columns if c.physical in kept and kept[c.physical].type != c.type]
    renamed = [c for c in old.columns if c.physical in kept and kept[c.physical].name != c.name]
    names = {fold(c.name) for c in (*lost, *retyped, *renamed)}
    names |= {i.type for i in set(descriptor_of(old)) - set(descriptor_of(new))}
    if not names:
        return []
    texts = [exp.Literal.string(name) for name in sorted(names)]
    person = exp.and_(
        _hold_scope_is("subject"),
        exp.In(this=exp.Lower(this=column("subject_column")), expressions=texts),
        exp.or_(_hold_covers(new), exp.Is(this=column("table_id"), expression=exp.Null())),
    )
    read = [
        exp.Like(
            this=column("predicate"),
            expression=exp.Literal.string(f"%{ident(c.physical).sql(dialect='duckdb')}%"),
        )
        for c in (*lost, *retyped)
    ]
    rows = exp.and_(
        _hold_scope_is("predicate"), _hold_covers(new), exp.or_(*read) if read else exp.false()
    )
    message = (
        f"a legal hold by {{0}} ({{1}}) finds its rows in {new.name} by columns that the statement"
        " changes or drops"
    )
    advice = "hold the whole table, release that hold, change the table, and place the hold anew"
    return [_no_hold_guard(exp.or_(person, rows), message, advice)]


def unheld_guard(table: Table, message: str) -> Guard:
    """A guard against moving the rows of a table of which a hold keeps any."""
    anywhere = exp.Is(this=column("table_id"), expression=exp.Null())
    advice = "release the hold first; SELECT * FROM system.holds shows it"
    return _no_hold_guard(exp.or_(_hold_covers(table), anywhere), message, advice)


def _hold_covers(table: Table) -> exp.Expr:
    return exp.EQ(this=column("table_id"), expression=exp.Literal.number(table.id))


def _hold_scope_is(name: str) -> exp.Expr:
    return exp.EQ(this=column("scope"), expression=exp.Literal.string(name))


def _no_hold_guard(condition: exp.Expr, message: str, advice: str) -> Guard:
    who = exp.Coalesce(this=column("placed_by"), expressions=[exp.Literal.string("somebody")])
    found = exp.select(exp.alias_(who, ident("who")), column("reason"))
    in_force = exp.Is(this=column("released_at"), expression=exp.Null())
    found = found.from_(exp.table_("holds", db=STORE_SCHEMA)).where(condition, in_force)
    return Guard(Query.of(found), Code.HELD, message, advice)
