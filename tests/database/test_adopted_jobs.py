"""Adopted journals of the classic convention: changes of their columns, jobs and erasures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import Outcome, State
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.backends.postgres.flat_compaction import FlatCompaction
from spark_compaction.erasure import acceptance, purging
from tests.database.test_adopt import CLASSIC, CLASSIC_READ, journal
from tests.support.erasures import backend_of
from tests.support.postgres import Cluster
from tests.support.traces import everything

pytestmark = pytest.mark.stores

__all__ = ["journal"]
GONE = "qz7-gone"


@pytest.fixture
def depts(con: Connection, admin: Any, journal: str) -> Connection:
    """An adopted journal with an index, a reader of somebody else's, grants, and some history."""
    admin.execute("CREATE INDEX ON hr.depts_journal (department_name)")
    admin.execute(f"CREATE VIEW hr.classic AS {CLASSIC_READ.removesuffix(' ORDER BY deptno')}")
    admin.execute("GRANT SELECT ON hr.depts_journal TO PUBLIC")
    adopt(con.session, "hr.depts", (), CLASSIC, run=True)
    con.execute("INSERT INTO hr.depts VALUES (4, 'New'), (5, ?)", [GONE])
    con.execute("UPDATE hr.depts SET department_name = department_name || '!' WHERE deptno < 5")
    con.execute("DELETE FROM hr.depts WHERE deptno = 2")
    return con


def _journal(con: Connection) -> DatabaseJournal:
    found = con.session.journal
    assert isinstance(found, DatabaseJournal)
    return found


def _rows(con: Any, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


def _answers(con: Connection, where: str = "deptno <> 5") -> list[list[tuple[Any, ...]]]:
    versions = [v for (v,) in _rows(con, "SELECT version FROM system.transactions ORDER BY 1")]
    asked = [f"SELECT * FROM hr.depts WHERE {where} ORDER BY 1"]
    asked += [
        f"SELECT deptno, department_name FROM hr.depts FOR SYSTEM_VERSION AS OF {v}"
        f" WHERE {where} ORDER BY 1"
        for v in versions[1:4]
    ]
    ever = f"SELECT * FROM hr.depts FOR SYSTEM_TIME ALL WHERE {where} ORDER BY 1, version_number"
    return [_rows(con, sql) for sql in [*asked, ever]]


def test_a_transaction_reads_the_columns_that_it_adds(depts: Connection, admin: Any) -> None:
    before = _answers(depts)[1:4]
    depts.execute("BEGIN")
    depts.execute("ALTER TABLE hr.depts ADD COLUMN n INTEGER DEFAULT 7")
    depts.execute("INSERT INTO hr.depts VALUES (6, 'Six', 8)")
    depts.execute("UPDATE hr.depts SET n = n + 2 WHERE deptno = 4")
    wanted = [(1, 7), (4, 9), (6, 8)]
    asked = "SELECT deptno, n FROM hr.depts WHERE deptno IN (1, 4, 6) ORDER BY 1"
    assert _rows(depts, asked) == wanted
    depts.execute("COMMIT")
    assert _rows(depts, asked) == wanted == _rows(admin, asked)
    assert _answers(depts, "deptno NOT IN (5, 6)")[1:4] == before


def test_columns_come_and_go_and_the_past_is_as_it_was(depts: Connection, admin: Any) -> None:
    before = _answers(depts)[1:4]
    depts.execute("ALTER TABLE hr.depts ADD COLUMN n INTEGER DEFAULT 7")
    depts.execute("INSERT INTO hr.depts VALUES (6, 'Six', 8)")
    depts.execute("UPDATE hr.depts SET n = 9 WHERE deptno = 4")
    assert _rows(depts, "SELECT * FROM hr.depts WHERE deptno IN (1, 4, 6) ORDER BY 1") == [
        (1, "Service!", 7),
        (4, "New!", 9),
        (6, "Six", 8),
    ]
    depts.execute("ALTER TABLE hr.depts DROP COLUMN department_name")
    depts.execute("ALTER TABLE hr.depts RENAME COLUMN n TO m")
    depts.execute("INSERT INTO hr.depts VALUES (7, 10)")
    assert _rows(depts, "SELECT * FROM hr.depts WHERE deptno > 4 ORDER BY 1") == [
        (5, 7),
        (6, 8),
        (7, 10),
    ]
    assert _answers(depts)[1:4] == before
    names = [d.name for d in admin.execute("SELECT * FROM hr.depts_journal").description]
    assert names[4:] == ["n"]
    with pytest.raises(gateway.NotSupportedError):
        depts.execute("ALTER TABLE hr.depts ALTER COLUMN m TYPE BIGINT")
    depts.execute("OPTIMIZE hr.depts")
    assert _answers(depts)[1:4] == before


def test_a_compaction_leaves_the_latest_rows_in_the_journal(depts: Connection, admin: Any) -> None:
    before, classic = _answers(depts, "true"), admin.execute(CLASSIC_READ).fetchall()
    (planned,) = _rows(depts, "CALL system.compact('hr.depts', dry_run => true)")
    (done,) = _rows(depts, "OPTIMIZE hr.depts")
    assert (planned[3], done[3]) == ("PLANNED", "SUCCEEDED")
    assert planned[4:7] == done[4:7]
    assert _answers(depts, "true") == before
    assert admin.execute(CLASSIC_READ).fetchall() == classic
    assert len(classic) == 3
    assert admin.execute("SELECT count(*) FROM hr.depts_journal").fetchone() == (3,)
    assert admin.execute("SELECT * FROM hr.classic ORDER BY 1").fetchall() == classic
    told = admin.execute(
        "SELECT has_table_privilege('pg_monitor', 'hr.depts_journal', 'SELECT'), count(*)"
        " FROM pg_indexes WHERE tablename = 'depts_journal' AND schemaname = 'hr'"
    )
    assert told.fetchone() == (True, 2)
    assert _rows(depts, "CALL system.compact('hr.depts')")[0][3] == "NOTHING"
    depts.execute("UPDATE hr.depts SET department_name = 'later' WHERE deptno = 4")
    depts.execute("INSERT INTO hr.depts VALUES (2, 'back')")
    with pytest.raises(gateway.IntegrityError):
        depts.execute("INSERT INTO hr.depts VALUES (4, 'twice')")
    depts.execute("OPTIMIZE hr.depts")
    assert _answers(depts, "true")[1:4] == before[1:4]
    assert admin.execute("SELECT * FROM hr.depts ORDER BY 1").fetchall() == _rows(
        depts, "SELECT * FROM hr.depts ORDER BY 1"
    )
    assert depts.session.executor.upkeep.verify().is_clean
    segment_swap.reap(_journal(depts), 1, list)
    left = admin.execute("SELECT relname FROM pg_class WHERE relname ~ '^t1_s' AND relkind = 'r'")
    assert len(left.fetchall()) == 2
    assert _answers(depts, "true")[1:4] == before[1:4]


def test_rows_that_others_write_meanwhile_are_kept(
    depts: Connection, admin: Any, journal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, keys = FlatCompaction.stage, iter((70, 71))
    version = {"bigint": "9"}.get(journal, "'2020-02-01'")

    def slow(*arguments: Any) -> Any:
        staged = stage(*arguments)
        for key in [next(keys, None)]:
            if key is not None:
                admin.execute(
                    "INSERT INTO hr.depts_journal (deptno, version_number, department_name)"
                    f" VALUES ({key}, {version}, 'foreign')"
                )
        return staged

    monkeypatch.setattr(FlatCompaction, "stage", slow)
    depts.execute("OPTIMIZE hr.depts")
    found = _rows(depts, "SELECT deptno FROM hr.depts WHERE department_name = 'foreign'")
    assert sorted(found) == [(70,), (71,)]
    left = admin.execute("SELECT relname FROM pg_class WHERE relname ~ '^t1_s' AND relkind = 'r'")
    assert len(left.fetchall()) == 2


@pytest.mark.parametrize("compacted", [False, True])
def test_an_erasure_reaches_journal_and_history(
    depts: Connection, cluster: Cluster, database: str, admin: Any, compacted: bool
) -> None:
    depts.execute("UPDATE hr.depts SET department_name = 'other' WHERE deptno = 5")
    depts.execute(
        "ALTER TABLE hr.depts SET TBLPROPERTIES ('erasure' = 'department_name AS name LOWER')"
    )
    if compacted:
        depts.execute("OPTIMIZE hr.depts")
    before, classic = _answers(depts), admin.execute(CLASSIC_READ).fetchall()
    request = acceptance.accept(backend_of(depts), ErasureSpec({"name": [GONE.upper()]}), "tester")
    assert request.targets[0].keys == 1
    assert _rows(depts, "SELECT * FROM hr.depts FOR SYSTEM_TIME ALL WHERE deptno = 5") == []
    with pytest.raises(gateway.Error) as raised:
        depts.execute("INSERT INTO hr.depts VALUES (5, 'back')")
    assert raised.value.code == "PAL-306"
    done = purging.purge(backend_of(depts), "tester")
    assert done.failures == {}
    (after,) = done.requests
    assert (after.state, after.targets[0].outcome) == (State.COMPLETED, Outcome.ERASED)
    assert after.targets[0].versions_removed == 2
    assert _answers(depts) == before
    assert GONE not in everything(cluster, database)
    rows = admin.execute("SELECT * FROM hr.depts_journal").fetchall()
    assert not any(row[0] == 5 for row in rows)
    assert admin.execute(CLASSIC_READ).fetchall() == [r for r in classic if r[0] != 5]
    assert depts.session.executor.upkeep.verify().is_clean


def test_erase_from_an_adopted_journal(depts: Connection) -> None:
    (row,) = _rows(depts, "ERASE FROM hr.depts WHERE deptno = 5")
    assert (row[1], row[3], row[4]) == ("COMPLETED", "ERASED", 1)
    assert _rows(depts, "SELECT * FROM hr.depts WHERE deptno = 5") == []


def test_a_statement_in_flight_reads_what_it_began_with(
    depts: Connection, connect: Callable[..., Connection]
) -> None:
    found = _journal(depts)
    asked = "SELECT count(*) FROM hr.depts"
    other = connect()
    with found.statement(found.begin(read_only=True)) as reader:
        depts.execute("OPTIMIZE hr.depts")
        assert _rows(other, asked) == [(3,)]
        assert reader.session.text('SELECT count(*) FROM _palimpsest."t1_base"') == [(3,)]


@pytest.mark.parametrize(
    ("tie", "said"),
    [
        ("CREATE MATERIALIZED VIEW hr.m AS SELECT * FROM hr.depts_journal", "materialized view"),
        (
            "ALTER TABLE hr.depts_journal ADD COLUMN s INT GENERATED BY DEFAULT AS IDENTITY",
            "identity column s",
        ),
        ("CREATE POLICY p ON hr.depts_journal USING (true)", "policy"),
    ],
)
def test_what_cannot_follow_is_refused(
    depts: Connection, admin: psycopg.Connection[Any], tie: Any, said: str
) -> None:
    admin.execute(tie)
    with pytest.raises(gateway.Error, match=f"cannot be rewritten while it has .*{said}"):
        depts.execute("OPTIMIZE hr.depts")


def test_a_serial_key_is_counted_on(con: Connection, admin: Any) -> None:
    admin.execute(
        'CREATE TABLE t_journal ("Key" SERIAL, v TEXT, version_number BIGINT,'
        ' subsequent_version_number BIGINT, PRIMARY KEY ("Key", version_number))'
    )
    write = 'INSERT INTO t_journal (v, version_number) VALUES (%s, %s) RETURNING "Key"'
    assert admin.execute(write, ["a", 1]).fetchall() == [(1,)]
    adopt(con.session, "t", ("Key",), CLASSIC, run=True)
    for number in (2, 3):
        con.execute("UPDATE t SET v = v || '!'")
        con.execute("OPTIMIZE t")
        assert _rows(con, "SELECT count(*) FROM t") == _rows(
            admin, "SELECT count(*) FROM t_journal"
        )
        assert admin.execute(write, ["b", number]).fetchall() == [(number,)]
    with pytest.raises(gateway.IntegrityError, match="PAL-302"):
        con.execute("INSERT INTO t (v) VALUES ('c')")
    owned = "SELECT pg_get_serial_sequence('t_journal', 'Key')"
    assert _rows(admin, owned) == [('public."t_journal_Key_seq"',)]
    eject(con.session, "t", run=True)
    admin.execute("DROP TABLE t_journal CASCADE")
    assert _rows(admin, "SELECT to_regclass('public.\"t_journal_Key_seq\"')") == [(None,)]


def test_ejecting_gives_the_moved_rows_back(depts: Connection, admin: Any) -> None:
    depts.execute("OPTIMIZE hr.depts")
    steps = eject(depts.session, "hr.depts", run=True)
    assert any("hr.depts_history" in step for step in steps)
    assert admin.execute("SELECT count(*) FROM hr.depts_history").fetchone() == (6,)
    assert admin.execute("SELECT count(*) FROM hr.depts").fetchone() == (3,)


def test_no_policy_removes_rows_of_an_adopted_journal(depts: Connection) -> None:
    depts.execute("ALTER TABLE hr.depts SET POLICY (VERSIONS = 1)")
    with pytest.raises(gateway.Error, match=r"PAL-110.*would be current again.*eject"):
        depts.execute("CALL system.retain('hr.depts')")
