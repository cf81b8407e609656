"""Foreign keys between gateways of one database: of two that break one together, one commits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from tests.support.postgres import Cluster
from tests.support.references import Run, check_references_at_random
from tests.support.tiers import in_tiers

PARENT_GOES = "DELETE FROM p WHERE a = 2"
CHILD_COMES = "INSERT INTO c VALUES (1, 2)"
MANY_COME = "INSERT INTO c SELECT i, 2 FROM range(50) r(i)"


@pytest.fixture
def family(connect: Callable[..., Connection]) -> Connection:
    """A connection to a database with parents and no children."""
    con = connect()
    con.execute("CREATE TABLE p (a INTEGER PRIMARY KEY)")
    con.execute("CREATE TABLE c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES p)")
    con.execute("INSERT INTO p VALUES (1), (2)")
    return con


def _state(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    return str(raised.value.sqlstate)


@pytest.mark.parametrize("compacted", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (PARENT_GOES, CHILD_COMES),
        (PARENT_GOES, MANY_COME),
        (CHILD_COMES, PARENT_GOES),
        (MANY_COME, PARENT_GOES),
        ("UPDATE p SET a = 3 WHERE a = 2", CHILD_COMES),
    ],
)
def test_who_comes_second_begins_again(
    family: Connection,
    connect: Callable[..., Connection],
    mine: str,
    theirs: str,
    compacted: bool,
) -> None:
    other = connect()
    family.execute("BEGIN")
    family.execute(mine)
    other.execute(theirs)
    if compacted:
        other.execute("OPTIMIZE p")
        other.execute("OPTIMIZE c")
    assert _state(family, "COMMIT") == "40001"
    assert _state(family, mine) == "23503"
    assert other.execute("SELECT * FROM c WHERE x NOT IN (SELECT a FROM p)").fetchall() == []


def test_a_reference_holds_and_keeps_its_table(family: Connection) -> None:
    assert _state(family, "DROP TABLE p") == "2BP01"
    assert _state(family, "INSERT INTO c VALUES (1, 9)") == "23503"
    assert _state(family, "INSERT INTO c VALUES (1, 1), (2, 9)") == "23503"
    family.execute("INSERT INTO c VALUES (1, 1), (2, NULL)")
    family.execute("ALTER TABLE p RENAME TO parents")
    assert _state(family, "DELETE FROM parents WHERE a = 1") == "23503"
    family.execute("DELETE FROM c")
    family.execute("DELETE FROM parents WHERE a = 1")


@pytest.mark.long
@pytest.mark.parametrize("seed", in_tiers(range(2), {0}))
@pytest.mark.timeout(300)
def test_every_reference_holds(connect: Callable[..., Connection], seed: int) -> None:
    def runner() -> Run:
        con = connect()

        def run(sql: str) -> Any:
            cursor = con.execute(sql)
            return cursor.fetchall() if cursor.description else cursor.rowcount

        return run

    ends = check_references_at_random(runner, seed, "public")
    assert ends.get("40001", 0) + ends.get("23503", 0) > 0


@pytest.mark.parametrize("journal", ["flat", "taken over"])
def test_adopted_tables_have_them_too(
    con: Connection, cluster: Cluster, database: str, journal: str
) -> None:
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        if journal == "flat":
            admin.execute(
                "CREATE TABLE p_journal (a INTEGER, version_number BIGINT,"
                " subsequent_version_number BIGINT)"
            )
        else:
            admin.execute("CREATE TABLE p (a INTEGER PRIMARY KEY)")
    names = ("_journal", "version_number", "subsequent_version_number")
    adopt(con.session, "p", ("a",) if journal == "flat" else (), names, run=True)
    con.execute("CREATE TABLE c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES p)")
    con.execute("INSERT INTO p VALUES (1), (2)")
    con.execute("INSERT INTO c VALUES (1, 1)")
    assert _state(con, "INSERT INTO c VALUES (2, 9)") == "23503"
    assert _state(con, "DELETE FROM p WHERE a = 1") == "23503"
    con.execute("DELETE FROM p WHERE a = 2")
    con.execute("ALTER TABLE p ADD COLUMN up INTEGER")
    con.execute("ALTER TABLE p ADD FOREIGN KEY (up) REFERENCES p")
    assert _state(con, "UPDATE p SET up = 9") == "23503"


def test_erasures_count_or_refuse_what_would_be_left(family: Connection) -> None:
    family.execute("INSERT INTO c VALUES (1, 2), (2, 2)")
    assert _state(family, "ERASE FROM p WHERE a = 2 ON DEPENDENTS REFUSE") == "23503"
    assert family.execute("SELECT count(*) FROM p").fetchall() == [(2,)]
    ((*_, why),) = family.execute("ERASE FROM p WHERE a = 2").fetchall()
    assert why.endswith("; rows that refer to what goes: 2 of public.c (c_x_fkey)")
    assert family.execute("ERASE FROM p WHERE a = 1 ON DEPENDENTS REFUSE").fetchall()
    assert family.execute("SELECT count(*) FROM p").fetchall() == [(0,)]
    ((*_, report),) = family.execute("CALL system.verify('c')").fetchall()
    assert json.loads(report)["details"]["dangling"] == {"public.c (c_x_fkey)": 2}
