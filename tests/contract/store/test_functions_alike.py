"""Functions and operators give on each store what DuckDB gives, or are refused."""

from __future__ import annotations

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
