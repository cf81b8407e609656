"""What roles may do in a session: by whatever way a statement comes by a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.access.scram import make_verifier, parsed_verifier, prepared, verifier_text
from gateway.dbapi.connection import Connection
from tests.support.prepared_warehouse import prepared_warehouse

TABLES = (
    "CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, pay INTEGER)",
    "CREATE TABLE hidden (k INTEGER PRIMARY KEY, t INTEGER REFERENCES t (k))",
    "INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20)",
    "INSERT INTO hidden VALUES (7, 1)",
    "CREATE SEQUENCE ids",
    "CREATE ROLE ann",
    "CREATE ROLE bob",
    "GRANT SELECT (k, v) ON t TO ann",
)


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    url = prepared_warehouse(tmp_path / "w", TABLES, user="root")
    with gateway.connect(url, autocommit=True, user="root") as found:
        yield found


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    place = tmp_path_factory.mktemp("roles") / "w"
    with gateway.connect(
        prepared_warehouse(place, TABLES, user="root"), autocommit=True, user="root"
    ) as found:
        yield found


@pytest.fixture
def ann(opened: Connection) -> Iterator[Connection]:
    """A connection as ann for statements that change nothing."""
    opened.execute("SET ROLE ann")
    yield opened
    opened.execute("RESET ROLE")


def _state(con: Connection, sql: str) -> str:
    try:
        con.execute(sql)
    except gateway.Error as error:
        return error.sqlstate
    return ""


def _as(con: Connection, role: str, sql: str) -> str:
    con.execute(f"SET ROLE {role}")
    try:
        return _state(con, sql)
    finally:
        con.execute("RESET ROLE")


def test_who_is_no_role_sets_the_own_name(con: Connection) -> None:
    """Flyway sets at its end what CURRENT_USER gave at its beginning."""
    for name in ("root", "'root'"):
        con.execute("SET ROLE ann")
        assert _state(con, "SELECT pay FROM t") == "42501"
        con.execute(f"SET ROLE {name}")
        assert con.execute("SELECT current_user, count(pay) FROM t").fetchone() == ("root", 2)
    assert _state(con, "SET ROLE nobody") == "42704"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pay FROM t",
        "SELECT t.pay FROM t",
        "SELECT x.pay FROM t x",
        "SELECT main.t.pay FROM main.t",
        "SELECT t FROM t",
        "SELECT x FROM t AS x",
        "SELECT x.c FROM t AS x(a, b, c, d)",
        "SELECT a FROM t x(a, b, c) WHERE c > 0",
        "SELECT * FROM histogram(t, pay)",
        "SELECT * FROM histogram_values('t', pay)",
        "SELECT stats(k) FROM t",
        "SELECT * EXCLUDE (v) FROM t",
        "SELECT COLUMNS('p.*') FROM t",
        "SELECT k FROM t WHERE pay = 10",
        "SELECT k FROM t GROUP BY ALL HAVING max(pay) > 1",
        "SELECT k FROM t QUALIFY row_number() OVER (ORDER BY pay) = 1",
        "SELECT a.k FROM t a NATURAL JOIN t b",
        "SELECT a.k FROM t a JOIN t b USING (pay)",
        "SELECT (SELECT pay FROM t LIMIT 1)",
        "SELECT k FROM t ORDER BY (SELECT x.pay FROM t x LIMIT 1)",
        "FROM t",
        "FROM t SELECT k, pay",
        "PIVOT t ON k USING sum(pay)",
        "SUMMARIZE t",
        "SELECT * FROM (SELECT k, pay AS v FROM t)",
        "WITH t2 AS (SELECT * FROM t) SELECT k FROM t2",
        "SELECT unnest([pay]) FROM t",
        "SELECT k FROM t, LATERAL (SELECT t.pay AS p)",
        "SELECT k FROM t UNION SELECT pay FROM t",
        "EXPLAIN SELECT pay FROM t",
        "DESCRIBE SELECT pay FROM t",
        "PREPARE p AS SELECT pay FROM t",
        "CREATE TEMP TABLE mine AS SELECT * FROM t",
        "SELECT k FROM t FOR UPDATE",
        "SELECT k FROM t FOR SYSTEM_TIME ALL",
        "SELECT k FROM t FOR SYSTEM_TIME AS OF now()",
        "SELECT * FROM t_journal",
        "SELECT k FROM table_history('t')",
        "SELECT k FROM table_changes('main.t', 0)",
        "DESCRIBE HISTORY t",
        "COPY t TO 'rows.csv'",
        "COPY (SELECT k FROM t) TO 'rows.csv'",
        "COPY t FROM 'rows.csv'",
        "SELECT * FROM read_csv('rows.csv')",
        "SELECT * FROM 'rows.csv'",
        "SELECT * FROM glob('*')",
        "RESTORE TABLE t TO TIMESTAMP AS OF now()",
        "TRUNCATE t",
        "ALTER TABLE t SET POLICY (HISTORY = 7 YEARS)",
        "COMMENT ON COLUMN t.k IS 'x'",
        "DROP SCHEMA main CASCADE",
        "CREATE MACRO f() AS 1",
        "CREATE TYPE x AS INTEGER",
        "CREATE SEQUENCE x",
        "CALL system.flush()",
        "CALL system.flush('t')",
        "CALL system.compact(table => 't')",
        "CALL system.backup(name => 'x')",
        "PLACE HOLD ON t REASON 'x'",
        "ERASE FROM t WHERE k = 1",
        "VACUUM t",
        "OPTIMIZE t",
        "SELECT * FROM system.transactions",
        "SELECT * FROM system.jobs",
        "SELECT * FROM system.segments",
        "GRANT SELECT ON t TO bob",
        "ALTER TABLE t OWNER TO ann",
        "CREATE ROLE eve",
        "ALTER ROLE ann SUPERUSER",
        "GRANT bob TO ann",
        "SET ROLE bob",
    ],
)
def test_a_role_without_the_right_is_refused(ann: Connection, sql: str) -> None:
    expected = "" if sql == "SET ROLE bob" else "42501"
    # The program that opened the folder may go on as anybody.
    assert _state(ann, sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM hidden",
        "SELECT * FROM hidden_journal",
        "SELECT * FROM table_history('hidden')",
        "SELECT k FROM hidden FOR SYSTEM_TIME AS OF now()",
        "INSERT INTO hidden VALUES (1, 1)",
        "DELETE FROM hidden",
        "DROP TABLE hidden",
        "DROP TABLE nowhere",
        "DESCRIBE hidden",
        "SHOW COLUMNS FROM hidden",
        "SHOW CREATE TABLE hidden",
        "COMMENT ON TABLE hidden IS 'x'",
        "CREATE TEMP VIEW mine AS SELECT * FROM hidden",
        "CREATE TEMP TABLE mine (LIKE hidden)",
        "GRANT SELECT ON hidden TO bob",
        "CALL system.flush('hidden')",
        "RESTORE TABLE hidden TO TIMESTAMP AS OF now()",
        "SELECT nextval('ids')",
        "SELECT * FROM pragma_table_info('hidden')",
        "SELECT * FROM histogram(hidden, k)",
        "SELECT * FROM histogram_values('hidden', k)",
    ],
)
def test_it_is_not_there(ann: Connection, sql: str) -> None:
    with pytest.raises(gateway.Error) as raised:
        ann.execute(sql)
    assert raised.value.sqlstate == "42P01"
    assert "did you mean" not in raised.value.advice


def test_what_may_be_read_is(con: Connection) -> None:
    con.execute("SET ROLE ann")
    for sql in (
        "SELECT k, v FROM t",
        "SELECT count(*) FROM t",
        "SELECT x.k FROM t x JOIN (SELECT 1 AS k, 5 AS pay) y USING (k)",
        "SELECT y.pay FROM t JOIN (SELECT 1 AS k, 5 AS pay) y ON t.k = y.k",
        "WITH t AS (SELECT 1 AS pay) SELECT pay FROM t",
        "DESCRIBE t",
        "SHOW TABLES",
        "CREATE TEMP TABLE mine AS SELECT k, v FROM t",
        "SELECT * FROM mine",
        "SELECT 1",
        "VALUES (1)",
        "CHECKPOINT",
    ):
        assert _state(con, sql) == "", sql
    assert con.execute("SHOW TABLES").fetchall() == [("mine",), ("t",)]
    for source in ("duckdb_tables()", "duckdb_tables", "information_schema.tables"):
        column = "table_schema" if "information" in source else "schema_name"
        shown = con.execute(
            f"SELECT table_name FROM {source} WHERE {column} <> 'system' ORDER BY ALL"
        ).fetchall()
        assert shown == [("mine",), ("t",)]


def test_views_are_read_as_their_owner(con: Connection) -> None:
    con.execute("CREATE VIEW all_of_t AS SELECT * FROM t")
    con.execute("GRANT SELECT ON all_of_t TO bob")
    con.execute("GRANT CREATE ON SCHEMA main TO ann")
    assert _as(con, "bob", "SELECT pay FROM all_of_t") == ""
    assert _as(con, "bob", "SELECT k FROM all_of_t FOR SYSTEM_TIME AS OF now()") == "42501"
    assert _as(con, "ann", "CREATE VIEW hers AS SELECT k, pay FROM t") == ""
    con.execute("GRANT SELECT ON hers TO bob")
    assert _as(con, "bob", "SELECT k FROM hers") == "42501"
    con.execute("GRANT SELECT ON t TO ann")
    assert _as(con, "bob", "SELECT pay FROM hers") == ""
    assert _as(con, "bob", "CREATE OR REPLACE VIEW hers AS SELECT 1 AS k") == "42501"
    con.execute("DROP VIEW hers")
    con.execute("CREATE VIEW hers AS SELECT 1 AS k")
    assert _as(con, "bob", "SELECT k FROM hers") == "42P01"


def test_macros_read_as_who_calls_them(con: Connection) -> None:
    con.execute("CREATE MACRO pays() AS TABLE SELECT pay FROM t")
    con.execute("CREATE MACRO top() AS (SELECT max(pay) FROM t)")
    assert _as(con, "ann", "SELECT * FROM pays()") == "42501"
    assert _as(con, "ann", "SELECT top()") == "42501"
    assert _as(con, "bob", "SELECT top()") == "42P01"


def test_plans_that_are_kept_are_kept_by_role(con: Connection) -> None:
    for _ in range(3):
        assert con.execute("SELECT pay FROM t WHERE k = ?", (1,)).fetchall() == [(10,)]
    con.execute("SET ROLE ann")
    with pytest.raises(gateway.ProgrammingError):
        con.execute("SELECT pay FROM t WHERE k = ?", (1,))
    con.execute("PREPARE p AS SELECT v FROM t WHERE k = 1")
    assert con.execute("EXECUTE p").fetchall() == [("a",)]
    con.execute("RESET ROLE")
    con.execute("REVOKE ALL ON t FROM ann")
    con.execute("SET ROLE ann")
    assert _state(con, "EXECUTE p") == "42P01"
    with pytest.raises(gateway.ProgrammingError):
        con.cursor().executemany("INSERT INTO t (k) VALUES (?)", [(8,), (9,)])


def test_the_past_goes_by_the_grants_of_today(con: Connection) -> None:
    (before,) = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0]
    con.execute("GRANT SELECT, HISTORY ON t TO bob")
    con.execute("ALTER TABLE t RENAME TO u")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    assert _as(con, "bob", f"SELECT pay FROM t FOR SYSTEM_VERSION AS OF {before}") == ""
    assert _as(con, "bob", "SELECT * FROM t") == "42P01"
    assert _as(con, "bob", f"SELECT * FROM hidden FOR SYSTEM_VERSION AS OF {before}") == "42P01"
    con.execute(f"SET as_of = '{before}'")
    assert _as(con, "bob", "SELECT pay FROM t") == ""
    assert _as(con, "ann", "SELECT k FROM t") == "42501"
    con.execute("SET ROLE ann")
    assert con.execute("SHOW TABLES").fetchall() == [("t",)]


def test_foreign_keys_act_whoever_writes(con: Connection) -> None:
    con.execute("GRANT DELETE, SELECT ON t TO bob")
    assert _as(con, "bob", "DELETE FROM t WHERE k = 1") == "23503"
    assert _as(con, "bob", "DELETE FROM t WHERE k = 2") == ""


def test_streams_are_the_clients_own_files(con: Connection) -> None:
    con.execute("GRANT INSERT, SELECT ON hidden TO ann")
    con.execute("SET ROLE ann")
    cursor = con.cursor()
    with cursor.copy("COPY hidden FROM STDIN") as copy:
        copy.write_row((8, 2))
    with cursor.copy("COPY hidden TO STDOUT") as copy:
        assert bytes(copy.read()) == b"7\t1\n8\t2\n"
    with pytest.raises(gateway.ProgrammingError), cursor.copy("COPY t TO STDOUT") as copy:
        copy.read()


def test_grants_are_passed_on(con: Connection) -> None:
    con.execute("GRANT SELECT ON t TO ann WITH GRANT OPTION")
    con.execute("CREATE ROLE eve")
    assert _as(con, "ann", "GRANT SELECT ON t TO bob WITH GRANT OPTION") == ""
    assert _as(con, "bob", "GRANT SELECT ON t TO eve") == ""
    assert _as(con, "ann", "GRANT DELETE ON t TO bob") == "42501"
    assert _as(con, "ann", "REVOKE SELECT ON t FROM bob") == "2BP01"
    assert _as(con, "ann", "REVOKE SELECT ON t FROM bob CASCADE") == ""
    assert _as(con, "eve", "SELECT * FROM t") == "42P01"


def test_memberships(con: Connection) -> None:
    con.execute("CREATE ROLE staff")
    con.execute("CREATE ROLE guest NOINHERIT IN ROLE staff")
    con.execute("GRANT SELECT ON hidden TO staff")
    con.execute("GRANT staff TO ann WITH ADMIN OPTION")
    assert _as(con, "ann", "SELECT * FROM hidden") == ""
    assert con.execute("SHOW role").fetchone() == ("none",)
    con.execute("SET ROLE ann")
    assert con.execute("SHOW role").fetchone() == ("ann",)
    con.execute("RESET ROLE")
    assert _as(con, "guest", "SELECT * FROM hidden") == "42P01"
    assert _as(con, "ann", "GRANT staff TO bob") == ""
    assert _as(con, "bob", "GRANT staff TO guest") == "42501"
    assert _state(con, "GRANT ann TO staff") == "0LP01"
    assert _state(con, "DROP ROLE staff") == "2BP01"
    con.execute("REVOKE ALL ON hidden FROM staff")
    con.execute("DROP ROLE staff")
    assert _as(con, "bob", "SELECT * FROM hidden") == "42P01"


def test_those_who_make_roles_make_no_admins(con: Connection) -> None:
    con.execute("CREATE ROLE clerk CREATEROLE")
    con.execute("CREATE ROLE chief SUPERUSER")
    con.execute("CREATE ROLE deputy")
    con.execute("GRANT ADMIN ON SYSTEM TO deputy")
    con.execute("SET ROLE clerk")
    assert _state(con, "CREATE ROLE eve LOGIN PASSWORD 'x'") == ""
    for sql in (
        "CREATE ROLE admin SUPERUSER",
        "ALTER ROLE eve SUPERUSER",
        "ALTER ROLE chief PASSWORD 'x'",
        "ALTER ROLE deputy PASSWORD 'x'",
        "GRANT chief TO clerk",
        "GRANT deputy TO clerk",
        "CREATE ROLE spy IN ROLE deputy",
        "DROP ROLE chief",
        "GRANT ADMIN ON SYSTEM TO clerk",
    ):
        assert _state(con, sql) == "42501", sql
    con.execute("SET ROLE deputy")
    assert _state(con, "SELECT * FROM hidden") == ""


def test_a_password_is_kept_as_its_verifier_alone(con: Connection, tmp_path: Path) -> None:
    con.execute("CREATE USER eve PASSWORD 'correct horse'")
    con.execute("ALTER ROLE eve PASSWORD 'battery staple'")
    con.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            held = path.read_bytes()
            assert b"correct horse" not in held
            assert b"battery staple" not in held


def test_numbers_of_roles_are_never_used_again(con: Connection, tmp_path: Path) -> None:
    con.execute("DROP ROLE bob")
    con.close()
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as again:
        again.execute("CREATE ROLE eve")
        assert _as(again, "eve", "SELECT k FROM t") == "42P01"
        assert _as(again, "ann", "SELECT k FROM t") == ""
        again.execute("CREATE TABLE late (k INTEGER PRIMARY KEY)")
        roles = again.client_session.catalog.access.roles  # type: ignore[attr-defined]
        assert len(roles) == 2
        assert again.client_session.catalog.by_id(max(roles)) is None


def test_verifiers_have_the_form_of_postgresql() -> None:
    made = make_verifier("secret", bytes(range(16))).text()
    assert made.startswith("SCRAM-SHA-256$4096:AAECAwQFBgcICQoLDA0ODw==$")
    found = parsed_verifier(made)
    assert found is not None
    assert found.text() == made == verifier_text(made, b"")
    for wrong in ("", "secret", made[:-4], made.replace("4096", "0"), made + "x"):
        assert parsed_verifier(wrong) is None
    assert prepared("I\u00adX") == b"IX"
    assert prepared("\u2168") == b"IX"
    assert prepared("\u0007") == b"\x07"


def test_md5_and_empty_passwords_are_refused(con: Connection) -> None:
    assert _state(con, "ALTER ROLE ann PASSWORD ''") == "22023"
    assert _state(con, f"ALTER ROLE ann PASSWORD 'md5{'0' * 32}'") == "0A000"


def test_materialized_views_are_refreshed_with_the_rights_of_their_owner(con: Connection) -> None:
    con.execute("GRANT CREATE ON SCHEMA main TO ann")
    assert _as(con, "ann", "CREATE MATERIALIZED VIEW pays AS SELECT pay FROM t") == "42501"
    assert _as(con, "ann", "CREATE MATERIALIZED VIEW mine AS SELECT k, v FROM t") == ""
    assert _as(con, "bob", "SELECT * FROM mine") == "42P01"
    con.execute("GRANT SELECT ON mine TO bob")
    assert _as(con, "bob", "SELECT * FROM mine") == ""
    assert _as(con, "bob", "REFRESH MATERIALIZED VIEW mine") == "42501"
    assert _as(con, "bob", "DROP MATERIALIZED VIEW mine") == "42501"
    assert _as(con, "ann", "REFRESH MATERIALIZED VIEW mine") == ""
    con.execute("REVOKE SELECT (k, v) ON t FROM ann")
    assert _as(con, "ann", "REFRESH MATERIALIZED VIEW mine") in {"42501", "42P01"}
    assert _as(con, "bob", "SELECT * FROM mine") == ""
    con.execute("ERASE FROM t WHERE k = 1 REASON 'asked'")
    assert _as(con, "bob", "SELECT * FROM mine") == "55000"
    assert _as(con, "ann", "DROP MATERIALIZED VIEW mine") == ""


def test_what_a_role_owns_goes_to_another(con: Connection) -> None:
    for sql in (
        "CREATE ROLE one",
        "CREATE ROLE two",
        "CREATE ROLE three",
        "CREATE SCHEMA theirs",
        "ALTER SCHEMA theirs OWNER TO one",
        "CREATE TABLE theirs.x (k INTEGER PRIMARY KEY)",
        "ALTER TABLE theirs.x OWNER TO one",
        "CREATE VIEW theirs.y AS SELECT k FROM theirs.x",
        "ALTER VIEW theirs.y OWNER TO one",
        "GRANT SELECT ON theirs.x TO two",
        "GRANT SELECT ON theirs.x TO three",
        "GRANT USAGE ON SCHEMA theirs TO three",
    ):
        con.execute(sql)
    assert _as(con, "two", "REASSIGN OWNED BY one TO two") == "42501"
    con.execute("RESET ROLE")
    assert _state(con, "REASSIGN OWNED BY one TO nobody_there") == "42704"
    assert _state(con, "DROP ROLE one") == "2BP01"
    con.execute("REASSIGN OWNED BY one TO two")
    con.execute("DROP ROLE one")
    con.execute("SET ROLE two")
    con.execute("INSERT INTO theirs.x VALUES (1)")
    con.execute("CREATE TABLE theirs.z (k INTEGER)")
    assert con.execute("SELECT k FROM theirs.y").fetchall() == [(1,)]
    con.execute("RESET ROLE")
    con.execute("SET ROLE three")
    assert con.execute("SELECT k FROM theirs.x").fetchall() == [(1,)]
    con.execute("RESET ROLE")


def test_what_will_be_made_is_granted_before(con: Connection) -> None:
    for sql in (
        "CREATE ROLE maker",
        "CREATE ROLE reader",
        "CREATE SCHEMA mine",
        "GRANT USAGE, CREATE ON SCHEMA mine TO maker, reader",
        "ALTER DEFAULT PRIVILEGES FOR ROLE maker GRANT SELECT ON TABLES TO reader",
        "ALTER DEFAULT PRIVILEGES FOR ROLE maker IN SCHEMA mine GRANT INSERT ON TABLES TO reader",
        "ALTER DEFAULT PRIVILEGES FOR ROLE maker GRANT USAGE ON SEQUENCES TO PUBLIC",
    ):
        con.execute(sql)
    for sql in (
        "CREATE TABLE mine.a (k INTEGER PRIMARY KEY)",
        "CREATE VIEW mine.b AS SELECT k FROM mine.a",
        "CREATE SEQUENCE mine.c",
    ):
        assert _as(con, "maker", sql) == ""
    assert _as(con, "reader", "INSERT INTO mine.a VALUES (nextval('mine.c'))") == ""
    assert _as(con, "reader", "SELECT * FROM mine.b") == ""
    assert _as(con, "reader", "DELETE FROM mine.a") == "42501"
    stranger = "ALTER DEFAULT PRIVILEGES FOR ROLE maker GRANT SELECT ON TABLES TO reader"
    assert _as(con, "reader", stranger) == "42501"
    revoke = "ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM reader"
    assert _as(con, "maker", revoke) == ""
    assert _as(con, "maker", "CREATE TABLE mine.d (k INTEGER PRIMARY KEY)") == ""
    assert _as(con, "reader", "SELECT * FROM mine.a") == "", "what was granted stays"
    assert _as(con, "reader", "SELECT * FROM mine.d") == "42501"
    assert _as(con, "reader", "INSERT INTO mine.d VALUES (1)") == ""
    shown = con.execute(
        "SELECT kind, schema, name, grantee, privilege FROM system.privileges"
        " WHERE kind LIKE 'new %' ORDER BY ALL"
    ).fetchall()
    assert shown == [
        ("new sequence", None, "maker", "PUBLIC", "USAGE"),
        ("new table", "mine", "maker", "reader", "INSERT"),
    ]
    con.execute("DROP SCHEMA mine CASCADE")
    con.execute("CREATE SCHEMA mine")
    con.execute("GRANT USAGE, CREATE ON SCHEMA mine TO maker, reader")
    assert _as(con, "maker", "CREATE TABLE mine.a (k INTEGER PRIMARY KEY)") == ""
    assert _as(con, "reader", "INSERT INTO mine.a VALUES (1)") == "42P01"
    assert _state(con, "DROP ROLE maker") == "2BP01"


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("ALTER DEFAULT PRIVILEGES GRANT USAGE ON TABLES TO ann", "0LP01"),
        ("ALTER DEFAULT PRIVILEGES IN SCHEMA main GRANT USAGE ON SCHEMAS TO ann", "0LP01"),
        ("ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON LANGUAGES TO ann", "42601"),
        ("ALTER DEFAULT PRIVILEGES GRANT SELECT (k) ON TABLES TO ann", "0LP01"),
        ("ALTER DEFAULT PRIVILEGES FOR ROLE nobody GRANT SELECT ON TABLES TO ann", "42704"),
        ("ALTER DEFAULT PRIVILEGES IN SCHEMA nowhere GRANT SELECT ON TABLES TO ann", "3F000"),
        ("DROP OWNED BY nobody", "42704"),
        ("DROP OWNED ann", "42601"),
    ],
)
def test_what_is_no_default_privilege_is_refused(con: Connection, sql: str, state: str) -> None:
    assert _state(con, sql) == state


def test_what_a_role_owns_is_dropped_with_what_it_was_granted(con: Connection) -> None:
    for sql in (
        "CREATE ROLE one",
        "CREATE ROLE two",
        "CREATE SCHEMA theirs",
        "ALTER SCHEMA theirs OWNER TO one",
        "CREATE SEQUENCE theirs.ids",
        "ALTER SEQUENCE theirs.ids OWNER TO one",
        "CREATE TABLE theirs.x (k INTEGER PRIMARY KEY)",
        "INSERT INTO theirs.x VALUES (1)",
        "ALTER TABLE theirs.x OWNER TO one",
        "CREATE TABLE kept (k INTEGER DEFAULT nextval('theirs.ids'), v INTEGER)",
        "CREATE TABLE child (k INTEGER PRIMARY KEY, x INTEGER REFERENCES theirs.x)",
        "GRANT SELECT ON kept TO one WITH GRANT OPTION",
        "ALTER DEFAULT PRIVILEGES FOR ROLE one GRANT SELECT ON TABLES TO two",
    ):
        con.execute(sql)
    con.execute("SET ROLE one")
    con.execute("GRANT SELECT ON kept TO two")
    con.execute("RESET ROLE")
    assert _as(con, "two", "DROP OWNED BY one") == "42501"
    assert _state(con, "DROP OWNED BY one") == "2BP01", "child refers to x"
    con.execute("DROP TABLE child")
    assert _state(con, "DROP OWNED BY one") == "2BP01", "a default uses the sequence"
    con.execute("CREATE TABLE theirs.other (k INTEGER)")
    assert _state(con, "DROP OWNED BY one RESTRICT") == "2BP01"
    con.execute("BEGIN")
    con.execute("DROP OWNED BY one CASCADE")
    assert _state(con, "SELECT * FROM theirs.x") in {"42P01", "3F000"}
    con.execute("ROLLBACK")
    assert con.execute("SELECT * FROM theirs.x").fetchall() == [(1,)]
    con.execute("DROP OWNED BY one CASCADE")
    for gone in ("theirs.x", "theirs.other"):
        assert _state(con, f"SELECT * FROM {gone}") in {"42P01", "3F000"}
    con.execute("INSERT INTO kept (v) VALUES (5)")
    assert con.execute("SELECT * FROM kept").fetchall() == [(None, 5)]
    assert _as(con, "two", "SELECT * FROM kept") == "42P01"
    con.execute("DROP ROLE one")
    con.execute("CREATE SCHEMA theirs")
    con.execute("UNDROP TABLE theirs.x")
    assert con.execute("SELECT * FROM theirs.x").fetchall() == [(1,)]
