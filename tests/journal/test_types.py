"""Every type comes back as it was: from heads, from segments, and from buffered files."""

from __future__ import annotations

import pytest

from tests.support.client import Client

VALUES = {
    "BOOLEAN": "true",
    "TINYINT": "-128",
    "BIGINT": "9223372036854775807",
    "HUGEINT": "-170141183460469231731687303715884105727",
    "UBIGINT": "18446744073709551615",
    "UHUGEINT": "340282366920938463463374607431768211455",
    "FLOAT": "'nan'",
    "DOUBLE": "'-inf'",
    "DECIMAL(4, 1)": "999.9",
    "DECIMAL(38, 10)": "1.0000000001",
    "VARCHAR": "'ä😀 '",
    "BLOB": "'\\x00\\xFF'::BLOB",
    "DATE": "'infinity'",
    "TIME": "'23:59:59.999999'",
    "TIMESTAMP": "'0001-02-28 12:00:00.000001'",
    "TIMESTAMP_S": "'2024-02-29 12:00:00'",
    "TIMESTAMP_MS": "'2024-02-29 12:00:00.001'",
    "TIMESTAMP_NS": "'2024-02-29 12:00:00.000000001'",
    "TIMESTAMPTZ": "'2024-02-29 12:00:00+03'",
    "TIMETZ": "'12:00:00+03'",
    "INTERVAL": "INTERVAL '1 month 2 days 3 microseconds'",
    "UUID": "'00000000-0000-0000-0000-00000000000f'",
    "BIT": "'0101'",
    "JSON": "'{\"a\": 1}'",
    "ENUM('x', 'y')": "'y'",
    "INTEGER[]": "[1, NULL, 3]",
    "INTEGER[2]": "[1, 2]",
    "VARCHAR[][]": "[['a'], [], NULL]",
    "STRUCT(a INTEGER, b VARCHAR)": "{'a': 1, 'b': NULL}",
    "MAP(VARCHAR, HUGEINT)": "MAP {'k': 1}",
    "STRUCT(e ENUM('x', 'y'), u UUID[], i INTERVAL)": (
        "{'e': 'x', 'u': ['00000000-0000-0000-0000-00000000000f'], 'i': INTERVAL '1 day'}"
    ),
    "BIGNUM": "'123456789012345678901234567890'",
}


def _table_of_all_kinds(run: Client) -> dict[str, str]:
    """Make a table with a column of each type; the name of the column by the type."""
    columns = {kind: f"v{place}" for place, kind in enumerate(VALUES)}
    made = ", ".join(f"{name} {kind}" for kind, name in columns.items())
    run(f"CREATE TABLE t (k INTEGER PRIMARY KEY, {made})")
    return columns


def _seen(run: Client, columns: dict[str, str]) -> dict[str, str]:
    """The types and values of each column, from the row with the least key on."""
    return {
        kind: repr(run(f"SELECT typeof({name}), {name}, {name}::VARCHAR FROM t ORDER BY k"))
        for kind, name in columns.items()
    }


@pytest.mark.long
def test_values_come_back_as_they_were(run: Client) -> None:
    columns = _table_of_all_kinds(run)
    run(f"INSERT INTO t VALUES (1, {', '.join(VALUES.values())})")
    run("INSERT INTO t (k) VALUES (2)")
    first = _seen(run, columns)
    for change in (
        "CALL system.flush('t')",
        "UPDATE t SET k = k + 10",
        "CALL system.flush('t')",
        "ALTER TABLE t ADD COLUMN w INTEGER",
        "UPDATE t SET w = 1",
    ):
        run(change)
        assert _seen(run, columns) == first


@pytest.mark.long
def test_values_come_back_from_buffered_files(run: Client) -> None:
    run("SET memory_rows = 1")
    columns = _table_of_all_kinds(run)
    run("BEGIN")
    run(f"INSERT INTO t VALUES (1, {', '.join(VALUES.values())})")
    run("INSERT INTO t (k) VALUES (2)")
    run(f"INSERT INTO t VALUES (3, {', '.join(VALUES.values())})")
    first = _seen(run, columns)
    run("UPDATE t SET k = k + 1 WHERE k = 3")
    assert _seen(run, columns) == first
    run("COMMIT")
    assert _seen(run, columns) == first


@pytest.mark.parametrize("kind", ["ENUM('a', 'b')", "STRUCT(e ENUM('a', 'b'))[]"])
def test_buffers_of_several_statements_have_one_type(run: Client, kind: str) -> None:
    one, two = ("'a'", "'b'") if kind.startswith("ENUM") else ("[{'e': 'a'}]", "[{'e': 'b'}]")
    run(f"CREATE TABLE t (k INTEGER PRIMARY KEY, v {kind})")
    run(f"INSERT INTO t VALUES (1, {one}), (2, NULL), (3, {one})")
    run("BEGIN")
    run(f"UPDATE t SET v = {two} WHERE k = 1")
    run("DELETE FROM t WHERE k = 2")
    run(f"INSERT INTO t SELECT 4, {two}")
    run("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 1")
    run(f"UPDATE t SET v = {one}, w = 2 WHERE k = 4")
    expected = [(1, two, 1), (3, one, 1), (4, one, 2)]
    query = "SELECT k, v::VARCHAR, w, typeof(v) FROM t"

    def shown() -> list[tuple[int, str, int]]:
        rows = run.sorted(query)
        assert len({row[3] for row in rows}) == 1
        assert "VARCHAR" not in rows[0][3]
        return [(k, v.replace(" ", ""), w) for k, v, w, _ in rows]

    wanted = [(k, _bare(v), w) for k, v, w in expected]
    assert [(k, _bare(v), w) for k, v, w in shown()] == wanted
    run("COMMIT")
    assert [(k, _bare(v), w) for k, v, w in shown()] == wanted
    run("CALL system.flush('t')")
    assert [(k, _bare(v), w) for k, v, w in shown()] == wanted


def _bare(text: str) -> str:
    return text.replace("'", "").replace(" ", "")
