"""Every type survives compaction value for value: as a column, and where it can be, as a key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from journal.records.report import JobReport
from journal.stores.embedded.verification import verify
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.runner import RunOptions, run_job
from tests.journal.test_types import VALUES
from tests.support.client import Client


def _compact(run: Client, mode: str = "major", **options: Any) -> JobReport:
    journal = run.connection.session.journal
    table_id = max(journal.state.tables)
    job = CompactJob(mode, **options)
    return run_job(journal, job, table_id, LocalEngine(), options=RunOptions(grace_us=0))


def _in_tiers(kinds: Iterable[str]) -> list[Any]:
    """Every third type in each run, the others in the slow tier."""
    return [
        pytest.param(kind, marks=pytest.mark.slow if place % 3 else ())
        for place, kind in enumerate(kinds)
    ]


@pytest.mark.first(4)
@pytest.mark.parametrize("kind", _in_tiers(VALUES))
def test_values_survive(run: Client, kind: str) -> None:
    value = VALUES[kind]
    run(f"CREATE TABLE t (k INTEGER PRIMARY KEY, v {kind}, n INTEGER)")
    run(f"INSERT INTO t VALUES (1, {value}, 0), (2, NULL, 0), (3, {value}, 0), (4, {value}, 0)")
    run("CALL system.flush('t')")
    run("UPDATE t SET n = 1 WHERE k IN (1, 2)")
    run("DELETE FROM t WHERE k = 4")
    past = run("SELECT max(version) FROM system.transactions")[0][0]
    run("UPDATE t SET n = 2 WHERE k = 1")
    now = "SELECT k, n, typeof(v), v, v::VARCHAR FROM t {} ORDER BY k"
    before = [repr(run(now.format(at))) for at in ("", f"FOR VERSION AS OF {past}")]
    for mode in ("minor", "major"):
        assert _compact(run, mode).state in {"done", "nothing"}
        after = [repr(run(now.format(at))) for at in ("", f"FOR VERSION AS OF {past}")]
        assert after == before
    assert verify(run.connection.session.journal).problems == []


KEYS = {
    "DOUBLE": ["'nan'", "'-inf'", "-1.5", "0.0", "1e300", "'inf'"],
    "FLOAT": ["'nan'", "-1.5", "0.1", "'inf'"],
    "VARCHAR": ["''", "' '", "'a'", "'a '", "'A'", "'ä'", "'😀'", "'a''b'", "'" + "z" * 300 + "'"],
    "DECIMAL(20, 5)": ["-1.00001", "0", "10", "9", "123456789012345.12345"],
    "DATE": ["'-infinity'", "'0044-03-15 (BC)'", "'1969-12-31'", "'2024-02-29'", "'infinity'"],
    "TIMESTAMP": ["'1969-12-31 23:59:59.999999'", "'2024-02-29'", "'infinity'"],
    "TIMESTAMP_NS": ["'2024-02-29 12:00:00.000000001'", "'2024-02-29 12:00:00.000000002'"],
    "TIMESTAMPTZ": ["'1969-12-31 23:59:59.999999+00'", "'2024-02-29 00:00:00+03'"],
    "TIME": ["'00:00:00'", "'12:30:00.000001'", "'23:59:59.999999'"],
    "UUID": [
        "'00000000-0000-0000-0000-00000000000f'",
        "'80000000-0000-0000-0000-000000000000'",
        "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    ],
    "HUGEINT": ["-170141183460469231731687303715884105727", "-1", "0", "9", "10"],
    "UBIGINT": ["0", "9223372036854775808", "18446744073709551615"],
    "BLOB": ["''::BLOB", "'\\x00'::BLOB", "'\\x00\\xFF'::BLOB", "'a'::BLOB"],
    "BOOLEAN": ["false", "true"],
}


@pytest.mark.first(1)
@pytest.mark.parametrize("kind", _in_tiers(KEYS))
def test_keys_survive(run: Client, kind: str) -> None:
    """Small files, so that ranges of such keys are compared, counted and cut."""
    run(f"CREATE TABLE t (k {kind}, j INTEGER, v INTEGER, PRIMARY KEY (k, j))")
    for value in KEYS[kind]:
        run(f"INSERT INTO t SELECT {value}, i, 0 FROM range(5) r(i)")
        run("CALL system.flush('t')")
    run("UPDATE t SET v = 1 WHERE j = 1")
    run("DELETE FROM t WHERE j = 2")
    past = run("SELECT max(version) FROM system.transactions")[0][0]
    run("UPDATE t SET v = 2 WHERE j = 1")
    now = "SELECT *, k::VARCHAR FROM t {} ORDER BY ALL"
    before = [repr(run(now.format(at))) for at in ("", f"FOR VERSION AS OF {past}")]
    for options in ({"rows_max": 4}, {"rows_max": 1000}):
        assert _compact(run, **options).state in {"done", "nothing"}
        after = [repr(run(now.format(at))) for at in ("", f"FOR VERSION AS OF {past}")]
        assert after == before
        run("UPDATE t SET v = v WHERE j = 3")
    first = KEYS[kind][0]
    assert run(f"SELECT count(*) FROM t WHERE k = {first} AND j = 1") == [(1,)]
    assert verify(run.connection.session.journal).problems == []


@pytest.mark.long
def test_wide_tables_survive(run: Client) -> None:
    columns = ", ".join(f"c{n} {'VARCHAR' if n % 2 else 'INTEGER'}" for n in range(400))
    run(f"CREATE TABLE t (k INTEGER PRIMARY KEY, {columns})")
    values = ", ".join(f"'{n}'" if n % 2 else str(n) for n in range(400))
    run(f"INSERT INTO t SELECT i, {values} FROM range(50) r(i)")
    run("CALL system.flush('t')")
    run("UPDATE t SET c399 = 'changed' WHERE k < 10")
    before = run("SELECT * FROM t ORDER BY k")
    _compact(run)
    assert run("SELECT * FROM t ORDER BY k") == before


def test_odd_names_survive(run: Client) -> None:
    run('CREATE TABLE "o""dd \'t\'" ("k ey" INTEGER PRIMARY KEY, "sel\'ect" VARCHAR)')
    run("INSERT INTO \"o\"\"dd 't'\" VALUES (1, 'a'), (2, 'b')")
    run('UPDATE "o""dd \'t\'" SET "sel\'ect" = \'c\' WHERE "k ey" = 1')
    _compact(run)
    assert run('SELECT * FROM "o""dd \'t\'" ORDER BY 1') == [(1, "c"), (2, "b")]


def test_versions_as_numbers_and_other_names(run: Client) -> None:
    run(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER) WITH (journal_version_type = 'BIGINT',"
        " journal_suffix = '_hist')"
    )
    run("INSERT INTO t VALUES (1, 1), (2, 2)")
    past = run("SELECT max(version) FROM system.transactions")[0][0]
    run("UPDATE t SET v = 3 WHERE k = 1")
    _compact(run)
    assert run("SELECT * FROM t ORDER BY k") == [(1, 3), (2, 2)]
    assert run(f"SELECT * FROM t FOR VERSION AS OF {past} ORDER BY k") == [(1, 1), (2, 2)]
