"""COLLATE with PostgreSQL's names of collations, on every kind of store that has some."""

from __future__ import annotations

import pytest

import gateway
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)
WORDS = ["_", "1", "a", "ä", "a-b", "ab", "b", "B", "O", "Ö", "ss", "ß", "z", "Z"]
"""In the order that ICU gives German texts."""


@pytest.mark.drifts(toy="it has no collations", hive="it has no collations")
def test_collations_of_icu_order_and_compare_texts(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        'CREATE TABLE t (k INTEGER PRIMARY KEY, w TEXT COLLATE "de-x-icu", b TEXT COLLATE "C")'
    )
    for place, word in enumerate(reversed(WORDS)):
        con.execute("INSERT INTO t VALUES (%s, %s, %s)", (place, word, word))
    by_bytes = sorted(WORDS)
    for order, wanted in (
        ("w", WORDS),
        ("b", by_bytes),
        ('b COLLATE "und-x-icu"', WORDS),
        ('b COLLATE "en-US-x-icu"', WORDS),
        ('w COLLATE "POSIX"', by_bytes),
        ('w COLLATE pg_catalog."C"', by_bytes),
    ):
        found = con.execute(f"SELECT b FROM t ORDER BY {order}").fetchall()
        assert [word for (word,) in found] == wanted, order
    swedish = con.execute('SELECT b FROM t ORDER BY b COLLATE "sv-x-icu" DESC LIMIT 2').fetchall()
    assert swedish == [("Ö",), ("ä",)]
    for condition, count in (("w < 'b'", 6), ("b < 'b'", 8), ("b < 'b' COLLATE \"de-x-icu\"", 6)):
        found = con.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall()
        assert found == [(count,)], condition
    with pytest.raises(gateway.ProgrammingError) as raised:
        con.execute('SELECT b FROM t ORDER BY b COLLATE "no such"')
    assert raised.value.sqlstate == "42704"


@pytest.mark.drifts(toy="it has no collations", hive="it has no collations")
def test_the_collation_that_is_named_counts_for_both_sides(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute('CREATE TABLE t (k INTEGER PRIMARY KEY, w TEXT COLLATE "de-x-icu", b TEXT)')
    for place, word in enumerate(("abc", "äbc", "bbc", "ABC")):
        con.execute("INSERT INTO t VALUES (%s, %s, %s)", (place, word, word))
    for condition, wanted in (
        ("w >= 'bbc'", [2]),
        ("w >= 'bbc' COLLATE \"C\"", [1, 2]),
        ("'bbc' COLLATE \"C\" <= w", [1, 2]),
        ("b < 'b' COLLATE \"sv-x-icu\"", [0, 3]),
        ("greatest(w, 'CCC') = 'CCC'", [0, 1, 2, 3]),
        ("greatest(b, 'CCC') = 'CCC'", [3]),
        ("least(NULL, w, 'b') = 'b'", [2]),
    ):
        query = f"SELECT k FROM t WHERE {condition} ORDER BY k"
        assert con.execute(query).fetchall() == [(k,) for k in wanted], condition
