"""Alembic over the gateway: migrations run, fail whole, and are found to be all there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.exc import IntegrityError

from tests.support.index_migrations import migrate


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"palimpsest:///{tmp_path / 'warehouse'}")
    yield made
    made.dispose()


def _models(*more: sa.Column[object]) -> sa.MetaData:
    models = sa.MetaData()
    sa.Table(
        "account",
        models,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("title", sa.String(50), index=True, nullable=False),
        sa.Column("mail", sa.Text, unique=True, comment="where to write"),
        *more,
    )
    sa.Table(
        "entry",
        models,
        sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("account", sa.Integer, sa.ForeignKey("account.id"), nullable=False),
        sa.Column("amount", sa.Numeric(8, 2), server_default="1"),
        sa.Column("made", sa.DateTime(timezone=True), server_default=sa.func.now()),
        sa.Column("kind", sa.Enum("in", "out", name="kinds")),
        sa.Column("rate", sa.Float),
        sa.Column("notes", sa.JSON),
        sa.Index("once", "account", "made", unique=True),
        sa.Index("kinds", sa.text("lower(kind)"), "rate", unique=True),
        sa.Index("dear", "amount", sa.text("made DESC"), palimpsest_where=sa.text("amount > 9")),
        sa.CheckConstraint("rate > 0", name="positive"),
    )
    return models


def _differences(engine: sa.Engine, models: sa.MetaData) -> list[object]:
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        return list(compare_metadata(context, models))


def test_nothing_is_left_to_migrate_once_the_models_are_there(engine: sa.Engine) -> None:
    models = _models()
    assert _differences(engine, models)
    models.create_all(engine)
    assert _differences(engine, models) == []
    (found,) = _differences(engine, _models(sa.Column("city", sa.String)))
    assert str(found).startswith("('add_column', None, 'account'")


def test_a_generated_migration_runs(engine: sa.Engine) -> None:
    _models().create_all(engine)
    models = _models(sa.Column("city", sa.String, server_default="Bonn"))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        script = produce_migrations(context, models)
        assert script.upgrade_ops is not None
        code = dedent("    " + render_python_code(script.upgrade_ops).lstrip())
    assert "op.add_column('account'" in code
    migrate(engine, lambda op: exec(code, {"op": op, "sa": sa}))  # noqa: S102
    assert _differences(engine, models) == []


def test_tables_are_altered(engine: sa.Engine) -> None:
    def up(op: Operations) -> None:
        op.create_table(
            "t", sa.Column("id", sa.Integer, primary_key=True), sa.Column("a", sa.Integer)
        )
        op.bulk_insert(sa.table("t", sa.column("id"), sa.column("a")), [{"id": 1, "a": 5}])
        op.add_column("t", sa.Column("b", sa.String))
        op.execute("UPDATE t SET b = 'x'")
        op.alter_column("t", "b", nullable=False, new_column_name="c")
        op.alter_column("t", "a", type_=sa.BigInteger, server_default="7")
        op.create_unique_constraint("once", "t", ["a", "c"])
        op.create_index("looked_up", "t", ["a"])
        op.create_index("part", "t", ["c"], unique=True, palimpsest_where=sa.text("a > 3"))
        op.rename_table("t", "u")

    migrate(engine, up)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT * FROM u")).all() == [(1, 5, "x")]
    columns = {c["name"]: c for c in sa.inspect(engine).get_columns("u")}
    assert isinstance(columns["a"]["type"], sa.BigInteger)
    assert not columns["c"]["nullable"]
    found = {i["name"]: i["column_names"] for i in sa.inspect(engine).get_indexes("u")}
    assert found == {"looked_up": ["a"], "part": ["c"]}
    migrate(engine, lambda op: op.drop_constraint("once", "u"))
    migrate(engine, lambda op: op.drop_index("part", "u"))
    migrate(engine, lambda op: op.drop_column("u", "c"))
    migrate(engine, lambda op: op.drop_table("u"))
    assert sa.inspect(engine).get_table_names() == []


def test_a_migration_that_fails_leaves_nothing(engine: sa.Engine) -> None:
    def fails(op: Operations) -> None:
        op.create_table("t", sa.Column("id", sa.Integer, primary_key=True))
        op.execute("INSERT INTO t VALUES (1), (1)")

    with pytest.raises(IntegrityError):
        migrate(engine, fails)
    assert sa.inspect(engine).get_table_names() == []
