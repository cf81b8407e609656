"""COMMIT AND CHAIN, ROLLBACK AND CHAIN: the next transaction begins at once, like the last."""

from __future__ import annotations

import pytest

import gateway


def test_chains_of_transactions() -> None:
    with gateway.connect("palimpsest://", autocommit=True, dialect="postgres") as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        con.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE, NOT DEFERRABLE")
        con.execute("INSERT INTO t VALUES (1)")
        con.execute("COMMIT WORK AND CHAIN")
        con.execute("INSERT INTO t VALUES (2)")
        con.execute("ROLLBACK AND CHAIN")
        con.execute("INSERT INTO t VALUES (3)")
        con.execute("COMMIT AND NO CHAIN")
        with pytest.raises(gateway.Error) as caught:
            con.execute("ROLLBACK AND CHAIN")
        assert caught.value.sqlstate == "25P01"
        assert con.execute("SELECT a FROM t ORDER BY a").fetchall() == [(1,), (3,)]


def test_a_chain_stays_read_only() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        con.execute("BEGIN READ ONLY")
        con.execute("COMMIT AND CHAIN")
        with pytest.raises(gateway.Error) as caught:
            con.execute("INSERT INTO t VALUES (1)")
        assert caught.value.sqlstate == "25006"
        con.execute("ROLLBACK AND NO CHAIN")
        con.execute("INSERT INTO t VALUES (1)")
