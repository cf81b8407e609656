"""Catalogs of earlier and of later formats: brought to this one in one go, or refused clearly."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

import gateway
from journal.records.schema import FORMAT
from tests.support import formats
from tests.support.greenplum import Given
from tests.support.postgres import Cluster

_AS_IT_WAS = (
    "ALTER TABLE _palimpsest.state DROP COLUMN fence",
    "DROP TABLE _palimpsest.suppressions, _palimpsest.audit, _palimpsest.erasures",
    "DROP FUNCTION _palimpsest.json_text_at, _palimpsest.json_at",
    "DROP FUNCTION _palimpsest.avg(numeric), _palimpsest.avg(interval)",
    "DROP FUNCTION _palimpsest.length(anyarray), _palimpsest.date_trunc(text, date)",
    "DELETE FROM _palimpsest.meta WHERE key = 'secret'",
    "DROP FUNCTION _palimpsest.read_only CASCADE",
    "DROP FUNCTION _palimpsest.keep_out CASCADE",
    "DROP FUNCTION _palimpsest.guard",
    "UPDATE _palimpsest.meta SET value = '2' WHERE key = 'format'",
)
"""What makes a present catalog one of format 2."""
_BEFORE_JOBS = (
    "DROP TABLE _palimpsest.retired, _palimpsest.epochs",
    "DROP FUNCTION _palimpsest.replaced",
)


def _made(url: str) -> list[tuple[Any, ...]]:
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
        con.execute("UPDATE t SET b = 'zwei' WHERE a = 2")
        return list(con.execute("SELECT * FROM t ORDER BY a").fetchall())


def _format(admin: psycopg.Connection[Any]) -> Any:
    return admin.execute("SELECT value FROM _palimpsest.meta WHERE key = 'format'").fetchall()


def _put_format(admin: psycopg.Connection[Any], number: str) -> None:
    admin.execute("UPDATE _palimpsest.meta SET value = %s WHERE key = 'format'", [number])


@pytest.mark.parametrize("older", [_AS_IT_WAS, (*_AS_IT_WAS, *_BEFORE_JOBS)])
def test_an_older_catalog_is_brought_to_this_format(
    url: str, admin: psycopg.Connection[Any], older: tuple[str, ...]
) -> None:
    rows = _made(url)
    for statement in older:
        admin.execute(statement)
    with gateway.connect(url, autocommit=True) as con:
        assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == rows
        con.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'b')")
        assert con.execute("SELECT round(avg(a), 1) FROM t").fetchall() == [(2.0,)]
        assert con.execute("SELECT len([a]) FROM t WHERE a = 1").fetchall() == [(1,)]
        con.execute("OPTIMIZE t")
        (erased,) = con.execute("ERASE FROM t WHERE b = 'three'").fetchall()
        assert erased[1] == "COMPLETED"
        with pytest.raises(gateway.Error):
            con.execute("INSERT INTO t VALUES (3, 'three')")
        con.execute("INSERT INTO t VALUES (4, 'four')")
        assert con.session.executor.upkeep.verify().is_clean
    for view in ("t", "t_journal"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="can only be read"):
            admin.execute(f"DELETE FROM {view}")
    assert _format(admin) == [(str(FORMAT),)]
    with gateway.connect(url, autocommit=True) as con:
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(3,)]


def test_a_database_that_the_version_before_made_is_read(
    url: str, admin: psycopg.Connection[Any], cluster: Cluster
) -> None:
    if isinstance(cluster, Given):
        pytest.skip("PostgreSQL made the dump")
    admin.execute(formats.FOLDER.joinpath("postgres.sql").read_text())
    admin.execute("SELECT set_config('search_path', 'public', false)")
    assert _format(admin) == [("7",)]
    with gateway.connect(url, autocommit=True) as con:
        assert _format(admin) == [(str(FORMAT),)]
        formats.check(con)
        formats.go_on(con)
        retired = admin.execute("SELECT id, generation, replaced_by FROM _palimpsest.retired")
        assert all(isinstance(number, int) for _, _, number in retired)


def test_heads_of_an_older_catalog_are_guarded_as_they_are(
    url: str, admin: psycopg.Connection[Any], cluster: Cluster
) -> None:
    """Rows that stand in them twice already are told by the next job."""
    if isinstance(cluster, Given):
        pytest.skip("Greenplum has neither these triggers nor this index")
    rows = _made(url)
    admin.execute("DROP FUNCTION _palimpsest.keep_out CASCADE")
    admin.execute("DROP INDEX _palimpsest.t1_head_1_once")
    _put_format(admin, "6")
    twice = "INSERT INTO _palimpsest.t1_head_1 SELECT * FROM _palimpsest.t1_head_1"
    with gateway.connect(url, autocommit=True) as con:
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="only add rows"):
            admin.execute(twice)
        assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == rows
        con.execute("OPTIMIZE t")
        con.execute("INSERT INTO t VALUES (4, 'four')")
        assert con.session.executor.upkeep.verify().is_clean
        admin.execute("SET session_replication_role = replica")
        with pytest.raises(psycopg.errors.UniqueViolation):
            admin.execute(twice.replace("head_1", "head_2"))
        admin.execute("DROP INDEX _palimpsest.t1_head_2_once")
        admin.execute(twice.replace("head_1", "head_2"))
        with pytest.raises(gateway.Error, match="should hold") as raised:
            con.execute("OPTIMIZE t")
        assert raised.value.code == "PAL-527"


def test_an_upgrade_that_fails_changes_nothing(url: str, admin: psycopg.Connection[Any]) -> None:
    _made(url)
    for statement in _AS_IT_WAS:
        admin.execute(statement)
    # A view of somebody's stands where a table of the new format belongs.
    admin.execute("CREATE VIEW _palimpsest.suppressions AS SELECT 1 AS x")
    with pytest.raises(gateway.Error):
        gateway.connect(url)
    assert _format(admin) == [("2",)]
    assert admin.execute("SELECT to_regclass('_palimpsest.audit')").fetchall() == [(None,)]
    admin.execute("DROP VIEW _palimpsest.suppressions")
    with gateway.connect(url, autocommit=True) as con:
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(3,)]


def test_a_newer_catalog_is_refused(url: str, admin: psycopg.Connection[Any]) -> None:
    _made(url)
    later = str(FORMAT + 1)
    _put_format(admin, later)
    with pytest.raises(gateway.Error, match=f"format {later}, of a newer version") as raised:
        gateway.connect(url)
    assert raised.value.code == "PAL-502"
    assert _format(admin) == [(later,)]


def test_one_that_called_the_public_schema_by_another_name_is_refused(
    url: str, admin: psycopg.Connection[Any]
) -> None:
    _made(url)
    for statement in _AS_IT_WAS:
        admin.execute(statement)
    admin.execute("""UPDATE _palimpsest.catalog_log
        SET change = replace(change, '"schema": "public"', '"schema": "main"')""")
    with pytest.raises(gateway.Error, match="was called main") as raised:
        gateway.connect(url)
    assert raised.value.code == "PAL-502"


def test_a_gateway_that_still_runs_is_refused_after_an_upgrade(
    url: str, admin: psycopg.Connection[Any]
) -> None:
    _made(url)
    with gateway.connect(url, autocommit=True) as con, gateway.connect(url) as other:
        other.execute("UPDATE t SET b = 'deux' WHERE a = 2")
        con.execute("SELECT * FROM t").fetchall()
        _put_format(admin, str(FORMAT + 1))
        for attempt in (
            other.commit,
            lambda: con.execute("INSERT INTO t VALUES (4, 'vier')"),
            lambda: con.execute("SELECT * FROM t"),
            lambda: con.execute("OPTIMIZE t"),
            lambda: con.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'b')"),
        ):
            with pytest.raises(gateway.Error, match="upgrade palimpsest") as raised:
                attempt()
            assert raised.value.code == "PAL-502"
        _put_format(admin, str(FORMAT))
        assert con.execute("SELECT b FROM t WHERE a = 2").fetchall() == [("zwei",)]
