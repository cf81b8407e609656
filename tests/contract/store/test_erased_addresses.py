"""Erasures find columns of addresses by conditions, or by a text of them that identifies."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec
from tests.support.stores.store import Capability, Store
from tests.support.under_hold import purge

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.needs(Capability.ERASURE),
    pytest.mark.drifts(toy="it has no types of addresses"),
]
_ROWS = (
    "(1, '10.0.0.1', 'a'), (2, '2001:DB8:0::1', 'b'), (3, '2001:db8::1/128', 'c'), (4, NULL, 'd')"
)


def _ids(con: Connection) -> list[int]:
    return [row[0] for row in con.execute("SELECT id FROM t ORDER BY id").fetchall()]


def _refused(con: Connection, statement: str, state: str) -> None:
    with pytest.raises(gateway.Error) as raised:
        con.execute(statement)
    assert raised.value.sqlstate == state, statement


@pytest.mark.also_on("hive")
def test_no_descriptor_names_a_column_of_addresses(store: Store) -> None:
    con = store.connect(dialect="postgres")
    created = "CREATE TABLE {} (id INTEGER PRIMARY KEY, ip {}) WITH (erasure = 'ip AS address')"
    for kind in ("inet", "cidr", "inet[]"):
        with pytest.raises(gateway.Error, match="identifiers are text or whole numbers"):
            con.execute(created.format("t", kind))
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, ip inet)")
    with pytest.raises(gateway.Error, match="identifiers are text or whole numbers"):
        con.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'ip AS address')")
    con.execute(created.format("u", "text"))
    with pytest.raises(gateway.Error, match="PAL-211"):
        con.execute("ALTER TABLE u ALTER COLUMN ip TYPE inet USING ip::inet")


def test_a_condition_on_an_address_erases_every_spelling(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, ip inet, v text)")
    con.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'v AS visit')")
    con.execute(f"INSERT INTO t VALUES {_ROWS}")
    con.execute("ERASE FROM t WHERE ip = '2001:DB8::1'")
    assert _ids(con) == [1, 4]
    purge(con)
    assert _ids(con) == [1, 4]
    # A condition that names no identifier fences the keys of its rows.
    _refused(con, "INSERT INTO t VALUES (2, '2001:db8::1', 'x')", "23001")


def test_a_text_of_an_address_identifies(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, ip inet, v text,"
        " shown text GENERATED ALWAYS AS (ip::text) STORED) WITH (erasure = 'shown AS address')"
    )
    con.execute(f"INSERT INTO t (id, ip, v) VALUES {_ROWS}")
    erasure_of(con.session).accept(ErasureSpec({"address": ["2001:db8::1/128"]}), "tester")
    assert _ids(con) == [1, 4]
    purge(con)
    assert _ids(con) == [1, 4]
    for text in ("2001:db8::1", "2001:DB8:0:0::0001"):
        _refused(con, f"INSERT INTO t (id, ip) VALUES (9, '{text}')", "23001")
    con.execute("INSERT INTO t (id, ip) VALUES (9, '2001:db8::2')")
