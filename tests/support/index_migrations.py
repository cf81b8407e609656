"""A course of Alembic migrations of indexes and data, after which nothing is left to migrate."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.migration import MigrationContext
from alembic.operations import Operations


def models(*, seats: bool = False) -> sa.MetaData:
    """Models whose indexes are over columns, expressions and parts; one more with ``seats``."""
    found = sa.MetaData()
    person = sa.Table(
        "person",
        found,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("mail", sa.Text, nullable=False),
        sa.Column("team", sa.Integer, index=True),
        sa.Column("seat", sa.Integer),
        sa.Index("one_mail", sa.text("lower(mail)"), unique=True),
        sa.Index("in_team", "team", sa.text("seat DESC"), palimpsest_where=sa.text("team > 9")),
    )
    if seats:
        sa.Index("one_seat", person.c.seat, unique=True, palimpsest_where=person.c.team.is_(None))
    return found


def differences(engine: sa.Engine, wanted: sa.MetaData) -> list[object]:
    """What autogenerate would have a migration do."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, wanted))


def migrate(engine: sa.Engine, change: Callable[[Operations], None]) -> None:
    """Run one migration, which is one transaction."""
    with engine.begin() as connection:
        change(Operations(MigrationContext.configure(connection)))


def _generated(engine: sa.Engine, wanted: sa.MetaData) -> str:
    with engine.connect() as connection:
        script = produce_migrations(MigrationContext.configure(connection), wanted)
    assert script.upgrade_ops is not None
    return dedent("    " + render_python_code(script.upgrade_ops).lstrip())


def check_migrations(engine: sa.Engine) -> None:
    """Create, add an index, rename, migrate data, drop: each time nothing is left to migrate."""

    def run(code: str) -> None:
        migrate(engine, lambda op: exec(code, {"op": op, "sa": sa}))  # noqa: S102

    code = _generated(engine, models())
    assert code.count("op.create_index") == 3
    run(code)
    assert differences(engine, models()) == []
    with engine.begin() as connection:
        rows = "(1, 'Ada', NULL, 7), (2, 'bob', 3, 7)"
        connection.execute(sa.text(f"INSERT INTO person VALUES {rows}"))
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO person VALUES (3, 'ADA', NULL, 8)"))
    code = _generated(engine, models(seats=True))
    assert "op.create_index('one_seat'" in code
    run(code)
    assert differences(engine, models(seats=True)) == []
    with pytest.raises(sa.exc.IntegrityError):
        migrate(engine, lambda op: op.execute("UPDATE person SET team = NULL"))
    migrate(engine, lambda op: op.alter_column("person", "seat", new_column_name="place"))
    migrate(engine, lambda op: op.execute("UPDATE person SET place = id"))
    migrate(engine, lambda op: op.alter_column("person", "place", new_column_name="seat"))
    assert differences(engine, models(seats=True)) == []
    code = _generated(engine, models())
    assert "op.drop_index" in code
    run(code)
    assert differences(engine, models()) == []
    run(_generated(engine, sa.MetaData()))
    assert sa.inspect(engine).get_table_names() == []
