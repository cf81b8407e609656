"""What Spark tells of the segments that it is about to read, and how they are asked about."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from journal.stores.hive import row_count_check, sizes
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.sizes import Group, Size

pytestmark = pytest.mark.stores


def test_a_large_segment_hides_no_small_one() -> None:
    listed = {"j1/a": 1, "j1/b": 9, "j1/c": 10, "j1/d": 5_000_000, "j2/e": 3}
    wanted = {"j1": frozenset("abcdx"), "j2": frozenset("e")}
    found = {
        (g.table, "".join(sorted(g.segments)), g.rows) for g in sizes.segment_groups(wanted, listed)
    }
    assert found == {("j1", "abx", 10), ("j1", "c", 10), ("j1", "d", 5_000_000), ("j2", "e", 3)}


def test_another_form_of_explaining_tells_nothing() -> None:
    group = Group("j1", frozenset("a"), 1)
    assert sizes.read_sizes([("== Physical Plan ==\nScan parquet",)], [group]) == {}


def test_a_server_tells_folders_and_bytes(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a')")
    con.execute("INSERT INTO t VALUES (2, 'b')")
    con.execute("INSERT INTO t SELECT i, repeat('x', i % 7) FROM range(10, 110) r(i)")
    journal = con.session.journal
    assert isinstance(journal, HiveJournal)
    (state,) = journal.read_committed()[1].tables.values()
    listed = {s.files[0].path: s.counts.total for s in state.manifest.segments}
    (table,) = {path.partition("/")[0] for path in listed}
    wanted = {table: frozenset(path.partition("/")[2] for path in listed)}
    groups = sizes.segment_groups(wanted, listed)
    with journal.store.connection() as plain:
        text = plain.text(sizes.question(journal.names, groups))
        found = sizes.read_sizes(plain.run(f"EXPLAIN COST {text}"), groups)
        counts = {g: {str(s) for s, _ in plain.run(sizes.count(journal.names, g))} for g in groups}
    assert {(g.rows, size.folders) for g, size in found.items()} == {(2, 2), (100, 1)}
    assert all(size.bytes.endswith("B") for size in found.values())
    assert len({*found.values()}) == 2
    assert counts == {g: set(g.segments) for g in groups}
    assert all(isinstance(size, Size) for size in found.values())


def test_what_is_remembered_has_a_limit(con: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_count_check, "_KNOWN_MAX", 1)
    for name in ("one", "two"):
        con.execute(f"CREATE TABLE {name} (k INTEGER PRIMARY KEY)")
        con.execute(f"INSERT INTO {name} VALUES (1)")
    told = con.execute("SELECT count(*) FROM one JOIN two USING (k)").fetchall()
    assert told == [(1,)]
    assert con.execute("SELECT sum(k) FROM two").fetchall() == [(1,)]
