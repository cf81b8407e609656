"""Reading by position: when it is done, when it is not, and that rows are the same either way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gateway
from gateway.shell.previewing import preview_on
from journal.model.segment import Tier
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.positions import PositionKeeper, Thresholds
from tests.support.client import Client
from tests.support.positions import EVERY_TABLE, always_by_position

QUERY = "SELECT * FROM t"


def _journal(run: Client) -> Journal:
    return run.connection.session.journal


def _shape(run: Client, query: str = QUERY) -> str:
    return str(dict(run(f"EXPLAIN {query}"))["palimpsest_shapes"]).split()[1]


@pytest.fixture
def changed(run: Client) -> Client:
    """A table with changes in all tiers: rows changed once, twice, deleted, and come back."""
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    run("INSERT INTO t SELECT i, 'a' || i FROM range(3000) r(i)")
    run("CALL system.flush('t')")
    run("INSERT INTO t SELECT i, 'a' || i FROM range(3000, 6000) r(i)")
    run("CALL system.flush('t')")
    run("UPDATE t SET v = 'b' WHERE k % 7 = 0")
    run("DELETE FROM t WHERE k % 11 = 0")
    run("CALL system.flush('t')")
    run("UPDATE t SET v = 'c' WHERE k % 14 = 0")
    run("INSERT INTO t VALUES (11, 'back'), (7000, 'new')")
    run("DELETE FROM t WHERE k IN (7000, 5)")
    tiers = _journal(run).state.tables[1].tiers
    assert tiers == {Tier.BASE, Tier.DELTA, Tier.HEAD}
    return run


def _find(run: Client) -> None:
    journal = _journal(run)
    journal.positions.thresholds = EVERY_TABLE
    assert journal.positions.find(1) is not None


def test_rows_are_those_of_the_anti_join(changed: Client) -> None:
    assert _shape(changed) == "anti-join"
    before = changed.sorted(QUERY)
    _find(changed)
    assert _shape(changed) == "positions"
    assert changed.sorted(QUERY) == before
    asked = "SELECT min(v), max(k), count(DISTINCT v) FROM t WHERE k BETWEEN 10 AND 4000"
    found = changed(asked)
    changed("INSERT INTO t VALUES (-1, 'z')")
    assert _shape(changed) == "anti-join"
    assert changed(asked) == found


def test_the_optimizer_is_told_how_many_rows_are_left(changed: Client) -> None:
    """It takes a condition on bits for one that few rows meet, and would order joins by that."""
    _find(changed)
    asked = f"{QUERY} ORDER BY v"
    plan = dict(changed(f"EXPLAIN {asked}"))["physical_plan"]
    found = re.search(r"~([\d,]+) row", plan)
    assert _shape(changed, asked) == "positions"
    assert found is not None
    assert int(found[1].replace(",", "")) > 5000, plan


def test_a_large_write_ends_rows_that_the_head_still_has(run: Client) -> None:
    """It goes to sealed files at once, past the head."""
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    run("INSERT INTO t SELECT i, 0 FROM range(300000) r(i)")
    run("CALL system.flush('t')")
    run("UPDATE t SET v = 1 WHERE k % 100 = 7")
    run("UPDATE t SET v = v + 10 WHERE k % 2 = 1")
    state = _journal(run).state.tables[1]
    assert state.tiers == {Tier.BASE, Tier.DELTA, Tier.HEAD}, "the large one went past the head"
    _find(run)
    assert _shape(run) == "positions"
    asked = "SELECT v, count(*), count(DISTINCT k) FROM t GROUP BY v ORDER BY v"
    by_position = run(f"SELECT * FROM ({asked.replace('FROM t', 'FROM (FROM t OFFSET 0)')})")
    assert by_position == [(0, 150_000, 150_000), (10, 147_000, 147_000), (11, 3_000, 3_000)]


def test_what_one_statement_made_serves_the_next(changed: Client) -> None:
    _find(changed)
    made = _journal(changed).positions.of(1, _journal(changed).state.tables[1])
    assert made is not None
    with pytest.raises(gateway.Error):
        changed("SELECT CAST(v AS INTEGER) FROM t")
    before = changed.sorted(QUERY)
    reading = _journal(changed).begin(read_only=True)
    with _journal(changed).statement(reading) as statement:
        assert statement.session.kept_views[1][0] is made.tiers
    reading.rollback()
    for change, gone in (("DELETE FROM t WHERE k = 17", {17}), ("DELETE FROM t WHERE k < 9", {1})):
        changed(change)
        _find(changed)
        assert _shape(changed) == "positions"
        after = changed.sorted(QUERY)
        assert set(after) < set(before)
        assert not gone & {row[0] for row in after}
        before = after
    changed("ALTER TABLE t RENAME COLUMN v TO w")
    changed("ALTER TABLE t ADD COLUMN x INTEGER DEFAULT 4")
    assert changed.sorted("SELECT k, w, x FROM t") == [(*row, 4) for row in before]


def test_the_preview_shows_it(changed: Client) -> None:
    _find(changed)
    shown = preview_on(changed.connection, QUERY)
    assert [s.shape for s in shown.shapes] == ["positions"]
    told = dict(shown.relations)
    assert told["tx1_placed"].startswith("sealed rows, less those that have ended")


@pytest.mark.long
def test_another_state_has_no_positions(changed: Client) -> None:
    for change in (
        "DELETE FROM t WHERE k = 17",
        "CALL system.flush('t')",
        "CALL system.compact('t', mode => 'minor')",
    ):
        _find(changed)
        before = changed.sorted(QUERY)
        changed(change)
        assert _shape(changed) != "positions"
        assert set(changed.sorted(QUERY)) == set(before) - {(17, "a17")}


@pytest.mark.long
def test_what_is_added_is_what_is_found_anew(changed: Client) -> None:
    keeper = _journal(changed).positions
    for change in (
        "DELETE FROM t WHERE k BETWEEN 100 AND 130",
        "CALL system.flush('t')",
        "UPDATE t SET v = 'd' WHERE k % 5 = 0",
        "INSERT INTO t SELECT i, 'e' FROM range(8000, 8100) r(i)",
        "UPDATE t SET v = 'f' WHERE k BETWEEN 8000 AND 8020 OR k % 25 = 0",
        "CALL system.flush('t')",
        "DELETE FROM t WHERE k % 3 = 0",
        "CALL system.compact('t', mode => 'minor')",
        "UPDATE t SET v = 'g' WHERE k % 10 = 0",
        "CALL system.flush('t')",
    ):
        _find(changed)
        changed(change)
        added = keeper.find(1)
        anew = PositionKeeper(_journal(changed), EVERY_TABLE).find(1)
        assert (added and added.tiers) == (anew and anew.tiers), change


def test_own_rows_and_the_past_are_read_without(
    changed: Client, connect: Callable[..., Client]
) -> None:
    _find(changed)
    version = changed("SELECT max(version) FROM system.transactions")[0][0]
    other = connect()
    assert _shape(other) == "positions"
    changed("BEGIN")
    assert _shape(changed) == "positions"
    changed("UPDATE t SET v = 'mine' WHERE k = 20")
    assert _shape(changed) == "anti-join"
    assert changed("SELECT v FROM t WHERE k + 0 = 20") == [("mine",)]
    assert other("SELECT v FROM t WHERE k + 0 = 20") == [("a20",)]
    other("UPDATE t SET v = 'theirs' WHERE k = 23")
    assert _shape(changed) == "as"
    assert changed("SELECT v FROM t WHERE k + 0 = 23") == [("a23",)]
    changed("ROLLBACK")
    _find(changed)
    assert changed("SELECT v FROM t WHERE k + 0 = 23") == [("theirs",)]
    past = f"SELECT v FROM t VERSION AS OF {version} WHERE k + 0 = 23"
    assert changed(past) == [("a23",)]


def test_a_changed_layout_is_read_without(changed: Client) -> None:
    _find(changed)
    changed("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 4")
    assert _shape(changed) == "anti-join"
    assert changed("SELECT DISTINCT w FROM t") == [(4,)]


def test_what_a_scan_says_of_rows_is_not_hidden(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, File_Index INTEGER)")
    run("INSERT INTO t VALUES (1, 7), (2, 8)")
    run("CALL system.flush('t')")
    run("DELETE FROM t WHERE k = 1")
    assert _journal(run).positions.find(1) is None
    assert run(QUERY) == [(2, 8)]


def test_a_write_that_reads_by_position(changed: Client) -> None:
    _find(changed)
    assert changed("SELECT v FROM t WHERE k + 0 = 14") == [("c",)]
    assert changed("UPDATE t SET v = (SELECT max(v) FROM t) WHERE k = 20") == 1
    assert changed("SELECT v FROM t WHERE k = 20") == [("c",)]
    _find(changed)
    assert changed("CREATE TABLE copied AS SELECT count(*) AS n FROM t") is not None
    assert changed("SELECT n FROM copied") == changed("SELECT count(*) FROM t")


def test_positions_are_found_for_tables_that_stay_as_they_are(changed: Client) -> None:
    now_ns = 0
    journal = _journal(changed)
    thresholds = Thresholds(
        rows_min=1, ended_min_per_mille=0, wait_ns_per_row=1, again_ns_per_row=1
    )
    journal.positions = PositionKeeper(journal, thresholds, lambda: now_ns)
    changed(QUERY)
    changed(QUERY)
    journal.positions.wait()
    assert _shape(changed) == "anti-join"
    now_ns = 10_000
    changed("SELECT * FROM t WHERE k = 3")
    changed("SELECT count(*) FROM t")
    journal.positions.wait()
    assert _shape(changed) == "anti-join"
    changed(QUERY)
    journal.positions.wait()
    assert _shape(changed) == "positions"
    changed("DELETE FROM t WHERE k = 3")
    changed(QUERY)
    journal.positions.wait()
    assert _shape(changed) == "anti-join"


def test_what_cannot_be_found_is_not_looked_for_again(
    changed: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = _journal(changed)
    journal.positions.thresholds = EVERY_TABLE
    asked: list[int] = []

    def find(table_id: int) -> None:
        asked.append(table_id)

    monkeypatch.setattr(journal.positions, "find", find)
    for _ in range(3):
        changed(QUERY)
        journal.positions.wait()
    assert asked == [1]
    changed("DELETE FROM t WHERE k = 3")
    for _ in range(3):
        changed(QUERY)
        journal.positions.wait()
    assert asked == [1, 1]


def test_small_tables_and_few_changes_are_not_worth_it(changed: Client) -> None:
    state = _journal(changed).state.tables[1]
    assert not Thresholds().admits(state)
    assert Thresholds(rows_min=6000).admits(state)
    assert not Thresholds(rows_min=6000, ended_min_per_mille=900).admits(state)
    assert not Thresholds(rows_min=1, rows_max=10).admits(state)
    assert not Thresholds(rows_min=1, files_max=2).admits(state)


def test_a_damaged_file_is_told(changed: Client) -> None:
    _find(changed)
    file = next(f for f in changed.files() if "part_0" in f.name)
    file.write_bytes(file.read_bytes()[:-9])
    assert changed.error(QUERY)[0] == "PAL-503"


@pytest.fixture
def by_position() -> Iterator[None]:
    with always_by_position():
        yield


@pytest.mark.usefixtures("by_position")
def test_blocks_and_files_without_ended_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journal.stores.embedded.position_scan.BLOCK_ROWS", 64)
    run = Client(tmp_path / "warehouse")
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    for first in range(0, 2000, 500):
        run(f"INSERT INTO t SELECT * FROM range({first}, {first + 500})")
        run("CALL system.flush('t')")
    kept = set(range(2000))
    for gone in ({0}, {63, 64, 499}, set(range(700, 980)), {1999}, {500, 501, 1500}):
        run(f"DELETE FROM t WHERE k IN ({', '.join(map(str, gone))})")
        kept -= gone
        assert {k for (k,) in run(QUERY)} == kept
        assert run("SELECT min(k), max(k) FROM t") == [(min(kept), max(kept))]
    run.close()
