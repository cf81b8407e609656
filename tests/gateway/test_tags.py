"""No short way passes the mask of a tag, and tags are there when a folder is opened again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.shell.describing import facts_of, find_relation


def _rows(con: Connection, sql: str, given: Any = ()) -> list[tuple[Any, ...]]:
    return sorted(con.execute(sql, given).fetchall(), key=repr)


def _open(tmp_path: Path) -> Connection:
    return gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True)


def _filled(tmp_path: Path) -> Connection:
    con = _open(tmp_path)
    for sql in (
        "CREATE TABLE t (k INTEGER PRIMARY KEY, mail VARCHAR UNIQUE, pay INTEGER, day DATE)",
        "INSERT INTO t VALUES (1, 'ada', 10, DATE '2024-05-01'), (2, 'bob', 20, NULL)",
        "CREATE ROLE ann",
        "GRANT SELECT, UPDATE, INSERT ON t TO ann",
    ):
        con.execute(sql)
    return con


def test_rows_in_memory_and_plans_go_by_tags(tmp_path: Path) -> None:
    con = _filled(tmp_path)
    point = "SELECT mail, pay FROM t WHERE k = ?"
    con.execute("SET ROLE ann")
    assert _rows(con, point, (1,)) == [("ada", 10)]
    con.execute("RESET ROLE")
    con.execute("ALTER TABLE t SET TAG secret")
    con.execute("ALTER TAG secret SET MASKING POLICY (NULL)")
    for _ in range(2):
        con.execute("SET ROLE ann")
        # A tag of the whole table masks its key as well.
        assert _rows(con, point, (1,)) == []
        assert _rows(con, "SELECT * FROM t") == [(None,) * 4] * 2
        assert _rows(con, "SELECT count(*), sum(pay), max(day) FROM t") == [(2, None, None)]
        con.execute("RESET ROLE")
        assert _rows(con, point, (1,)) == [("ada", 10)]


def test_masks_of_tags_lie_over_masks_of_columns(tmp_path: Path) -> None:
    con = _filled(tmp_path)
    con.execute("ALTER TABLE t ALTER mail SET MASKING POLICY ('<' || mail || '>')")
    con.execute("ALTER TABLE t ALTER mail SET TAG (b, a)")
    con.execute("ALTER TAG a SET MASKING POLICY (value || 'a')")
    con.execute("ALTER TAG b SET MASKING POLICY (CASE WHEN is_role('ann') THEN value || 'b' END)")
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT mail FROM t") == [("<ada>ab",), ("<bob>ab",)]
    with pytest.raises(gateway.IntegrityError) as caught:
        con.execute("INSERT INTO t VALUES (3, 'ada', 1, NULL)")
    assert caught.value.sqlstate == "23505"
    assert "ada" not in str(caught.value)


def test_tags_outlive_the_process_and_names(tmp_path: Path) -> None:
    con = _filled(tmp_path)
    con.execute("ALTER TABLE t ALTER mail SET TAG = (PII)")
    con.execute("ALTER TAG PII SET MASKING POLICY ('x')")
    con.execute("ALTER TABLE t RENAME TO u")
    con.execute("ALTER TABLE u RENAME COLUMN mail TO address")
    con.close()
    con = _open(tmp_path)
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT address FROM u") == [("x",), ("x",)]
    relation = find_relation(con, "u")
    assert relation is not None
    assert "Tag PII on address" in facts_of(con, relation)
    con.execute("RESET ROLE")
    con.execute("DROP TABLE u")
    con.execute("UNDROP TABLE u")
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT address FROM u") == [("x",), ("x",)]
    con.close()


def test_whole_rows_and_patterns_have_all_tags(tmp_path: Path) -> None:
    con = _filled(tmp_path)
    con.execute("ALTER TABLE t ALTER mail SET TAG (PII)")
    con.execute("ALTER TABLE t ALTER pay SET TAG (salary)")
    for name, outputs in (
        ("a", "t AS whole"),
        ("b", "COLUMNS('ma.*')"),
        ("c", "struct_pack(x := t)"),
    ):
        con.execute(f"CREATE TABLE {name} AS SELECT {outputs} FROM t")
        query = f"SELECT tag FROM system.tags WHERE \"table\" = '{name}'"
        assert _rows(con, query) == [("PII",), ("salary",)]
    con.execute("CREATE TABLE d AS SELECT {'m': mail} AS s FROM t")
    assert _rows(con, "SELECT tag FROM system.tags WHERE \"table\" = 'd'") == [("PII",)]
    con.close()


def test_definitions_change_beside_tags(tmp_path: Path) -> None:
    con = _filled(tmp_path)
    con.execute("ALTER TABLE t ALTER mail SET TAG (PII)")
    for sql in (
        "ALTER TABLE t ADD COLUMN more VARCHAR DEFAULT 'x'",
        "ALTER TABLE t RENAME COLUMN more TO most",
        "ALTER TABLE t DROP COLUMN most",
        "ALTER TABLE t ALTER pay TYPE BIGINT",
        "CREATE INDEX by_pay ON t (pay)",
        "CREATE VIEW v AS SELECT k FROM t",
        "COMMENT ON TABLE t IS 'x'",
        "CREATE SCHEMA hr",
        "CREATE TABLE hr.u (LIKE t)",
        "DELETE FROM t WHERE mail = 'ada'",
        "TRUNCATE TABLE t",
        "DROP VIEW v",
        "DROP TABLE hr.u",
        "ALTER TABLE t DROP COLUMN mail CASCADE",
    ):
        con.execute(sql)
    assert _rows(con, "SELECT tag FROM system.tags") == []
    con.close()


def test_notices_name_no_table_that_a_role_does_not_see(tmp_path: Path) -> None:
    con = _filled(tmp_path)
    for sql in (
        "ALTER TABLE t ALTER mail SET TAG (PII)",
        "CREATE VIEW v AS SELECT mail AS m FROM t",
        "CREATE ROLE eve",
        "GRANT SELECT ON v TO eve",
        "GRANT CREATE ON SCHEMA main TO eve",
        "SET ROLE eve",
    ):
        con.execute(sql)
    told = con.execute("CREATE TABLE own AS SELECT m FROM v").messages
    assert [text for _, text in told] == [
        'column "m" of main.own gets tag PII from a table behind a view'
    ]
    con.execute("RESET ROLE")
    assert _rows(con, "SELECT origin FROM system.tags WHERE \"table\" = 'own'") == [
        ("main.t.mail",)
    ]
    con.close()


def test_bypassrls_lifts_no_mask_of_a_tag(tmp_path: Path) -> None:
    con = _filled(tmp_path)
    con.execute("ALTER TABLE t ALTER mail SET TAG (PII)")
    con.execute("ALTER TAG PII SET MASKING POLICY ('x')")
    con.execute("ALTER ROLE ann BYPASSRLS")
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT DISTINCT mail FROM t") == [("x",)]
    con.close()


def test_what_a_row_computes_of_tagged_columns_is_masked(tmp_path: Path) -> None:
    """Generated columns show others, whenever those are tagged; triggers and USING fill some."""
    con = gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True, dialect="postgres")
    for sql in (
        (
            "CREATE TABLE t (k INTEGER PRIMARY KEY, mail TEXT, low TEXT GENERATED ALWAYS AS"
            " (lower(mail)) STORED, hashed TEXT GENERATED ALWAYS AS (md5(mail)) STORED, note TEXT,"
            " kind TEXT, size INTEGER)"
        ),
        (
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF NEW.mail <> '' THEN NEW.size := 1; END IF;"
            " NEW.note := OLD.mail; RETURN NEW; END $$"
        ),
        "CREATE TRIGGER f BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
        "ALTER TABLE t ALTER COLUMN mail SET TAG PII",
        "ALTER TAG PII SET MASKING POLICY (left(value, 1))",
        "INSERT INTO t (k, mail, kind) VALUES (1, 'Secret', 'x')",
        "UPDATE t SET k = 2",
        "ALTER TABLE t ALTER COLUMN kind TYPE TEXT USING kind || mail",
        "CREATE TABLE copy AS SELECT low FROM t",
        "CREATE ROLE ann",
        "GRANT SELECT ON t TO ann",
        "GRANT SELECT ON copy TO ann",
    ):
        con.execute(sql)
    tagged = 'SELECT "table", "column", origin FROM system.tags WHERE kind = \'inherited\''
    assert _rows(con, tagged) == [
        (*("copy", "low"), "main.t.mail"),
        *(("t", name, "main.t.mail") for name in ("kind", "low", "note")),
    ]
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT k, mail, low, note, kind, size FROM t") == [
        (2, "S", "s", "S", "x", 1)
    ]
    assert _rows(con, "SELECT length(hashed) FROM t") == [(32,)]
    assert _rows(con, "SELECT low FROM copy") == [("s",)]
