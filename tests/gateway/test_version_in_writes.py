"""Version columns in the conditions of writes: a compare-and-set on the version that was read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.client import Client


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path / "warehouse")
    client("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
    client("INSERT INTO t VALUES (1, 10), (2, 20)")
    yield client
    client.close()


def _version(run: Client, key: int) -> object:
    return run("SELECT version_number FROM t WHERE k = ?", key)[0][0]


def test_update_by_key_and_version(run: Client) -> None:
    seen = _version(run, 1)
    assert run("UPDATE t SET a = 11 WHERE k = 1 AND version_number = ?", seen) == 1
    assert run("UPDATE t SET a = 12 WHERE k = 1 AND version_number = ?", seen) == 0
    assert run.sorted("SELECT * FROM t") == [(1, 11), (2, 20)]


def test_update_of_all_that_is_older(run: Client) -> None:
    seen = _version(run, 2)
    run("UPDATE t SET a = 11 WHERE k = 1")
    assert run("UPDATE t AS x SET a = 0 WHERE x.version_number <= ?", seen) == 1
    assert run("UPDATE t SET a = a + 1 WHERE subsequent_version_number IS NULL") == 2
    assert run.sorted("SELECT * FROM t") == [(1, 12), (2, 1)]


def test_delete_with_returning_and_without_a_key(run: Client) -> None:
    run("CREATE TABLE loose (a INTEGER)")
    run("INSERT INTO loose VALUES (1), (2)")
    assert run("DELETE FROM loose WHERE version_number > TIMESTAMP '2100-01-01'") == 0
    assert run.sorted("DELETE FROM loose WHERE version_number IS NOT NULL RETURNING *") == [
        (1,),
        (2,),
    ]


def test_merge(run: Client) -> None:
    seen = _version(run, 1)
    run("UPDATE t SET a = 21 WHERE k = 2")
    merge = (
        "MERGE INTO t USING (VALUES (1, 5), (2, 6), (3, 7)) AS s(k, a) ON t.k = s.k"
        " WHEN MATCHED AND t.version_number <= ? THEN UPDATE SET a = s.a"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.a)"
    )
    assert run(merge, seen) == 2
    assert run.sorted("SELECT * FROM t") == [(1, 5), (2, 21), (3, 7)]


def test_upsert(run: Client) -> None:
    seen = _version(run, 2)
    upsert = (
        "INSERT INTO t VALUES (1, 7), (2, 8), (3, 9)"
        " ON CONFLICT (k) DO UPDATE SET a = excluded.a WHERE t.version_number < ?"
    )
    assert run(upsert, seen) == 1
    assert run.sorted("SELECT * FROM t") == [(1, 10), (2, 20), (3, 9)]


def test_source_with_a_column_of_that_name_keeps_it(run: Client) -> None:
    run("CREATE TABLE s (k INTEGER, version_number INTEGER) WITH (version_column = 'v')")
    run("INSERT INTO s VALUES (1, 7)")
    update = "UPDATE t SET a = s.version_number FROM s WHERE s.k = t.k AND s.version_number = 7"
    assert run(update) == 1
    assert run.sorted("SELECT * FROM t") == [(1, 7), (2, 20)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE t SET a = 1 WHERE _palimpsest_version IS NOT NULL",
        "DELETE FROM t WHERE t._palimpsest_version IS NOT NULL",
        "SELECT _palimpsest_row_id FROM t",
    ],
)
def test_internal_names_are_no_columns(run: Client, statement: str) -> None:
    assert run.error(statement)[1] == "42703"
