r"""The forms of statements in a few lines each, for ``\h``; docs/sql.md has them in full."""

from __future__ import annotations

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
    "TRUNCATE": "TRUNCATE TABLE t    (all rows end; they stay readable AS OF before)",
    "CREATE TABLE": """CREATE [TEMP] TABLE [IF NOT EXISTS] t (
  a INTEGER PRIMARY KEY, b TEXT NOT NULL DEFAULT '', c DECIMAL(9,2) CHECK (c >= 0), UNIQUE (b))""",
    "CREATE VIEW": "CREATE [OR REPLACE] [TEMP] VIEW v AS SELECT ..",
    "CREATE SCHEMA": "CREATE SCHEMA [IF NOT EXISTS] s",
    "ALTER TABLE": """ALTER TABLE t ADD COLUMN c TYPE | DROP COLUMN c | RENAME COLUMN c TO d
  | ALTER COLUMN c TYPE .. | SET DEFAULT .. | SET NOT NULL | RENAME TO u""",
    "DROP": "DROP TABLE | VIEW | SCHEMA [IF EXISTS] name     UNDROP TABLE t brings a table back",
    "BEGIN": "BEGIN [READ ONLY]; .. SAVEPOINT s; .. ROLLBACK TO s; .. COMMIT | ROLLBACK",
    "RESTORE": "RESTORE TABLE t TO TIMESTAMP AS OF '..' | VERSION AS OF n [WHERE ..]",
    "SET": "SET name = value | RESET name     settings: SELECT * FROM system.settings",
    "CALL": "CALL system.flush(['schema.table'])    seals heads into segments",
    "COPY": "COPY t FROM 'file.csv' (HEADER)     COPY t TO 'file.parquet'",
}


def statement_help(text: str) -> str:
    """The form of the statement that ``text`` names, or the list of those there are."""
    wanted = " ".join(text.upper().split())
    found = [f for name, f in FORMS.items() if wanted and name.startswith(wanted)]
    found += [f for name, f in FORMS.items() if wanted.startswith(name + " ")]
    if found:
        return "\n\n".join(found)
    head = f"There is no help on {text}. " if wanted else ""
    return f"{head}\\h NAME, with one of: {', '.join(FORMS)}"
