"""Tools on Hive's port that bring a layer of their own: SQLAlchemy's ``hive://``, and impyla."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.servers.conftest import Server, launch

PASSWORD = "any"
ADA, GRACE = (1, "Ada", Decimal("1.50")), (2, "Grace", Decimal("2.50"))
MADE = (
    "CREATE TABLE default.people (id INT, name STRING, amount DECIMAL(10, 2))",
    "INSERT INTO default.people VALUES (1, 'Ada', 1.5), (2, 'Grace', 2.5)",
    "CREATE VIEW default.names AS SELECT name FROM default.people",
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    server: Server = launch(tmp_path_factory.mktemp("hive"), "--hive", "127.0.0.1:0")
    port = int(server.lines[0].split("/")[2].rpartition(":")[2])
    engine = sa.create_engine(f"hive://me@127.0.0.1:{port}/default")
    with engine.connect() as connection:
        for text in MADE:
            connection.execute(sa.text(text))
    engine.dispose()
    yield port
    server.end()


@pytest.mark.parametrize("schema", [None, "default", "main"])
def test_sqlalchemy_reflects_and_reads(port: int, schema: str | None) -> None:
    engine = sa.create_engine(f"hive://me@127.0.0.1:{port}/default")
    try:
        seen = sa.inspect(engine)
        assert seen.get_schema_names() == ["main"]
        assert sorted(seen.get_table_names(schema=schema)) == ["names", "people"]
        # PyHive's dialect asks Hive for tables and views as one.
        assert sorted(seen.get_view_names(schema=schema)) == ["names", "people"]
        assert seen.has_table("people", schema=schema)
        assert not seen.has_table("nothing", schema=schema)
        people = sa.Table("people", sa.MetaData(), autoload_with=engine, schema=schema)
        assert [column.name for column in people.columns] == ["id", "name", "amount"]
        with engine.connect() as connection:
            ordered = sa.select(people).order_by(people.c.id)
            assert connection.execute(ordered).fetchall() == [ADA, GRACE]
            one = sa.select(people).where(people.c.id == 2)
            assert connection.execute(one).fetchall() == [GRACE]
            count = sa.select(sa.func.count()).select_from(people)
            assert connection.execute(count).scalar() == 2
    finally:
        engine.dispose()


@pytest.mark.parametrize("mechanism", ["NOSASL", "PLAIN"])
def test_impyla_reads_and_lists(port: int, mechanism: str) -> None:
    why = "impyla is not installed: pip install impyla"
    impala: Any = pytest.importorskip("impala.dbapi", reason=why)
    with impala.connect(
        "127.0.0.1", port, auth_mechanism=mechanism, user="me", password=PASSWORD
    ) as connection, connection.cursor() as cursor:  # fmt: skip
        cursor.execute("SELECT * FROM default.people WHERE id = %(id)s", {"id": 2})
        assert [column[:2] for column in cursor.description] == [
            ("id", "INT"), ("name", "STRING"), ("amount", "DECIMAL"),
        ]  # fmt: skip
        assert cursor.fetchall() == [GRACE]
        cursor.get_tables()
        assert sorted(row[2] for row in cursor.fetchall()) == ["names", "people"]
        assert cursor.get_table_schema("people") == [
            ("id", "INT"), ("name", "STRING"), ("amount", "DECIMAL(10,2)"),
        ]  # fmt: skip


def test_the_folder_is_one_warehouse(port: int, tmp_path: Path) -> None:
    """What Hive calls ``default`` is what everybody else calls ``main``."""
    engine = sa.create_engine(f"hive://me@127.0.0.1:{port}/main")
    with engine.connect() as connection:
        same = sa.text("SELECT count(*) FROM default.people JOIN main.names USING (name)")
        assert connection.execute(same).scalar() == 2
    engine.dispose()
