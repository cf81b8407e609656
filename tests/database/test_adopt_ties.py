"""What hangs on a plain table that is adopted: it holds afterwards, or the adoption is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from journal.model.errors import PalimpsestError
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores

CLASSIC = ("_journal", "version_number", "subsequent_version_number")
TIED = {
    "secret_rows": "CREATE TABLE {} (a int PRIMARY KEY); ALTER TABLE {} ENABLE ROW LEVEL SECURITY",
    "policy": "CREATE TABLE {} (a int PRIMARY KEY); CREATE POLICY of_{} ON {} USING (a > 1)",
    "inherits from it": "CREATE TABLE {} (a int PRIMARY KEY); CREATE TABLE c1 () INHERITS ({})",
    "it inherits": "CREATE TABLE p2 (a int); CREATE TABLE {} (PRIMARY KEY (a)) INHERITS (p2)",
    "a partition of": "CREATE TABLE p3 (a int PRIMARY KEY) PARTITION BY LIST (a);"
    " CREATE TABLE {} PARTITION OF p3 DEFAULT",
    "UNLOGGED": "CREATE UNLOGGED TABLE {} (a int PRIMARY KEY)",
    "generated column b": "CREATE TABLE {} (a int PRIMARY KEY,"
    " b int GENERATED ALWAYS AS (a * 2) STORED)",
    "exclusion constraint": "CREATE TABLE {} (a int PRIMARY KEY, b int, EXCLUDE (b WITH =))",
    "publication": "CREATE TABLE {} (a int PRIMARY KEY); CREATE PUBLICATION of_{} FOR TABLE {}",
    "rule": "CREATE TABLE {} (a int PRIMARY KEY);"
    " CREATE RULE of_{} AS ON INSERT TO {} DO ALSO NOTHING",
    "collation": 'CREATE TABLE {} (a text COLLATE "POSIX" PRIMARY KEY)',
    "materialized view": "CREATE TABLE {} (a int PRIMARY KEY);"
    " CREATE MATERIALIZED VIEW of_{} AS SELECT * FROM {}",
    "function": "CREATE TABLE {} (a int PRIMARY KEY); CREATE FUNCTION of_{}() RETURNS SETOF {}"
    " LANGUAGE sql AS 'SELECT 1'",
    "part of its rows": "CREATE TABLE {} (a int PRIMARY KEY, b int);"
    " CREATE UNIQUE INDEX ON {} (b) WHERE a > 5",
    "of expressions": "CREATE TABLE {} (a int PRIMARY KEY, b text);"
    " CREATE UNIQUE INDEX ON {} (lower(b))",
}


@pytest.fixture
def admin(cluster: Cluster, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of somebody who does not come through the gateway."""
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as found:
        yield found


def _adopt(con: Connection, name: str, *, run: bool = True) -> None:
    adopt(con.session, name, (), CLASSIC, run=run)


def test_what_would_be_lost_is_refused(con: Connection, admin: psycopg.Connection[Any]) -> None:
    for number, (said, made) in enumerate(TIED.items()):
        name = f"tied_{number}"
        admin.execute(made.replace("{}", name))
        for run in (False, True):
            with pytest.raises(PalimpsestError) as raised:
                _adopt(con, name, run=run)
            assert raised.value.code.value.code == "PAL-210", said
            assert said.replace("secret_rows", "row level security") in raised.value.message
        admin.execute(f"SELECT a FROM public.{name}")
    assert con.execute("SHOW TABLES").fetchall() == []


def test_a_secured_journal_is_refused(con: Connection, admin: psycopg.Connection[Any]) -> None:
    admin.execute(
        "CREATE TABLE d_journal (k int, version_number bigint, subsequent_version_number bigint);"
        " ALTER TABLE d_journal ENABLE ROW LEVEL SECURITY"
    )
    with pytest.raises(PalimpsestError, match="row level security"):
        adopt(con.session, "d", ("k",), CLASSIC, run=True)


def test_versions_that_are_cut_off_are_refused(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    admin.execute(
        "CREATE TABLE d_journal (k int, version_number timestamp(3),"
        " subsequent_version_number timestamp)"
    )
    with pytest.raises(PalimpsestError, match="two versions would be one") as raised:
        adopt(con.session, "d", ("k",), CLASSIC, run=True)
    assert raised.value.code.value.code == "PAL-526"


def test_views_of_others_follow_the_table(con: Connection, admin: psycopg.Connection[Any]) -> None:
    admin.execute('CREATE TABLE "Plain" (a int PRIMARY KEY, "B" text)')
    admin.execute("""INSERT INTO "Plain" VALUES (1, 'one')""")
    admin.execute(
        'CREATE VIEW theirs WITH (security_barrier=true) AS SELECT a, "B" FROM "Plain" WHERE a > 0'
    )
    admin.execute('CREATE VIEW above AS SELECT "B" || a AS said FROM theirs')
    _adopt(con, "Plain")
    con.execute("UPDATE plain SET b = 'two'")
    con.execute("OPTIMIZE plain")
    con.execute("INSERT INTO plain VALUES (2, 'zwei')")
    assert admin.execute('SELECT "B" FROM theirs ORDER BY a').fetchall() == [("two",), ("zwei",)]
    assert admin.execute("SELECT said FROM above ORDER BY 1").fetchall() == [("two1",), ("zwei2",)]
    kept = admin.execute("SELECT reloptions FROM pg_class WHERE relname = 'theirs'").fetchall()
    assert kept == [(["security_barrier=true"],)]


def test_a_view_that_cannot_follow_is_named(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    admin.execute("CREATE TABLE plain (a int PRIMARY KEY, b varchar(40))")
    admin.execute("CREATE VIEW theirs AS SELECT a, b FROM plain")
    with pytest.raises(PalimpsestError, match=r"the view public\.theirs cannot follow"):
        _adopt(con, "plain")
    admin.execute("INSERT INTO plain VALUES (1, 'one')")
    assert admin.execute("SELECT * FROM theirs").fetchall() == [(1, "one")]


def test_a_unique_index_holds_like_a_constraint(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    admin.execute("CREATE TABLE plain (a int PRIMARY KEY, b int, c int)")
    admin.execute("CREATE UNIQUE INDEX of_b ON plain (b) INCLUDE (c)")
    admin.execute("INSERT INTO plain VALUES (1, 1, 1)")
    _adopt(con, "plain")
    with pytest.raises(gateway.IntegrityError) as raised:
        con.execute("INSERT INTO plain VALUES (2, 1, 1)")
    assert raised.value.sqlstate == "23505"
    con.execute("UPDATE plain SET c = 2")
    con.execute("OPTIMIZE plain")
    assert con.execute("SELECT * FROM plain").fetchall() == [(1, 1, 2)]


def test_a_constraint_to_which_nulls_are_alike_is_refused(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    if admin.info.server_version < 150000:
        pytest.skip("PostgreSQL has NULLS NOT DISTINCT from version 15 on")
    admin.execute("CREATE TABLE t (a int PRIMARY KEY, b int, UNIQUE NULLS NOT DISTINCT (b))")
    for run in (False, True):
        with pytest.raises(PalimpsestError, match="t_b_key, to which NULLs are alike"):
            _adopt(con, "t", run=run)
