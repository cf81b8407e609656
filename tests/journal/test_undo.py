"""DROP and UNDROP, RESTORE: the past is brought back as something new."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.client import Client


def _now(run: Client) -> int:
    found = run("SELECT max(version_number) FROM t_journal")
    return round(found[0][0].timestamp() * 1_000_000)


@pytest.fixture
def table(run: Client) -> Client:
    """A table with four rows."""
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    run("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    return run


def test_undrop_brings_back_rows_and_definition(table: Client) -> None:
    run = table
    run("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 5")
    run("CALL system.flush('t')")
    run("DELETE FROM t WHERE k = 1")
    run("DROP TABLE t")
    assert run.error("SELECT * FROM t") == ("PAL-201", "42P01")
    run("UNDROP TABLE t")
    assert run.sorted("SELECT * FROM t") == [(2, "b", 5), (3, "c", 5), (4, "d", 5)]
    assert run.error("INSERT INTO t VALUES (2, 'x', 0)") == ("PAL-301", "23505")
    run("INSERT INTO t (k) VALUES (1)")
    assert run("SELECT w FROM t WHERE k = 1") == [(5,)]


def test_undrop_survives_a_restart(table: Client, connect: Callable[..., Client]) -> None:
    table("DROP TABLE t")
    table.close()
    run = connect()
    run("UNDROP TABLE t")
    assert run("SELECT count(*) FROM t") == [(4,)]


def test_undrop_refusals(table: Client) -> None:
    run = table
    assert run.error("UNDROP TABLE t") == ("PAL-205", "42P07")
    assert run.error("UNDROP TABLE nothing") == ("PAL-201", "42P01")
    run("DROP TABLE t")
    run("CREATE TABLE t (other INTEGER)")
    assert run.error("UNDROP TABLE t") == ("PAL-205", "42P07")
    run("ALTER TABLE t RENAME TO t2")
    run("UNDROP TABLE t")
    assert run("SELECT count(*) FROM t") == [(4,)]


def test_drop_and_undrop_in_one_transaction(table: Client) -> None:
    run = table
    run("BEGIN")
    run("INSERT INTO t VALUES (5, 'e')")
    run("DROP TABLE t")
    run("UNDROP TABLE t")
    assert run("SELECT count(*) FROM t") == [(5,)]
    run("INSERT INTO t VALUES (6, 'f')")
    run("DROP TABLE t")
    run("COMMIT")
    run("UNDROP TABLE t")
    assert run("SELECT count(*) FROM t") == [(6,)]


@pytest.mark.parametrize("flush", [False, True])
def test_restore_is_a_new_version_that_can_be_undone(table: Client, flush: bool) -> None:
    run = table
    then = _now(run)
    before = run.sorted("SELECT * FROM t")
    run("UPDATE t SET v = 'B' WHERE k = 2")
    run("DELETE FROM t WHERE k = 3")
    run("INSERT INTO t VALUES (5, 'e')")
    if flush:
        run("CALL system.flush('t')")
    changed, later = run.sorted("SELECT * FROM t"), _now(run)
    assert run(f"RESTORE TABLE t TO VERSION AS OF {then}") == 3
    assert run.sorted("SELECT * FROM t") == before
    assert run(f"RESTORE TABLE t TO VERSION AS OF {then}") == 0
    assert run(f"RESTORE TABLE t TO VERSION AS OF {later}") == 3
    assert run.sorted("SELECT * FROM t") == changed


def test_restore_of_some_rows(table: Client) -> None:
    run = table
    then = _now(run)
    run("UPDATE t SET v = upper(v)")
    assert run(f"RESTORE TABLE t TO VERSION AS OF {then} WHERE k > 2 AND v <> 'd'") == 2
    assert run.sorted("SELECT * FROM t") == [(1, "A"), (2, "B"), (3, "c"), (4, "d")]
    run("DELETE FROM t")
    found = run(f"RESTORE TABLE t TO VERSION AS OF {then} WHERE k IN (SELECT 1 UNION SELECT 4)")
    assert found == 2
    assert run.sorted("SELECT * FROM t") == [(1, "a"), (4, "d")]


def test_restore_keeps_the_present_definition(table: Client) -> None:
    run = table
    then = _now(run)
    run("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 9")
    run("ALTER TABLE t RENAME COLUMN v TO vv")
    run("UPDATE t SET vv = 'x', w = 1")
    assert run(f"RESTORE TABLE t TO VERSION AS OF {then}") == 4
    assert run.sorted("SELECT k, vv, w FROM t")[0] == (1, "a", 9)


def test_restore_in_a_transaction(table: Client) -> None:
    run = table
    then = _now(run)
    run("BEGIN")
    run("DELETE FROM t WHERE k < 3")
    run("INSERT INTO t VALUES (7, 'g')")
    assert run(f"RESTORE TABLE t TO VERSION AS OF {then}") == 3
    assert run("SELECT count(*) FROM t") == [(4,)]
    run("COMMIT")
    assert run.sorted("SELECT * FROM t") == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_restore_by_timestamp_and_its_refusals(table: Client) -> None:
    run = table
    run("DELETE FROM t")
    moment = run("SELECT min(version_number)::VARCHAR FROM t_journal")[0][0]
    assert run(f"RESTORE TABLE t TO TIMESTAMP AS OF TIMESTAMPTZ '{moment}'") == 4
    assert run.error("RESTORE TABLE t TO VERSION AS OF 1") == ("PAL-230", "22007")
    assert run.error("RESTORE TABLE nothing TO VERSION AS OF 1") == ("PAL-201", "42P01")
    assert run.error("RESTORE TABLE t_journal TO VERSION AS OF 1") == ("PAL-111", "42501")
    assert run.error("RESTORE TABLE t TO VERSION AS OF k") == ("PAL-230", "22007")
    for future in ("VERSION AS OF 9{}", "TIMESTAMP AS OF TIMESTAMPTZ '2999-01-01'"):
        error = run.error(f"RESTORE TABLE t TO {future.format(_now(run))}")
        assert error == ("PAL-230", "22007")
