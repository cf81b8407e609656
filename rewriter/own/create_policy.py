"""CREATE POLICY: a row policy with a name, for a command and for roles, as PostgreSQL has them.

It counts from ALTER TABLE .. ENABLE ROW LEVEL SECURITY on.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from journal.model.row_policy import NamedPolicy
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.reading.policies.named import (
    COMMANDS,
    access_of,
    check_new_name,
    checked_policy,
    put_policies,
    roles_of,
    secured_table,
)
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.policy_clauses import PolicyClauses, read_clauses, read_name
from rewriter.syntax.token_reader import Parse, TokenReader


@dataclass(frozen=True, slots=True)
class CreatePolicy(OwnStatement):
    """CREATE POLICY name ON t [AS kind] [FOR command] [TO ..] [USING ..] [WITH CHECK ..]."""

    name: str
    table: exp.Table
    restrictive: bool
    command: str
    clauses: PolicyClauses

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> CreatePolicy | None:
        """The statement, or None where something else than a policy is created."""
        reader = TokenReader(tokens, parse, 1, "see docs/roles.md for the form of the statement")
        if not reader.takes("POLICY"):
            return None
        name, table = read_name(reader)
        restrictive = reader.takes("AS", "RESTRICTIVE")
        _ = restrictive or reader.takes("AS", "PERMISSIVE")
        command = "ALL"
        if reader.takes("FOR"):
            command = reader.word().upper()
            if command not in COMMANDS:
                raise reader.error(f"one of {', '.join(COMMANDS)} was expected")
        return cls(name, table, restrictive, command, read_clauses(reader))

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the table may, and must be let read what the conditions read."""
        access.owners.owned(self.table)
        access.check_condition(self.clauses.using)
        access.check_condition(self.clauses.check)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Keep the policy with the table's grants."""
        table = secured_table(self.table, context)
        access = access_of(table, context)
        check_new_name(access, self.name, table)
        roles = roles_of(self.clauses.roles, context)
        new = NamedPolicy(self.name, self.command, self.restrictive, roles)
        new = checked_policy(new, self.clauses.using, self.clauses.check, table, context)
        return put_policies(
            replace(access, named_policies=(*access.named_policies, new)), "CREATE POLICY"
        )


STATEMENT = CreatePolicy
