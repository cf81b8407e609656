"""One writing part of a statement: its steps and what it gives back.

A statement is one part, or several: data-modifying CTEs before it, or the branches of a
multi-table insert. Each part has staged relations of its own. Pure values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Append, Count, Fetch, Query, StatementKind, StatementPlan, Step
from journal.model.refusal import Refusal, RefusedRows, refusal_check
from journal.model.schema import Table
from journal.sql.sql import named_table, relation, select, select_star, where
from rewriter.reading.read_rewriter import SETTLED, Reads
from rewriter.writing.cascades import Cascades, cascades_of
from rewriter.writing.changes import ChangeSet, append_step, fused_query, per_change
from rewriter.writing.guards import guard_steps, refused_rows, taken_key, unchecked_constraints
from rewriter.writing.policy_guards import policy_guards, policy_refusals, without_values
from rewriter.writing.references import are_key_lookups, reference_guards, violated_references
from rewriter.writing.returning import ReturningClause, returning_query
from rewriter.writing.row_triggers import fired
from rewriter.writing.target import physical_rows


@dataclass(frozen=True, slots=True)
class PartNames:
    """Names of a part's staged relations and numbers, so that parts do not clash."""

    number: int = 0

    def relation_name(self, name: str) -> str:
        """The name of a relation or parameter of this part."""
        return f"p_{name}" if self.number == 0 else f"p_{name}_{self.number}"


@dataclass(frozen=True, slots=True)
class StatementPart:
    """Steps of a part, in order: stages and guards, then the append; its result and count.

    ``changes`` are those that it stages, if it does. A part without an append has left it, and its
    changes, to a later one.
    """

    table: Table
    tag: str
    steps: tuple[Step, ...]
    append: Step | None
    result: Query | None = None
    count: Count | None = None
    bounded: bool = False
    refusals: tuple[Refusal, ...] = ()
    changes: ChangeSet | None = None


def mark_rewritten(node: exp.Expr) -> exp.Expr:
    """``node`` with all its tables marked as needing no rewrite."""
    for table in node.find_all(exp.Table):
        table.meta[SETTLED] = True
    return node


def staged_relation(name: str, alias: str | None = None) -> exp.Expr:
    """A reference to a staged relation."""
    found = named_table(name, alias or name)
    found.meta[SETTLED] = True
    return found


def finish_part(
    reads: Reads,
    changes: ChangeSet,
    staging: Sequence[Step],
    tag: str,
    result: ReturningClause,
    *,
    bounded: bool = False,
    checked: frozenset[str] = frozenset(),
) -> StatementPart:
    """The part that makes a staged change set durable, once its guards hold.

    ``checked`` names the unique constraints that the staging itself has seen to. ``bounded`` is
    kept only where every change makes the same rows: inside the commit section nothing else tells
    how many of each kind were appended.
    """

    def current() -> exp.Query:
        return physical_rows(reads, changes.table)

    found = fired(reads, changes, [*result.hidden, *([result.only] if result.only else ())])
    changes, bounded = found.changes, bounded and not found.skips
    steps = [*staging, *found.steps]
    steps += policy_guards(reads, changes, returns=result.node is not None)
    steps += guard_steps(changes, current, checked)
    query = returning_query(reads, changes, result)
    count = None
    if per_change(changes) is None:
        bounded = False
        rows = select([exp.Count(this=exp.Star())], named_table(changes.stage))
        if result.only is not None:
            rows = rows.where(exp.column(result.only), copy=False)
        count = Count(Query.of(rows))
    bounded = bounded and are_key_lookups(reads.context, changes)
    append = append_step(changes)
    return StatementPart(
        changes.table, tag, tuple(steps), append, query, count, bounded, changes=changes
    )


def fuse_part(
    reads: Reads,
    changes: ChangeSet,
    stages: Sequence[tuple[str, exp.Query]],
    tag: str,
    *,
    numbers: Sequence[Step] = (),
    taken: exp.Expr | None = None,
    checked: frozenset[str] = frozenset(),
    brought: Sequence[RefusedRows] = (),
) -> StatementPart | None:
    """The part as a single query, for few rows; None if that cannot see to its constraints.

    ``taken`` is the condition that a new row's key is there already; ``checked`` names the unique
    constraints that it or the stages see to. ``brought`` are refused of the first stage's rows,
    whatever becomes of them; where all that begins is among these, it is looked at there alone.
    """
    if reads.several:
        # Other parts of the statement look at what is staged.
        return None
    found = fired(reads, changes)
    if found.plain is None or (found.steps and (taken is not None or brought)):
        return None
    stages, changes = [*stages, *found.plain], found.changes
    if unchecked_constraints(changes, checked):
        return None
    unseen = policy_refusals(reads, changes)
    if unseen is None:
        return None
    refused = list(unseen)
    if not brought or changes.ends is not False:
        refused += refused_rows(changes)
    if taken is not None:
        refused.append(taken_key(changes, taken))
    if changes.table.id in reads.context.catalog.references:
        missing = violated_references(reads, changes)
        if missing is None:
            return None
        refused += missing
    if (refused or brought) and not reads.context.optimistic:
        return None
    if brought:
        (name, rows), *others = stages
        checked_rows = where(select_star(relation(rows, "s")), refusal_check(brought, len(refused)))
        stages = [(name, checked_rows), *others]
    query = fused_query(changes, stages, refused)
    each = per_change(changes)
    append = Append(changes.table.id, query, each, single=each is None)
    refusals = tuple(rows.refusal for rows in (*refused, *brought))
    return StatementPart(
        changes.table, tag, tuple(numbers), append, bounded=True, refusals=refusals
    )


def plan_of(
    reads: Reads,
    parts: Sequence[StatementPart],
    result: Query | None,
    count: Count | None,
    tag: str,
) -> StatementPlan:
    """The plan of a statement's parts: all look first, then all write."""
    steps: list[Step] = [s for p in parts for s in p.steps]
    roots = [p.changes for p in parts if p.changes is not None]
    further = cascades_of(reads, roots) if tag != "TRUNCATE" else Cascades()
    reached = {c.table.id: c for c in further.changes}
    steps += further.steps
    for changes in further.changes:
        steps += guard_steps(changes, partial(physical_rows, reads, changes.table))
    kept = [c for c in roots if c.table.id not in reached]
    written = None if tag == "TRUNCATE" else frozenset(c.table.id for c in roots)
    steps += reference_guards(reads, [*kept, *further.changes], written)
    steps = without_values(steps, (c.table for c in (*roots, *further.changes)), reads.context)
    if result is not None:
        steps.append(Fetch(result))
    steps += [append_step(c) for c in further.changes]
    steps += [p.append for p in parts if p.append is not None and p.table.id not in reached]
    last = parts[-1].changes
    if count is None and last is not None and last.table.id in reached:
        rows = select([exp.Count(this=exp.Star())], named_table(last.stage))
        count = Count(Query.of(rows))
    if count is not None:
        steps.append(count)
    bounded = len(parts) == 1 and parts[0].bounded
    plan = reads.plan(StatementKind.WRITE, steps, parts[-1].table, tag, bounded=bounded)
    refusals = parts[0].refusals if bounded else ()
    writes = {*(p.table.name for p in parts), *(c.table.name for c in further.changes)}
    return replace(plan, writes=frozenset(writes), refusals=refusals)
