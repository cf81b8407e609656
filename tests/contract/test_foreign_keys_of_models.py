"""Foreign keys of SQLAlchemy's models: created, reflected, dropped in order, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError, NotSupportedError
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


def _child(**asked: object) -> sa.MetaData:
    """A parent and a child whose foreign key asks for something."""
    models = sa.MetaData()
    sa.Table("p", models, sa.Column("id", sa.Integer, primary_key=True))
    sa.Table("c", models, sa.Column("p", sa.Integer, sa.ForeignKey("p.id", **asked)))  # type: ignore[arg-type]
    return models


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"match": "PARTIAL"}, "MATCH PARTIAL"),
    ({"match": "PARTIAL", "use_alter": True, "name": "k"}, "MATCH PARTIAL"),
]
PLAIN: list[dict[str, object]] = [
    {},
    {"ondelete": "no action", "onupdate": "RESTRICT"},
    {"deferrable": False, "initially": "IMMEDIATE", "match": "SIMPLE"},
    {"use_alter": True, "name": "k"},
]
ACTIONS: list[dict[str, object]] = [
    {"ondelete": "CASCADE"},
    {"ondelete": "SET NULL", "onupdate": "CASCADE"},
    {"ondelete": "SET DEFAULT", "onupdate": "RESTRICT"},
]


@pytest.mark.parametrize(("asked", "named"), REFUSED)
def test_what_a_foreign_key_cannot_do_is_refused(
    engine: sa.Engine, asked: dict[str, object], named: str
) -> None:
    with pytest.raises(NotSupportedError) as raised:
        _child(**asked).create_all(engine)
    assert getattr(raised.value.orig, "code", "") == "PAL-110"
    assert getattr(raised.value.orig, "sqlstate", "") == "0A000"
    assert f"a foreign key with {named} is not supported" in str(raised.value)
    assert sa.inspect(engine).get_table_names() == []


@pytest.mark.parametrize("asked", PLAIN)
def test_what_a_foreign_key_does_anyway_may_be_said(
    engine: sa.Engine, asked: dict[str, object]
) -> None:
    models = _child(**asked)
    models.create_all(engine)
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(models.tables["c"].insert().values(p=7))


OPTIONS: list[dict[str, object]] = [
    {"deferrable": True},
    {"deferrable": True, "initially": "DEFERRED"},
    {"match": "FULL", "ondelete": "SET NULL"},
]


@pytest.mark.parametrize("asked", OPTIONS)
def test_options_are_reflected(engine: sa.Engine, asked: dict[str, object]) -> None:
    models = _child(**asked)
    models.create_all(engine)
    (key,) = sa.inspect(engine).get_foreign_keys("c")
    assert key["options"] == asked
    autogenerate = pytest.importorskip("alembic.autogenerate")
    migration = pytest.importorskip("alembic.migration")
    with engine.connect() as connection:
        context = migration.MigrationContext.configure(connection)
        assert autogenerate.compare_metadata(context, models) == []


@pytest.mark.parametrize("asked", ACTIONS)
def test_actions_are_made_and_reflected(engine: sa.Engine, asked: dict[str, object]) -> None:
    models = _child(**asked)
    models.create_all(engine)
    (key,) = sa.inspect(engine).get_foreign_keys("c")
    assert key["options"] == {n: a for n, a in asked.items() if n.startswith("on")}
    autogenerate = pytest.importorskip("alembic.autogenerate")
    migration = pytest.importorskip("alembic.migration")
    with engine.begin() as connection:
        connection.execute(models.tables["p"].insert().values(id=7))
        connection.execute(models.tables["c"].insert().values(p=7))
        connection.execute(models.tables["p"].delete())
        left = connection.execute(models.tables["c"].select()).fetchall()
        assert left == ([] if asked["ondelete"] == "CASCADE" else [(None,)])
        context = migration.MigrationContext.configure(connection)
        assert autogenerate.compare_metadata(context, models) == []


@pytest.mark.parametrize(
    "url", ["palimpsest:///w", "palimpsest+postgresql://host/db", "palimpsest+hive://host/db"]
)
def test_every_store_is_told_of_every_foreign_key(url: str) -> None:
    dialect = PalimpsestDialect()
    dialect.create_connect_args(make_url(url))
    text = str(CreateTable(_child(ondelete="CASCADE").tables["c"]).compile(dialect=dialect))
    assert "REFERENCES p (id) ON DELETE CASCADE" in text


def _elsewhere(*_: object, dialect: sa.Dialect, **__: object) -> bool:
    return dialect.name != "palimpsest"


def test_a_foreign_key_for_relationships_alone(engine: sa.Engine) -> None:
    models = _child(ondelete="CASCADE")
    for key in models.tables["c"].foreign_key_constraints:
        key.ddl_if(callable_=_elsewhere)
    models.create_all(engine)
    with engine.begin() as connection:
        connection.execute(models.tables["c"].insert().values(p=7))
    autogenerate = pytest.importorskip("alembic.autogenerate")
    migration = pytest.importorskip("alembic.migration")
    with engine.connect() as connection:
        context = migration.MigrationContext.configure(connection)
        assert autogenerate.compare_metadata(context, models) == []


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


def test_a_migration_with_an_option_is_refused(engine: sa.Engine) -> None:
    operations = pytest.importorskip("alembic.operations")
    migration = pytest.importorskip("alembic.migration")
    _child().create_all(engine)
    with engine.connect() as connection:
        op = operations.Operations(migration.MigrationContext.configure(connection))
        with pytest.raises(NotSupportedError) as raised:
            op.create_foreign_key("k", "c", "p", ["p"], ["id"], match="PARTIAL")
    assert getattr(raised.value.orig, "code", "") == "PAL-110"


def test_a_model_with_an_action_is_a_difference(engine: sa.Engine) -> None:
    autogenerate = pytest.importorskip("alembic.autogenerate")
    migration = pytest.importorskip("alembic.migration")
    sa.Table("p", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True)).create(engine)
    sa.Table("c", sa.MetaData(), sa.Column("p", sa.Integer)).create(engine)
    with engine.connect() as connection:
        context = migration.MigrationContext.configure(connection)
        (found,) = autogenerate.compare_metadata(context, _child(ondelete="CASCADE"))
    assert found[0] == "add_fk"
