"""CREATE SCHEMA [IF NOT EXISTS] [name] AUTHORIZATION role: a schema that the role owns."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.access import PutAccess
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Change, StatementPlan, Step
from journal.model.schema import fold
from rewriter.access.check import StatementAccess
from rewriter.access.owning import schema_key
from rewriter.context import RewriteContext
from rewriter.definitions.access import CURRENT, denied, find_role
from rewriter.definitions.new_relations import ddl_plan
from rewriter.rules.ddl import rewrite_create_schema
from rewriter.statement import SqlStatement
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.roles import role_name
from rewriter.syntax.token_reader import Parse, TokenReader


@dataclass(frozen=True, slots=True)
class CreateSchema(OwnStatement):
    """CREATE SCHEMA with an owner; without a name it is called like the owner."""

    name: exp.Table | None
    role: str
    exists: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> CreateSchema | None:
        """The statement, or None for a schema without AUTHORIZATION, or something else."""
        reader = TokenReader(tokens, parse, 1)
        if not reader.takes("SCHEMA"):
            return None
        exists = reader.takes("IF", "NOT", "EXISTS")
        name = None
        if not reader.takes("AUTHORIZATION"):
            name = reader.name()
            if not reader.takes("AUTHORIZATION"):
                return None
        role = role_name(reader)
        reader.ends("make what is to lie in the schema by statements of its own")
        return cls(name, role, exists)

    def check(self, access: StatementAccess) -> None:
        """Whoever may make schemas, and is a member of the role."""
        access.statement(SqlStatement(self._create(access.context)))

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Make the schema, and give it to its owner."""
        plan = rewrite_create_schema(self._create(context), context)
        if not plan.steps or self._is_nobody(context):
            return plan
        role = find_role(self.role, context)
        members = context.catalog.access.member_of(context.role or 0, inherited=False)
        if not context.rights.is_admin and role.id not in members:
            raise denied(f'to give it to "{role.name}"', "become a member of that role first")
        access = context.catalog.access.of_new(schema_key(self._named(context)), role.id, "")
        steps: list[Step] = [*plan.steps, Change(PutAccess(access))]
        return ddl_plan(steps, "CREATE SCHEMA")

    def _is_nobody(self, context: RewriteContext) -> bool:
        """True for CURRENT_USER in a warehouse that does not know the user as a role."""
        return self.role in CURRENT and context.role is None

    def _named(self, context: RewriteContext) -> str:
        if self.name is not None:
            return self.name.name
        if self._is_nobody(context):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"CREATE SCHEMA AUTHORIZATION {self.role} is not supported without roles",
                advice="name the schema: CREATE SCHEMA name",
            )
        return find_role(self.role, context).name

    def _create(self, context: RewriteContext) -> exp.Create:
        name = self._named(context)
        called = self.name or exp.Table(this=exp.to_identifier(fold(name), quoted=True))
        return exp.Create(this=called.copy(), kind="SCHEMA", exists=self.exists)


STATEMENT = CreateSchema
