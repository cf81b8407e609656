"""SQLAlchemy 2 over the gateway: ``create_engine("palimpsest:////abs/warehouse")``.

- ``insert`` takes ``on_conflict_do_update`` and ``on_conflict_do_nothing``.
- The execution option ``as_of`` (a datetime, a version number or an expression's text) makes a
  statement, a session or a connection read the past.
- ``with_hint`` puts a time-travel clause behind one table.

Errors are SQLAlchemy's classes around the gateway's; ``error.orig`` has ``code`` and ``advice``.

>>> import sqlalchemy as sa
>>> engine = sa.create_engine("palimpsest://")
>>> table = sa.Table("t", sa.MetaData(), sa.Column("k", sa.Integer, primary_key=True))
>>> with engine.begin() as connection:
...     table.create(connection)
...     _ = connection.execute(insert(table).values(k=1).on_conflict_do_nothing())
...     connection.execute(sa.select(table)).all()
[(1,)]
"""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy.dialects.postgresql import Insert, insert

from gateway.sqlalchemy_dialect.dialect import PalimpsestDialect

with suppress(ModuleNotFoundError):
    # Alembic knows a dialect once its class is there.
    import gateway.sqlalchemy_dialect.migrations  # noqa: F401

__all__ = ["Insert", "PalimpsestDialect", "insert"]
