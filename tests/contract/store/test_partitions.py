"""Native partitions that the owner of a table asks for: sealed rows lie in them, answers stay."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.needs(Capability.PARTITIONS), pytest.mark.timeout(900)]


@pytest.fixture
def con(store: Store) -> Connection:
    """A table with rows of two regions and of none, changed since."""
    con = store.connect()
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, region VARCHAR, n INTEGER)")
    con.execute(
        "INSERT INTO t SELECT i, CASE WHEN i % 2 = 0 THEN 'n''orth' ELSE 'south' END, i"
        " FROM range(50) r(i)"
    )
    con.execute("INSERT INTO t VALUES (1000, NULL, 0)")
    con.execute("UPDATE t SET n = n + 1 WHERE id < 20")
    con.execute("DELETE FROM t WHERE id = 7")
    return con


def _set(con: Connection, partitions: str) -> None:
    con.execute(f"ALTER TABLE t SET TBLPROPERTIES ('partitions' = '{partitions}')")


@pytest.mark.also_on("hive", "postgres")
def test_a_table_is_partitioned_by_the_next_compaction_and_no_answer_changes(
    con: Connection,
) -> None:
    asked = (
        "SELECT * FROM t WHERE region = 'south' ORDER BY id",
        "SELECT * FROM t WHERE region IS NULL",
        "SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY id, version_number",
        "SELECT * FROM t ORDER BY id",
    )
    before = [rows(con, sql) for sql in asked]
    _set(con, "LIST (region)")
    assert rows(con, "OPTIMIZE t")[0][3] == "SUCCEEDED"
    assert [rows(con, sql) for sql in asked] == before
    con.execute("UPDATE t SET region = 'west' WHERE id < 3")
    con.execute("INSERT INTO t VALUES (2000, 'east', 1)")
    assert rows(con, "OPTIMIZE t")[0][3] == "SUCCEEDED"
    assert rows(con, "SELECT count(*) FROM t WHERE region = 'west'") == [(3,)]
    con.execute("ERASE FROM t WHERE id = 5")
    assert rows(con, "SELECT count(*) FROM t") == [(50,)]
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.also_on("hive", "postgres")
def test_texts_of_every_kind_come_back_from_their_partitions(store: Store) -> None:
    texts = ("", "a", "a ", "__HIVE_DEFAULT_PARTITION__", "x" * 300, "x/y=z", "%41", "é😀", "NULL")
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, p VARCHAR)")
    _set(con, "LIST (p)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [*enumerate(texts), (99, None)])
    con.execute("UPDATE t SET p = p")
    assert rows(con, "OPTIMIZE t")[0][3] == "SUCCEEDED"
    assert rows(con, "SELECT p FROM t ORDER BY k") == [*((text,) for text in texts), (None,)]


@pytest.mark.also_on("hive", "postgres")
def test_a_column_of_partitions_may_be_renamed_and_dropped(con: Connection) -> None:
    _set(con, "LIST (region)")
    con.execute("ALTER TABLE t RENAME COLUMN region TO place")
    con.execute("OPTIMIZE t")
    assert rows(con, "SELECT count(*) FROM t WHERE place = 'south'") == [(24,)]
    con.execute("ALTER TABLE t DROP COLUMN place")
    con.execute("UPDATE t SET n = 0 WHERE id = 2")
    con.execute("OPTIMIZE t")
    assert rows(con, "SELECT count(*), min(n) FROM t") == [(50, 0)]


@pytest.mark.also_on("hive")
@pytest.mark.parametrize("text", ["LIST (nobody)", "LIST id", "HASH (id)", "RANGE (n) BY"])
def test_what_makes_no_sense_is_refused(con: Connection, text: str) -> None:
    with pytest.raises(gateway.Error) as raised:
        _set(con, text)
    assert raised.value.code == "PAL-211"
