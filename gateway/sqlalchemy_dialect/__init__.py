"""SQLAlchemy 2 over the gateway: ``create_engine("palimpsest:////abs/warehouse")``.

``insert`` knows ``on_conflict_do_update`` and ``on_conflict_do_nothing``; the execution option
``as_of`` makes a statement read the past; ``with_hint`` puts a time-travel clause behind a table.
"""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy.dialects.postgresql import Insert, insert

from gateway.sqlalchemy_dialect.dialect import PalimpsestDialect

with suppress(ModuleNotFoundError):
    # Alembic knows a dialect once its class is there.
    import gateway.sqlalchemy_dialect.migrations  # noqa: F401

__all__ = ["Insert", "PalimpsestDialect", "insert"]
