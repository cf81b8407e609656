"""Native partitions: sealed rows lie in them, queries prune, partitioned tables are adopted."""

from __future__ import annotations

import re
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from journal.model.partitioning import parse_partitioning
from spark_compaction.backends.postgres import segment_swap
from tests.database.test_adopt import CLASSIC
from tests.support.greenplum import Given
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores

MARCH = "ds >= DATE '2024-03-01' AND ds < DATE '2024-04-01'"


def _rows(con: Any, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


def _filled(con: Connection, partitions: str | None) -> None:
    more = "" if partitions is None else f" WITH (partitions = '{partitions}')"
    con.execute(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, ds DATE, region VARCHAR, n INTEGER){more}"
    )
    con.execute(
        "INSERT INTO t SELECT i, CAST(DATE '2024-01-01' + i * INTERVAL '1' DAY AS DATE),"
        " CASE WHEN i % 2 = 0 THEN 'n''orth' ELSE 'south' END, i FROM range(150) r(i)"
    )
    con.execute("INSERT INTO t VALUES (1000, NULL, NULL, 0)")
    con.execute("UPDATE t SET n = n + 1 WHERE id < 20")
    con.execute("DELETE FROM t WHERE id = 7")


def _read(con: Any, sql: str) -> set[str]:
    """The tables of base that a query of psql's reads."""
    plan = "\n".join(row[0] for row in con.execute(f"EXPLAIN {sql}").fetchall())
    return set(re.findall(r"t1_s\d+_0(?:_p\d+)?", plan))


def _parts(admin: Any) -> dict[str, str]:
    """The partitions of base and their bounds."""
    return dict(
        admin.execute(
            "SELECT relname, pg_get_expr(relpartbound, oid) FROM pg_class"
            " WHERE relispartition AND relkind = 'r' AND relname ~ '^t1_s\\d+_0_p'"
        ).fetchall()
    )


@pytest.mark.parametrize(
    ("partitions", "where", "count", "read"),
    [
        ("RANGE (ds) BY MONTH", MARCH, 6, 1),
        ("RANGE (ds) BY QUARTER", MARCH, 3, 1),
        ("RANGE (id) BY 50", "id BETWEEN 10 AND 20", 5, 1),
        ("RANGE (ds) AT (''2024-01-01'', ''2024-02-01'', ''2024-07-01'')", MARCH, 3, 1),
        ("LIST (region)", "region = 'south'", 3, 1),
        ("HASH (id) INTO 4", "id = 77", 4, 1),
    ],
)
def test_a_compaction_partitions_and_queries_prune(
    con: Connection,
    cluster: Cluster,
    admin: Any,
    partitions: str,
    where: str,
    count: int,
    read: int,
) -> None:
    _filled(con, partitions)
    asked = f"SELECT * FROM t WHERE {where} ORDER BY id"
    ever = "SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY id, version_number"
    before = (_rows(con, asked), _rows(con, ever), _rows(con, "SELECT * FROM t ORDER BY id"))
    assert _rows(con, "OPTIMIZE t")[0][3] == "SUCCEEDED"
    after = (_rows(con, asked), _rows(con, ever), _rows(con, "SELECT * FROM t ORDER BY id"))
    assert after == before
    assert len(_parts(admin)) == count
    seen = _read(admin, asked)
    if isinstance(cluster, Given):
        # It does not see that nothing is left for the partition of all others.
        seen -= {name for name, bounds in _parts(admin).items() if bounds == "DEFAULT"}
    assert len(seen) == read
    assert len(_read(admin, "SELECT * FROM t")) >= count
    con.execute("UPDATE t SET n = 0 WHERE id < 3")
    con.execute("INSERT INTO t VALUES (2000, DATE '2031-01-01', 'west', 1)")
    con.execute("OPTIMIZE t")
    assert _rows(con, "SELECT n FROM t WHERE id IN (1, 2000) ORDER BY id") == [(0,), (1,)]
    con.execute("ERASE FROM t WHERE id = 5")
    assert _rows(con, "SELECT count(*) FROM t") == [(150,)]
    assert con.session.executor.upkeep.verify().is_clean


def test_the_partitioning_of_a_table_changes_with_the_next_compaction(
    con: Connection, admin: Any
) -> None:
    _filled(con, None)
    con.execute("OPTIMIZE t")
    assert _parts(admin) == {}
    con.execute("ALTER TABLE t SET TBLPROPERTIES ('partitions' = 'RANGE (ds) BY YEAR')")
    con.execute("ALTER TABLE t RENAME COLUMN ds TO day")
    con.execute("UPDATE t SET n = 0 WHERE id = 1")
    con.execute("OPTIMIZE t")
    assert len(_parts(admin)) == 2
    con.execute("ALTER TABLE t DROP COLUMN day")
    con.execute("UPDATE t SET n = 0 WHERE id = 2")
    con.execute("OPTIMIZE t")
    assert _rows(con, "SELECT n FROM t WHERE id IN (1, 2)") == [(0,), (0,)]


def test_a_killed_compaction_leaves_no_partition(
    con: Connection, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(con, "LIST (region)")

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(segment_swap, "swap", die)
    with pytest.raises(KeyboardInterrupt):
        con.execute("OPTIMIZE t")
    monkeypatch.undo()
    assert len(_parts(admin)) == 3
    con.execute("OPTIMIZE t")
    assert len(_parts(admin)) == 3


@pytest.mark.parametrize(
    ("key", "bounds", "said"),
    [
        (
            "RANGE (ds)",
            [
                "FOR VALUES FROM ('2024-01-01') TO ('2024-03-01')",
                "FOR VALUES FROM ('2024-03-01') TO ('2024-04-01')",
                "DEFAULT",
            ],
            "RANGE (\"ds\") AT ('2024-01-01', '2024-03-01', '2024-04-01')",
        ),
        ("LIST (region)", ["FOR VALUES IN ('north')", "DEFAULT"], 'LIST ("region")'),
        (
            "HASH (id)",
            [f"FOR VALUES WITH (modulus 2, remainder {i})" for i in range(2)],
            'HASH ("id") INTO 2',
        ),
        ("RANGE (id, ds)", ["FOR VALUES FROM (0, '2020-01-01') TO (900, '2030-01-01')"], None),
    ],
)
def test_a_partitioned_table_is_adopted_as_it_is(
    con: Connection, admin: Any, key: str, bounds: list[str], said: str | None
) -> None:
    admin.execute(f"CREATE TABLE t (id INTEGER NOT NULL, ds DATE, region TEXT) PARTITION BY {key}")
    for number, bound in enumerate(bounds):
        admin.execute(f"CREATE TABLE part{number} PARTITION OF t {bound}")
    admin.execute(
        "INSERT INTO t SELECT i, DATE '2024-01-01' + i, 'north' FROM generate_series(0, 99) i"
    )
    files = "SELECT pg_relation_filenode(relid) FROM pg_partition_tree('{}') WHERE isleaf"
    old = sorted(_rows(admin, files.format("t")))
    adopt(con.session, "t", ("id",), CLASSIC, run=True)
    ((base,),) = _rows(
        admin, "SELECT relname FROM pg_class WHERE relname ~ '^t1_s' AND relkind = 'p'"
    )
    assert sorted(_rows(admin, files.format(f"_palimpsest.{base}"))) == old
    assert _rows(admin, "SELECT to_regclass('part0')") == [(None,)]
    (table,) = con.session.journal.state.catalog.tables()
    assert dict(table.properties).get("partitions") == said
    where = {"R": MARCH, "L": "region = 'south'", "H": "id = 7"}[key[0]]
    if said is not None:
        assert len(_read(admin, f"SELECT * FROM t WHERE {where}")) == 1
    con.execute("INSERT INTO t VALUES (5000, DATE '2050-01-01', 'south')")
    con.execute("UPDATE t SET ds = DATE '2051-01-01' WHERE id = 1")
    con.execute("DELETE FROM t WHERE id = 2")
    present = _rows(con, "SELECT * FROM t ORDER BY id")
    assert len(present) == 100
    con.execute("OPTIMIZE t")
    assert _rows(con, "SELECT * FROM t ORDER BY id") == present
    journal = con.session.journal
    segment_swap.reap(journal, 1, list)
    assert (len(_parts(admin)) > 0) == (said is not None)
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.parametrize(
    "text",
    [
        "RANGE (ds)",
        "RANGE (ds) BY FORTNIGHT",
        "RANGE (region) BY MONTH",
        "RANGE (ds) BY 7",
        "RANGE (ds) AT (''a'')",
        "HASH (id)",
        "HASH (id) INTO 1",
        "LIST (nobody)",
        "LIST id",
    ],
)
def test_what_makes_no_sense_is_refused(con: Connection, text: str) -> None:
    with pytest.raises(gateway.Error) as raised:
        _filled(con, text)
    assert raised.value.code == "PAL-211"


def test_what_is_written_is_read_again() -> None:
    for text in (
        'RANGE ("d""s") BY month',
        'LIST ("r")',
        "RANGE (\"a b\") AT ('it''s', 'b')",
        'HASH ("x") INTO 3',
    ):
        assert str(parse_partitioning(text)) == text
