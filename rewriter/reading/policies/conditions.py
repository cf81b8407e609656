"""Row policies that read tables: their queries become queries over journals, as all others do.

They read under the policies of their own tables, and as of now: who may see a row is said today, as
the policy is. Each is rewritten once for a statement. Pure: AST in, AST out.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import Protocol

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.row_policy import RowUse
from journal.model.schema import Table
from journal.model.trees import copy_tree
from rewriter.context import RewriteContext
from rewriter.definitions.policy_sources import name_tables
from rewriter.reading.policies.security import RowSecurity


@dataclass(slots=True)
class PolicyReads:
    """What a statement has read for policies.

    ``relied_on`` are the tables whose rows decide which rows of others are seen, ``conditions``
    those that are rewritten, by table and use. ``unfinished``: tables of which one is being
    rewritten.
    """

    relied_on: set[int] = field(default_factory=set)
    conditions: dict[tuple[int, RowUse], exp.Expr] = field(default_factory=dict)
    unfinished: tuple[int, ...] = ()


class ConditionReads(Protocol):
    """The part of ``Reads`` that conditions are rewritten by."""

    tables: dict[int, Table]
    context: RewriteContext
    for_policies: PolicyReads

    def rewrite(self, query: exp.Expr) -> exp.Expr:
        """``query`` with every logical table replaced."""

    def in_the_present(self) -> AbstractContextManager[None]:
        """Read what the transaction sees now, for the block."""


def row_security(
    reads: ConditionReads, table: Table, use: RowUse = RowUse.READ
) -> RowSecurity | None:
    """The policies that the client has a table under, whose queries read journals now.

    Raises ROW_POLICY_LOOP where they come back to the table.
    """
    found = RowSecurity.of(table, reads.context, use)
    if found is None or found.seen is None or not found.has_queries:
        return found
    known = reads.for_policies.conditions
    if (table.id, use) not in known:
        known[table.id, use] = _rewrite_condition(reads, table, found.seen)
    return replace(found, seen=known[table.id, use])


def _rewrite_condition(reads: ConditionReads, table: Table, seen: exp.Expr) -> exp.Expr:
    noted = reads.for_policies
    if table.id in noted.unfinished:
        raise PalimpsestError(
            Code.ROW_POLICY_LOOP,
            f"infinite recursion in the row policy of {table.name}: what it reads is seen under"
            " a policy that reads it",
            advice="have the policy read a table whose own policy does not read this one",
        )
    held = exp.Paren(this=copy_tree(seen))
    around, reads.tables = reads.tables, {}
    outer, noted.unfinished = noted.unfinished, (*noted.unfinished, table.id)
    with reads.in_the_present():
        name_tables(held, reads.context.catalog)
        reads.rewrite(held)
    noted.relied_on |= reads.tables.keys()
    reads.tables, noted.unfinished = around | reads.tables, outer
    return held
