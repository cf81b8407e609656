"""Foreign keys of SQLAlchemy's models: created, reflected, dropped in order, or left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable

from gateway.sqlalchemy_dialect.dialect import PalimpsestDialect


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"palimpsest:///{tmp_path / 'w'}")
    yield made
    made.dispose()


def _models() -> sa.MetaData:
    models = sa.MetaData()
    sa.Table(
        "team",
        models,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(30), unique=True),
        sa.Column("lead", sa.Integer, sa.ForeignKey("person.id", name="led_by")),
    )
    sa.Table(
        "person",
        models,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("team", sa.ForeignKey("team.id")),
        sa.Column("boss", sa.ForeignKey("person.id")),
        sa.Column("team_name", sa.String(40), sa.ForeignKey("team.name", ondelete="RESTRICT")),
    )
    return models


def test_tables_that_refer_to_one_another(engine: sa.Engine) -> None:
    models = _models()
    models.create_all(engine)
    found = sa.inspect(engine).get_foreign_keys("person")
    shown = [(k["constrained_columns"], k["referred_table"], k["referred_columns"]) for k in found]
    assert shown == [
        (["boss"], "person", ["id"]),
        (["team"], "team", ["id"]),
        (["team_name"], "team", ["name"]),
    ]
    reflected = sa.MetaData()
    reflected.reflect(engine)
    assert {k.target_fullname for k in reflected.tables["team"].foreign_keys} == {"person.id"}
    person = models.tables["person"]
    with engine.begin() as connection:
        connection.execute(person.insert(), [{"id": 1, "boss": 1}, {"id": 2, "boss": 1}])
        with pytest.raises(IntegrityError) as raised, connection.begin_nested():
            connection.execute(person.insert().values(id=3, team=7))
    assert getattr(raised.value.orig, "sqlstate", "") == "23503"
    models.drop_all(engine)
    assert sa.inspect(engine).get_table_names() == []


@pytest.mark.parametrize(
    ("asked", "url", "stands"),
    [
        ({}, "palimpsest:///w", True),
        ({"ondelete": "no action"}, "palimpsest:///w", True),
        ({"ondelete": "CASCADE"}, "palimpsest:///w", False),
        ({"onupdate": "SET NULL"}, "palimpsest:///w", False),
        ({"deferrable": True}, "palimpsest:///w", False),
        ({"match": "FULL"}, "palimpsest:///w", False),
        ({}, "palimpsest+postgresql://host/db", True),
        ({"ondelete": "CASCADE"}, "palimpsest+postgresql://host/db", False),
        ({}, "palimpsest+hive://host/db", False),
    ],
)
def test_what_the_store_cannot_do_is_left_out(
    asked: dict[str, object], url: str, stands: bool
) -> None:
    models = sa.MetaData()
    sa.Table("p", models, sa.Column("id", sa.Integer, primary_key=True))
    child = sa.Table("c", models, sa.Column("p", sa.Integer, sa.ForeignKey("p.id", **asked)))  # type: ignore[arg-type]
    dialect = PalimpsestDialect()
    dialect.create_connect_args(make_url(url))
    text = str(CreateTable(child).compile(dialect=dialect))
    assert ("REFERENCES p (id)" in text) == stands


def test_migrations_add_and_drop_them(engine: sa.Engine) -> None:
    operations = pytest.importorskip("alembic.operations")
    migration = pytest.importorskip("alembic.migration")
    _models().create_all(engine)
    with engine.begin() as connection:
        op = operations.Operations(migration.MigrationContext.configure(connection))
        op.drop_constraint("led_by", "team", type_="foreignkey")
        op.create_foreign_key("headed_by", "team", "person", ["lead"], ["id"])
    (found,) = sa.inspect(engine).get_foreign_keys("team")
    assert found["name"] == "headed_by"
