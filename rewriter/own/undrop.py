"""UNDROP TABLE: the definition a table had when it was dropped enters the catalog again.

Its journal never went away, so all rows and their history are back with it. So are its foreign
keys, which its rows must still keep.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.access import Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import ForeignKey
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Change, Guard, PutRelation, StatementKind, StatementPlan, Step
from journal.model.schema import Reference, Table, relation_key
from journal.model.segment import Tier
from journal.sql.relations import column
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.index_names import check_moved_indexes
from rewriter.definitions.new_relations import already_exists, check_journal_name, new_name
from rewriter.name_resolution import position_of, table_name
from rewriter.reading.read_rewriter import Reads
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader
from rewriter.writing.references import dangling_guard


@dataclass(frozen=True, slots=True)
class Undrop(OwnStatement):
    """UNDROP TABLE t."""

    table: exp.Table

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> Undrop:
        """The only statement that begins with UNDROP."""
        reader = TokenReader(tokens, parse, 1)
        if not reader.takes("TABLE") or reader.place == len(tokens):
            raise reader.error("UNDROP TABLE needs a table")
        table = reader.name()
        reader.ends("nothing else stands behind the table")
        return cls(table)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the table may bring it back, into a schema where tables may be made."""
        name = table_name(self.table, access.context)
        found = access.context.dropped(name)
        if found is None or not access.rights.sees(relation_key(found)):
            raise access.reads.unknown(name, self.table)
        access.owners.check_owner(found, self.table)
        access.owners.schema(found.name.schema, Privilege.CREATE, self.table)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Put the definition back, once its foreign keys hold."""
        return _plan(self.table, context)


STATEMENT = Undrop


def _plan(node: exp.Table, context: RewriteContext) -> StatementPlan:
    name = new_name(node, context)
    if context.catalog.get(name) is not None:
        raise already_exists(name, node)
    found = context.dropped(name)
    if found is None:
        raise PalimpsestError(
            Code.UNKNOWN_TABLE,
            f"no table {name} was dropped",
            advice="check the spelling; a renamed table is found under its last name",
            position=position_of(node),
        )
    present = context.catalog.by_id(found.id)
    if present is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"the table that was named {name} still exists: it is {present.name} now",
            advice=f"ALTER TABLE {present.name} RENAME TO {name.name}",
            position=position_of(node),
        )
    table = replace(found, name=name)
    if table.materialized is not None:
        # An erasure meanwhile has taken its rows, or will.
        table = replace(table, materialized=replace(table.materialized, refreshed=None))
    check_journal_name(table, node, context)
    check_moved_indexes(table, node, context)
    reads = Reads(context)
    steps: list[Step] = [_parent_guard(reads, table, key, node) for key in table.foreign_keys]
    steps.append(Change(PutRelation(table)))
    return reads.plan(
        StatementKind.DDL, steps, table if table.foreign_keys else None, "UNDROP TABLE"
    )


def _parent_guard(reads: Reads, table: Table, key: ForeignKey, node: exp.Expr) -> Guard:
    """That the rows which come back still have their parents."""
    parent = table if key.parent == table.id else reads.context.catalog.by_id(key.parent)
    where = position_of(node)
    if parent is None or not parent.has_unique(key.parent_columns):
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f'foreign key "{key.name}" of {table.name} has lost the table or the constraint that it'
            " refers to",
            advice="bring that back first; or copy the rows by CREATE TABLE .. AS SELECT .. AS OF",
            position=where,
        )
    if Tier.BUFFER in reads.context.scan_info(table.id).tiers:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{table.name} was written to in the transaction that dropped it",
            advice="ROLLBACK brings it back, or COMMIT before UNDROP",
            position=where,
        )
    rows = reads.relation(table, [(column(c), c) for c in key.columns])
    present = reads.relation(parent, [(column(c), c) for c in key.parent_columns])
    return dangling_guard(Reference(table, key, parent), rows, present)
