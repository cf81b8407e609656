"""Replicas of tables in other databases: what PostgreSQL alone has, damage, kills, and others."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures import requests
from gateway.procedures.adopting import adopt
from gateway.session.operations import no_progress
from journal.model.errors import Code
from tests.architecture.sources import ROOT
from tests.support.killed_replication import BOTH_ENDS, replicate_killed
from tests.support.killed_step import Step
from tests.support.postgres import Cluster
from tests.support.replicated import (
    last_version,
    replica_rows,
    replicated,
    replication,
    rows,
    submit_erasure,
    with_people,
)
from tests.support.warm_python import warm_python

pytestmark = [pytest.mark.stores, pytest.mark.timeout(600)]

CLASSIC = ("_journal", "version_number", "subsequent_version_number")
ALL = "SELECT * FROM hr.people ORDER BY id"
PIECES = (
    "SELECT relname FROM pg_class WHERE relnamespace = '_palimpsest'::regnamespace"
    " AND relkind = 'r' AND relname ~ '^(t[0-9]+_[rs]|w_)'"
)
READER = """
import json, sys
import gateway

with gateway.connect(sys.argv[1], autocommit=True) as reader:
    reader.execute("CREATE TABLE own (a INTEGER PRIMARY KEY)")
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps([list(r) for r in reader.execute(line).fetchall()]), flush=True)
"""


@pytest.fixture
def there(cluster: Cluster) -> str:
    """The name of the target's database."""
    return cluster.database()


@pytest.fixture
def there_url(cluster: Cluster, there: str) -> str:
    """The gateway's URL of it."""
    return cluster.url(there)


def _tables(cluster: Cluster, database: str) -> set[str]:
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        return {name for (name,) in admin.execute(PIECES).fetchall()}


def test_another_gateway_reads_the_past_that_came_with_a_replica(
    con: Connection, there_url: str
) -> None:
    before = with_people(con)
    with subprocess.Popen(
        [warm_python(), "-c", READER, there_url],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        for number in range(2):
            replicated(con, there_url)
            for query in (
                "SELECT * FROM hr.people ORDER BY id",
                f"SELECT * FROM hr.people VERSION AS OF {before} ORDER BY id",
            ):
                reader.stdin.write(query + "\n")
                reader.stdin.flush()
                found = json.loads(reader.stdout.readline())
                assert found == [list(r) for r in rows(con, query)]
            con.execute(f"ALTER TABLE hr.people ADD COLUMN more{number} INTEGER DEFAULT 7")
            con.execute(f"UPDATE hr.people SET dept = 5 WHERE id = {number}")
        reader.stdin.close()


def test_a_damaged_table_is_not_published(
    con: Connection, admin: psycopg.Connection[Any], there_url: str
) -> None:
    with_people(con)
    replicated(con, there_url)
    before = rows(con, ALL)
    con.execute("UPDATE hr.people SET dept = 7")
    con.execute("CALL system.compact('hr.people')")
    admin.execute("SET session_replication_role = replica")
    for (name,) in admin.execute(PIECES).fetchall():
        admin.execute(f"UPDATE _palimpsest.{name} SET email = 'forged' WHERE id = 5")
    run = replication(con, there_url)
    assert run.error is not None
    assert run.error.code is Code.SEGMENT_DAMAGED
    with gateway.connect(there_url, autocommit=True) as target:
        assert rows(target, ALL) == before


def test_p1_an_older_copy_of_the_source_is_refused(
    cluster: Cluster, database: str, there_url: str
) -> None:
    with gateway.connect(cluster.url(database), autocommit=True) as con:
        with_people(con)
        con.execute("CREATE TABLE plain (a INTEGER PRIMARY KEY)")
    older = cluster.database(template=database)
    with gateway.connect(cluster.url(database), autocommit=True) as con:
        con.execute("INSERT INTO plain VALUES (1)")
        replicated(con, there_url, "plain")
        submit_erasure(con, "p33@x.org")
        requests.purge(con.session, no_progress, [])
        replicated(con, there_url)
        before = rows(con, ALL)
    with gateway.connect(cluster.url(older), autocommit=True) as con:
        con.execute("UPDATE hr.people SET dept = 4 WHERE id IN (33, 34)")
        con.execute("INSERT INTO plain VALUES (2)")
        for table in ("hr.people", "plain"):
            refused = replication(con, there_url, table)
            assert refused.error is not None
            assert refused.error.code is Code.DIVERGED
    with gateway.connect(there_url, autocommit=True) as target:
        assert rows(target, ALL) == before
        assert rows(target, "SELECT a FROM plain") == [(1,)]


def test_adopted_tables_are_replicated_as_what_they_are_here(
    con: Connection, admin: psycopg.Connection[Any], there_url: str
) -> None:
    admin.execute(
        "CREATE TABLE old (id integer PRIMARY KEY, code char(4), name varchar(9), doc jsonb)"
    )
    admin.execute(
        """INSERT INTO old VALUES (1, 'ab', 'x ', '{"b": 1, "a": [2]}'), (2, NULL, '', '[]')"""
    )
    admin.execute("CREATE INDEX ON old (name)")
    adopt(con.session, "old", (), CLASSIC, run=True)
    con.execute("UPDATE old SET name = 'y' WHERE id = 2")
    con.execute("CALL system.compact('old')")
    replicated(con, there_url, "old")
    query = "SELECT * FROM old ORDER BY id"
    with gateway.connect(there_url, autocommit=True) as target:
        assert rows(target, query) == rows(con, query)
        target.execute("CALL system.verify('old')")
        target.execute("CALL system.promote('old')")
        target.execute("UPDATE old SET code = 'cd' WHERE id = 2")
        for one in (target, con):
            with pytest.raises(gateway.Error) as caught:
                one.execute("INSERT INTO old VALUES (3, 'abcde', 'z', NULL)")
            assert caught.value.sqlstate == "22001"


def test_an_adopted_journal_is_refused_and_goes_to_a_bucket(
    con: Connection, admin: psycopg.Connection[Any], there_url: str, tmp_path: Path
) -> None:
    admin.execute(
        "CREATE TABLE old_journal (k int, v text, version_number timestamptz,"
        " subsequent_version_number timestamptz)"
    )
    admin.execute("INSERT INTO old_journal VALUES (1, 'a', now(), NULL)")
    adopt(con.session, "old", ("k",), CLASSIC, run=True)
    run = replication(con, there_url, "old")
    assert run.error is not None
    assert run.error.code is Code.NOT_SUPPORTED
    assert not replica_rows(con)
    told = replicated(con, f"file://{tmp_path}/bucket", "old")
    assert told["rows"] == 1
    assert rows(con, "SELECT * FROM old") == [(1, "a")]


KINDS = {
    "enums": (
        "CREATE TYPE mood AS ENUM ('b', 'a')",
        "CREATE TABLE t (id int PRIMARY KEY, m mood)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    ),
    "values": (
        (
            "CREATE TABLE t (id int PRIMARY KEY, m int[], j jsonb, n numeric, x numeric(10, 2),"
            " ts timestamptz, d date, f float8, u uuid, b bytea, i interval)"
        ),
        (
            """INSERT INTO t VALUES (1, '{1,2}', '{"a": 1}', 1.5, 2.25, '2024-01-01 00:00:00+02',"""
            " '2024-05-05', 'NaN', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\\x00ff', '1 day'),"
            " (2, NULL, NULL, NULL, NULL, NULL, NULL, -0.0, NULL, '', '1 month')"
        ),
    ),
    "partitions": (
        "CREATE TABLE t (id int, k text, PRIMARY KEY (k, id)) PARTITIONED BY (k)",
        "INSERT INTO t VALUES (1, 'x'), (2, 'z')",
    ),
    "no key": ("CREATE TABLE t (v text)", "INSERT INTO t VALUES ('a'), ('a'), (NULL)"),
    "indexes, whole numbers as versions": (
        (
            "CREATE TABLE t (id int PRIMARY KEY, v text UNIQUE, w text)"
            " WITH (journal_version_type = 'BIGINT')"
        ),
        "CREATE UNIQUE INDEX of_w ON t (lower(w))",
        "CREATE INDEX of_both ON t (v, w)",
        "INSERT INTO t VALUES (1, 'y', 'q'), (2, 'z', NULL)",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_each_kind_go_there_and_back(url: str, there_url: str, kind: str) -> None:
    *made, filled = KINDS[kind]

    def content(con: Connection) -> list[str]:
        con.execute("CALL system.verify('t')")  # It raises what is damaged.
        return sorted(map(str, rows(con, "SELECT * FROM t")))

    with (
        gateway.connect(url, dialect="postgres", autocommit=True) as con,
        gateway.connect(there_url, dialect="postgres", autocommit=True) as target,
    ):
        for statement in (*made, filled):
            con.execute(statement)
        for _ in range(2):
            replicated(con, there_url, "t")
            assert content(target) == content(con) != []
            con.execute("CALL system.compact('t')")
        con.execute("DELETE FROM t")
        replicated(con, there_url, "t")
        assert content(target) == []
        target.execute("CALL system.promote('t')")
        target.execute(filled)
        target.execute("CALL system.compact('t')")
        con.execute("CALL system.demote('t')")
        replicated(target, url, "t")
        assert content(target) == content(con) != []


def test_readers_outside_and_their_rights_stay_while_a_replica_changes(
    con: Connection, cluster: Cluster, there: str, there_url: str
) -> None:
    with_people(con)
    replicated(con, there_url)
    with psycopg.connect(cluster.conninfo(there), autocommit=True) as outside:
        role = f"reader_{there}"
        outside.execute(f"CREATE ROLE {role}")
        try:
            outside.execute(f"GRANT SELECT ON hr.people TO {role}")
            outside.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            seen = outside.execute("SELECT count(*), sum(dept) FROM hr.people").fetchall()
            con.execute("UPDATE hr.people SET dept = 100")
            replication(con, there_url)  # The reader's lock may be in the way for long.
            outside.execute("COMMIT")
            replicated(con, there_url)
            now = outside.execute("SELECT count(*), sum(dept) FROM hr.people").fetchall()
            assert now == [(seen[0][0], 100 * seen[0][0])]
            has = f"SELECT has_table_privilege('{role}', 'hr.people', 'SELECT')"
            assert outside.execute(has).fetchall() == [(True,)]
        finally:
            outside.execute(f"DROP OWNED BY {role}")
            outside.execute(f"DROP ROLE {role}")


def test_a_run_of_an_unchanged_table_writes_no_commit(con: Connection, there_url: str) -> None:
    with_people(con)
    replicated(con, there_url)
    with gateway.connect(there_url, autocommit=True) as target:
        before = last_version(target)
        replicated(con, there_url)
        assert last_version(target) == before


PLACE = "spark_compaction.backends.postgres.replicas"
STEPS: dict[str, Step] = {
    "before the tables": (PLACE, "load_tables", 0),
    "after the tables": (PLACE, "load_tables", 1),
    "after the erased rows went": (PLACE, "leave_out", 1),
    "before the catalog": (f"{PLACE}.section", "write_past", 0),
    "after the catalog": (f"{PLACE}.section", "write_past", 1),
    "before the commit": ("journal.stores.postgres.journal.DatabaseJournal", "conclude_past", 0),
    "after the commit": ("journal.stores.postgres.journal.DatabaseJournal", "conclude_past", 1),
    "after the old tables went": (f"{PLACE}.segment_swap", "reap", 1),
    **BOTH_ENDS,
}


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_replication_has_happened_or_not(
    connect: Callable[..., Connection],
    cluster: Cluster,
    url: str,
    there: str,
    there_url: str,
    step: str,
) -> None:
    con = connect()
    with_people(con)
    replicated(con, there_url)
    before = rows(con, ALL)
    con.execute("UPDATE hr.people SET dept = 77 WHERE id > 40")
    con.execute("CALL system.compact('hr.people')")
    con.execute("ALTER TABLE hr.people ADD COLUMN age INTEGER")
    after = rows(con, ALL)
    replicate_killed(url, there_url, STEPS[step])
    with gateway.connect(there_url, autocommit=True) as target:
        assert rows(target, ALL) in (before, after)
        target.execute("CALL system.verify('hr.people')")  # It raises what is damaged.
        replicated(con, there_url)
        assert rows(target, ALL) == after
        listed = {name for (name,) in rows(target, "SELECT segment FROM system.segments")}
        assert _tables(cluster, there) <= listed
