"""ALTER POLICY: other roles or conditions for a row policy, or another name."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.reading.policies.named import (
    access_of,
    check_new_name,
    checked_policy,
    find_policy,
    put_policies,
    roles_of,
    secured_table,
)
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.policy_clauses import PolicyClauses, read_clauses, read_name
from rewriter.syntax.token_reader import Parse, TokenReader


@dataclass(frozen=True, slots=True)
class AlterPolicy(OwnStatement):
    """ALTER POLICY name ON t RENAME TO other | [TO ..] [USING ..] [WITH CHECK ..]."""

    name: str
    table: exp.Table
    renamed: str | None
    clauses: PolicyClauses

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> AlterPolicy | None:
        """The statement, or None where something else than a policy is altered."""
        reader = TokenReader(tokens, parse, 1, "see docs/roles.md for the form of the statement")
        if not reader.takes("POLICY"):
            return None
        name, table = read_name(reader)
        if reader.takes("RENAME", "TO"):
            renamed = reader.word()
            reader.ends("nothing else stands behind the new name")
            return cls(name, table, renamed, PolicyClauses())
        return cls(name, table, None, read_clauses(reader))

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the table may, and must be let read what the conditions read."""
        access.owners.owned(self.table)
        access.check_condition(self.clauses.using)
        access.check_condition(self.clauses.check)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Keep the policy as it is now; what the statement leaves out stays."""
        table = secured_table(self.table, context)
        access = access_of(table, context)
        if self.renamed is not None:
            check_new_name(access, self.renamed, table)
        old = find_policy(access, self.name, table)
        new = old if self.renamed is None else replace(old, name=self.renamed)
        if self.clauses.roles:
            new = replace(new, roles=roles_of(self.clauses.roles, context))
        new = checked_policy(new, self.clauses.using, self.clauses.check, table, context)
        kept = tuple(new if p is old else p for p in access.named_policies)
        return put_policies(replace(access, named_policies=kept), "ALTER POLICY")


STATEMENT = AlterPolicy
