"""The past of a table that lost its primary key, which lies in another journal."""

from __future__ import annotations

import pytest

import gateway
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(300), pytest.mark.also_on("hive")]


@pytest.mark.drifts(toy="SQLite has no LATERAL")
def test_restore_brings_back_rows_from_before_the_key_was_dropped(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, gone TEXT)")
    con.execute("INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'x')")
    ((before,),) = rows(con, "SELECT max(version) FROM system.transactions")
    con.execute("ALTER TABLE t DROP CONSTRAINT t_pkey, DROP COLUMN gone")
    ((moved,),) = rows(con, "SELECT max(version) FROM system.transactions")
    con.execute("UPDATE t SET a = 11 WHERE k = 1")
    con.execute("ALTER TABLE t RENAME a TO b")
    con.execute("ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 7")
    con.execute("INSERT INTO t VALUES (3, 30, 3)")
    for span in (f"table_changes('t', {before})", "table_changes('t', 0)"):
        with pytest.raises(gateway.Error, match="moved to another journal"):
            con.execute(f"SELECT * FROM {span}")
    assert len(rows(con, f"SELECT k FROM table_changes('t', {moved + 1})")) == 3
    with pytest.raises(gateway.Error, match="PAL-110"):
        con.execute(f"RESTORE TABLE t TO VERSION AS OF {before} WHERE k = 1")
    con.execute(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN NEW.b := 0; RETURN NEW; END $$"
    )
    con.execute("CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()")
    with pytest.raises(gateway.Error, match="has the trigger f"):
        con.execute(f"RESTORE TABLE t TO VERSION AS OF {before}")
    con.execute("ALTER TABLE t DISABLE TRIGGER ALL")
    assert con.execute(f"RESTORE TABLE t TO VERSION AS OF {before}").rowcount == 2
    assert rows(con, "SELECT k, b, c FROM t ORDER BY k") == [(1, 10, 7), (2, 20, 7)]


@pytest.mark.needs(Capability.BACKUPS)
def test_a_backup_from_before_the_key_was_dropped_says_how_to_restore_it(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 10)")
    ((before,),) = rows(con, "SELECT max(version) FROM system.transactions")
    con.execute("CALL system.backup('t', name => 'before')")
    con.execute("ALTER TABLE t DROP CONSTRAINT t_pkey")
    for named in ("", ", backup => 'before'"):
        with pytest.raises(gateway.Error, match="before its primary key changed") as error:
            con.execute(f"CALL system.restore('t'{named})")
        assert f"TO VERSION AS OF {before}" in str(error.value)
