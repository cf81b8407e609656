"""The types inet and cidr on every kind of store; PostgreSQL has them itself, and is the judge."""

from __future__ import annotations

import pytest

import gateway
from tests.support.stores.store import Store

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.drifts(toy="it has no types of addresses"),
]

_ROWS = """
    (1, '10.0.0.1', '10.1'), (2, '9.1/16', '10.1.2/24'), (3, '2001:DB8:0:0::1', '::/0'),
    (4, NULL, NULL), (5, '10.0.0.0/8', '10/8'), (6, '10.0.0.0', '0.0.0.0/0'),
    (7, '::ffff:10.0.0.1', '2001:db8::/32'), (8, '100.64.0.1/10', '192.168.1'),
    (9, '255.255.255.255', '224'), (10, '1:0:0:2:0:0:0:3/64', '::1')
"""


def _table(store: Store) -> gateway.dbapi.connection.Connection:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE h (id INTEGER PRIMARY KEY, ip inet, net cidr)")
    con.execute(f"INSERT INTO h VALUES {_ROWS}")
    return con


def test_addresses_have_one_text(store: Store) -> None:
    con = _table(store)
    assert con.execute("SELECT ip, net FROM h ORDER BY id").fetchall() == [
        ("10.0.0.1", "10.1.0.0/16"),
        ("9.1.0.0/16", "10.1.2.0/24"),
        ("2001:db8::1", "::/0"),
        (None, None),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.0", "0.0.0.0/0"),
        ("::ffff:10.0.0.1", "2001:db8::/32"),
        ("100.64.0.1/10", "192.168.1.0/24"),
        ("255.255.255.255", "224.0.0.0/4"),
        ("1:0:0:2::3/64", "::1/128"),
    ]
    shown = "SELECT ip::text, net::text, ip::cidr, net::inet, ip || '' FROM h WHERE id IN (1, 10)"
    assert con.execute(f"{shown} ORDER BY id").fetchall() == [
        ("10.0.0.1/32", "10.1.0.0/16", "10.0.0.1/32", "10.1.0.0/16", "10.0.0.1/32"),
        ("1:0:0:2::3/64", "::1/128", "1:0:0:2::/64", "::1", "1:0:0:2::3/64"),
    ]


@pytest.mark.also_on("hive")
def test_what_is_no_address_is_refused(store: Store) -> None:
    con = _table(store)
    con.autocommit = True
    con.execute("CREATE TABLE s (t VARCHAR PRIMARY KEY)")
    for value in ("300.1.1.1", "10.1", "1::2::3", " 10.0.0.1", "10.0.0.1/33", "", "::1/01", "g::"):
        con.execute("DELETE FROM s")
        con.execute("INSERT INTO s VALUES (%s)", (value,))
        for query in (
            f"INSERT INTO h (id, ip) VALUES (20, '{value}')",
            f"SELECT id FROM h WHERE ip = '{value}'",
            f"SELECT id FROM h WHERE ip > '{value}'",
            "SELECT t::inet FROM s",
        ):
            with pytest.raises(gateway.DataError) as raised:
                con.execute(query).fetchall()
            assert raised.value.sqlstate == "22P02", (query, value)
        with pytest.raises(gateway.DataError) as raised:
            con.execute("INSERT INTO h (id, ip) VALUES (20, %s)", (value,))
        assert raised.value.sqlstate == "22P02", value
    for value in ("10.0.0.1/8", "2001:db8::1/32", "1.2.3.4.5"):
        with pytest.raises(gateway.DataError) as raised:
            con.execute("INSERT INTO h (id, net) VALUES (20, %s)", (value,))
        assert raised.value.sqlstate == "22P02", value
    for query, state in (
        ("SELECT id FROM h WHERE ip = id", "42883"),
        ("SELECT upper(ip) FROM h", "42883"),
        ("SELECT id FROM h WHERE ip LIKE '1%'", "42883"),
        ("SELECT ip << 5 FROM h", "42883"),
        ("INSERT INTO h (id, ip) SELECT 20, t FROM s", "42804"),
    ):
        with pytest.raises(gateway.ProgrammingError) as raised:
            con.execute(query).fetchall()
        assert raised.value.sqlstate == state, query


def test_rows_are_in_the_order_of_addresses(store: Store) -> None:
    con = _table(store)
    ordered = [2, 5, 6, 1, 8, 9, 7, 10, 3, 4]
    for query in (
        "SELECT id FROM h ORDER BY ip",
        "SELECT id, ip AS a FROM h ORDER BY a",
        "SELECT id, ip FROM h ORDER BY 2",
        "SELECT q.id FROM (SELECT * FROM h) AS q ORDER BY q.ip",
        "SELECT id, row_number() OVER (ORDER BY ip) AS r FROM h ORDER BY r",
    ):
        assert [row[0] for row in con.execute(query).fetchall()] == ordered, query
    down = "SELECT DISTINCT ip FROM h ORDER BY ip DESC NULLS LAST LIMIT 2"
    assert con.execute(down).fetchall() == [("2001:db8::1",), ("1:0:0:2::3/64",)]
    both = "SELECT ip FROM h WHERE id < 3 UNION SELECT net FROM h WHERE id < 3 ORDER BY ip"
    assert con.execute(both).fetchall() == [
        ("9.1.0.0/16",),
        ("10.0.0.1",),
        ("10.1.0.0/16",),
        ("10.1.2.0/24",),
    ]
    most = "SELECT id FROM h WHERE ip = (SELECT max(ip) FROM h)"
    assert con.execute(most).fetchall() == [(3,)]
    ends = "SELECT min(ip), max(ip), min(net), max(net), count(DISTINCT ip) FROM h"
    assert con.execute(ends).fetchall() == [
        ("9.1.0.0/16", "2001:db8::1", "0.0.0.0/0", "2001:db8::/32", 9)
    ]
    for condition, found in (
        ("ip < '10.0.0.1'", [2, 5, 6]),
        ("ip >= '::'", [3, 7, 10]),
        ("ip BETWEEN '10.0.0.0/8' AND '11.0.0.0'", [1, 5, 6]),
        ("ip > net::inet", [3, 6, 9, 10]),
        ("net < '10.1.2.3'", [1, 2, 5, 6]),
    ):
        query = f"SELECT id FROM h WHERE {condition} ORDER BY id"
        assert [row[0] for row in con.execute(query).fetchall()] == found, condition


def test_places_in_the_order_name_columns_of_stars(store: Store) -> None:
    con = _table(store)
    con.execute("CREATE VIEW v AS SELECT id, ip FROM h WHERE id IN (1, 4, 8, 9)")
    con.execute("CREATE VIEW w AS SELECT * FROM v")
    con.execute("CREATE TABLE p (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO p VALUES (2, 'x'), (1, 'y')")
    con.execute("CREATE VIEW q AS SELECT * FROM p")
    for sql in (
        "SELECT * FROM v ORDER BY 2",
        "SELECT w.* FROM w ORDER BY 2",
        "SELECT DISTINCT * FROM w ORDER BY 2",
        "SELECT x.id, x.* FROM p JOIN (SELECT * FROM v) AS x ON true WHERE a = 1 ORDER BY 3",
    ):
        assert [row[0] for row in con.execute(sql).fetchall()] == [1, 8, 9, 4], sql
    assert con.execute("SELECT * FROM q ORDER BY 1").fetchall() == [(1, "y"), (2, "x")]
    assert con.execute("SELECT * FROM q ORDER BY b DESC").fetchall() == [(1, "y"), (2, "x")]


@pytest.mark.also_on("hive")
def test_the_past_is_in_the_order_of_addresses(store: Store) -> None:
    con = _table(store)
    con.execute("CREATE VIEW v AS SELECT * FROM h FOR SYSTEM_TIME AS OF now()")
    for source in ("v", "table_history('h')", "h FOR SYSTEM_TIME AS OF now()"):
        query = f"SELECT id FROM (SELECT * FROM {source} WHERE id IN (1, 8, 9)) AS q ORDER BY ip"
        assert con.execute(query).fetchall() == [(1,), (8,), (9,)], source
        most = f"SELECT max(ip) FROM {source} WHERE id IN (2, 1)"
        assert con.execute(most).fetchall() == [("10.0.0.1",)], source


@pytest.mark.also_on("hive")
def test_equal_addresses_are_one_key(store: Store) -> None:
    con = store.connect(dialect="postgres", autocommit=True)
    con.execute("CREATE TABLE k (ip inet PRIMARY KEY, n INTEGER)")
    for text in ("10.0.0.1", "10.0.0.1/32", "010.0.00.1"):
        con.execute(
            "INSERT INTO k VALUES (%s, 1) ON CONFLICT (ip) DO UPDATE SET n = k.n + 1", (text,)
        )
    con.execute("INSERT INTO k VALUES ('10.0.0.1/8', 7)")
    assert con.execute("SELECT ip, n FROM k ORDER BY ip").fetchall() == [
        ("10.0.0.1/8", 7),
        ("10.0.0.1", 3),
    ]
    with pytest.raises(gateway.IntegrityError):
        con.execute("INSERT INTO k VALUES ('10.0.0.1/032', 1)")
    for text in ("10.0.0.1/32", "010.0.0.1"):
        assert con.execute("SELECT n FROM k WHERE ip = %s", (text,)).fetchall() == [(3,)]
        assert con.execute(f"SELECT n FROM k WHERE ip IN ('{text}')").fetchall() == [(3,)]
    con.execute("UPDATE k SET ip = '2001:0DB8::0' WHERE ip = %s", ("10.0.0.1/32",))
    assert con.execute("SELECT n FROM k WHERE ip = '2001:db8::'").fetchall() == [(3,)]
    con.execute("DELETE FROM k WHERE ip = %s", ("2001:db8:0::",))
    con.executemany("INSERT INTO k VALUES (%s, %s)", [(f"10.0.{i}.01", i) for i in range(4)])
    assert con.execute("SELECT count(*) FROM k WHERE ip <<= '10.0.0.0/16'").fetchall() == [(4,)]


@pytest.mark.also_on("hive")
def test_operators_and_functions_are_those_of_postgresql(store: Store) -> None:
    con = _table(store)
    for condition, found in (
        ("ip << '10.0.0.0/8'", [1, 6]),
        ("ip <<= inet '10.0.0.0/8'", [1, 5, 6]),
        ("net >> inet '10.1.2.3'", [1, 2, 5, 6]),
        ("net >>= cidr '10.1.2.0/24'", [1, 2, 5, 6]),
        ("ip && '10.0.0.0/16'", [1, 5, 6]),
        ("ip <<= net", [3, 5, 6]),
        ("family(ip) = 6", [3, 7, 10]),
        ("inet_same_family(ip, net)", [1, 2, 3, 5, 6, 7, 8, 9, 10]),
    ):
        query = f"SELECT id FROM h WHERE {condition} ORDER BY id"
        assert [row[0] for row in con.execute(query).fetchall()] == found, condition
    of_each = "host(ip), masklen(ip), netmask(ip), hostmask(ip), network(ip), broadcast(ip)"
    four, six = con.execute(f"SELECT {of_each} FROM h WHERE id IN (8, 10) ORDER BY id").fetchall()
    assert four[:4] == ("100.64.0.1", 10, "255.192.0.0", "0.63.255.255")
    assert four[4:] == ("100.64.0.0/10", "100.127.255.255/10")
    assert six[:4] == ("1:0:0:2::3", 64, "ffff:ffff:ffff:ffff::", "::ffff:ffff:ffff:ffff")
    assert six[4:] == ("1:0:0:2::/64", "1::2:ffff:ffff:ffff:ffff/64")
    made = "set_masklen(ip, 16), set_masklen(net, 8), inet_merge(ip, net), ~ip, ip & '255.0.0.0'"
    made += ", ip | '0.0.0.255', ip + 300, ip - 1, ip - '100.0.0.0'"
    (found,) = con.execute(f"SELECT {made} FROM h WHERE id = 8").fetchall()
    assert found[:5] == tuple(
        "100.64.0.1/16 192.0.0.0/8 0.0.0.0/0 155.191.255.254/10 100.0.0.0".split()
    )
    assert found[5:] == ("100.64.0.255", "100.64.1.45/10", "100.64.0.0/10", 4194305)
    numbers = con.execute("SELECT 1 << 4, 16 >> 2, 5 & 4, 5 | 2, ~5").fetchall()
    assert numbers == [(16, 4, 4, 7, -6)]
    for query, state in (
        ("SELECT ip + 1 FROM h WHERE id = 9", "22003"),
        ("SELECT set_masklen(ip, 33) FROM h WHERE id = 1", "22023"),
        ("SELECT inet_merge(ip, '::1') FROM h WHERE id = 1", "22023"),
    ):
        with pytest.raises(gateway.DatabaseError) as raised:
            con.execute(query).fetchall()
        assert raised.value.sqlstate == state, query
        con.rollback()


@pytest.mark.also_on("hive")
def test_definitions_and_copies_keep_addresses(store: Store) -> None:
    con = _table(store)
    con.execute(
        "CREATE VIEW v AS SELECT id, ip AS a, network(ip) AS n FROM h WHERE ip > '10.0.0.0'"
    )
    query = "SELECT id, n FROM v WHERE a < '101.0.0.0' ORDER BY n, id"
    assert con.execute(query).fetchall() == [(1, "10.0.0.1/32"), (8, "100.64.0.0/10")]
    con.execute("CREATE TABLE c AS SELECT id, ip, net, max(ip) OVER () AS most FROM h")
    query = "SELECT id, most FROM c ORDER BY ip LIMIT 1"
    assert con.execute(query).fetchall() == [(2, "2001:db8::1")]
    con.execute(
        "CREATE TABLE d (id INTEGER PRIMARY KEY, ip inet DEFAULT '127.0.0.1',"
        " CHECK (ip >= '10.0.0.0'), CHECK (masklen(ip) > 8))"
    )
    con.execute("INSERT INTO d (id) VALUES (1)")
    con.execute("INSERT INTO d SELECT id + 10, ip FROM h WHERE ip > '10.0.0.0'")
    con.commit()
    for value in ("9.0.0.1", "10.0.0.0/8"):
        with pytest.raises(gateway.IntegrityError):
            con.execute("INSERT INTO d VALUES (2, %s)", (value,))
        con.rollback()
    con.execute("ALTER TABLE d ADD COLUMN more inet DEFAULT '::1'")
    found = con.execute("SELECT id, ip, more FROM d ORDER BY ip LIMIT 2").fetchall()
    assert found == [(11, "10.0.0.1", "::1"), (18, "100.64.0.1/10", "::1")]


@pytest.mark.also_on("hive")
def test_texts_become_addresses_and_addresses_texts(store: Store) -> None:
    con = store.connect(dialect="postgres", autocommit=True)
    con.execute("CREATE TABLE e (k INTEGER PRIMARY KEY, a VARCHAR)")
    con.execute("INSERT INTO e VALUES (1, '010.1.1.1'), (2, '9.1.1.1/24'), (3, 'ABCD::')")
    con.execute("ALTER TABLE e ALTER COLUMN a TYPE inet USING a::inet")
    assert con.execute("SELECT a FROM e ORDER BY a").fetchall() == [
        ("9.1.1.1/24",),
        ("10.1.1.1",),
        ("abcd::",),
    ]
    con.execute("ALTER TABLE e ALTER COLUMN a TYPE VARCHAR USING a::text")
    assert con.execute("SELECT a FROM e ORDER BY a").fetchall() == [
        ("10.1.1.1/32",),
        ("9.1.1.1/24",),
        ("abcd::/128",),
    ]


@pytest.mark.also_on("hive")
def test_joins_and_groups_go_by_addresses(store: Store) -> None:
    con = _table(store)
    query = "SELECT a.id, b.id FROM h a JOIN h b ON a.ip = b.net::inet ORDER BY 1, 2"
    assert con.execute(query).fetchall() == [(5, 5)]
    query = "SELECT a.id FROM h a JOIN h b ON a.ip = b.net ORDER BY 1"
    assert con.execute(query).fetchall() == [(5,)]
    query = "SELECT network(ip), count(*) FROM h GROUP BY 1 ORDER BY network(ip) LIMIT 2"
    assert con.execute(query).fetchall() == [("9.1.0.0/16", 1), ("10.0.0.0/8", 1)]
    query = "SELECT coalesce(ip, '1.0.0.0') AS a, id FROM h ORDER BY a LIMIT 2"
    assert con.execute(query).fetchall() == [("1.0.0.0", 4), ("9.1.0.0/16", 2)]
    for text in ("10.0.0.1", "10.0.0.1/32"):
        query = "SELECT id FROM h WHERE (ip, id) = (%s, %s)"
        assert con.execute(query, (text, 1)).fetchall() == [(1,)]


@pytest.mark.also_on("hive")
def test_a_text_beside_plus_is_a_number(store: Store) -> None:
    con = _table(store)
    query = "SELECT ip + '5' FROM h WHERE id = 1"
    assert con.execute(query).fetchall() == [("10.0.0.6",)]
    with pytest.raises(gateway.Error, match='invalid input syntax for type bigint: "x"') as raised:
        con.execute("SELECT ip + 'x' FROM h WHERE id = 1").fetchall()
    assert raised.value.sqlstate == "22P02"
