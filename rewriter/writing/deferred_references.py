"""Guards for foreign keys that wait for COMMIT, over all that a transaction has written.

Its rows are in its buffers: those that begin there need a parent, keys of those that end there must
not be referred to. A row whose reference was there before the transaction is not looked at. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.plan import Guard, StatementKind, StatementPlan, physical
from journal.model.schema import Reference, Table
from journal.model.segment import Tier
from journal.sql.relations import Output, Reader, column
from journal.sql.sql import all_of, named, relation, select
from rewriter.context import RewriteContext
from rewriter.reading.read_rewriter import Reads
from rewriter.statement import CheckReferences
from rewriter.writing.policy_guards import without_masked_values
from rewriter.writing.reference_values import equal_conditions, not_null_conditions
from rewriter.writing.references import child_guard, parent_guard, referring_conditions


def rewrite_check_references(statement: CheckReferences, context: RewriteContext) -> StatementPlan:
    """The plan that raises FOREIGN_KEY if a transaction leaves one of these keys violated."""
    reads = Reads(context)
    steps: list[Guard] = []
    seen: set[tuple[int, str]] = set()
    for references in context.catalog.references.values():
        for reference in references:
            name = (reference.child.id, reference.key.name)
            if name in statement.keys and name not in seen:
                seen.add(name)
                both = (reference.child, reference.parent)
                steps += without_masked_values(_guards(reads, reference), both, context)
    return reads.plan(StatementKind.READ, steps, None, "SET CONSTRAINTS")


def _guards(reads: Reads, reference: Reference) -> list[Guard]:
    found = []
    if Tier.BUFFER in reads.context.scan_info(reference.child.id).tiers:
        found.append(_orphan_guard(reads, reference))
    if Tier.BUFFER in reads.context.scan_info(reference.parent.id).tiers:
        found.append(_children_guard(reads, reference))
    return found


def _orphan_guard(reads: Reads, reference: Reference) -> Guard:
    """That rows which begin have their parents."""
    child, key = reference.child, reference.key
    reads.tables[child.id] = child
    names = tuple(dict.fromkeys((*key.columns, *child.key)))
    own = Reader(child, frozenset({Tier.BUFFER})).current([(column(n), n) for n in names])
    values: list[exp.Expr] = [column(c, "c") for c in key.columns]
    outputs = [named(v.copy(), f"v{i}") for i, v in enumerate(values)]
    rows = select(outputs, relation(own, "c"), *referring_conditions(key, values))
    same = equal_conditions([column(n, "e") for n in names], [column(n, "c") for n in names])
    rows.append(
        "joins", exp.Join(this=relation(_rows_before(child), "e"), kind="ANTI", on=all_of(*same))
    )
    present = reads.relation(reference.parent, [(column(c), c) for c in key.parent_columns])
    return parent_guard(reference, rows, present)


def _children_guard(reads: Reads, reference: Reference) -> Guard:
    """That keys which end, and do not begin again, are not referred to."""
    child, parent, key = reference.child, reference.parent, reference.key
    old: list[exp.Expr] = [column(c, "e") for c in key.parent_columns]
    outputs = [named(v.copy(), f"v{i}") for i, v in enumerate(old)]
    gone = select(outputs, relation(_ended_rows(parent), "e"), *not_null_conditions(old))
    theirs: list[Output] = [(column(c), f"v{i}") for i, c in enumerate(key.parent_columns)]
    same = equal_conditions(
        [column(n, "p") for _, n in theirs], [column(n, "g") for _, n in theirs]
    )
    left = select([column(n, "g") for _, n in theirs], relation(gone, "g"))
    there = relation(reads.relation(parent, theirs), "p")
    left.append("joins", exp.Join(this=there, kind="ANTI", on=all_of(*same)))
    mine: list[Output] = [(column(c), f"v{i}") for i, c in enumerate(key.columns)]
    return child_guard(reference, left, reads.relation(child, mine))


def _ended_rows(table: Table) -> exp.Select:
    """Rows that a transaction has ended, as its buffer names them."""
    form = table.format
    ends = exp.GT(this=column(form.subsequent_column), expression=column(form.version_column))
    names = [column(c.physical) for c in table.stored]
    return select(names, physical(table.id, Tier.BUFFER), ends)


def _rows_before(table: Table) -> exp.Select:
    """Rows that a transaction has ended and that were there before it.

    A row that it has written itself, and changed again, was never looked at.
    """
    version, stored = table.format.version_column, [c.physical for c in table.stored]
    ended = _ended_rows(table).select(column(version), copy=False)
    is_open = exp.Is(this=column(table.format.subsequent_column), expression=exp.Null())
    identity = [*table.key, version]
    began = select([column(n) for n in identity], physical(table.id, Tier.BUFFER), is_open)
    found = select([column(n, "x") for n in stored], relation(ended, "x"))
    same = equal_conditions([column(n, "b") for n in identity], [column(n, "x") for n in identity])
    found.append("joins", exp.Join(this=relation(began, "b"), kind="ANTI", on=all_of(*same)))
    return found
