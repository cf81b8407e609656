"""Alembic's migrations: what it must not take for a difference between models and tables.

Schema changes belong to transactions, so a migration that fails leaves nothing behind. Imported
only where Alembic is installed; importing it makes the dialect known there. Runs no migration.
"""

from __future__ import annotations

from typing import Any

import sqlglot
from alembic.ddl.impl import ComparisonResult, DefaultImpl
from sqlalchemy import Column, cast, literal, literal_column, select
from sqlalchemy.schema import CreateIndex, Index, UniqueConstraint
from sqlglot import exp
from sqlglot.errors import SqlglotError

from gateway.sqlalchemy_dialect.ddl import is_meant_for_others


class PalimpsestImpl(DefaultImpl):
    """Migrations of tables behind the gateway."""

    __dialect__ = "palimpsest"
    transactional_ddl = True

    def correct_for_autogen_constraints(
        self,
        conn_unique_constraints: set[UniqueConstraint],
        conn_indexes: set[Index],
        metadata_unique_constraints: set[UniqueConstraint],
        metadata_indexes: set[Index],
    ) -> None:
        """A unique index may stand there as a constraint, as which earlier versions made it."""
        standing_in = {c.name: c for c in conn_unique_constraints}
        for index in list(metadata_indexes):
            if index.unique and index.name in standing_in:
                metadata_indexes.discard(index)
                conn_unique_constraints.discard(standing_in[index.name])

    def compare_indexes(self, metadata_index: Index, reflected_index: Index) -> ComparisonResult:
        """Two indexes are the same if CREATE INDEX says the same of both."""
        one, other = self._definition(reflected_index), self._definition(metadata_index)
        return (
            ComparisonResult.Equal()
            if one == other
            else ComparisonResult.Different([f"{one} to {other}"])
        )

    def _definition(self, index: Index) -> str:
        """The CREATE INDEX of an index, without regard to how names and parentheses stand in it."""
        text = str(CreateIndex(index).compile(dialect=self.dialect))
        try:
            tree = sqlglot.parse_one(text, read="duckdb")
        except SqlglotError:
            return text
        for part in list(tree.find_all(exp.Paren)):
            if isinstance(part.parent, exp.Ordered | exp.Where):
                part.replace(part.unnest())
        for name in tree.find_all(exp.Identifier):
            name.set("quoted", False)
        return tree.sql(dialect="duckdb")

    def adjust_reflected_dialect_options(self, reflected_object: Any, kind: str) -> dict[str, Any]:
        """The options of an index that say something, for the code of a migration."""
        options: dict[str, Any] = reflected_object.get("dialect_options", {})
        return {name: value for name, value in options.items() if value}

    def correct_for_autogen_foreignkeys(self, conn_fks: set[Any], metadata_fks: set[Any]) -> None:
        """Leave out foreign keys that a model keeps for other databases."""
        for key in list(metadata_fks):
            if is_meant_for_others(key, self.dialect):
                metadata_fks.discard(key)

    def compare_server_default(
        self,
        inspector_column: Column[Any],
        metadata_column: Column[Any],
        rendered_metadata_default: str | None,
        rendered_inspector_default: str | None,
    ) -> bool:
        """True if they are not the same value of the column's type, as the store computes it."""
        one, other = rendered_metadata_default, rendered_inspector_default
        if one is None or other is None or one == other or self.connection is None:
            return one != other
        kind = metadata_column.type
        given = getattr(metadata_column.server_default, "arg", None)
        # Text in a model is a value; Alembic has taken its quotes away.
        wanted = literal(given) if isinstance(given, str) else literal_column(one)
        same = cast(wanted, kind).is_not_distinct_from(cast(literal_column(other), kind))
        return not self.connection.scalar(select(same))

    def _compare_identity_default(
        self, metadata_identity: Any, inspector_identity: Any
    ) -> tuple[Any, Any, bool]:
        """Keys of integers have numbers of their own here, whether a model says so or not."""
        if metadata_identity is None and not getattr(inspector_identity, "always", False):
            return set(), set(), False
        different: tuple[Any, Any, bool] = super()._compare_identity_default(  # type: ignore[no-untyped-call]
            metadata_identity, inspector_identity
        )
        return different
