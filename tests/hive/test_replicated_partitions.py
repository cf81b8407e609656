"""Replicas of tables in other Hive stores: what partitions and a catalog beside them bring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.jobs.runs import JobRun
from gateway.procedures import requests
from gateway.procedures.adopting import adopt
from gateway.session.operations import no_progress
from journal.erasure.requests import State
from journal.model.errors import Code
from journal.stores.hive import layout
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning
from tests.hive.test_adopted_tables import CLASSIC, Outside, outside
from tests.support.killed_replication import replicate_killed
from tests.support.killed_step import Step
from tests.support.replicated import (
    PEOPLE,
    replica_rows,
    replicated,
    replication,
    rows,
    submit_erasure,
    with_people,
)
from tests.support.thrift_server import ThriftServer

__all__ = ["outside"]
pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]

ALL = "SELECT * FROM hr.people ORDER BY id"


@pytest.fixture
def there_url(server: ThriftServer, tmp_path: Path) -> str:
    """The URL of the target's store."""
    (tmp_path / "there").mkdir()
    return server.new_store(tmp_path / "there")


@pytest.fixture
def target(there_url: str) -> Iterator[Connection]:
    with gateway.connect(there_url, autocommit=True) as found:
        yield found


def _journal(con: Connection) -> HiveJournal:
    assert isinstance(con.session.journal, HiveJournal)
    return con.session.journal


def _paths(con: Connection) -> list[str]:
    """Where the segments of all tables lie."""
    _, state = _journal(con).read_committed()
    return [s.files[0].path for t in state.tables.values() for s in t.manifest.segments]


def test_another_gateway_reads_the_past_that_came_with_a_replica(
    con: Connection, there_url: str
) -> None:
    before = with_people(con)
    with gateway.connect(f"{there_url}&lease=14", autocommit=True) as reader:
        reader.execute("CREATE TABLE own (a INTEGER PRIMARY KEY)")
        for number in range(2):
            replicated(con, there_url)
            for query in (ALL, f"SELECT * FROM hr.people VERSION AS OF {before} ORDER BY id"):
                assert rows(reader, query) == rows(con, query)
            con.execute(f"ALTER TABLE hr.people ADD COLUMN more{number} INTEGER DEFAULT 7")
            con.execute(f"UPDATE hr.people SET dept = 5 WHERE id = {number}")


def test_small_commits_in_the_catalog_go_along(url: str, there_url: str) -> None:
    inlining = f"{url}&inline_commits=on&inline_age=600"
    with (
        gateway.connect(inlining, autocommit=True) as con,
        gateway.connect(f"{there_url}&inline_commits=on&inline_age=600", autocommit=True) as target,
    ):
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        con.execute("UPDATE t SET v = 'c' WHERE k = 2")
        replicated(con, there_url, "t")
        query = "SELECT * FROM t ORDER BY k"
        assert rows(target, query) == rows(con, query) == [(1, "a"), (2, "c")]
        target.execute("CALL system.promote('t')")
        target.execute("INSERT INTO t VALUES (3, 'd')")
        con.execute("CALL system.demote('t')")
        told = replicated(target, inlining, "t")
        assert told["rows"] == 1
        assert rows(con, query) == rows(target, query) == [(1, "a"), (2, "c"), (3, "d")]


def test_partitions_and_buckets_of_the_owner_are_those_of_the_replica(
    con: Connection, target: Connection, there_url: str
) -> None:
    con.session.dialect = "spark"
    con.execute(
        "CREATE TABLE t (k INT PRIMARY KEY, n STRING) USING PARQUET"
        " PARTITIONED BY (city STRING) CLUSTERED BY (k) INTO 4 BUCKETS"
    )
    con.execute("INSERT INTO t VALUES (1, 'a', 'Oslo'), (2, 'b', NULL), (3, 'c', 'Rome')")
    con.execute("UPDATE t SET n = 'z' WHERE k = 3")
    con.execute("CALL system.compact('t')")
    shapes = [layout.is_shaped(p) for p in _paths(con)]
    assert True in shapes
    replicated(con, there_url, "t")
    assert [layout.is_shaped(p) for p in _paths(target)] == shapes
    query = "SELECT k, n, city FROM t ORDER BY k"
    assert rows(target, query) == rows(con, query)
    target.execute("CALL system.verify('t')")  # It raises what is damaged.


COLUMNS = """
    id INTEGER PRIMARY KEY, m INTEGER[], s STRUCT(a INTEGER, b VARCHAR), n DECIMAL(38, 10),
    ts TIMESTAMPTZ, at TIMESTAMP, d DATE, f DOUBLE, r FLOAT, b BLOB, u UUID, o BOOLEAN
"""
VALUES = """
    (1, [1, NULL], {'a': 1, 'b': 'x'}, 1.5, '2024-01-01 00:00:00.123456+02',
     '1900-02-03 04:05:06.7', '0001-01-01', 'NaN', -0.0, '\\x00\\xFF',
     'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', true),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, -0.0, NULL, '', NULL, NULL)
"""


def test_values_of_each_type_go_there_and_back(
    con: Connection, target: Connection, url: str, there_url: str
) -> None:
    query = "SELECT * FROM t ORDER BY id"
    con.execute(f"CREATE TABLE t ({COLUMNS})")
    con.execute(f"INSERT INTO t VALUES {VALUES}")
    replicated(con, there_url, "t")
    assert str(rows(target, query)) == str(rows(con, query))
    target.execute("CALL system.promote('t')")
    target.execute("UPDATE t SET o = false WHERE id = 1")
    target.execute("CALL system.compact('t')")
    con.execute("CALL system.demote('t')")
    replicated(target, url, "t")
    assert str(rows(target, query)) == str(rows(con, query))


def test_a_plain_table_that_was_adopted_is_replicated_once_it_is_compacted(
    outside: Outside, target: Connection, there_url: str
) -> None:
    outside.run("CREATE TABLE hr.t (k INT, n STRING) USING PARQUET")
    outside.run("INSERT INTO hr.t VALUES (1, 'a'), (2, NULL)")
    adopt(outside.con.session, "hr.t", ("k",), CLASSIC, run=True)
    refused = replication(outside.con, there_url, "hr.t")
    assert refused.error is not None
    assert refused.error.code is Code.NOT_SUPPORTED
    assert not replica_rows(outside.con)
    outside.con.execute("UPDATE hr.t SET n = 'b' WHERE k = 2")
    outside.con.execute("CALL system.compact('hr.t')")
    replicated(outside.con, there_url, "hr.t")
    query = "SELECT k, n FROM hr.t ORDER BY k"
    assert rows(target, query) == rows(outside.con, query) == [(1, "a"), (2, "b")]


def test_a_damaged_partition_is_not_published(
    con: Connection, target: Connection, there_url: str
) -> None:
    with_people(con)
    replicated(con, there_url)
    before = rows(target, ALL)
    con.execute("UPDATE hr.people SET dept = 7")
    name, _, segment = _paths(con)[-1].partition("/")
    journal = _journal(con)
    with journal.store.connection() as connection:
        connection.execute(
            f"INSERT INTO {journal.names.journal_database}.{name}"
            f" PARTITION (palimpsest_segment = '{segment}')"
            " VALUES (5, 'forged', 1, TIMESTAMP '2020-01-01 00:00:00', NULL)"
        )
    run = replication(con, there_url)
    assert run.error is not None
    assert run.error.code is Code.SEGMENT_DAMAGED
    assert rows(target, ALL) == before


def test_p1_an_erasure_waits_for_both_replicas_on_one_server(
    con: Connection, server: ThriftServer, there_url: str, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    second_url = server.new_store(tmp_path / "second")
    with_people(con, 30)
    for url in (there_url, second_url):
        replicated(con, url)
    places = {row.place for row in replica_rows(con)}
    assert len(places) == 2
    assert not any("tester" in place for place in places)
    request = submit_erasure(con, "p13@x.org")
    requests.purge(con.session, no_progress, [])
    for url, state in ((there_url, State.PURGED), (second_url, State.COMPLETED)):
        replicated(con, url)
        assert requests.request_of(con.session, no_progress, request.id).state is state


PLACE = "spark_compaction.backends.hive.replicas"
STEPS: dict[str, Step] = {
    "after the partitions": (PLACE, "load_partitions", 1),
    "after the erased rows went": (PLACE, "leave_out", 1),
    "after the catalog": (PLACE, "record_past", 1),
    "after the commit": (f"{PLACE}.HiveReplicas", "reap", 0),
}


def _once_free(con: Connection, url: str) -> JobRun:
    """The run of a replication, as soon as no killed one holds a lease."""
    while True:
        run = replication(con, url)
        if run.error is None or run.error.code is not Code.JOB_BUSY:
            return run


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_replication_has_happened_or_not(
    con: Connection, target: Connection, url: str, there_url: str, step: str
) -> None:
    with_people(con)
    replicated(con, there_url)
    before = rows(con, ALL)
    con.execute("UPDATE hr.people SET dept = 77 WHERE id > 40")
    con.execute("CALL system.compact('hr.people')")
    con.execute("ALTER TABLE hr.people ADD COLUMN age INTEGER")
    after = rows(con, ALL)
    replicate_killed(f"{url}&lease=2", f"{there_url}&lease=2", STEPS[step])
    assert rows(target, ALL) in (before, after)
    target.execute("CALL system.verify('hr.people')")
    assert _once_free(con, there_url).error is None
    assert rows(target, ALL) == after
    journal = _journal(target)
    table = next(t for t in journal.state.catalog.tables() if str(t.name) == PEOPLE)
    with journal.store.connection() as connection:
        assert cleaning.forsaken(journal, connection, journal.now(), table.id) == []
