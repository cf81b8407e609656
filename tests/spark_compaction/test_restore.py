"""Restores of tables that are large: units of an engine find the keys that differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from gateway.jobs.engines import ENGINES
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from spark_compaction.contract import Engine, Json, Progress
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs import differences, restored
from tests.support.client import Client

_ROWS_OF = "SELECT a, b::VARCHAR, n, x FROM t"


class Handed:
    """An engine that is handed units, as Spark is, and keeps count of them."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.units: list[int] = []
        self.written: list[int] = []
        self._meanwhile = meanwhile

    def map(self, function: str, units: Sequence[Json], progress: Progress) -> list[Json]:
        """Run the units here; something else happens after the first ones."""
        kept = self.written if function == restored.UNIT else self.units
        kept.append(len(units))
        found = LocalEngine().map(function, units, progress)
        if kept is self.units and len(kept) == 1:
            self._meanwhile()
        return found

    def run(self, function: str, task: object, progress: Progress) -> Json:
        raise AssertionError(function)

    def cancel(self) -> None:
        raise AssertionError


def _by(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ENGINES, "choose", lambda _settings, _size: engine)


@pytest.mark.long
@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("kinds", "key"),
    [
        ("a INTEGER, b VARCHAR", "i, i || 'ü '"),
        pytest.param("a VARCHAR, b INTEGER", "'k' || (i % 7), i", marks=pytest.mark.slow),
        ("a HUGEINT, b DOUBLE", "i, CASE WHEN i = 5 THEN 'nan'::DOUBLE ELSE -i END"),
        pytest.param(
            "a DATE, b UUID",
            "DATE '2024-01-01' + i::INTEGER, md5(i::VARCHAR)::UUID",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_difference_is_found_in_ranges(
    run: Client, monkeypatch: pytest.MonkeyPatch, kinds: str, key: str
) -> None:
    engine = Handed()
    monkeypatch.setattr(differences, "_ROWS", 40)
    run(f"CREATE TABLE t ({kinds}, n INTEGER, x STRUCT(y VARCHAR), PRIMARY KEY (a, b))")
    run(f"INSERT INTO t SELECT {key}, i, {{'y': 'z' || i}} FROM range(200) r(i)")
    run("UPDATE t SET n = -1 WHERE n % 10 = 3")
    run("OPTIMIZE t")
    run("UPDATE t SET n = -2 WHERE n % 10 = 4")
    before = run.sorted(_ROWS_OF)
    run("CALL system.backup('t', name => 'b')")
    _by(engine, monkeypatch)
    assert run("CALL system.restore('t', backup => 'b')")
    assert run.sorted(_ROWS_OF) == before, "nothing differs"
    run("UPDATE t SET n = 0, x = NULL WHERE n % 10 = 5")
    run("DELETE FROM t WHERE n % 10 = 6")
    run(f"INSERT INTO t SELECT {key}, 0, NULL FROM range(300, 320) r(i)")
    run("UPDATE t SET n = 7 WHERE n = 7")
    dry = "CALL system.restore('t', backup => 'b', where => 'n = 1 OR n = 0', dry_run => true)"
    heads = "SELECT head_rows FROM system.journals"
    waiting, planned = run(heads), run(dry)[0][5]
    assert run(heads) == waiting != [(0,)], "a dry run seals nothing"
    run("CALL system.flush('t')")
    assert run(dry)[0][5] == planned > 20
    run("CALL system.restore('t', backup => 'b')")
    assert run.sorted(_ROWS_OF) == before
    assert len(engine.units) == 3
    assert len(engine.written) == 2, "in one nothing differed, and one was a dry run"
    assert max(engine.units) > 1 or "HUGEINT" in kinds
    journal = run.connection.session.journal
    assert unlisted_files(journal) == []
    assert verify(journal).problems == []


@pytest.mark.long
def test_only_chosen_rows_and_only_missing_ones(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, day DATE)")
    run("INSERT INTO t SELECT i, DATE '2024-01-01' + i::INTEGER FROM range(60) r(i)")
    run("ALTER TABLE t SET POLICY (RETENTION = 30 DAYS ON COLUMN day ACTION = ARCHIVE)")
    run("CALL system.retain('t', now => '2024-03-01')")
    run("INSERT INTO t VALUES (3, NULL)")
    _by(Handed(), monkeypatch)
    run("CALL system.restore('t', backup => 'archive', where => 'id < 9')")
    assert run("SELECT count(*), count(day) FROM t WHERE id < 9") == [(9, 8)]
    run("CALL system.restore('t', backup => 'archive')")
    assert run("SELECT count(*) FROM t") == [(60,)]


def test_the_erased_stay_away(run: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, who VARCHAR) WITH (erasure = 'who')")
    run("INSERT INTO t SELECT i, 'p' || i FROM range(50) r(i)")
    run("CALL system.backup('t', name => 'b')")
    run("ERASE FROM t WHERE id = 7")
    run("DELETE FROM t WHERE id < 20")
    _by(Handed(), monkeypatch)
    run("CALL system.restore('t', backup => 'b')")
    assert run("SELECT count(*), count(*) FILTER (WHERE id = 7) FROM t") == [(49, 0)]


def test_a_table_that_is_written_to_is_restored_all_the_same(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)")
    run("INSERT INTO t SELECT i, 0 FROM range(50) r(i)")
    run("CALL system.backup('t', name => 'b')")
    run("UPDATE t SET n = 1")
    other = Client(run.root)
    engine = Handed(lambda: other("UPDATE t SET n = 2 WHERE id = 5"))
    _by(engine, monkeypatch)
    run("CALL system.restore('t', backup => 'b')")
    assert run("SELECT sum(n) FROM t") == [(0,)]
    assert len(engine.units) == 2, "it was done again"
    other.close()


@pytest.mark.slow
def test_spark_finds_the_difference(
    run: Client, spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differences, "_ROWS", 1000)
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)")
    run("INSERT INTO t SELECT i, i FROM range(5000) r(i)")
    run("CALL system.backup('t', name => 'b')")
    run("UPDATE t SET n = 0 WHERE id % 100 = 1")
    run("DELETE FROM t WHERE id % 100 = 2")
    _by(spark, monkeypatch)
    run("CALL system.restore('t', backup => 'b')")
    assert run("SELECT count(*) FROM t WHERE n = id") == [(5000,)]
