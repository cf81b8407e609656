"""Checks whether a role may run a statement; refuses kinds of statements it does not know.

``check_access`` comes before the rules, so that nobody hears of what they have no privilege on: not
by its absence, not among near names, not by its columns. ``check_reached`` holds the finished plan
against what was looked at, so that a rule which reads more than the statement names is caught.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from journal.model.access import Privilege, Rights
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Append, Change, PutRelation, StatementPlan
from journal.model.schema import Table, View
from journal.model.trees import copy_tree
from rewriter.access.defining import DefinitionCheck
from rewriter.access.owning import OwnerCheck
from rewriter.access.reading import ReadCheck
from rewriter.access.writing import WriteCheck
from rewriter.context import RewriteContext
from rewriter.definitions.macros import expand_macros
from rewriter.statement import (
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
    ReassignOwned,
    SetTablePolicy,
    SetTagPolicy,
    SetTags,
)
from rewriter.statements.own_statement import OwnStatement
from rewriter.statements.scoped_policies import SetScopedPolicy

_CHECK_THEMSELVES = (
    AlterDefaultPrivileges, AlterRole, ChangeOwner, CreateRole, DropOwned, DropRoles,
    GrantPrivileges, GrantRoles, ReassignOwned, SetTagPolicy,
)  # fmt: skip
"""Their rules look at what the client may do, as it decides what they do."""
_READING = (exp.Query, exp.Values, exp.Pivot, exp.Summarize)
_WRITING = (
    exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.MultitableInserts, exp.TruncateTable,
)  # fmt: skip


def check_access(
    statement: Statement, context: RewriteContext, stream_file: str | None = None
) -> frozenset[int]:
    """Raise UNKNOWN_TABLE or PRIVILEGE for what the client may not do; ids of tables it may reach.

    ``stream_file`` is the file that holds what the client itself has sent for a COPY.
    """
    check = StatementAccess(context, stream_file)
    check.statement(statement)
    return frozenset(check.reads.tables)


def check_reached(plan: StatementPlan, allowed: Iterable[int], context: RewriteContext) -> None:
    """Raise PRIVILEGE if a plan reads or writes a table that nobody has looked at.

    Tables that foreign keys link with those looked at may be, as may those the plan makes.
    """
    known = set(allowed)
    references = context.catalog.references
    rest = list(known)
    while rest:
        for reference in references.get(rest.pop(), ()):
            for table_id in (reference.child.id, reference.parent.id):
                if table_id not in known:
                    known.add(table_id)
                    rest.append(table_id)
    known |= {t.id for t in context.catalog.tables() if context.catalog.is_own(t.name)}
    made = {
        step.change.relation.id
        for step in plan.steps
        if isinstance(step, Change)
        and isinstance(step.change, PutRelation)
        and isinstance(step.change.relation, Table)
        and context.catalog.by_id(step.change.relation.id) is None
    }
    reached = set(plan.tables) | {s.table_id for s in plan.steps if isinstance(s, Append)}
    reached |= {look.table_id for look in plan.keyed}
    if not reached <= known | made:
        raise PalimpsestError(
            Code.PRIVILEGE,
            "permission denied: the statement reaches tables that it does not name",
            advice="report the statement; nothing of it was run",
        )


class StatementAccess:
    """What checks of statements ask: what a client may read, write and own."""

    def __init__(self, context: RewriteContext, stream_file: str | None) -> None:
        self.context = context
        self.rights: Rights = context.rights
        self._stream_file = stream_file
        self.reads = ReadCheck(context, self.rights)
        self.writes = WriteCheck(self.reads)
        self.owners = OwnerCheck(self.reads)
        self._definitions = DefinitionCheck(self.owners, self.writes)

    def check_condition(self, value: exp.Expr | None) -> None:
        if value is None:
            return
        condition = exp.Paren(this=copy_tree(value))
        expand_macros(condition, self.context)
        self.reads.check_policy_queries(condition)

    def statement(self, statement: Statement) -> None:
        match statement:
            case SqlStatement(ast):
                tree = copy_tree(ast)
                expand_macros(tree, self.context)
                self._sql(tree)
            case Explain(inner):
                self.statement(inner)
            case SetScopedPolicy():
                self.owners.policy_scope(statement.kind, statement.name)
            case Show(_, table, _) | StoreUpkeep(_, table, _):
                if table is not None and not self.owners.is_system(table):
                    self.owners.find_visible(table)
                if isinstance(statement, StoreUpkeep) and statement.index is not None:
                    self._definitions.index(statement.index)
            case Restore(table):
                found = self.owners.find_visible(table)
                self.reads.check_past(found, table)
                for privilege in (Privilege.INSERT, Privilege.UPDATE, Privilege.DELETE):
                    self.writes.require(found, privilege, table)
                if statement.where is not None:
                    self.reads.check(statement.where)
            case RefreshView(table):
                view = self.owners.owned(table)
                made = view.materialized if isinstance(view, Table) else None
                if isinstance(view, Table) and made is not None and statement.with_data:
                    self.reads.check_query(view, table, self.context.catalog)
            case SetTablePolicy(table) | SetTags(table):
                if not statement.exists or self.owners.is_known(table):
                    self.owners.owned(table)
                if isinstance(statement, SetTablePolicy):
                    self.check_condition(statement.expression)
            case OwnStatement():
                statement.check(self)
            case _ if not isinstance(statement, _CHECK_THEMSELVES):
                self.owners.refuse("for this kind of statement", None)

    def _sql(self, ast: exp.Expr) -> None:
        kind = str(ast.args.get("kind") or "").upper()
        match ast:
            case _ if isinstance(ast, (*_READING, *_WRITING)):
                self.writes.check(ast)
                self.reads.check_claims(ast)
            case exp.Describe():
                if isinstance(ast.this, exp.Table):
                    self._describe(ast)
                else:
                    self.writes.check(ast)
            case exp.Copy():
                self._copy(ast)
            case exp.Create():
                self._definitions.create(ast, kind)
            case exp.Drop():
                self._definitions.drop(ast, kind)
            case exp.Alter():
                self._definitions.alter(ast, kind)
            case exp.Comment():
                self._definitions.comment(ast, kind)
            case _:
                self.owners.refuse("for this kind of statement", ast)

    def _describe(self, ast: exp.Describe) -> None:
        table = ast.this
        if self.owners.is_system(table):
            self.reads.check(table)
            return
        found = self.owners.find_visible(table)
        if str(ast.args.get("style") or "").upper() == "HISTORY":
            self.reads.check_past(found, table)
        elif isinstance(found, View):
            self.reads.check(exp.select("*").from_(table.copy()))

    def _copy(self, ast: exp.Copy) -> None:
        files = ast.args.get("files") or []
        own = self._stream_file is not None and [f.name for f in files] == [self._stream_file]
        if not own:
            self.owners.refuse("to read or write files where the server runs", ast)
        if ast.args.get("kind"):
            insert = exp.Insert(this=ast.this, expression=exp.Values(expressions=[]))
            self.writes.check(insert)
        elif isinstance(ast.this, exp.Table):
            self.writes.check(exp.select("*").from_(ast.this))
        else:
            self.writes.check(ast.this)
