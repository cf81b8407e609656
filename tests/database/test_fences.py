"""What was erased does not come back through tools that write to an adopted journal themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import ErasureRequest, State
from spark_compaction.erasure import acceptance, purging
from spark_compaction.erasure.readmission import readmit_request
from tests.database.test_adopt import CLASSIC, journal
from tests.database.test_adopted_jobs import _journal
from tests.support.erasures import backend_of
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores

__all__ = ["journal"]
GONE = "qz7-gone"
WRITTEN = "INSERT INTO hr.depts_journal (deptno, version_number, department_name) VALUES {}"


@pytest.fixture
def classic(cluster: Cluster, database: str, admin: Any) -> Iterator[psycopg.Connection[Any]]:
    """A classic tool, which may write to the journal and knows nothing of ours."""
    admin.execute("CREATE ROLE classic LOGIN") if not admin.execute(
        "SELECT 1 FROM pg_roles WHERE rolname = 'classic'"
    ).fetchall() else None
    conninfo = cluster.conninfo(database).replace("tester@", "classic@")
    with psycopg.connect(conninfo, autocommit=True) as found:
        yield found


@pytest.fixture
def depts(con: Connection, admin: Any, journal: str) -> Connection:
    """An adopted journal whose names identify, to which a classic tool writes too."""
    admin.execute("GRANT USAGE ON SCHEMA hr TO PUBLIC")
    admin.execute("GRANT SELECT, INSERT, UPDATE ON hr.depts_journal TO PUBLIC")
    adopt(con.session, "hr.depts", (), CLASSIC, run=True)
    con.execute("ALTER TABLE hr.depts SET TBLPROPERTIES ('erasure' = 'department_name AS n LOWER')")
    con.execute(f"INSERT INTO hr.depts VALUES (4, 'New'), (5, '{GONE}')")
    return con


def _version(journal: str, day: int) -> str:
    return str(day) if journal == "bigint" else f"'2020-01-{day:02}'"


def _accept(con: Connection) -> ErasureRequest:
    return acceptance.accept(backend_of(con), ErasureSpec({"n": [GONE]}), "tester")


def _refused(classic: Any, sql: str) -> None:
    with pytest.raises(psycopg.errors.RestrictViolation, match="was erased"):
        classic.execute(sql)


def test_a_classic_tool_cannot_write_them_again(
    depts: Connection, classic: Any, admin: Any, journal: str
) -> None:
    request = _accept(depts)
    by_key = WRITTEN.format(f"(8, {_version(journal, 3)}, 'x'), (5, {_version(journal, 3)}, 'y')")
    by_name = WRITTEN.format(f"(6, {_version(journal, 3)}, ' {GONE.upper()} ')")
    changed = f"UPDATE hr.depts_journal SET department_name = '{GONE}' WHERE deptno = 4"
    for sql in (by_key, by_name, changed):
        _refused(classic, sql)
    done = purging.purge(backend_of(depts), "tester")
    assert [r.state for r in done.requests] == [State.COMPLETED]
    for sql in (by_key, by_name, changed):
        _refused(classic, sql)
    with pytest.raises(gateway.Error) as raised:
        depts.execute("INSERT INTO hr.depts VALUES (5, 'back')")
    assert raised.value.code == "PAL-306"
    classic.execute(WRITTEN.format(f"(9, {_version(journal, 3)}, 'fine')"))
    depts.execute("INSERT INTO hr.depts VALUES (10, 'fine')")
    depts.execute("OPTIMIZE hr.depts")
    for sql in (by_key, by_name, changed):
        _refused(classic, sql)
    assert depts.session.executor.upkeep.verify().is_clean
    readmit_request(_journal(depts), request, "tester")
    classic.execute(by_key)
    classic.execute(by_name)
    found = admin.execute(
        "SELECT count(*) FROM pg_trigger WHERE tgname ~ 'palimpsest_fence'"
    ).fetchone()
    assert found == (0,)


def test_the_fence_follows_the_columns_and_leaves_with_the_gateway(
    depts: Connection, classic: Any, admin: Any, journal: str
) -> None:
    _accept(depts)
    purging.purge(backend_of(depts), "tester")
    depts.execute("ALTER TABLE hr.depts ADD COLUMN other VARCHAR")
    depts.execute(
        "ALTER TABLE hr.depts SET TBLPROPERTIES"
        " ('erasure' = 'department_name AS n LOWER, other AS n')"
    )
    columns = "(deptno, version_number, department_name, other)"
    _refused(
        classic,
        f"INSERT INTO hr.depts_journal {columns} VALUES (7, {_version(journal, 3)}, 'x', '{GONE}')",
    )
    eject(depts.session, "hr.depts", run=True)
    left = admin.execute(
        "SELECT (SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal),"
        " (SELECT count(*) FROM pg_proc WHERE proname ~ '^fence_')"
    ).fetchone()
    assert left == (0, 0)


def test_what_a_classic_tool_was_writing_is_erased_with_the_rest(
    depts: Connection, classic: Any, journal: str, connect: Callable[..., Connection]
) -> None:
    """Its versions may be older than what the gateway has seen."""
    classic.execute("BEGIN")
    classic.execute(WRITTEN.format(f"(6, {_version(journal, 3)}, '{GONE}')"))
    requests: list[ErasureRequest] = []
    worker = threading.Thread(target=lambda: requests.append(_accept(depts)))
    worker.start()
    worker.join(1)
    assert requests == []
    classic.execute("COMMIT")
    worker.join(30)
    assert requests[0].targets[0].keys == 2
    assert purging.purge(backend_of(depts), "tester").failures == {}
    other = connect()
    assert other.execute("SELECT deptno FROM hr.depts ORDER BY 1").fetchall() == [(1,), (2,), (4,)]


def test_verification_finds_what_came_back_all_the_same(
    depts: Connection, admin: Any, journal: str
) -> None:
    _accept(depts)
    purging.purge(backend_of(depts), "tester")
    admin.execute("ALTER TABLE hr.depts_journal DISABLE TRIGGER ALL")
    admin.execute(WRITTEN.format(f"(6, {_version(journal, 3)}, '{GONE}')"))
    with pytest.raises(gateway.Error, match="was erased") as raised:
        depts.execute("CALL system.verify('hr.depts')")
    assert raised.value.code == "PAL-702"
    assert [p.kind for p in depts.session.executor.upkeep.verify().problems] == ["erased"]
    request = _accept(depts)
    assert request.targets[0].keys == 1
    purging.purge(backend_of(depts), "tester")
    assert depts.session.executor.upkeep.verify().is_clean
