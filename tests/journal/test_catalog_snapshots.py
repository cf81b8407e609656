"""What a catalog finds once and keeps is of that catalog alone, and another one's is its own."""

from __future__ import annotations

import gateway


def test_tables_are_found_by_their_id_in_each_catalog() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER)")
        before = con.session.catalog
        a, b = before.tables()
        assert [before.by_id(a.id), before.by_id(b.id)] == [a, b]
        con.execute("DROP TABLE a; ALTER TABLE b RENAME TO c; CREATE TABLE a (n INTEGER)")
        after = con.session.catalog
        assert after.by_id(a.id) is None
        assert all(after.by_id(table.id) is table for table in after.tables())
        renamed = after.by_id(b.id)
        assert renamed is not None
        assert renamed.name.name == "c"
        assert before.by_id(a.id) is a


def test_temporary_tables_are_the_own_ones_of_their_session() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE a (id INTEGER)")
        assert con.session.catalog.own_ids() == frozenset()
        con.execute("CREATE TEMPORARY TABLE b (id INTEGER)")
        (own,) = con.session.catalog.own_ids()
        table = con.session.catalog.by_id(own)
        assert table is not None
        assert table.name.name == "b"
        con.execute("DROP TABLE b")
        assert con.session.catalog.own_ids() == frozenset()
        assert con.session.catalog.by_id(own) is None
