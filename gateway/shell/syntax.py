r"""The forms of statements in a few lines each, for ``\h``; docs/sql.md has them in full."""

from __future__ import annotations

from rewriter.statements.own_statement import OWN

FORMS: dict[str, str] = {
    "SELECT": """SELECT .. FROM t [JOIN ..] [WHERE ..] [GROUP BY ..] [HAVING ..] [ORDER BY ..]
  t FOR SYSTEM_TIME AS OF TIMESTAMP '2024-05-01 12:00'   as it was then
  t FOR SYSTEM_VERSION AS OF 1714564800000000            as of a version
  t FOR SYSTEM_TIME ALL                                  every version of every row""",
    "INSERT": """INSERT INTO t [(a, b)] VALUES (1, 'x'), (2, DEFAULT) [RETURNING ..]
INSERT INTO t [(a, b)] SELECT ..
  ON CONFLICT [(key)] DO NOTHING | DO UPDATE SET b = EXCLUDED.b [WHERE ..]""",
    "UPDATE": "UPDATE t SET a = .., b = .. [FROM other] [WHERE ..] [RETURNING ..]",
    "DELETE": "DELETE FROM t [USING other] [WHERE ..] [RETURNING ..]",
    "MERGE": """MERGE INTO t USING s ON t.id = s.id
  WHEN MATCHED [AND ..] THEN UPDATE SET .. | DELETE
  WHEN NOT MATCHED [AND ..] THEN INSERT (..) VALUES (..)
  WHEN NOT MATCHED BY SOURCE THEN DELETE""",
    "TRUNCATE": """TRUNCATE [TABLE] t, .. [RESTART | CONTINUE IDENTITY] [CASCADE]
  (all rows end; they stay readable AS OF before)""",
    "CREATE TABLE": """CREATE [TEMP] TABLE [IF NOT EXISTS] t (
  a INTEGER PRIMARY KEY, b TEXT NOT NULL DEFAULT '', c DECIMAL(9,2) CHECK (c >= 0), UNIQUE (b))""",
    "CREATE INDEX": """CREATE [UNIQUE] INDEX [CONCURRENTLY] [IF NOT EXISTS] i
  ON t (c | (expression) [DESC], ..) [WHERE ..]     ALTER INDEX i RENAME TO j
  (of a key: renames its constraint; what says how it is stored is taken and does nothing)""",
    "CREATE VIEW": """CREATE [OR REPLACE] [TEMP] VIEW v AS SELECT ..
CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] v AS SELECT .. [WITH [NO] DATA]""",
    "REFRESH": "REFRESH MATERIALIZED VIEW [CONCURRENTLY] v [WITH [NO] DATA]",
    "ALTER TABLE": """ALTER TABLE t ADD COLUMN c TYPE | DROP COLUMN c | RENAME COLUMN c TO d
  | ALTER COLUMN c TYPE .. | SET DEFAULT .. | SET NOT NULL | RENAME TO u
  | ALTER COLUMN c ADD GENERATED [ALWAYS | BY DEFAULT] AS IDENTITY | DROP IDENTITY
  | ALTER COLUMN c DROP EXPRESSION | SET EXPRESSION AS (..)
  | ADD CONSTRAINT .. | VALIDATE | RENAME | DROP CONSTRAINT n
  | ADD CONSTRAINT n UNIQUE | PRIMARY KEY USING INDEX i
ALTER VIEW v RENAME TO w | RENAME COLUMN c TO d | SET SCHEMA s""",
    "DROP": """DROP TABLE | [MATERIALIZED] VIEW | INDEX | SCHEMA [IF EXISTS] name
  UNDROP TABLE t brings a table back""",
    "BEGIN": """BEGIN [READ ONLY]; .. SAVEPOINT s; .. ROLLBACK TO s; ..
COMMIT | ROLLBACK [AND CHAIN]""",
    "RESTORE": "RESTORE TABLE t TO TIMESTAMP AS OF '..' | VERSION AS OF n [WHERE ..]",
    "SET": "SET [LOCAL] name = value | RESET name | ALL   settings: SELECT * FROM system.settings",
    "PREPARE": """PREPARE p [(type, ..)] AS statement     EXECUTE p [(value, ..)]
DEALLOCATE p | ALL""",
    "UNDROP": "UNDROP TABLE t    (rows and history come back with it)",
    "EXPLAIN": """EXPLAIN [ANALYZE] [VERBOSE] statement
EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON, ..) statement   (options of the postgres dialect)""",
    "SHOW": """SHOW TABLES | VIEWS | SCHEMAS | COLUMNS FROM t | CREATE TABLE t | POLICY t
SHOW setting | query""",
    "DESCRIBE": "DESCRIBE t | query     DESCRIBE HISTORY t: the commits that changed it",
    "BLAME": """BLAME t [WHERE ..]                   which transaction wrote each row
BLAME t COLUMNS [VERSION AS OF n]    which one last changed each column of it""",
    "DO": "DO $$ BEGIN statements [EXCEPTION WHEN condition THEN statements] END $$",
    "DISCARD": "DISCARD ALL | PLANS | SEQUENCES | TEMP     UNLISTEN channel | *\n"
    "NOTIFY channel [, 'payload']",
    "LOCK": "LOCK [TABLE] t, .. IN ACCESS SHARE | ROW SHARE | ROW EXCLUSIVE MODE",
    "COMMENT": """COMMENT ON TABLE t | VIEW v | COLUMN t.c | INDEX i IS '..'
COMMENT ON SEQUENCE s | TYPE t | MACRO f | SCHEMA s | CONSTRAINT c ON t IS '..'
COMMENT ON ROLE r | DATABASE d IS '..'""",
    "USE": "USE schema",
    "COPY": "COPY t FROM 'file.csv' (HEADER)     COPY t TO 'file.parquet'",
    "ENTITIES": """CREATE [OR REPLACE] PROFILE [IF NOT EXISTS] p URL '..' [WITH (field = value, ..)]
CREATE DATASET d ON TABLE t EVERY 1 DAY START '2013-01-01' [END '..'] [TIME ZONE '..'] [WITH (..)]
CREATE PROCESS p EVERY 1 DAY START '..' [INPUT d FROM '..' TO '..'] [OUTPUT d AT '..'] [WITH (..)]
    AS statement | 'statements'
ALTER PROFILE | DATASET | PROCESS name SET (field = value, ..) | UNSET (field, ..)
ALTER PROFILE | DATASET | PROCESS name SCHEDULE | SUSPEND | RESUME | TOUCH
DROP PROFILE | DATASET | PROCESS [IF EXISTS] name
SHOW PROFILES | DATASETS | PROCESSES     DESCRIBE PROFILE | DATASET | PROCESS name""",
    "SET POLICY": """ALTER TABLE t SET POLICY (
  RETENTION = 90 DAYS ON COLUMN day ACTION = DELETE | ARCHIVE, HISTORY = 7 YEARS, VERSIONS = 5,
  BACKUP = 30 DAYS, SCHEDULE_COMPACT = '0 3 * * *')
ALTER TABLE t UNSET POLICY [(RETENTION, ..)]     SHOW POLICY t
ALTER SCHEMA s | DATABASE [name] SET POLICY (..) | UNSET POLICY [(..)]
SHOW EFFECTIVE POLICY t [COLUMN c]     SHOW POLICY FOR SCHEMA s | DATABASE""",
    "OPTIMIZE": "OPTIMIZE t    (the same as CALL system.compact('t'))",
    "VACUUM": "VACUUM t [RETAIN n DAYS] [DRY RUN]",
    "ERASE": """ERASE FROM t WHERE .. [SCOPE KEY | IDENTIFIER | ALL]
  [ON DEPENDENTS REPORT | REFUSE | CASCADE] [REASON '..']
  requests that name people: palimpsest erase submit""",
    "PLACE HOLD": """PLACE HOLD ON t [WHERE ..] REASON '..'
PLACE HOLD FOR SUBJECT email = '..' REASON '..'     RELEASE HOLD 'id'""",
    "CREATE ROLE": """CREATE ROLE | USER r [LOGIN] [PASSWORD '..'] [VALID UNTIL '..'] [IN ROLE s]
ALTER ROLE r options | RENAME TO s     DROP ROLE r     SET ROLE r""",
    "GRANT": """GRANT SELECT [(a, b)], UPDATE | ALL ON t | ALL TABLES IN SCHEMA s | SCHEMA s
  | SYSTEM TO r | PUBLIC [WITH GRANT OPTION]     GRANT r TO s [WITH ADMIN OPTION]
REVOKE .. ON t FROM r [CASCADE]""",
    "ROW POLICY": """ALTER TABLE t SET ROW POLICY (condition)     DROP ROW POLICY
ALTER TABLE t ALTER COLUMN c SET MASKING POLICY (value) | DROP MASKING POLICY""",
    "TAG": """ALTER TABLE t [ALTER COLUMN c] SET TAG = (name, ..) | UNSET TAG [(name, ..)]
ALTER TAG name SET MASKING POLICY (over value) [FOR type] | DROP MASKING POLICY [FOR type]
GRANT SELECT ON TAG name TO role""",
    "CALL": """CALL system.flush(['t'])                         seals heads into segments
CALL system.compact | retain | purge | verify('t', dry_run => true)
CALL system.backup('t', name => '..')            a list of what there is, kept under a name
CALL system.restore('t', backup => '..', where => '..')""",
}
FORMS |= {words: entry.form for words, entry in OWN.items()}
_FIRST_WORDS = [words.split()[0] for words in FORMS]
# Forms that begin alike stand together.
FORMS = dict(sorted(FORMS.items(), key=lambda form: _FIRST_WORDS.index(form[0].split()[0])))


def statement_help(text: str) -> str:
    """The form of the statement that ``text`` names, or the list of those there are."""
    wanted = " ".join(text.upper().split())
    found = [f for name, f in FORMS.items() if wanted and name.startswith(wanted)]
    found += [f for name, f in FORMS.items() if wanted.startswith(name + " ")]
    found = found or [f for name, f in FORMS.items() if wanted in name.split()]
    if found:
        return "\n\n".join(found)
    head = f"There is no help on {text}. " if wanted else ""
    return f"{head}\\h NAME, with one of: {', '.join(FORMS)}"
