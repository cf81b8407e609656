"""What SQLAlchemy's models say of a table is created, or refused with a code: never dropped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, CompileError, DBAPIError, SQLAlchemyError


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"palimpsest:///{tmp_path / 'w'}")
    yield made
    made.dispose()


def _number() -> sa.Column[int]:
    return sa.Column("a", sa.Integer)


REFUSED: dict[str, Callable[[], tuple[sa.schema.SchemaItem, ...]]] = {
    "deferrable unique": lambda: (_number(), sa.UniqueConstraint("a", deferrable=True)),
    "deferred unique": lambda: (_number(), sa.UniqueConstraint("a", initially="DEFERRED")),
    "deferrable key": lambda: (_number(), sa.PrimaryKeyConstraint("a", deferrable=True)),
    "deferrable check": lambda: (_number(), sa.CheckConstraint("a > 0", deferrable=True)),
    "nulls not distinct": lambda: (
        _number(),
        sa.UniqueConstraint("a", postgresql_nulls_not_distinct=True),
    ),
    "nulls not distinct in an index": lambda: (
        _number(),
        sa.Index("i", "a", unique=True, postgresql_nulls_not_distinct=True),
    ),
    "collation": lambda: (sa.Column("a", sa.Text(collation="de_DE")),),
    "collation of a string": lambda: (sa.Column("a", sa.String(5, collation="de_DE")),),
    "least value": lambda: (sa.Column("a", sa.Integer, sa.Identity(minvalue=0)),),
    "greatest value": lambda: (sa.Column("a", sa.Integer, sa.Identity(maxvalue=9)),),
    "cycle": lambda: (sa.Column("a", sa.Integer, sa.Identity(cycle=True)),),
    "cache": lambda: (sa.Column("a", sa.Integer, sa.Identity(cache=3)),),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_code(engine: sa.Engine, case: str) -> None:
    models = sa.MetaData()
    sa.Table("t", models, *REFUSED[case]())
    with pytest.raises((CompileError, DBAPIError)) as raised:
        models.create_all(engine)
    assert re.search(r"\[PAL-[12]", str(raised.value))
    assert "Hint: " in str(raised.value)
    assert sa.inspect(engine).get_table_names() == []


def test_an_option_of_a_table_that_is_not_there(engine: sa.Engine) -> None:
    with pytest.raises(ArgumentError, match="palimpsest_version_type"):
        sa.Table("t", sa.MetaData(), _number(), palimpsest_version_type="BIGINT")


def test_what_is_created_holds(engine: sa.Engine) -> None:
    models = sa.MetaData()
    table = sa.Table(
        "t",
        models,
        sa.Column("id", sa.Integer, sa.Sequence("s", start=7, increment=2), primary_key=True),
        sa.Column("a", sa.Integer, sa.CheckConstraint("a > 0"), server_default="5", comment="c"),
        sa.Column("n", sa.Integer, sa.Sequence("m", maxvalue=9)),
        sa.Column("b", sa.Integer, sa.Computed("a + 1", persisted=False)),
        sa.Column("c", sa.String(9), index=True),
        sa.Column("d", sa.String(9)),
        sa.Index("once", "c", unique=True),
        sa.UniqueConstraint("d", deferrable=False, initially="IMMEDIATE"),
        sa.CheckConstraint("length(c) < 4", name="short"),
        comment="of the table",
    )
    models.create_all(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"c": "x", "d": "y"}, {"c": "z", "d": None}])
        assert connection.execute(sa.select(table).order_by("id")).all() == [
            (7, 5, 1, 6, "x", "y"),
            (9, 5, 2, 6, "z", None),
        ]
    inspector = sa.inspect(engine)
    assert inspector.get_table_comment("t") == {"text": "of the table"}
    assert inspector.get_columns("t")[1]["comment"] == "c"
    for wrong in ({"a": 0}, {"c": "x"}, {"d": "y"}, {"c": "long"}):
        with pytest.raises(SQLAlchemyError, match="PAL-30"), engine.begin() as connection:
            connection.execute(table.insert().values(wrong))
