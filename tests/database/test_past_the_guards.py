"""Who writes to the tables behind a journal is refused; who switches that off is found out."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject
from tests.support.greenplum import Given
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores

_HEAD = "_palimpsest.t1_head_1"
_WRITES = (
    "INSERT INTO {0} SELECT * FROM {0}",
    "UPDATE {0} SET b = 'x'",
    "DELETE FROM {0}",
    "TRUNCATE {0}",
)


@pytest.fixture
def behind(admin: psycopg.Connection[Any], cluster: Cluster) -> psycopg.Connection[Any]:
    """The same, for whom no trigger is fired."""
    admin.execute("SET session_replication_role = replica")
    return admin


@pytest.fixture
def guards(cluster: Cluster) -> None:
    """Skips where there are none."""
    if isinstance(cluster, Given):
        pytest.skip("Greenplum has neither these triggers nor this index: counts alone tell")


@pytest.fixture
def filled(con: Connection) -> Connection:
    """A connection to a database with a table that has rows of every kind in its head."""
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    con.execute("UPDATE t SET b = 'zwei' WHERE a = 2")
    con.execute("DELETE FROM t WHERE a = 3")
    return con


def _code(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    return str(raised.value.code)


def _pieces(admin: psycopg.Connection[Any]) -> list[str]:
    """The tables behind all journals, partitions as well."""
    found = admin.execute(
        "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p')"
        " AND relnamespace = '_palimpsest'::regnamespace AND relname ~ '^t[0-9]+_' ORDER BY 1"
    )
    return [name for (name,) in found.fetchall()]


def _refused_everywhere(admin: psycopg.Connection[Any]) -> list[str]:
    places = _pieces(admin)
    for place in places:
        for sql in _WRITES:
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="only add rows") as told:
                admin.execute(sql.format(place))
            assert "through the gateway" in (told.value.diag.message_hint or "")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            with admin.cursor().copy(f"COPY {place} FROM STDIN"):
                pass
    return places


@pytest.mark.usefixtures("guards")
@pytest.mark.parametrize("partitions", ["", " WITH (partitions = 'HASH (a) INTO 2')"])
def test_tables_behind_a_journal_are_guarded(
    con: Connection, admin: psycopg.Connection[Any], partitions: str
) -> None:
    con.execute(f"CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT){partitions}")
    con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    con.execute("UPDATE t SET b = 'zwei' WHERE a = 2")
    assert _refused_everywhere(admin) == [_HEAD]
    con.execute("OPTIMIZE t")
    con.execute("INSERT INTO t VALUES (3, 'three')")
    con.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'a')")
    con.execute("ERASE FROM t WHERE a = 1")
    assert len(_refused_everywhere(admin)) == (8 if partitions else 4)
    con.execute("OPTIMIZE t")
    con.execute("UPDATE t SET b = upper(b)")
    assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == [(2, "ZWEI"), (3, "THREE")]
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.usefixtures("guards")
@pytest.mark.parametrize(
    "which",
    [
        "subsequent_version_number IS NULL",
        "subsequent_version_number = version_number",
        "subsequent_version_number > version_number",
        "true",
    ],
)
def test_a_head_takes_no_row_twice(
    filled: Connection, behind: psycopg.Connection[Any], which: str
) -> None:
    rows = filled.execute("SELECT * FROM t ORDER BY a").fetchall()
    with pytest.raises(psycopg.errors.UniqueViolation):
        behind.execute(f"INSERT INTO {_HEAD} SELECT * FROM {_HEAD} WHERE {which}")
    assert filled.execute("SELECT * FROM t ORDER BY a").fetchall() == rows
    assert filled.session.executor.upkeep.verify().is_clean


@pytest.mark.usefixtures("guards")
def test_a_row_version_is_ended_once(filled: Connection, behind: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        behind.execute(
            f"INSERT INTO {_HEAD} (a, b, version_number, subsequent_version_number)"
            " SELECT a, b, version_number,"
            f" subsequent_version_number + INTERVAL '1 s' FROM {_HEAD}"
            " WHERE subsequent_version_number > version_number"
        )


def test_what_moves_and_comes_back_is_no_row_twice(con: Connection) -> None:
    """Rows that the index must tell apart: a key left and taken by one statement, and again."""
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    for sql in (
        "UPDATE t SET a = 3 - a WHERE a < 3",
        "UPDATE t SET a = a % 3 + 1",
        "UPDATE t SET a = 3 - a WHERE a < 3",
        "DELETE FROM t WHERE a = 1",
        "INSERT INTO t VALUES (1, 'new') ON CONFLICT (a) DO UPDATE SET b = excluded.b",
        "INSERT INTO t VALUES (1, 'newer') ON CONFLICT (a) DO UPDATE SET b = excluded.b",
        (
            "MERGE INTO t USING (VALUES (1, 'm'), (4, 'n')) s (a, b) ON t.a = s.a"
            " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.a, s.b)"
        ),
    ):
        con.execute(sql)
    con.execute("BEGIN")
    for sql in (
        "INSERT INTO t VALUES (1, 'a')",
        "DELETE FROM t WHERE a = 1",
        "INSERT INTO t VALUES (1, 'b')",
        "UPDATE t SET a = 5 WHERE a = 1",
        "UPDATE t SET a = 1 WHERE a = 5",
    ):
        con.execute(sql)
    con.execute("COMMIT")
    shown = con.execute("SELECT a FROM t ORDER BY a").fetchall()
    assert shown == [(1,), (2,), (3,), (4,)]
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.usefixtures("guards")
def test_a_second_current_row_is_told_when_it_is_changed(
    filled: Connection, behind: psycopg.Connection[Any]
) -> None:
    behind.execute(
        f"INSERT INTO {_HEAD} (a, b, version_number)"
        " SELECT a, 'theirs', version_number + INTERVAL '1 us'"
        f" FROM {_HEAD} WHERE a = 1"
    )
    for sql, code in (
        ("UPDATE t SET b = b || 'x'", "PAL-527"),
        ("INSERT INTO t VALUES (1, 'x')", "PAL-301"),
        ("CALL system.verify('t')", "PAL-702"),
        ("OPTIMIZE t", "PAL-527"),
    ):
        assert _code(filled, sql) == code, sql
    assert filled.execute("SELECT b FROM t WHERE a = 2").fetchall() == [("zwei",)]


_DAMAGE = {
    "INSERT": "INSERT INTO {0} (a, b, version_number)"
    " SELECT 77, 'theirs', version_number FROM {0} LIMIT 1",
    "DELETE": "DELETE FROM {0} WHERE a = 2",
    "TRUNCATE": "TRUNCATE {0}",
    "UPDATE": "UPDATE {0} SET b = 'theirs' WHERE a = 2",
}
_JOBS = (
    "OPTIMIZE t",
    "CALL system.backup('t', name => 'theirs')",
    "CALL system.retain('t')",
    "ERASE FROM t WHERE a = 2",
)


@pytest.mark.parametrize(
    ("tier", "damage"),
    [(t, d) for t in ("head", "base", "history") for d in _DAMAGE if (t, d) != ("head", "UPDATE")],
)
def test_no_job_takes_for_committed_what_others_wrote(
    con: Connection, behind: psycopg.Connection[Any], tier: str, damage: str
) -> None:
    """A job changes nothing, or what it leaves is still told to be wrong."""
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO t SELECT i, 'text ' || i FROM range(5) r(i)")
    con.execute("UPDATE t SET b = upper(b)")
    con.execute("OPTIMIZE t")
    con.execute("UPDATE t SET b = lower(b) WHERE a < 3")
    con.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'a')")
    con.execute("ALTER TABLE t SET POLICY (VERSIONS = 1)")
    places = {"head": "t1_head_2"}
    for segment in con.session.journal.state.tables[1].manifest.segments:
        places[segment.tier.value] = segment.id
    behind.execute(_DAMAGE[damage].format(f"_palimpsest.{places[tier]}"))
    told = {}
    for job in _JOBS:
        try:
            told[job] = con.execute(job).fetchall()
        except gateway.Error as error:
            told[job] = error.code
        found = {p.kind for p in con.session.executor.upkeep.verify().problems}
        assert found & {"count", "altered"}, (job, found)
    assert told["OPTIMIZE t"] == "PAL-527" or tier == "history", told
    # An erasure writes only those tables anew that still hold one of its rows.
    assert told["ERASE FROM t WHERE a = 2"] == "PAL-527" or damage in {"DELETE", "TRUNCATE"}, told


def test_what_others_wrote_can_be_taken_as_it_is(
    filled: Connection, behind: psycopg.Connection[Any]
) -> None:
    behind.execute(
        f"INSERT INTO {_HEAD} (a, b, version_number)"
        f" SELECT 9, 'theirs', version_number FROM {_HEAD} LIMIT 1"
    )
    assert _code(filled, "OPTIMIZE t") == "PAL-527"
    told = "\n".join(eject(filled.session, "t", run=True))
    assert "what it holds of others goes with it" in told
    adopt(filled.session, "t", (), ("_journal", "version_number", "subsequent_version_number"),
          run=True)  # fmt: skip
    filled.execute("OPTIMIZE t")
    rows = filled.execute("SELECT * FROM t ORDER BY a").fetchall()
    assert rows == [(1, "one"), (2, "zwei"), (9, "theirs")]
    filled.execute("CALL system.verify('t')")


def test_an_adopted_journal_is_others_too_but_not_what_was_moved_out_of_it(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    admin.execute(
        "CREATE TABLE d_journal (a integer, b text, version_number bigint,"
        " subsequent_version_number bigint)"
    )
    admin.execute("INSERT INTO d_journal VALUES (1, 'one', 1, NULL), (1, 'uno', 2, NULL)")
    adopt(con.session, "d", ("a",), ("_journal", "version_number", "subsequent_version_number"),
          run=True)  # fmt: skip
    con.execute("OPTIMIZE d")
    admin.execute("INSERT INTO d_journal VALUES (1, 'eins', 3, NULL)")
    assert con.execute("SELECT b FROM d").fetchall() == [("eins",)]
    (moved,) = (place for place in _pieces(admin) if "_s" in place and _rows(admin, place) == 1)
    admin.execute("SET session_replication_role = replica")
    admin.execute(f"UPDATE {moved} SET b = 'x'")
    with pytest.raises(gateway.Error, match="other values than were written") as told:
        con.execute("CALL system.verify('d')")
    assert told.value.code == "PAL-702"


def _rows(admin: psycopg.Connection[Any], place: str) -> int:
    ((found,),) = admin.execute(f"SELECT count(*) FROM {place}").fetchall()
    return int(found)


def test_checksums_are_the_same_in_every_time_zone(
    url: str, admin: psycopg.Connection[Any], database: str
) -> None:
    admin.execute(f"ALTER DATABASE {database} SET timezone = 'Asia/Tokyo'")
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TIMESTAMP WITH TIME ZONE)")
        con.execute("INSERT INTO t SELECT i, now() FROM range(9) r(i)")
        con.execute("UPDATE t SET b = now() WHERE a < 5")
        con.execute("OPTIMIZE t")
    admin.execute(f"ALTER DATABASE {database} SET timezone = 'America/New_York'")
    with gateway.connect(url, autocommit=True) as con:
        assert con.session.executor.upkeep.verify().is_clean
        con.execute("UPDATE t SET b = now() WHERE a > 5")
        con.execute("OPTIMIZE t")
        assert con.session.executor.upkeep.verify().is_clean
