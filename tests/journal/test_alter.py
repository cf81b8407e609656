"""Definitions that change: buffers, segments and the past are read in the columns asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.client import Client

SETUP = (
    "CREATE TABLE t (k INTEGER PRIMARY KEY, a VARCHAR, b INTEGER)",
    "INSERT INTO t VALUES (1, '1', 10), (2, '2', 20), (3, '3', 30)",
)


def _last_version(run: Client) -> int:
    found = run("SELECT max(version_number) FROM t_journal")
    return round(found[0][0].timestamp() * 1_000_000)


@pytest.fixture
def table(run: Client) -> Client:
    """A table with three rows."""
    for statement in SETUP:
        run(statement)
    return run


@pytest.mark.parametrize("flush", [False, True])
def test_rows_of_every_layout_are_read_together(table: Client, flush: bool) -> None:
    run = table
    for step in (
        "ALTER TABLE t ADD COLUMN c VARCHAR DEFAULT 'old'",
        "INSERT INTO t VALUES (4, '4', 40, 'new')",
        "ALTER TABLE t DROP COLUMN a",
        "UPDATE t SET b = b + 1 WHERE k IN (1, 4)",
        "ALTER TABLE t ADD COLUMN a DOUBLE DEFAULT 0.5",
        "ALTER TABLE t RENAME COLUMN b TO bb",
        "DELETE FROM t WHERE k = 2",
        "ALTER TABLE t ALTER COLUMN bb TYPE VARCHAR",
        "UPDATE t SET bb = bb || '!' WHERE k = 3",
    ):
        run(step)
        if flush:
            run("CALL system.flush('t')")
    assert run.sorted("SELECT k, bb, c, a FROM t") == [
        (1, "11", "old", 0.5),
        (3, "30!", "old", 0.5),
        (4, "41", "new", 0.5),
    ]


@pytest.mark.parametrize("flush", [False, True])
def test_the_past_is_read_with_the_definition_of_then(table: Client, flush: bool) -> None:
    run = table
    first = _last_version(run)
    run("ALTER TABLE t ALTER COLUMN a TYPE INTEGER")
    run("UPDATE t SET a = 100 WHERE k = 1")
    second = _last_version(run)
    run("ALTER TABLE t DROP COLUMN b")
    run("ALTER TABLE t RENAME COLUMN a TO aa")
    run("INSERT INTO t VALUES (9, 9)")
    run("ALTER TABLE t RENAME TO other")
    if flush:
        run("CALL system.flush('other')")
    assert run.sorted("SELECT * FROM other") == [(1, 100), (2, 2), (3, 3), (9, 9)]
    then = run.sorted(f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {first}")
    assert then == [(1, "1", 10), (2, "2", 20), (3, "3", 30)]
    then = run.sorted(f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {second}")
    assert then == [(1, 100, 10), (2, 2, 20), (3, 3, 30)]


def test_values_no_cast_can_give_are_written_as_a_new_version(table: Client) -> None:
    run = table
    first = _last_version(run)
    run("ALTER TABLE t ALTER COLUMN a TYPE INTEGER USING b + k")
    assert run.sorted("SELECT k, a FROM t") == [(1, 11), (2, 22), (3, 33)]
    then = run.sorted(f"SELECT k, a FROM t FOR SYSTEM_VERSION AS OF {first}")
    assert then == [(1, "1"), (2, "2"), (3, "3")]
    run("ALTER TABLE t ADD COLUMN r DOUBLE DEFAULT random()")
    before = run.sorted("SELECT k, r FROM t")
    assert len({r for _, r in before}) == 3
    run("CALL system.flush('t')")
    assert run.sorted("SELECT k, r FROM t") == before


def test_a_pinned_transaction_keeps_its_definition(
    table: Client, connect: Callable[..., Client]
) -> None:
    run = table
    other = connect()
    run("BEGIN")
    before = run.sorted("SELECT * FROM t")
    other("ALTER TABLE t DROP COLUMN a")
    other("ALTER TABLE t ADD COLUMN a INTEGER DEFAULT 5")
    other("UPDATE t SET b = 0")
    other("CALL system.flush('t')")
    assert run.sorted("SELECT * FROM t") == before
    run("ROLLBACK")
    assert run.sorted("SELECT k, a, b FROM t") == [(1, 5, 0), (2, 5, 0), (3, 5, 0)]


def test_two_changes_of_one_definition_conflict(
    table: Client, connect: Callable[..., Client]
) -> None:
    run, other = table, connect()
    run("BEGIN")
    run("ALTER TABLE t ADD COLUMN c INTEGER")
    other("ALTER TABLE t ADD COLUMN d INTEGER")
    assert run.error("COMMIT") == ("PAL-401", "40001")
    run("BEGIN")
    run("INSERT INTO t (k) VALUES (7)")
    other("ALTER TABLE t DROP COLUMN d")
    assert run.error("COMMIT") == ("PAL-401", "40001")


def test_rows_a_new_check_has_not_seen_conflict(
    table: Client, connect: Callable[..., Client]
) -> None:
    run, other = table, connect()
    run("BEGIN")
    run("ALTER TABLE t ADD CONSTRAINT low CHECK (b < 100)")
    other("INSERT INTO t VALUES (4, '4', 400)")
    assert run.error("COMMIT") == ("PAL-401", "40001")
    assert run.error("ALTER TABLE t ADD CONSTRAINT low CHECK (b < 100)") == ("PAL-303", "23514")
    run("DELETE FROM t WHERE k = 4")
    run("ALTER TABLE t ADD CONSTRAINT low CHECK (b < 100)")
    assert run.error("UPDATE t SET b = 100 WHERE k = 1") == ("PAL-303", "23514")
    run("ALTER TABLE t DROP CONSTRAINT low")
    run("UPDATE t SET b = 100 WHERE k = 1")


def test_rows_that_did_not_move_with_their_table_conflict(
    table: Client, connect: Callable[..., Client]
) -> None:
    run, other = table, connect()
    for change in ("INSERT INTO t VALUES (4, '4', 4)", "DELETE FROM t WHERE k = 4"):
        run("BEGIN")
        run("ALTER TABLE t DROP CONSTRAINT t_pkey")
        other(change)
        assert run.error("COMMIT") == ("PAL-401", "40001")
    other("BEGIN")
    other("UPDATE t SET b = 7 WHERE k = 1")
    run("ALTER TABLE t DROP CONSTRAINT t_pkey")
    assert other.error("COMMIT") == ("PAL-401", "40001")
    run("INSERT INTO t VALUES (1, '1', 9)")
    assert run.sorted("SELECT k, b FROM t") == [(1, 10), (1, 9), (2, 20), (3, 30)]


@pytest.mark.parametrize(
    ("statement", "code", "sqlstate"),
    [
        ("ALTER TABLE t DROP COLUMN k", "PAL-210", "2BP01"),
        ("ALTER TABLE t DROP COLUMN u", "PAL-210", "2BP01"),
        ("ALTER TABLE t DROP COLUMN b", "PAL-210", "2BP01"),
        ("ALTER TABLE t ALTER COLUMN k DROP NOT NULL", "PAL-211", "42P16"),
        ("ALTER TABLE t ALTER COLUMN nothing DROP NOT NULL", "PAL-202", "42703"),
        ("ALTER TABLE t SET serves = 2", "PAL-110", "0A000"),
        ("ALTER TABLE t ADD COLUMN _row_id INTEGER", "PAL-113", "42939"),
        ("ALTER TABLE t ADD COLUMN x nosuchtype", "PAL-211", "42P16"),
        ("ALTER TABLE t ADD COLUMN x INTEGER DEFAULT 'no number'", "PAL-310", "22P02"),
        ("ALTER TABLE t ADD COLUMN x INTEGER DEFAULT (b)", "PAL-211", "42P16"),
        ("ALTER TABLE t ADD COLUMN x INTEGER NOT NULL", "PAL-302", "23502"),
        ("ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES t (b)", "PAL-211", "42P16"),
        ("ALTER TABLE t ADD UNIQUE (nothing)", "PAL-202", "42703"),
        ("ALTER TABLE t ADD PRIMARY KEY (b)", "PAL-211", "42P16"),
        ("ALTER TABLE t DROP CONSTRAINT nothing", "PAL-211", "42P16"),
        ("ALTER TABLE t RENAME TO t_journal", "PAL-113", "42939"),
        ("ALTER TABLE t SET SCHEMA nowhere", "PAL-204", "3F000"),
        ("ALTER TABLE t CLUSTER BY (b)", "PAL-110", "0A000"),
        ("ALTER TABLE t", "PAL-101", "42601"),
        ("ALTER TABLE t_journal ADD COLUMN x INTEGER", "PAL-111", "42501"),
    ],
)
def test_refusals(common: Client, statement: str, code: str, sqlstate: str) -> None:
    common(
        "CREATE TABLE IF NOT EXISTS t"
        " (k INTEGER PRIMARY KEY, u INTEGER UNIQUE, b INTEGER CHECK (b > 0 OR u > 0))"
    )
    common("INSERT OR IGNORE INTO t VALUES (1, 1, 1)")
    assert common.error(statement) == (code, sqlstate)
    assert common("SELECT * FROM t") == [(1, 1, 1)]


def test_several_actions_at_once(table: Client) -> None:
    run = table
    run(
        "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 1 NOT NULL, DROP COLUMN IF EXISTS zz,"
        " RENAME COLUMN a TO aa, ALTER COLUMN b SET NOT NULL, ADD CONSTRAINT u UNIQUE (b, c),"
        " ADD CHECK (c > 0), ALTER COLUMN aa TYPE BIGINT, SET SCHEMA main"
    )
    assert run.sorted("SELECT k, aa, b, c FROM t")[0] == (1, 1, 10, 1)
    assert run.error("INSERT INTO t VALUES (4, 4, 10, 1)") == ("PAL-301", "23505")
    assert run.error("INSERT INTO t VALUES (4, 4, 10, 0)") == ("PAL-303", "23514")
    run("ALTER TABLE t DROP COLUMN c CASCADE")
    run("INSERT INTO t VALUES (4, 4, 10)")


def test_mysql_and_spark_spellings(connect: Callable[..., Client]) -> None:
    mysql = connect(dialect="mysql")
    mysql("CREATE TABLE m (a INT PRIMARY KEY, b VARCHAR(10), KEY b_index (b)) ENGINE=InnoDB")
    mysql("INSERT INTO m VALUES (1, '5')")
    mysql("ALTER TABLE m MODIFY COLUMN b INT NOT NULL DEFAULT 7, ADD COLUMN c INT")
    mysql("INSERT INTO m (a) VALUES (2)")
    mysql("ALTER TABLE m CHANGE COLUMN b bb BIGINT")
    assert mysql.sorted("SELECT a, bb, c FROM m") == [(1, 5, None), (2, 7, None)]
    spark = connect(dialect="spark")
    spark("CREATE TABLE s (a INT, b STRING) USING parquet TBLPROPERTIES ('owner' = 'me')")
    spark("ALTER TABLE s ADD COLUMNS (c DOUBLE, d STRING)")
    spark("INSERT INTO s VALUES (1, 'b', 2.5, 'd')")
    assert spark("SELECT * FROM s") == [(1, "b", 2.5, "d")]


@pytest.mark.long
def test_many_layouts_are_read_at_their_own_time(table: Client) -> None:
    """Views of old layouts leave out what was written later, whatever is sealed or let go."""
    run = table
    seen: list[tuple[int, list[object]]] = []
    for number in range(12):
        run(f"ALTER TABLE t ADD COLUMN c{number} INTEGER DEFAULT {number}")
        if number % 3:
            run("INSERT INTO t (k, a) VALUES (?, 'x')", 100 + number)
            run("UPDATE t SET b = ? WHERE k = 1", number)
        if number % 4 == 2:
            run("DELETE FROM t WHERE k = ?", 99 + number)
        if number % 5 == 4:
            run("CALL system.flush('t')")
        version = run("SELECT max(version) FROM system.transactions")[0][0]
        seen.append((version, run.sorted("SELECT * FROM t")))
        for point, rows in seen:
            assert run.sorted(f"SELECT * FROM t VERSION AS OF {point}") == rows


def test_an_open_transaction_keeps_reading_its_own_layout(
    table: Client, connect: Callable[..., Client]
) -> None:
    other = connect()
    other("BEGIN")
    before = other.sorted("SELECT * FROM t")
    for number in range(3):
        table(f"ALTER TABLE t ADD COLUMN c{number} INTEGER")
        assert other.sorted("SELECT * FROM t") == before
        table("INSERT INTO t (k, a) VALUES (?, 'x')", 100 + number)
        table("UPDATE t SET b = b + 1 WHERE k = 2")
        assert other.sorted("SELECT * FROM t") == before
        table("CALL system.flush('t')")
        assert other.sorted("SELECT * FROM t") == before
    other("ROLLBACK")
    assert len(other("SELECT * FROM t")) == 6


def test_a_type_that_a_time_zone_decides_is_changed_once_for_all_sessions(
    connect: Callable[..., Client],
) -> None:
    run = connect()
    run("SET TimeZone = 'America/New_York'")
    run(
        "CREATE TABLE z (k INT PRIMARY KEY, a TIMESTAMPTZ, b TIMESTAMP, c VARCHAR, d TIMESTAMPTZ[])"
    )
    run(
        "INSERT INTO z VALUES (1, '2024-07-01 00:00:00+00', '2024-07-01', '2024-07-01',"
        " ['2024-07-01 00:00:00+00'::TIMESTAMPTZ])"
    )
    before = run("SELECT max(version) FROM system.transactions")[0][0]
    run("CALL system.flush('z')")
    for change in ("a TYPE DATE", "b TYPE TIMESTAMPTZ", "c TYPE TIMESTAMPTZ", "d TYPE VARCHAR[]"):
        run(f"ALTER TABLE z ALTER COLUMN {change}")
    told = "SELECT a, epoch_us(b), epoch_us(c), d FROM z"
    midnight = 1_719_806_400_000_000
    expected = ("2024-06-30", midnight, midnight, ["2024-06-30 20:00:00-04"])
    other = connect()
    for zone in ("Asia/Tokyo", "UTC", "America/New_York"):
        other(f"SET TimeZone = '{zone}'")
        (found,) = other(told)
        assert (str(found[0]), *found[1:]) == expected, zone
    other("SET TimeZone = 'Asia/Tokyo'")
    other("UPDATE z SET k = 2")
    other("CALL system.compact('z')")
    (found,) = run(told)
    assert (str(found[0]), *found[1:]) == expected
    then = run(f"SELECT epoch_us(a), b, c FROM z FOR VERSION AS OF {before}")
    assert [(a, str(b), c) for a, b, c in then] == [
        (1_719_792_000_000_000, "2024-07-01 00:00:00", "2024-07-01")
    ]
