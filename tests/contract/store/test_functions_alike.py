"""Functions and operators give on each store what DuckDB gives, or are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import gateway
from tests.conftest import ROOT
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

LINES = (ROOT / "tests/fixtures/functions.sql").read_text().splitlines()


@pytest.mark.needs(Capability.ALL_TYPES)
@pytest.mark.also_on("hive", "postgres")
def test_functions_give_what_duckdb_gives(store: Store) -> None:
    with store.connect() as con, gateway.connect("palimpsest://", autocommit=True) as model:
        for sql in LINES:
            if sql.startswith("SELECT"):
                try:
                    found = rows(con, sql)
                except gateway.NotSupportedError:
                    continue
                assert found == rows(model, sql), sql
            elif not sql.startswith("--"):
                con.execute(sql)
                model.execute(sql)


@pytest.mark.needs(Capability.ALL_TYPES)
@pytest.mark.also_on("hive", "postgres")
def test_instants_are_the_same_in_a_session_of_another_zone(store: Store) -> None:
    first, summer = datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 7, 1, 13, 14, 15, 5, UTC)
    with store.connect() as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, z TIMESTAMPTZ, l TIMESTAMPTZ[])")
        con.execute("SET TimeZone = 'Europe/Berlin'")
        con.execute("INSERT INTO t VALUES (?, ?, [?])", [1, first, summer])
        con.execute("INSERT INTO t VALUES (?, ?, [?])", [2, summer, first])
        con.execute("UPDATE t SET z = z + INTERVAL 1 HOUR WHERE k = 1")
        con.execute("CREATE TABLE u AS SELECT k, z FROM t")
        later = first + timedelta(hours=1)
        assert rows(con, "SELECT z, l[1] FROM t ORDER BY k") == [(later, summer), (summer, first)]
        assert rows(con, "SELECT max(z), date_trunc('day', max(z)) FROM t") == [
            (summer, datetime(2020, 6, 30, 22, tzinfo=UTC))
        ]
        con.execute("SET TimeZone = 'UTC'")
        for table in ("t", "u"):
            assert rows(con, f"SELECT z FROM {table} ORDER BY k") == [(later,), (summer,)]
