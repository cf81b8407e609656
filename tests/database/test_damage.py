"""A full disk, and others who change journals behind our back: a code, a word, and nothing lost."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores


@pytest.fixture
def small_disk(
    cluster: Cluster, database: str, admin: psycopg.Connection[Any]
) -> Iterator[Callable[[str], None]]:
    """Where the database's new tables go: a disk of a few megabytes, which can be made larger."""
    cluster.require_ownership()
    place = cluster.folder / f"disk_{database}"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can only be mounted by root")
    try:
        if cluster.account is not None:
            shutil.chown(place, cluster.account)
        admin.execute(f"CREATE TABLESPACE small_{database} LOCATION '{place}'")
        admin.execute(f"ALTER DATABASE {database} SET default_tablespace = small_{database}")

        def enlarge(size: str) -> None:
            subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)

        yield enlarge
        admin.execute("DROP SCHEMA IF EXISTS _palimpsest CASCADE")
        admin.execute(f"DROP TABLESPACE small_{database}")
    finally:
        subprocess.run(["umount", str(place)], check=False)


def _code(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    return str(raised.value.code)


def test_a_full_disk_loses_nothing(
    small_disk: Callable[[str], None], url: str, cluster: Cluster
) -> None:
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        con.execute("INSERT INTO t SELECT i, repeat('x', 100) FROM range(2000) r(i)")
        many = "INSERT INTO t SELECT i, repeat('y', 200) FROM range(2000, 30000) r(i)"
        assert _code(con, many) == "PAL-504"
        assert con.execute("SELECT count(*), max(a) FROM t").fetchall() == [(2000, 1999)]
        small_disk("64M")
        con.execute(many)
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(30000,)]
        assert con.session.executor.upkeep.verify().is_clean


def test_jobs_that_find_no_room_on_this_machine(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a job writes here, on its way elsewhere or for good, has the codes of a warehouse."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can only be mounted by root")
    try:
        with gateway.connect(url, autocommit=True) as con:
            con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
            con.execute("INSERT INTO t SELECT i, md5(i::VARCHAR) FROM range(20000) r(i)")
            backup = f"CALL system.backup('t', name => 'one', to => '{place}/copies')"
            assert _code(con, backup) == "PAL-504"
            monkeypatch.setattr(tempfile, "tempdir", str(place))
            elsewhere = f"CALL system.backup('t', name => 'one', to => '{tmp_path}/copies')"
            assert _code(con, elsewhere) == "PAL-504"
            subprocess.run(["mount", "-o", "remount,size=16m", str(place)], check=True)
            con.execute(elsewhere)
            con.execute(backup.replace("one", "two"))
            found = [p for folder in (place, tmp_path) for p in (folder / "copies").rglob("*")]
            assert {p.stat().st_mode & 0o777 for p in found} == {0o700, 0o600}
            assert con.execute("SELECT count(*) FROM t").fetchall() == [(20000,)]
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_too_much_spilled_to_disk_is_an_error_of_the_statement(
    url: str, admin: psycopg.Connection[Any], database: str
) -> None:
    admin.execute(f"ALTER DATABASE {database} SET temp_file_limit = '1MB'")
    admin.execute(f"ALTER DATABASE {database} SET work_mem = '64kB'")
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1)")
        sorted_ = "SELECT * FROM range(1000000) r(i) ORDER BY i DESC, i + 1"
        assert _code(con, sorted_).startswith("PAL-5")
        assert con.execute("SELECT * FROM t").fetchall() == [(1,)]


def test_a_journal_that_lost_a_column_is_named(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    admin.execute(
        "CREATE TABLE d_journal (k INTEGER, name TEXT, version_number BIGINT,"
        " subsequent_version_number BIGINT)"
    )
    adopt(con.session, "d", ("k",), ("_journal", "version_number", "subsequent_version_number"),
          run=True)  # fmt: skip
    con.execute("INSERT INTO d VALUES (1, 'one')")
    admin.execute("ALTER TABLE d_journal DROP COLUMN name CASCADE")
    assert _code(con, "SELECT * FROM d") == "PAL-503"
    assert _code(con, "INSERT INTO d VALUES (2, 'two')") == "PAL-503"
    con.execute("CREATE TABLE other (a INTEGER)")
    assert con.execute("SELECT * FROM other").fetchall() == []


def test_rows_that_others_took_away_are_found(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t SELECT * FROM range(10) r(i)")
    admin.execute("SET session_replication_role = replica")
    admin.execute("DELETE FROM _palimpsest.t1_head_1 WHERE a < 3")
    assert _code(con, "CALL system.verify('t')") == "PAL-702"
    assert _code(con, "OPTIMIZE t") == "PAL-527"
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(7,)]


def test_a_head_that_others_dropped_is_named(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    admin.execute("DROP TABLE _palimpsest.t1_head_1 CASCADE")
    assert _code(con, "SELECT * FROM t") == "PAL-503"
    assert _code(con, "INSERT INTO t VALUES (2)") == "PAL-503"


@pytest.mark.parametrize(
    "damage",
    [
        "TRUNCATE _palimpsest.journals",
        "UPDATE _palimpsest.journals SET manifest = '{'",
        "TRUNCATE _palimpsest.catalog_log",
        "DELETE FROM _palimpsest.catalog_log WHERE change LIKE '%\"u\"%'",
        "UPDATE _palimpsest.catalog_log SET change = '{}'",
        "UPDATE _palimpsest.state SET version = 0",
        "DELETE FROM _palimpsest.state",
        "DELETE FROM _palimpsest.meta",
    ],
)
def test_a_catalog_that_others_changed_is_not_opened(
    url: str, admin: psycopg.Connection[Any], damage: str
) -> None:
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1)")
        con.execute("CREATE TABLE u (a INTEGER)")
    admin.execute(damage)
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(url)
    assert raised.value.code == "PAL-502"


def test_a_head_that_lost_a_column_is_named(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO t VALUES (1, 'one')")
    admin.execute("ALTER TABLE _palimpsest.t1_head_1 DROP COLUMN b CASCADE")
    assert _code(con, "SELECT * FROM t") == "PAL-503"
    assert _code(con, "INSERT INTO t VALUES (2, 'two')") == "PAL-503"
    assert not con.session.executor.upkeep.verify().is_clean
    con.execute("CREATE TABLE u (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO u VALUES (1, 'one')")
    admin.execute("ALTER TABLE _palimpsest.t2_head_1 RENAME COLUMN b TO c")
    assert _code(con, "OPTIMIZE u") == "PAL-503"
    admin.execute("ALTER TABLE _palimpsest.t2_head_1 RENAME COLUMN c TO b")
    con.execute("OPTIMIZE u")
    assert con.execute("SELECT * FROM u").fetchall() == [(1, "one")]
