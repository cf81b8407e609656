"""``inline_commits`` where a store has no use for it, and where it says nothing."""

from __future__ import annotations

import pytest

import gateway
from gateway.opening.hive_servers import open_hive
from journal.model.errors import PalimpsestError

TABLE = "CREATE TABLE t (k INTEGER PRIMARY KEY) WITH (inline_commits = '{}')"


def test_a_store_that_appends_fast_has_no_use_for_it() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        with pytest.raises(gateway.NotSupportedError, match="it is for Spark and Hive"):
            con.execute(TABLE.format("on"))
        with pytest.raises(gateway.Error, match="inline_commits cannot be 'now'"):
            con.execute(TABLE.format("now"))
        con.execute(TABLE.format("off"))
        with pytest.raises(gateway.NotSupportedError):
            con.execute("ALTER TABLE t SET (inline_commits = 'true')")
        assert con.execute("SELECT lag_ms FROM system.journals").fetchall() == [(None,)]


def test_the_url_says_on_or_off() -> None:
    with pytest.raises(PalimpsestError, match="inline_commits is on or off"):
        open_hive("palimpsest+hive://localhost:1/default?inline_commits=maybe")
