"""No way in which a person's values may come leaves a trace: not in a literal, nor in an error."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]
TOKEN = "qz8-everywhere-xk3"
MAIL = f"{TOKEN}@x.example"
_MADE = f"""
CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR UNIQUE, note VARCHAR, n INTEGER,
  CHECK (n <> 7)) WITH (erasure = 'email LOWER');
CREATE INDEX by_note ON people (note);
CREATE TABLE copies (id INTEGER PRIMARY KEY, email VARCHAR, note VARCHAR, gone VARCHAR)
  WITH (erasure = 'email LOWER');
CREATE TABLE dropped (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email LOWER');
INSERT INTO people SELECT i, 'u' || i, 'n' || i, i + 100 FROM range(20) r(i);
INSERT INTO people VALUES (50, '{MAIL}', '{TOKEN} 1', 1);
UPDATE people SET note = '{TOKEN} 2' WHERE email = '{MAIL}';
UPDATE people SET note = '{TOKEN} ' || note WHERE note = '{TOKEN} 2';
CREATE MATERIALIZED VIEW stored AS SELECT id, email, note FROM people;
CREATE MATERIALIZED VIEW above AS SELECT max(note) AS note FROM stored WHERE email LIKE '%@%';
INSERT INTO copies SELECT id, email, note, note FROM people;
MERGE INTO copies USING people ON people.id = copies.id AND people.email = '{MAIL}'
  WHEN MATCHED THEN UPDATE SET note = '{TOKEN} 3';
ALTER TABLE copies DROP COLUMN gone;
INSERT INTO dropped VALUES (1, '{MAIL}');
DROP TABLE dropped;
CALL system.backup('people', name => 'before');
UPDATE people SET note = '{TOKEN} 4' WHERE id = 50;
CALL system.compact('people');
UPDATE people SET n = 2 WHERE email = '{MAIL}';
DELETE FROM copies WHERE email = '{MAIL}'
"""
_FAILED = (
    f"INSERT INTO people VALUES (51, '{MAIL}', '{TOKEN}', 1)",
    f"INSERT INTO people VALUES (50, 'x', '{TOKEN}', 1)",
    f"UPDATE people SET n = 7, note = '{TOKEN}' WHERE email = '{MAIL}'",
    f"UPDATE people SET n = CAST(note AS INTEGER) WHERE note LIKE '{TOKEN}%'",
    f"SELECT * FROM people WHERE n = '{MAIL}'",
    f"SELECT * FROM people WHERE email = '{MAIL}' AND",
    f"SELECT * FROM nowhere WHERE email = '{MAIL}'",
    "CREATE MATERIALIZED VIEW failed AS SELECT CAST(note AS INTEGER) AS n FROM people",
)


def _fill(con: Connection) -> None:
    for sql in _MADE.strip().split(";\n"):
        con.execute(sql).close()
    for sql in _FAILED:
        with pytest.raises(gateway.Error):
            con.execute(sql).fetchall()
    con.execute("BEGIN")
    con.execute(f"UPDATE people SET note = '{TOKEN} undone' WHERE id = 50")
    con.execute("ROLLBACK")
    with contextlib.suppress(gateway.Error):
        con.execute("CALL system.refresh('failed')").fetchall()
    con.execute(f"PREPARE q AS SELECT * FROM people WHERE email = '{MAIL}'")
    assert len(con.execute("EXECUTE q").fetchall()) == 1


def _palimpsest(store: Store, *words: str) -> str:
    run = CliRunner().invoke(main, list(words), env={"PALIMPSEST_WAREHOUSE": store.url})
    assert run.exit_code == 0, run.output + run.stderr
    return run.stdout


def _others(con: Connection, versions: list[int]) -> list[object]:
    """What others were, at each moment at which that can be asked."""
    found: list[object] = []
    for name in ("people", "copies"):
        for version in versions:
            try:
                asked = f"SELECT * FROM {name} VERSION AS OF {version} WHERE id < 50 ORDER BY id"
                found.append(rows(con, asked))
            except gateway.Error as error:
                found.append(error.code)
    return found


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_a_person_is_gone_from_wherever_statements_brought_them(
    store: Store, tmp_path: Path
) -> None:
    with store.connect() as con:
        _fill(con)
        versions = [v for (v,) in rows(con, "SELECT version FROM system.transactions ORDER BY 1")]
        before = _others(con, versions)
    assert store.holders(TOKEN) != []
    _palimpsest(store, "erase", "submit", "--subject", f"email={MAIL}")
    told = _palimpsest(store, "erase", "run")
    assert "COMPLETED" in told
    assert "NOT_SEARCHED" not in told
    with store.connect() as con:
        assert _others(con, versions) == before
        for name in ("statements", "lineage", "jobs", "erasures", "transactions", "indexes"):
            assert TOKEN not in str(rows(con, f"SELECT * FROM system.{name}")), name
        assert rows(con, "SELECT count(*), max(note) FROM stored") == [(20, "n9")]
    assert store.holders(TOKEN) == []
