"""Alembic's migrations: what it must not take for a difference between models and tables.

Schema changes belong to transactions, so a migration that fails leaves nothing behind. Imported
only where Alembic is installed; importing it makes the dialect known there. Runs no migration.
"""

from __future__ import annotations

from typing import Any

from alembic.ddl.impl import DefaultImpl
from sqlalchemy import Column, cast, literal, literal_column, select
from sqlalchemy.schema import Index, UniqueConstraint

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
        """Of a model's indexes only the unique ones exist here, as constraints of their names."""
        standing_in = {c.name: c for c in conn_unique_constraints}
        for index in list(metadata_indexes):
            if not index.unique:
                metadata_indexes.discard(index)
            elif index.name in standing_in:
                metadata_indexes.discard(index)
                conn_unique_constraints.discard(standing_in[index.name])

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
