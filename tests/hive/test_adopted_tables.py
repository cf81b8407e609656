"""Plain tables of a metastore are adopted without a copy, and left again as plain tables."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import TableName
from journal.stores.hive.adopt import ejection
from journal.stores.hive.adopt.adoption import HiveAdoption, planned
from journal.stores.hive.client.connection import HiveConnection, Row
from journal.stores.hive.client.thrift_connection import ThriftConnection
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning
from tests.hive.conftest import ThriftServer

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]
CLASSIC = ("_journal", "version_number", "subsequent_version_number")


class Outside:
    """A gateway with views, and a client of the server that does not come through it."""

    def __init__(self, con: Connection, prefix: str) -> None:
        assert isinstance(con.session.journal, HiveJournal)
        self.con, self.journal, self.hr = con, con.session.journal, f"{prefix}hr"
        self.raw: HiveConnection = self.journal.store.acquire()
        self.raw.execute(f"CREATE DATABASE {self.hr}")

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        return self.raw.run(sql.replace("hr.", f"{self.hr}."))

    def folder(self, table: str) -> str:
        rows = self.run(f"DESCRIBE TABLE EXTENDED hr.{table}")
        return next(str(r[1]) for r in rows if r[0] == "Location")


@pytest.fixture
def outside(server: ThriftServer, tmp_path: Path) -> Iterator[Outside]:
    prefix = f"p{uuid.uuid4().hex[:8]}_"
    url = server.url(prefix, tmp_path / "catalog.db")
    with gateway.connect(url, autocommit=True) as con:
        found = Outside(con, prefix)
        yield found
        found.journal.store.release(found.raw)


def parts(folder: str) -> dict[str, float]:
    """The Parquet files of a folder, and when they were written."""
    place = Path(folder.removeprefix("file:"))
    return {str(p.relative_to(place)): p.stat().st_mtime for p in place.rglob("*.parquet")}


def people(outside: Outside, kind: str = "", where: str = "") -> None:
    outside.run(
        f"CREATE {kind} TABLE hr.people (Id INT, `Full Name` STRING, pay DECIMAL(9,2), born DATE,"
        f" tags ARRAY<STRING>, city STRING) USING PARQUET PARTITIONED BY (city) {where}"
    )
    outside.run(
        "INSERT INTO hr.people VALUES (1, 'Ann', 10.5, DATE'1990-01-02', array('a'), 'Oslo'),"
        " (2, 'Bob', NULL, NULL, NULL, 'Rome'), (3, 'Cid', 7, NULL, array(), 'Rome')"
    )


@pytest.mark.parametrize("kind", ["managed", "external"])
def test_a_table_is_adopted_where_it_lies(outside: Outside, tmp_path: Path, kind: str) -> None:
    where = "" if kind == "managed" else f"LOCATION '{tmp_path}/people'"
    people(outside, "EXTERNAL" if where else "", where)
    before = outside.run("SELECT * FROM hr.people ORDER BY id")
    files = parts(outside.folder("people"))
    told = adopt(outside.con.session, "hr.people", ("id",), CLASSIC, run=False)
    assert "no row is copied" in told[0]
    assert "3 rows" in told[1]
    assert outside.raw.tables_of(outside.hr) == ["people"]
    adopt(outside.con.session, "hr.people", ("id",), CLASSIC, run=True)
    assert parts(outside.folder("people_adopted")) == files
    assert outside.run("SELECT * FROM hr.people ORDER BY id") == before
    con = outside.con
    con.execute("UPDATE hr.people SET pay = 11 WHERE id = 1")
    con.execute("DELETE FROM hr.people WHERE id = 2")
    con.execute("INSERT INTO hr.people VALUES (4, 'Dee', 1, NULL, NULL, 'Bern')")
    with pytest.raises(gateway.IntegrityError):
        con.execute("INSERT INTO hr.people VALUES (3, 'again', 1, NULL, NULL, 'Bern')")
    con.execute("CALL system.flush()")
    now = [(1, "Ann", "11.00", "Oslo"), (3, "Cid", "7.00", "Rome"), (4, "Dee", "1.00", "Bern")]
    asked = 'SELECT id, "Full Name", CAST(pay AS VARCHAR), city FROM hr.people ORDER BY id'
    assert con.execute(asked).fetchall() == now
    assert len(outside.run("SELECT * FROM hr.people_journal")) == 3 + 2 + 2 + 1
    assert con.session.executor.upkeep.verify().is_clean
    assert parts(outside.folder("people_adopted")) == files
    plan = outside.run("EXPLAIN SELECT * FROM hr.people WHERE city = 'Oslo'")[0][0]
    assert "PartitionFilters: [isnotnull(city" in plan, plan

    con.execute("CALL system.compact('hr.people')")
    assert con.execute(asked).fetchall() == now
    assert parts(outside.folder("people_adopted")) == files
    place = outside.folder("people_adopted")
    outside.journal.now = lambda: 1 << 61
    assert len(cleaning.reap(outside.journal, outside.raw)) == 4
    assert not [p for p in parts(place) if "city=" in p]
    assert con.execute(asked).fetchall() == now


def test_adopting_is_undone_by_ejecting(outside: Outside, tmp_path: Path) -> None:
    people(outside, "EXTERNAL", f"LOCATION '{tmp_path}/people'")
    before = outside.run("SHOW CREATE TABLE hr.people"), parts(outside.folder("people"))
    session = outside.con.session
    adopt(session, "hr.people", ("id",), CLASSIC, run=True)
    assert "no row is copied" in eject(session, "hr.people", run=False)[0]
    eject(session, "hr.people", run=True)
    assert (outside.run("SHOW CREATE TABLE hr.people"), parts(outside.folder("people"))) == before
    assert outside.raw.tables_of(outside.hr) == ["people"]
    outside.run("ALTER TABLE hr.people RENAME TO hr.elsewhere")
    with pytest.raises(gateway.Error, match="ejected as the plain table"):
        outside.con.execute("UNDROP TABLE hr.people")
    outside.run("ALTER TABLE hr.elsewhere RENAME TO hr.people")
    adopt(session, "hr.people", ("id",), CLASSIC, run=True)
    assert outside.con.execute("SELECT count(*) FROM hr.people").fetchall() == [(3,)]


def test_a_changed_table_leaves_rows_and_history(outside: Outside) -> None:
    people(outside)
    con = outside.con
    adopt(con.session, "hr.people", ("id",), CLASSIC, run=True)
    con.execute("DELETE FROM hr.people WHERE id = 2")
    told = eject(con.session, "hr.people", run=False)
    assert "UNDROP" in told[2]
    eject(con.session, "hr.people", run=True)
    assert outside.run("SELECT id, city FROM hr.people ORDER BY id") == [(1, "Oslo"), (3, "Rome")]
    assert outside.run("SHOW PARTITIONS hr.people") == [("city=Oslo",), ("city=Rome",)]
    assert outside.run("SELECT count(*) FROM hr.people_history") == [(5,)]
    with pytest.raises(gateway.ProgrammingError):
        con.execute("SELECT * FROM hr.people")
    outside.run("DROP TABLE hr.people")
    con.execute("UNDROP TABLE hr.people")
    assert con.execute("SELECT count(*) FROM hr.people").fetchall() == [(2,)]


def test_others_who_write_meanwhile_are_not_lost(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    con = outside.con
    con.execute("CREATE SCHEMA hr")
    con.execute("CREATE TABLE hr.t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO hr.t VALUES (1)")
    drop = ejection._drop

    def late(*args: Any) -> None:
        con.execute("INSERT INTO hr.t VALUES (2)")
        drop(*args)

    monkeypatch.setattr(ejection, "_drop", late)
    with pytest.raises(PalimpsestError, match="could not serialize"):
        eject(con.session, "hr.t", run=True)
    assert con.execute("SELECT count(*) FROM hr.t").fetchall() == [(2,)]
    con.execute("CALL system.flush()")
    assert outside.raw.tables_of(outside.hr) == ["t", "t_journal"]


def test_a_folder_of_files_is_adopted(outside: Outside, tmp_path: Path) -> None:
    for city in ("Oslo", "Rome"):
        (tmp_path / "lake" / f"city={city}").mkdir(parents=True)
        rows = pa.table({"id": [len(city), ord(city[0])], "name": ["x", city]})
        pq.write_table(rows, tmp_path / "lake" / f"city={city}" / "a.parquet")
    con, folder = outside.con, str(tmp_path / "lake")
    with pytest.raises(PalimpsestError, match="is no key"):
        adopt(con.session, "hr.lake", ("name",), CLASSIC, run=False, folder=folder)
    with pytest.raises(PalimpsestError, match="is no key"):
        adopt(con.session, "hr.lake", ("id",), CLASSIC, run=True, folder=folder)
    rows = pa.table({"id": [7, 8], "name": ["x", "Rome"]})
    pq.write_table(rows, tmp_path / "lake" / "city=Rome" / "a.parquet")
    told = adopt(con.session, "hr.lake", ("id",), CLASSIC, run=False, folder=folder)
    assert "4 rows" in told[1]
    assert outside.raw.tables_of(outside.hr) == []
    adopt(con.session, "hr.lake", ("id",), CLASSIC, run=True, folder=folder)
    con.execute("UPDATE hr.lake SET name = 'new' WHERE city = 'Rome' AND id = 8")
    found = con.execute("SELECT id, name FROM hr.lake WHERE city = 'Rome' ORDER BY id")
    assert found.fetchall() == [(7, "x"), (8, "new")]


def test_a_folder_is_not_listed_more_often_than_needed(
    outside: Outside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each new or renamed table makes the server list all of its partitions."""
    for day in range(3):
        (tmp_path / "lake" / f"day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"id": [day]}), tmp_path / "lake" / f"day={day}" / "a.parquet")
    asked: list[str] = []
    execute = ThriftConnection.execute

    def noted(
        self: ThriftConnection, statement: Any, parameters: Any = None, beside: Any = ()
    ) -> list[list[Row]]:
        asked.append(statement if isinstance(statement, str) else self.text(statement, parameters))
        return execute(self, statement, parameters, beside)

    monkeypatch.setattr(ThriftConnection, "execute", noted)
    con, folder = outside.con, str(tmp_path / "lake")
    adopt(con.session, "hr.lake", ("id",), CLASSIC, run=False, folder=folder)
    assert not [sql for sql in asked if sql.startswith(("CREATE TABLE", "MSCK", "ALTER"))]
    asked.clear()
    adopt(con.session, "hr.lake", ("id",), CLASSIC, run=True, folder=folder)
    assert len([sql for sql in asked if sql.startswith(("CREATE TABLE", "MSCK", "ALTER"))]) == 2
    assert len([sql for sql in asked if sql.startswith("SELECT COUNT(*)")]) == 2


def test_what_cannot_be_adopted_is_said_and_left_alone(outside: Outside) -> None:
    session = outside.con.session
    outside.run("CREATE TABLE hr.twice (k INT, v INT) USING PARQUET")
    outside.run("INSERT INTO hr.twice VALUES (1, 1), (1, 2), (NULL, 3)")
    outside.run("CREATE TABLE hr.csv (k INT) USING CSV")
    outside.run("CREATE VIEW hr.seen AS SELECT 1 AS k")
    outside.run("CREATE TABLE hr.odd (k INT, i INTERVAL DAY TO SECOND) USING PARQUET")
    outside.run("CREATE TABLE hr.journal (k INT, version_number INT) USING PARQUET")
    there = outside.raw.tables_of(outside.hr)
    for name, key, message in (
        ("twice", "k", "1 rows with NULL"),
        ("twice", "", "declares no keys"),
        ("twice", "nope", "no column nope"),
        ("csv", "k", "not a table of Parquet"),
        ("seen", "k", "not a table of Parquet"),
        ("odd", "k", "interval day to second"),
        ("journal", "k", 'column "version_number"'),
        ("nothing", "k", "has no table"),
    ):
        keys = (key,) if key else ()
        with pytest.raises(PalimpsestError, match=message) as raised:
            adopt(session, f"hr.{name}", keys, CLASSIC, run=True)
        assert raised.value.advice
    assert outside.raw.tables_of(outside.hr) == there


def test_a_killed_adoption_is_finished_by_the_next(outside: Outside) -> None:
    people(outside)
    journal, raw = outside.journal, outside.raw
    asked = HiveAdoption(TableName("hr", "people"), ("id",))
    assert planned(journal, raw, asked).source.name == "people"
    outside.run("ALTER TABLE hr.people SET TBLPROPERTIES ('palimpsest.stands_for' = 'people')")
    outside.run("ALTER TABLE hr.people RENAME TO hr.people_adopted")
    assert planned(journal, raw, asked).source.name == "people_adopted"
    adopt(outside.con.session, "hr.people", ("id",), CLASSIC, run=True)
    assert outside.run("SELECT count(*) FROM hr.people") == [(3,)]


@pytest.mark.parametrize("run", [False, True])
def test_a_folder_that_the_server_cannot_read_is_named(
    outside: Outside, tmp_path: Path, run: bool
) -> None:
    con = outside.con
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "a.parquet").write_text("x")
    for folder, said in (
        (f"file://{tmp_path}/missing", "the server finds no Parquet files in {}"),
        (f"file://{broken}", "a file in {} is no Parquet file, or is damaged: "),
        ("hdfs://nowhere.invalid/lake", "the server cannot read {}: unknown host: "),
    ):
        with pytest.raises(PalimpsestError) as raised:
            adopt(con.session, "hr.lake", ("id",), CLASSIC, run=run, folder=folder)
        assert raised.value.code is Code.FILE_ACCESS
        assert raised.value.message.startswith(said.format(folder))
        assert raised.value.advice
    assert outside.raw.tables_of(outside.hr) == []
