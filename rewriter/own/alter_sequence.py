"""ALTER SEQUENCE [IF EXISTS] name options | RENAME TO name | SET SCHEMA schema."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.access import Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Change, Guard, PutRelation, Query, StatementPlan, Step
from journal.model.schema import Column, Sequence, Table
from journal.sql.relations import ident
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.identity_changes import restarted_identity
from rewriter.definitions.new_relations import ddl_plan, moved_name
from rewriter.definitions.replaced_sequence import replaced_sequence
from rewriter.definitions.sequence_definition import defined_sequence
from rewriter.definitions.sequences import (
    continued_numbers,
    find_sequence,
    identity_continued,
    identity_named,
    sequence_relation,
    unknown_sequence,
)
from rewriter.definitions.skipping import none_to_drop
from rewriter.name_resolution import position_of
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.sequence_options import SequenceOptions, SequenceReader
from rewriter.syntax.token_reader import Parse
from rewriter.writing.sequence_numbers import with_numbers


@dataclass(frozen=True, slots=True)
class AlterSequence(OwnStatement):
    """ALTER SEQUENCE."""

    makes_ids: ClassVar[bool] = True
    name: exp.Table
    options: SequenceOptions
    exists: bool = False
    new_name: exp.Table | None = None
    new_schema: str | None = None

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> AlterSequence | None:
        """The statement; None where something else is altered, or who owns the sequence."""
        reader = SequenceReader(tokens, parse, 1)
        if not reader.takes("SEQUENCE"):
            return None
        exists = reader.takes("IF", "EXISTS")
        name, nothing = reader.name(), SequenceOptions()
        if reader.takes("OWNER", "TO"):
            return None
        if reader.takes("RENAME", "TO"):
            found = cls(name, nothing, exists, new_name=reader.name())
            reader.ends("RENAME TO needs one name")
            return found
        if reader.takes("SET", "SCHEMA"):
            found = cls(name, nothing, exists, new_schema=reader.word())
            reader.ends("SET SCHEMA needs one name")
            return found
        options = reader.options()
        if not options.said:
            raise reader.error("ALTER SEQUENCE needs an option, RENAME TO or SET SCHEMA")
        return cls(name, options, exists)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the sequence may alter it; to a column nobody ties it."""
        access.owners.sequence(self.name, is_optional=self.exists)
        if self.options.owner is not None:
            access.owners.refuse("to tie a sequence to a column", self.name)
        if self.new_schema is not None:
            access.owners.schema(self.new_schema, Privilege.CREATE, self.name)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Put the changed sequence into the catalog, and its new name into defaults that use it."""
        return _plan(self, context)


STATEMENT = AlterSequence


def _plan(ast: AlterSequence, context: RewriteContext) -> StatementPlan:
    found = find_sequence(ast.name, context)
    if found is None:
        numbered = identity_named(ast.name, context)
        if numbered is not None:
            changes = _altered_identity(numbered, ast, context)
            return with_numbers(ddl_plan(changes, "ALTER SEQUENCE"), context)
        if ast.exists:
            return ddl_plan([], "ALTER SEQUENCE", [none_to_drop("relation", ast.name.name)])
        raise unknown_sequence(ast.name, context)
    name = moved_name(found.name, ast.name, ast.new_name, ast.new_schema, context)
    made = defined_sequence(replace(found, name=name), ast.options, context, ast.name)
    goes_on: Step | None = None
    if made.increment != found.increment and "restart" not in ast.options.said:
        made = replace(made, counter=context.new_table_id)
        goes_on = continued_numbers(found.name, made.source, context)
    moved = replaced_sequence(found, made, ast.name, context)
    steps: list[Step] = [*_within_bounds(found, made, ast, context), *moved]
    steps += [] if goes_on is None else [goes_on]
    return with_numbers(ddl_plan(steps, "ALTER SEQUENCE"), context)


def _within_bounds(
    found: Sequence, made: Sequence, ast: AlterSequence, context: RewriteContext
) -> list[Step]:
    """Guards that the number last given lies within bounds that are new, as in PostgreSQL."""
    steps: list[Step] = []
    value = exp.Column(this=ident("last_value"))
    for word, bound, before, beyond in (
        ("MAXVALUE", made.maximum, found.maximum, exp.GT),
        ("MINVALUE", made.minimum, found.minimum, exp.LT),
    ):
        relation = sequence_relation(ast.name, context)
        if relation is None or bound == before or "restart" in ast.options.said:
            continue
        limit = exp.convert(bound)
        rows = exp.select(value.copy()).from_(relation.subquery("sequence"))
        rows = rows.where(beyond(this=value.copy(), expression=limit), copy=False)
        side = "greater" if beyond is exp.GT else "less"
        message = f"RESTART value ({{0}}) cannot be {side} than {word} ({bound})"
        advice = f"add RESTART, or another {word}"
        steps.append(Guard(Query.of(rows), Code.SETTING_VALUE, message, advice))
    return steps


_OF_IDENTITY = frozenset({"type", "cache", "start", "increment", "restart"})


def _altered_identity(
    numbered: tuple[Table, Column], ast: AlterSequence, context: RewriteContext
) -> list[Step]:
    """Options of the sequence that an identity column has; its type and its cache do nothing."""
    table, column = numbered
    options, identity = ast.options, column.identity
    assert identity is not None
    if options.said - _OF_IDENTITY or ast.new_name is not None or ast.new_schema is not None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f'{ast.name.name} belongs to the identity column "{column.name}" of {table.name}, and'
            " has no name, owner or bounds of its own",
            advice=f"write ALTER TABLE {table.name} ALTER COLUMN {column.name} .., or a CHECK",
            position=position_of(ast.name),
        )
    if options.start is not None:
        # The counter goes on; only the next RESTART begins with it.
        identity = replace(identity, start=options.start, begin=identity.first)
    goes_on: Step | None = None
    if options.increment is not None:
        identity = replace(identity, increment=options.increment)
    made = replace(column, identity=identity)
    if "restart" in options.said:
        made = restarted_identity(made, context.new_table_id, options.restart)
    elif options.increment is not None:
        made = restarted_identity(made, context.new_table_id, identity.first)
        goes_on = identity_continued(table, made, context)
    columns = tuple(made if c == column else c for c in table.columns)
    put = Change(PutRelation(replace(table, columns=columns), table.name))
    return [put] if goes_on is None else [put, goes_on]
