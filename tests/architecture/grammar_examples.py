"""Statements that show the grammar, by the name of their form: what docs/grammar.md is made from.

They speak of the tables in ``TABLES``. A test reads and rewrites each for every store, and the page
says what comes of it, refusals too. Values only.
"""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass

TABLES = (
    "CREATE SCHEMA hr",
    "CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR)",
    "CREATE TABLE s (k INTEGER, n INTEGER)",
    "CREATE TABLE p (k INTEGER, w INTEGER)",
    "CREATE VIEW v AS SELECT k, a FROM t",
    "CREATE MATERIALIZED VIEW m AS SELECT k, a FROM t WITH NO DATA",
    "CREATE SEQUENCE ids",
    "CREATE INDEX by_a ON t (a)",
    "CREATE DOMAIN part AS INTEGER",
    "CREATE TYPE pair AS STRUCT(x INTEGER, y INTEGER)",
    "CREATE TABLE g (a INTEGER, b INTEGER AS (a * 2))",
)


@dataclass(frozen=True, slots=True)
class Example:
    """A statement as a client of a dialect writes it."""

    text: str
    dialect: str = "duckdb"


def _each(*texts: str, dialect: str = "duckdb") -> tuple[Example, ...]:
    return tuple(Example(text, dialect) for text in texts)


EXAMPLES: dict[str, tuple[Example, ...]] = {
    "SELECT": _each(
        "SELECT k, sum(a) AS total FROM t JOIN s USING (k) WHERE a > 1 GROUP BY k ORDER BY k",
        "WITH x AS (SELECT 1 AS a) VALUES ((SELECT a FROM x)), (2)",
        "SELECT k FROM t UNION ALL SELECT k FROM s",
        "(SELECT k FROM t) ORDER BY k",
        "FROM t",
        "VALUES (1, 'x'), (2, 'y')",
        "PIVOT s ON k IN (1, 2) USING sum(n) GROUP BY n",
        "SELECT k FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2024-05-01 12:00'",
        "SELECT k FROM t FOR SYSTEM_VERSION AS OF 1714564800000000",
        "SELECT f(SELECT k FROM t)",
    )
    + _each("SELECT k INTO z FROM t", dialect="postgres"),
    "INSERT": _each(
        "INSERT INTO t (k, a) VALUES (1, 2), (2, DEFAULT) RETURNING k",
        "INSERT INTO t BY NAME SELECT 1 AS a, 2 AS k",
        "INSERT INTO t VALUES (1, 2, 'x') ON CONFLICT (k) DO UPDATE SET a = excluded.a",
        "INSERT INTO t VALUES (1, 2, 'x') ON CONFLICT DO NOTHING",
        "INSERT OR REPLACE INTO t VALUES (1, 2, 'x')",
        "WITH x AS (DELETE FROM t WHERE a > 5 RETURNING k) INSERT INTO t (k) SELECT k + 9 FROM x",
        "INSERT INTO t VALUES (1, 2)",
    )
    + _each("INSERT INTO t (k) VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a)", dialect="mysql")
    + _each(
        "FROM s INSERT INTO t (k) SELECT k INSERT INTO p (k) SELECT k WHERE n > 1", dialect="hive"
    ),
    "UPDATE": _each(
        "UPDATE t SET a = a + 1, b = 'x' WHERE k = 1 RETURNING a",
        "UPDATE t SET a = s.n FROM s WHERE s.k = t.k",
        "UPDATE t SET (a, b) = (1, 'x')",
        "UPDATE v SET a = 1",
    ),
    "DELETE": _each(
        "DELETE FROM t WHERE a IS NULL RETURNING k", "DELETE FROM t USING s WHERE s.k = t.k"
    ),
    "MERGE": _each(
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.n"
        " WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.n)",
        "MERGE INTO t USING s JOIN p ON s.k = p.k ON t.k = s.k WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND s.n < 0 THEN ERROR 'negative'",
    ),
    "TRUNCATE": _each(
        "TRUNCATE TABLE t", "TRUNCATE TABLE t CASCADE", "TRUNCATE TABLE t RESTART IDENTITY"
    ),
    "CREATE TABLE": _each(
        "CREATE TABLE z (k INTEGER PRIMARY KEY, b VARCHAR NOT NULL DEFAULT '', CHECK (k > 0))",
        "CREATE TABLE z (k INTEGER PRIMARY KEY, t INTEGER REFERENCES t (k))",
        "CREATE TABLE z (k INTEGER GENERATED ALWAYS AS IDENTITY, d INTEGER AS (k * 2))",
        "CREATE OR REPLACE TEMP TABLE z AS SELECT k, a FROM t",
        "CREATE TABLE z (LIKE t)",
        "CREATE UNIQUE INDEX i ON t (a) WHERE b IS NULL",
        "CREATE TABLE z (k INTEGER, k VARCHAR)",
    ),
    "CREATE INDEX": _each(
        "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON t (lower(b), a DESC) WHERE a > 0",
        "CREATE INDEX i ON ONLY t (a)",
        "DROP INDEX CONCURRENTLY by_a",
        "CREATE UNIQUE INDEX i ON t (a) NULLS NOT DISTINCT",
    ),
    "CREATE TYPE": _each(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN charge AS INTEGER CHECK (VALUE BETWEEN 0 AND 100)",
        'CREATE DOMAIN label AS VARCHAR COLLATE "C"',
        "CREATE TYPE place AS STRUCT(x INTEGER, y INTEGER)",
        "CREATE TYPE either AS UNION(a INTEGER, b VARCHAR)",
    ),
    "ALTER DOMAIN": _each(
        "ALTER DOMAIN part ADD CONSTRAINT most CHECK (VALUE < 100) NOT VALID",
        "ALTER DOMAIN part SET DEFAULT 1",
    ),
    "ALTER TYPE": _each(
        "ALTER TYPE pair RENAME TO couple", "ALTER TYPE pair ADD ATTRIBUTE c INTEGER"
    ),
    "DROP TYPE": _each(
        "DROP DOMAIN IF EXISTS part RESTRICT", "DROP TYPE pair", "DROP TYPE nowhere"
    ),
    "CREATE MACRO": _each(
        "CREATE MACRO net(price, rate := 0.19) AS price / (1 + rate)",
        "CREATE OR REPLACE MACRO first_rows(n) AS TABLE SELECT k FROM t ORDER BY k LIMIT n",
        "CREATE MACRO lower(a) AS a",
    ),
    "CREATE FUNCTION": _each(
        "CREATE FUNCTION f(n int) RETURNS int LANGUAGE sql AS 'SELECT max(k) FROM t WHERE k < n'",
        "CREATE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN n; END'",
        dialect="postgres",
    ),
    "CREATE FUNCTION PLPGSQL": _each(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM t; END'",
        dialect="postgres",
    ),
    "CREATE TRIGGER": _each(
        "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION nowhere()",
        "CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION nowhere()",
        dialect="postgres",
    ),
    "ALTER TRIGGER": _each("ALTER TRIGGER x ON t RENAME TO y", dialect="postgres"),
    "ALTER TABLE TRIGGER": _each(
        "ALTER TABLE t DISABLE TRIGGER USER",
        "ALTER TABLE t ENABLE TRIGGER x",
        dialect="postgres",
    ),
    "DROP TRIGGER": _each(
        "DROP TRIGGER IF EXISTS r ON t", "DROP TRIGGER r ON t", dialect="postgres"
    ),
    "DO": _each(
        "DO $$ BEGIN DROP TABLE t; EXCEPTION WHEN undefined_table THEN NULL; END $$",
        "DO $$ DECLARE n int; BEGIN n := 1; END $$",
        dialect="postgres",
    ),
    "DROP MACRO": _each("DROP MACRO f"),
    "CREATE SEQUENCE": _each(
        "CREATE SEQUENCE z START 10 INCREMENT 5",
        "SELECT nextval('ids')",
        "SELECT last_value, is_called FROM ids",
    ),
    "ALTER SEQUENCE": _each(
        "ALTER SEQUENCE ids RESTART",
        "ALTER SEQUENCE ids RENAME TO z",
        "ALTER SEQUENCE ids OWNER TO bob",
    ),
    "DROP SEQUENCE": _each("DROP SEQUENCE ids"),
    "CREATE VIEW": _each(
        "CREATE OR REPLACE VIEW v AS SELECT k FROM t",
        "CREATE MATERIALIZED VIEW z AS SELECT k FROM t WITH NO DATA",
        "CREATE RECURSIVE VIEW z (n) AS SELECT 1 UNION ALL SELECT n + 1 FROM z WHERE n < 9",
    ),
    "REFRESH": _each("REFRESH MATERIALIZED VIEW m"),
    "CREATE SCHEMA": _each(
        "CREATE SCHEMA IF NOT EXISTS hr",
        "CREATE OR REPLACE SCHEMA hr",
        "CREATE SCHEMA hr.inner_one",
        "CREATE SCHEMA own AUTHORIZATION CURRENT_USER",
    ),
    "ALTER TABLE": _each(
        "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 1",
        "ALTER TABLE t DROP IF EXISTS c",
        "ALTER TABLE t RENAME COLUMN a TO c",
        "ALTER TABLE s ALTER COLUMN n TYPE BIGINT",
        "ALTER TABLE t ALTER COLUMN k TYPE BIGINT USING k::BIGINT",
        "ALTER TABLE t ALTER COLUMN k TYPE VARCHAR",
        "ALTER TABLE t ADD CONSTRAINT one UNIQUE (b)",
        "ALTER TABLE ONLY t ADD CONSTRAINT big CHECK (a > 0) NOT VALID",
        "ALTER TABLE t RENAME CONSTRAINT t_pkey TO key_of_t",
        "ALTER TABLE t ALTER k ADD GENERATED BY DEFAULT AS IDENTITY (START WITH 10)",
        "ALTER TABLE t RENAME TO z",
        "ALTER TABLE ids RENAME TO z",
        "ALTER TABLE g ALTER COLUMN b DROP EXPRESSION",
        "ALTER TABLE g ALTER COLUMN b SET EXPRESSION AS (a + 1)",
        "ALTER TABLE t ADD CONSTRAINT one PRIMARY KEY USING INDEX nothing",
        "ALTER VIEW v RENAME TO z",
        "ALTER VIEW v RENAME COLUMN a TO z",
        "ALTER VIEW v SET SCHEMA hr",
        "ALTER MATERIALIZED VIEW m SET POLICY (SCHEDULE_refresh = '0 3 * * *')",
        "ALTER INDEX by_a RENAME TO z",
        "ALTER INDEX t_pkey RENAME TO z",
        "ALTER INDEX by_a SET (fillfactor = 70)",
        "ALTER TABLE t SET UNLOGGED",
        "ALTER TABLE t ALTER COLUMN a SET STATISTICS 100",
        "ALTER TABLE t SET (note = 'x')",
        "ALTER TABLE t DROP COLUMN k",
    ),
    "DROP": _each(
        "DROP TABLE IF EXISTS t",
        "DROP VIEW v",
        "DROP MATERIALIZED VIEW m",
        "DROP INDEX by_a",
        "DROP SCHEMA hr CASCADE",
        "DROP TABLE nowhere",
        "DROP FUNCTION f",
        "DROP FUNCTION IF EXISTS f(INTEGER)",
    ),
    "BEGIN": _each(
        "BEGIN READ ONLY",
        "START TRANSACTION",
        "SAVEPOINT one",
        "ROLLBACK TO one",
        "RELEASE one",
        "COMMIT AND CHAIN",
        "END",
        "ROLLBACK",
        "ABORT",
    ),
    "RESTORE": _each("RESTORE TABLE t TO VERSION AS OF 1714564800000000 WHERE k = 1"),
    "SET": _each(
        "SET timezone = 'UTC'",
        "RESET timezone",
        "PRAGMA threads = 4",
        "SET LOCAL max_list_items = 10",
    ),
    "PREPARE": _each(
        "PREPARE one (INTEGER) AS SELECT a FROM t WHERE k = $1", "EXECUTE one (1)", "DEALLOCATE one"
    ),
    "UNDROP": _each("UNDROP TABLE t"),
    "EXPLAIN": _each("EXPLAIN UPDATE t SET a = 1", "EXPLAIN ANALYZE SELECT k FROM t")
    + _each(
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT k FROM t",
        "EXPLAIN (COSTS OFF) DELETE FROM t",
        dialect="postgres",
    ),
    "SHOW": _each(
        "SHOW TABLES",
        "SHOW COLUMNS FROM t",
        "SHOW CREATE TABLE t",
        "SHOW POLICY t",
        "SHOW POLICY FOR SCHEMA hr",
        "SHOW EFFECTIVE POLICY t COLUMN a",
        "SHOW SELECT a FROM t",
    ),
    "DESCRIBE": _each("DESCRIBE t", "DESC t", "DESCRIBE ALL TABLES", "SUMMARIZE t"),
    "BLAME": _each(
        "BLAME t WHERE k = 1",
        "BLAME t COLUMNS VERSION AS OF 1714564800000000 ORDER BY version DESC LIMIT 10",
    ),
    "DISCARD": _each(
        "DISCARD ALL", "DISCARD TEMP", "UNLISTEN *", "NOTIFY c, 'x'", dialect="postgres"
    ),
    "LOCK": _each(
        "LOCK TABLE t IN ACCESS SHARE MODE", "LOCK TABLE t IN EXCLUSIVE MODE", dialect="postgres"
    ),
    "COMMENT": _each(
        "COMMENT ON COLUMN t.a IS 'an amount'",
        "COMMENT ON COLUMN v.k IS 'a key'",
        "COMMENT ON SEQUENCE ids IS 'for t'",
        "COMMENT ON CONSTRAINT t_pkey ON t IS 'a number of ours'",
        "COMMENT ON SCHEMA hr IS 'people'",
    ),
    "USE": _each("USE hr"),
    "COPY": _each("COPY t TO 'rows.csv' (HEADER)", "COPY (SELECT k FROM t) TO 'k.parquet'"),
    "SET POLICY": _each(
        "ALTER TABLE t SET POLICY (HISTORY = 7 YEARS)",
        "ALTER TABLE t UNSET POLICY",
        "ALTER SCHEMA hr SET POLICY (HISTORY = 7 YEARS, BACKUP = 30 DAYS)",
        "ALTER SCHEMA hr UNSET POLICY (BACKUP)",
        "ALTER DATABASE SET POLICY (VERSIONS = 5)",
        "ALTER TABLE t ALTER COLUMN a SET POLICY (RETENTION = 1 DAY)",
    ),
    "ENTITIES": _each(
        "CREATE PROFILE there URL 'palimpsest:///w' WITH (engine = local)",
        "CREATE DATASET days ON TABLE t EVERY 1 DAY START '2024-01-01' TIME ZONE 'Europe/Berlin'",
        "CREATE PROCESS sums EVERY 1 DAY START '2024-01-02' INPUT days FROM 'yesterday(0, 0)'"
        " TO 'today(0, 0)' AS INSERT INTO s SELECT k, a FROM t",
        "ALTER PROCESS sums SET (timeout = 2 HOURS, tags = ('night', 'sums'))",
        "ALTER PROCESS sums SCHEDULE",
        "SHOW PROCESSES",
        "DESCRIBE PROCESS sums",
        "DROP PROCESS IF EXISTS sums",
    ),
    "OPTIMIZE": _each("OPTIMIZE t"),
    "VACUUM": _each(
        "VACUUM t RETAIN 7 DAYS",
        "VACUUM ANALYZE t",
        "ANALYZE t",
        "ANALYSE",
        "CLUSTER t",
        "CLUSTER t USING by_a",
        "REINDEX TABLE t",
        "REINDEX INDEX by_a",
        "REINDEX SCHEMA hr",
        "CHECKPOINT",
        "FORCE CHECKPOINT",
    ),
    "ERASE": _each("ERASE FROM t WHERE k = 1 REASON 'asked'"),
    "PLACE HOLD": _each("PLACE HOLD ON t WHERE k = 1 REASON 'a case'", "RELEASE HOLD 'id'"),
    "CREATE ROLE": _each(
        "CREATE ROLE readers",
        "CREATE USER ann PASSWORD 'one' VALID UNTIL '2030-01-01' IN ROLE readers",
        "ALTER ROLE ann NOLOGIN",
        "DROP ROLE ann",
    ),
    "GRANT": _each(
        "GRANT SELECT (k, a), UPDATE ON t TO PUBLIC",
        "GRANT HISTORY ON ALL TABLES IN SCHEMA hr TO PUBLIC WITH GRANT OPTION",
        "GRANT ERASE ON SYSTEM TO nobody",
        "GRANT readers TO ann WITH ADMIN OPTION",
        "REVOKE ALL ON t FROM PUBLIC CASCADE",
        "REVOKE GRANT OPTION FOR SELECT ON t FROM PUBLIC",
        "ALTER TABLE t OWNER TO ann",
        "REASSIGN OWNED BY ann TO bob",
        "DROP OWNED BY ann, bob CASCADE",
        "ALTER DEFAULT PRIVILEGES FOR ROLE ann IN SCHEMA main GRANT SELECT ON TABLES TO bob",
        "ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM bob",
        "SET ROLE ann",
    ),
    "CREATE POLICY": _each(
        "CREATE POLICY few ON t USING (a > 1)",
        "CREATE POLICY kept ON t AS RESTRICTIVE FOR INSERT TO PUBLIC WITH CHECK (a < 9)",
        "CREATE POLICY old ON t FOR INSERT USING (a > 1)",
    ),
    "ALTER POLICY": _each("ALTER POLICY none ON t USING (true)"),
    "DROP POLICY": _each("DROP POLICY IF EXISTS few ON t", "DROP POLICY few ON t"),
    "ALTER TABLE ROW LEVEL SECURITY": _each(
        "ALTER TABLE ONLY t ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE t NO FORCE ROW LEVEL SECURITY",
    ),
    "ROW POLICY": _each(
        "ALTER TABLE t SET ROW POLICY (a > 1 OR is_role('readers'))",
        "ALTER TABLE t SET ROW POLICY (a IN (SELECT s.n FROM s WHERE s.k = t.k))",
        "ALTER TABLE t ALTER COLUMN a SET MASKING POLICY (0)",
        "ALTER TABLE IF EXISTS z ALTER COLUMN a DROP MASKING POLICY",
        "ALTER TABLE IF EXISTS z UNSET ROW POLICY",
    ),
    "TAG": _each(
        "ALTER TABLE t ALTER COLUMN b SET TAG = (PII, contact)",
        "ALTER TABLE t MODIFY b UNSET TAG",
        "ALTER TABLE t SET TAG PII",
        "ALTER TAG PII SET MASKING POLICY (left(value, 1))",
        "ALTER TAG PII SET MASKING POLICY (date_trunc('year', value)) FOR DATE",
        "ALTER TAG PII DROP MASKING POLICY FOR DATE",
        "ALTER TAG PII DROP MASKING POLICY",
        "GRANT SELECT ON TAG PII TO readers",
    ),
    "CALL": _each("CALL system.flush('t')"),
}
"""The examples of each form that ``\\h`` in the shell shows, by its name there."""
