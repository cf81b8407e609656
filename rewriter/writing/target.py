"""The table a statement writes to, as its own expressions see it: alias, columns, old values.

Shared by the writing rules. A target is read under logical names, plus the version under a name no
client column has; ``old_values`` turns that into the staged columns of a change set.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.row_policy import RowUse
from journal.model.schema import ROW_ID, Column, Table, fold
from journal.sql.relations import Output, business_outputs, column, ident
from journal.sql.sql import cast, named
from journal.sql.typed_constants import typed_constant
from rewriter.context import RewriteContext
from rewriter.name_resolution import VERSION, position_of, unknown_column
from rewriter.reading.equal_keys import ParameterKinds
from rewriter.reading.key_lookup import Keys, keys_in
from rewriter.reading.past.history import current_versions
from rewriter.reading.policies.conditions import row_security
from rewriter.reading.policies.security import RowSecurity, raw_name
from rewriter.reading.postgres.blanks import without_blanks
from rewriter.reading.read_rewriter import Reads
from rewriter.reading.scopes import version_names
from rewriter.users import stored_expression
from rewriter.writing.changes import OLD_VERSION, new_name, old_name
from rewriter.writing.rounded_seconds import with_digits


@dataclass(frozen=True, slots=True)
class AliasedTable:
    """A table under the alias its statement gives it, and the policies it is seen under."""

    table: Table
    alias: str
    policies: RowSecurity | None = None
    use: RowUse = RowUse.READ
    """What the statement does with present rows."""

    @staticmethod
    def of(
        table: Table, node: exp.Table, context: RewriteContext, use: RowUse = RowUse.READ
    ) -> AliasedTable:
        """The target that a reference names; raises SYNTAX where its alias renames columns."""
        alias = node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.columns:
            raise PalimpsestError(
                Code.SYNTAX,
                "the alias of a table that is changed has no list of columns",
                advice=f"write {node.name} AS {alias.name}",
                position=position_of(node),
            )
        policies = RowSecurity.of(table, context, use)
        return AliasedTable(table, node.alias or node.name, policies, use)

    @property
    def masked(self) -> frozenset[str]:
        """The physical names of columns whose values the client does not see."""
        return frozenset() if self.policies is None else self.policies.masked

    @property
    def hides_rows(self) -> bool:
        """True if there may be rows that the client does not see."""
        return self.policies is not None and self.policies.seen is not None

    def keys_in(self, condition: exp.Expr, kinds: ParameterKinds, *, alone: bool) -> Keys | None:
        """The key that a condition demands; None too where it is compared with masked values."""
        if self.masked & set(self.table.key):
            return None
        return keys_in(condition, self.table, self.alias, kinds, alone=alone)

    def relation(
        self, reads: Reads, keys: Keys | None = None, seen_by: exp.Expr | None = None
    ) -> exp.Subquery:
        """The current rows under the alias, logical names, with row id and version.

        With ``keys`` it need hold only the row of that key. The version columns can be named by the
        statement that sees it.
        """
        outputs = target_outputs(self.table)
        if seen_by is not None:
            names = version_names(self.table)
            if any(fold(c.name) in names for c in seen_by.find_all(exp.Column)):
                outputs += current_versions(self.table)
        query = reads.relation(self.table, outputs, keys)
        policies = row_security(reads, self.table, self.use)
        if policies is not None:
            raw = [c for c in self.table.columns if c.physical in self.masked]
            query = policies.shown_rows(query, [name for _, name in outputs], raw)
        return exp.Subquery(this=query, alias=exp.TableAlias(this=ident(self.alias)))

    def old_values(self) -> list[exp.Expr]:
        """Projections that stage the old row, as it is, and its version."""
        found: list[exp.Expr] = [
            named(self.stored_value(c), old_name(i)) for i, c in enumerate(self.table.stored)
        ]
        found.append(named(column(VERSION, self.alias), OLD_VERSION))
        return found

    def stored_value(self, stored: Column) -> exp.Expr:
        """The value of a stored column as it is, masked or not."""
        name = raw_name(stored.physical) if stored.physical in self.masked else stored.name
        return column(name, self.alias)

    def places(self) -> dict[str, int]:
        """Place of each stored column by physical name."""
        return {c.physical: i for i, c in enumerate(self.table.stored)}


def target_outputs(table: Table) -> list[Output]:
    """Outputs of a target: business columns by logical name, row id, version."""
    outputs = business_outputs(table.columns)
    if table.hidden_key:
        outputs.append((column(ROW_ID), ROW_ID))
    outputs.append((column(table.format.version_column), VERSION))
    return outputs


def physical_rows(reads: Reads, table: Table, keys: Keys | None = None) -> exp.Query:
    """The current rows under physical names with their version, for guards.

    With ``keys`` it need hold only the row of that key.
    """
    outputs: list[Output] = [(column(c.physical), c.physical) for c in table.stored]
    outputs.append((column(table.format.version_column), table.format.version_column))
    return reads.relation(table, outputs, keys)


def find_column(table: Table, node: exp.Expr) -> Column:
    """The column an identifier of a SET or column list names."""
    found = table.find(node.name)
    if found is None:
        raise unknown_column(node.name, table, node)
    return found


def distinct_columns(table: Table, nodes: Sequence[exp.Expr]) -> list[Column]:
    """The columns of a list; raises if it names one twice."""
    columns: list[Column] = []
    for node in nodes:
        found = find_column(table, node)
        if found in columns:
            raise PalimpsestError(
                Code.DUPLICATE_COLUMN,
                f'column "{found.name}" is named twice',
                advice="name each column once",
                position=position_of(node),
            )
        columns.append(found)
    return columns


def is_default(node: exp.Expr) -> bool:
    """True for the keyword DEFAULT in place of a value."""
    return (
        isinstance(node, exp.Column | exp.Var)
        and fold(node.name) == "default"
        and not (isinstance(node.this, exp.Identifier) and node.this.quoted)
    )


def default_value(stored: Column) -> exp.Expr:
    """The default value of a column, except generated numbers."""
    if stored.default is None:
        return exp.Null()
    return stored_expression(stored.default)


def convert_value(value: exp.Expr, stored: Column) -> exp.Expr:
    """A value converted to the column's type, as an assignment does."""
    converted = cast(typed_constant(without_blanks(value, stored), stored.type), stored.type)
    return with_digits(converted, stored)


def key_columns(target: AliasedTable) -> list[exp.Expr]:
    """The target's key as its expressions see it."""
    return [target.stored_value(target.table.by_physical(k)) for k in target.table.key]


def new_values(values: dict[str, exp.Expr], places: dict[str, int]) -> list[exp.Expr]:
    """Projections that stage new values, by physical name."""
    return [named(value, new_name(places[name])) for name, value in values.items()]
