"""RESTORE with ``create``: a copy of a backup makes its table in a store that has none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.needs(Capability.BACKUPS)
_ROWS = [(1, "a@b.example", "old"), (2, "c@d.example", "new")]


def _copied(store: Store, folder: Path) -> tuple[Connection, Path]:
    """A table with all that a definition states, and the copy of a backup of it."""
    con = store.connect()
    con.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, email VARCHAR UNIQUE, note VARCHAR DEFAULT 'new')"
        " WITH (erasure = 'email LOWER', journal_suffix = '_old')"
    )
    con.execute("CREATE UNIQUE INDEX by_note ON t (note)")
    con.execute("ALTER TABLE t SET POLICY (BACKUP = 7 DAYS)")
    con.execute("INSERT INTO t VALUES (1, 'a@b.example', 'old')")
    con.execute("INSERT INTO t (id, email) VALUES (2, 'c@d.example')")
    con.execute(f"CALL system.backup('t', name => 'all', to => '{folder}')")
    (found,) = folder.glob("*/all")
    return con, found


def test_a_copy_makes_its_table_again(store: Store, other_store: Store, tmp_path: Path) -> None:
    first, copy = _copied(store, tmp_path / "copies")
    second = other_store.connect()
    with pytest.raises(gateway.Error, match="does not exist"):
        second.execute(f"CALL system.restore('t', from => '{copy}')")
    made = second.execute(f"CALL system.restore('t', from => '{copy}', create => true)")
    assert "views" in json.loads(made.fetchall()[0][-1])["details"]["not_in_copy"]
    assert second.execute("SELECT * FROM t ORDER BY id").fetchall() == _ROWS
    shown = "SHOW CREATE TABLE t"
    assert second.execute(shown).fetchall() == first.execute(shown).fetchall()
    with pytest.raises(gateway.IntegrityError, match="by_note"):
        second.execute("INSERT INTO t VALUES (3, 'e@f.example', 'old')")
    again = second.execute(f"CALL system.restore('t', from => '{copy}', create => true)")
    assert again.fetchall()[0][3] == "NOTHING"


@pytest.mark.also_on("postgres", "hive")
def test_what_cannot_be_made_is_refused(store: Store, other_store: Store, tmp_path: Path) -> None:
    _, copy = _copied(store, tmp_path / "copies")
    con = other_store.connect()
    asked = "CALL system.restore('{}', from => '{}', create => true{})"
    with pytest.raises(gateway.Error, match=r"the copy is of \w+\.t"):
        con.execute(asked.format("u", copy, ""))
    with pytest.raises(gateway.Error, match="a dry run makes no table"):
        con.execute(asked.format("t", copy, ", dry_run => true"))
    with pytest.raises(gateway.Error, match="create makes the table of a copy"):
        con.execute("CALL system.restore('t', create => true)")
    manifest = copy / "backup.json"
    held = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**held, "definition": []}))
    with pytest.raises(gateway.Error, match="holds no definition"):
        con.execute(asked.format("t", copy, ""))
    assert con.execute("SHOW TABLES").fetchall() == []


@pytest.mark.also_on("postgres", "hive")
@pytest.mark.parametrize(
    "written",
    [
        "DROP TABLE kept",
        "CREATE TABLE kept (a INTEGER)",
        "CREATE OR REPLACE TABLE kept (a INTEGER)",
        "CREATE TABLE {t} AS SELECT * FROM kept",
        "CREATE UNIQUE INDEX i ON kept (a)",
        "CREATE VIEW {t} AS SELECT * FROM kept",
        "SELECT 1; DROP TABLE kept",
        "",
    ],
)
def test_a_copy_that_somebody_changed_runs_no_other_statement(
    store: Store, other_store: Store, tmp_path: Path, written: str
) -> None:
    _, copy = _copied(store, tmp_path / "copies")
    con = other_store.connect()
    con.execute("CREATE TABLE kept (a INTEGER)")
    manifest = copy / "backup.json"
    held = json.loads(manifest.read_text())
    named = copy.parent.name
    manifest.write_text(json.dumps({**held, "definition": [written.format(t=named)]}))
    with pytest.raises(gateway.Error, match="holds another statement") as raised:
        con.execute(f"CALL system.restore('t', from => '{copy}', create => true)")
    assert raised.value.code == "PAL-705"
    assert con.execute("SHOW TABLES").fetchall() == [("kept",)]


def test_a_definition_is_made_as_a_whole_or_not_at_all(
    store: Store, other_store: Store, tmp_path: Path
) -> None:
    _, copy = _copied(store, tmp_path / "copies")
    con = other_store.connect()
    con.execute("CREATE TABLE kept (a INTEGER)")
    con.execute("CREATE INDEX by_note ON kept (a)")
    with pytest.raises(gateway.Error, match="by_note"):
        con.execute(f"CALL system.restore('t', from => '{copy}', create => true)")
    assert con.execute("SHOW TABLES").fetchall() == [("kept",)]
    con.execute("DROP INDEX by_note")
    con.execute(f"CALL system.restore('t', from => '{copy}', create => true)")
    assert con.execute("SELECT * FROM t ORDER BY id").fetchall() == _ROWS
