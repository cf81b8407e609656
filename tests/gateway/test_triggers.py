"""Triggers fire on every way that a row is written, in every dialect, and stay with their table."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway

UP = """CREATE FUNCTION up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.n < 0 THEN RETURN NULL; END IF;
  NEW.n := NEW.n + 100;
  RETURN NEW;
END $$"""
TRIGGER = "CREATE TRIGGER up BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION up()"
ROWS = "SELECT * FROM t ORDER BY id"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A warehouse with a table that has a trigger."""
    found = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(found, dialect="postgres", autocommit=True) as con:
        for sql in ("CREATE TABLE t (id int PRIMARY KEY, n int)", UP, TRIGGER):
            con.execute(sql)
    return found


def _rows(con: gateway.Connection) -> list[tuple[object, ...]]:
    return con.execute(ROWS).fetchall()


def test_rows_of_executemany_and_of_statements_that_are_known(url: str) -> None:
    with gateway.connect(url, dialect="postgres", autocommit=True) as con:
        cursor = con.cursor()
        cursor.executemany("INSERT INTO t VALUES ($1, $2)", [(1, 1), (2, -1), (3, 3)])
        for _ in range(3):
            con.execute("UPDATE t SET n = 0 WHERE id = 1")
            con.execute("UPDATE t SET n = -5 WHERE id = 3")
        for number in (10, 11, 12):
            con.execute(f"INSERT INTO t VALUES ({number}, 5)")
            con.execute("INSERT INTO t VALUES ($1, $2)", [number + 10, 6])
        cursor.executemany("UPDATE t SET n = $2 WHERE id = $1", [(10, 7), (11, 8), (12, -1)])
        assert _rows(con) == [
            *((1, 100), (3, 103), (10, 107), (11, 108), (12, 105)),
            *((20, 106), (21, 106), (22, 106)),
        ]


def test_copies(url: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("1,1\n2,-2\n")
    with gateway.connect(url, dialect="postgres", autocommit=True) as con:
        cursor = con.cursor()
        cursor.execute(f"COPY t FROM '{file}' (FORMAT csv)")
        assert cursor.rowcount == 1
        with cursor.copy("COPY t FROM STDIN") as copy:
            copy.write("3\t3\n4\t-4\n")
        assert _rows(con) == [(1, 101), (3, 103)]


def test_another_dialect_and_parts_of_one_statement(url: str) -> None:
    with gateway.connect(url, autocommit=True) as con:
        con.execute("INSERT INTO t VALUES (1, 1), (2, -2)")
        con.execute("INSERT INTO t BY NAME SELECT 3 AS n, 3 AS id")
        con.execute("UPDATE t SET n = n + 1 WHERE id = 1")
        con.execute("WITH a AS (INSERT INTO t VALUES (5, 5) RETURNING *) SELECT * FROM a")
        assert _rows(con) == [(1, 202), (3, 103), (5, 105)]
        with pytest.raises(gateway.NotSupportedError, match="has the trigger up"):
            con.execute("INSERT OVERWRITE t SELECT 1, 1")
        with pytest.raises(gateway.NotSupportedError, match="is PostgreSQL's"):
            con.execute(TRIGGER)


def test_a_transaction_a_prepared_statement_and_a_plan_that_was_kept(url: str) -> None:
    with gateway.connect(url, dialect="postgres", autocommit=True) as con:
        con.execute("PREPARE i AS INSERT INTO t VALUES ($1, $2)")
        con.execute("EXECUTE i (1, 1)")
        con.execute("ALTER TABLE t DISABLE TRIGGER up")
        con.execute("EXECUTE i (2, 2)")
        con.execute("BEGIN")
        con.execute("ALTER TABLE t ENABLE TRIGGER up")
        con.execute("EXECUTE i (3, 3)")
        con.execute("UPDATE t SET n = 0 WHERE id = 3")
        con.execute("COMMIT")
        assert _rows(con) == [(1, 101), (2, 2), (3, 100)]


def test_it_is_there_after_a_restart_and_with_a_table_that_came_back(url: str) -> None:
    with gateway.connect(url, dialect="postgres", autocommit=True) as con:
        con.execute("DROP TABLE t")
        con.execute("UNDROP TABLE t")
        con.execute("INSERT INTO t VALUES (1, 1)")
    with gateway.connect(url, dialect="postgres", autocommit=True) as con:
        con.execute("INSERT INTO t VALUES (2, 2)")
        assert _rows(con) == [(1, 101), (2, 102)]


def test_the_owner_of_a_table_alone_makes_triggers(url: str) -> None:
    with gateway.connect(url, dialect="postgres", autocommit=True) as con:
        con.execute("CREATE ROLE ann")
        con.execute("GRANT SELECT, INSERT ON t TO ann")
        con.execute("SET ROLE ann")
        con.execute("INSERT INTO t VALUES (1, 1)")
        for sql in (
            TRIGGER.replace("TRIGGER up", "TRIGGER other"),
            "DROP TRIGGER up ON t",
            "ALTER TRIGGER up ON t RENAME TO down",
            "ALTER TABLE t DISABLE TRIGGER up",
        ):
            with pytest.raises(gateway.Error) as found:
                con.execute(sql)
            assert found.value.sqlstate == "42501"
        assert _rows(con) == [(1, 101)]
