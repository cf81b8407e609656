"""Reading the past in every spelling; each answer is compared with what was current then."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.model.version import to_datetime
from tests.support.tiers import in_tiers

Rows = list[tuple[Any, ...]]


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True, user="ann", application="test") as made:
        yield made


def rows(con: Connection, sql: str, parameters: Any = None) -> Rows:
    return sorted(con.execute(sql, parameters).fetchall(), key=repr)


def last_version(con: Connection) -> int:
    return int(con.execute("SELECT max(version) FROM system.transactions").fetchall()[0][0])


def moment(con: Connection) -> str:
    sql = "SELECT CAST(max(committed_at) AS VARCHAR) FROM system.transactions"
    return str(con.execute(sql).fetchall()[0][0])


@pytest.fixture
def points(con: Connection) -> list[tuple[int, str, Rows]]:
    """A table changed a few times: after each change its version, the time, and its rows."""
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a VARCHAR)")
    found = []
    for sql in (
        "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
        "UPDATE t SET a = 'z' WHERE k = 1",
        "DELETE FROM t WHERE k = 2",
        "INSERT INTO t VALUES (2, 'again'), (3, NULL)",
        "UPDATE t SET k = 9 WHERE k = 3",
    ):
        con.execute(sql)
        found.append((last_version(con), moment(con), rows(con, "SELECT * FROM t")))
    return found


SPELLINGS = (
    "SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMPTZ '{time}'",
    "SELECT * FROM t FOR SYSTEM_TIME AS OF '{time}' AS x WHERE x.k > 0",
    "SELECT * FROM t AS x FOR SYSTEM_TIME AS OF TIMESTAMPTZ '{time}' WHERE x.k > 0",
    "SELECT x.* FROM t x FOR SYSTEM_VERSION AS OF ({version} + 0) JOIN (SELECT 1) y ON true",
    "SELECT * FROM t FOR SYSTEM_VERSION AS OF {version}",
    "SELECT * FROM t FOR SYSTEM_VERSION AS OF TIMESTAMPTZ '{time}'",
    "SELECT * FROM t VERSION AS OF {version}",
    "SELECT * FROM t VERSION AS OF '{time}'",
    "SELECT x.* FROM t TIMESTAMP AS OF '{time}' x",
    "SELECT * FROM t AT (TIMESTAMP => TIMESTAMPTZ '{time}')",
    "SELECT * FROM t AT (VERSION => {version})",
    "SELECT * FROM (SELECT * FROM main.t VERSION AS OF {version}) AS q",
    "WITH c AS (SELECT * FROM t VERSION AS OF {version}) SELECT * FROM c",
)


@pytest.mark.first(1)
@pytest.mark.parametrize("flushed", [False, True])
def test_every_spelling(
    con: Connection, points: list[tuple[int, str, Rows]], flushed: bool
) -> None:
    if flushed:
        con.execute("CALL system.flush()")
    for version, time, expected in points:
        for spelling in SPELLINGS:
            assert rows(con, spelling.format(version=version, time=time)) == expected, spelling


def test_every_dialect_takes_a_point_in_time(tmp_path: Any) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True) as plain:
        plain.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        plain.execute("INSERT INTO t VALUES (1)")
        version = last_version(plain)
        plain.execute("DELETE FROM t")
        for dialect in ("duckdb", "postgres", "mysql", "spark", "hive", "ansi"):
            with gateway.connect(url, autocommit=True, dialect=dialect) as con:
                for clause in (
                    f"FOR SYSTEM_VERSION AS OF {version}",
                    f"FOR SYSTEM_TIME AS OF '{moment_of(version)}'",
                    f"VERSION AS OF {version}",
                    f"TIMESTAMP AS OF '{moment_of(version)}'",
                    f"AT (VERSION => {version})",
                ):
                    assert rows(con, f"SELECT * FROM t {clause}") == [(1,)], (dialect, clause)


def moment_of(version: int) -> str:
    return to_datetime(version).isoformat(sep=" ")


def test_parameters_and_cached_plans(con: Connection, points: list[tuple[int, str, Rows]]) -> None:
    sql = "SELECT * FROM t VERSION AS OF ? WHERE k < ?"
    for _ in range(2):
        for version, _, expected in points:
            assert rows(con, sql, [version, 100]) == expected


def test_two_points_in_one_statement(con: Connection, points: list[tuple[int, str, Rows]]) -> None:
    first, last = points[0], points[-1]
    sql = f"SELECT * FROM t VERSION AS OF {first[0]} EXCEPT SELECT * FROM t VERSION AS OF {last[0]}"
    assert rows(con, sql) == sorted(set(first[2]) - set(last[2]), key=repr)


def test_views_show_the_past_of_their_tables(
    con: Connection, points: list[tuple[int, str, Rows]]
) -> None:
    con.execute("CREATE VIEW v AS SELECT k FROM t WHERE k < 3")
    con.execute("CREATE VIEW w AS SELECT count(*) AS n FROM v")
    for version, _, expected in points:
        kept = [(k,) for k, _ in expected if k < 3]
        assert rows(con, f"SELECT * FROM v VERSION AS OF {version}") == kept
        assert rows(con, f"SELECT * FROM w VERSION AS OF {version}") == [(len(kept),)]


def test_session_reads_the_past(con: Connection, points: list[tuple[int, str, Rows]]) -> None:
    version, _, expected = points[1]
    con.execute(f"SET as_of = {version}")
    assert rows(con, "SELECT * FROM t") == expected
    with pytest.raises(gateway.OperationalError) as caught:
        con.execute("DELETE FROM t")
    assert caught.value.sqlstate == "25006"
    con.execute("RESET as_of")
    assert rows(con, "SELECT * FROM t") == points[-1][2]


def test_future_is_now_and_later_commits_lie_above(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    assert rows(con, "SELECT * FROM t FOR SYSTEM_TIME AS OF '2999-01-01'") == [(1,)]
    assert rows(con, "SELECT * FROM t FOR SYSTEM_TIME AS OF now()") == [(1,)]
    now = int(con.execute("SELECT epoch_us(now())").fetchall()[0][0])
    assert rows(con, "SELECT * FROM t VERSION AS OF ?", [now]) == [(1,)]
    con.execute("INSERT INTO t VALUES (2)")
    assert rows(con, "SELECT * FROM t VERSION AS OF ?", [now]) == [(1,)]


def test_answers_stay_while_a_transaction_waits(tmp_path: Any) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True) as one, gateway.connect(url) as two:
        one.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        two.execute("INSERT INTO t VALUES (7)")
        now = int(one.execute("SELECT epoch_us(now())").fetchall()[0][0])
        assert rows(one, "SELECT * FROM t VERSION AS OF ?", [now]) == []
        two.commit()
        assert rows(one, "SELECT * FROM t VERSION AS OF ?", [now]) == []
        assert rows(one, "SELECT * FROM t") == [(7,)]


def test_nobody_sees_half_a_transaction(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("BEGIN")
    for k in range(3):
        con.execute("INSERT INTO t VALUES (?)", [k])
        assert rows(con, "SELECT * FROM t FOR SYSTEM_TIME AS OF now()") == []
    con.execute("COMMIT")
    sql = "SELECT first_version, version FROM system.transactions ORDER BY version DESC LIMIT 1"
    first, last = con.execute(sql).fetchall()[0]
    assert first < last
    for point in (first, (first + last) // 2, last):
        assert rows(con, f"SELECT * FROM t VERSION AS OF {point}") == [(0,), (1,), (2,)]
    assert rows(con, f"SELECT * FROM t VERSION AS OF {first - 1}") == []


def test_the_past_is_read_with_its_schema(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, gone VARCHAR, n INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 'x', 5)")
    before = last_version(con)
    con.execute("ALTER TABLE t ADD COLUMN late INTEGER")
    con.execute("ALTER TABLE t DROP COLUMN gone")
    con.execute("ALTER TABLE t ALTER COLUMN n TYPE VARCHAR")
    con.execute("CALL system.flush()")
    cursor = con.execute(f"SELECT * FROM t VERSION AS OF {before}")
    assert [d[0] for d in cursor.description or []] == ["k", "gone", "n"]
    assert cursor.fetchall() == [(1, "x", 5)]
    con.execute("DROP TABLE t")
    assert rows(con, f"SELECT * FROM t VERSION AS OF {before}") == [(1, "x", 5)]
    with pytest.raises(gateway.ProgrammingError) as caught:
        con.execute(f"SELECT * FROM t VERSION AS OF {before - 10**9}")
    assert caught.value.sqlstate == "42P01"
    assert "created at" in caught.value.advice


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("SELECT * FROM t TIMESTAMP AS OF 'yesterday evening'", "22007"),
        ("SELECT * FROM t VERSION AS OF NULL", "22007"),
        ("SELECT * FROM t TIMESTAMP AS OF (SELECT now())", "22007"),
        ("SELECT * FROM t TIMESTAMP AS OF k", "22007"),
        ("SELECT * FROM t BEFORE (TIMESTAMP => now())", "0A000"),
        ("SELECT * FROM system.tables VERSION AS OF 1", "0A000"),
        ("WITH c AS (SELECT 1) SELECT * FROM c VERSION AS OF 1", "0A000"),
        ("SELECT * FROM table_history('nope')", "42P01"),
        ("SELECT * FROM table_history(1)", "42883"),
        ("SELECT * FROM table_changes('t')", "42883"),
        ("SELECT * FROM v FOR SYSTEM_TIME ALL", "42809"),
        ("DELETE FROM t VERSION AS OF 1", "0A000"),
    ],
)
def test_refusals(con: Connection, sql: str, sqlstate: str) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("CREATE VIEW v AS SELECT * FROM t")
    with pytest.raises(gateway.Error) as caught:
        con.execute(sql)
    assert caught.value.sqlstate.startswith(sqlstate)


def test_row_versions_in_spans(con: Connection, points: list[tuple[int, str, Rows]]) -> None:
    v = [p[0] for p in points]
    assert rows(con, "SELECT * FROM t FOR SYSTEM_TIME ALL") == sorted(
        [(1, "x"), (1, "z"), (2, "y"), (2, "again"), (3, None), (9, None)], key=repr
    )
    t = [p[1] for p in points]
    between = f"SELECT * FROM t FOR SYSTEM_TIME BETWEEN '{t[1]}' AND '{t[2]}'"
    assert rows(con, between) == [(1, "z"), (2, "y")]
    span = f"SELECT k FROM t FOR SYSTEM_TIME FROM '{t[0]}' TO '{t[1]}'"
    assert rows(con, span) == [(1,), (2,)]
    contained = f"SELECT * FROM t FOR SYSTEM_TIME CONTAINED IN ('{t[0]}', '{t[2]}')"
    assert rows(con, contained) == [(1, "x"), (2, "y")]
    sql = "SELECT k, epoch_us(version_number), epoch_us(subsequent_version_number)"
    assert rows(con, f"{sql} FROM t FOR SYSTEM_TIME ALL WHERE a = 'x'") == [(1, v[0], v[1])]


def test_version_columns_may_be_named(con: Connection, points: list[tuple[int, str, Rows]]) -> None:
    v = [p[0] for p in points]
    assert rows(con, "SELECT k, epoch_us(version_number) FROM t WHERE k < 3") == [
        (1, v[1]),
        (2, v[3]),
    ]
    cursor = con.execute("SELECT *, version_number AS v, x.* FROM t AS x ORDER BY version_number")
    assert [d[0] for d in cursor.description or []] == ["k", "a", "v", "k", "a"]
    assert rows(con, "SELECT subsequent_version_number FROM t WHERE k = 1") == [(None,)]


def test_history_names_writers(con: Connection, points: list[tuple[int, str, Rows]]) -> None:
    con.execute("SET commit_message = 'why'")
    con.execute("UPDATE t SET a = 'last' WHERE k = 1")
    cursor = con.execute("SELECT * FROM table_history('t') WHERE k = 1 ORDER BY valid_from")
    names = [d[0] for d in cursor.description or []]
    assert names[2:] == [
        *("valid_from", "valid_to", "user", "application", "statement_digest", "message"),
    ]
    lives = cursor.fetchall()
    assert [life[1] for life in lives] == ["x", "z", "last"]
    assert [life[3] for life in lives[:-1]] == [life[2] for life in lives[1:]]
    assert lives[-1][3] is None
    assert lives[-1][4:6] == ("ann", "test")
    assert [life[7] for life in lives] == [None, None, "why"]


def test_changes_in_order(con: Connection, points: list[tuple[int, str, Rows]]) -> None:
    v = [p[0] for p in points]
    sql = f"SELECT k, a, _change_type, _version FROM table_changes('t', {v[1]}, {v[4]})"
    assert con.execute(sql).fetchall() == [
        (1, "x", "update_preimage", v[1]),
        (1, "z", "update_postimage", v[1]),
        (2, "y", "delete", v[2]),
        (2, "again", "insert", v[3]),
        (3, None, "insert", v[3]),
        (3, None, "delete", v[4]),
        (9, None, "insert", v[4]),
    ]


@pytest.mark.long
@pytest.mark.parametrize("seed", in_tiers(range(6), {0}))
def test_every_state_and_every_difference(con: Connection, seed: int) -> None:
    """States read back equal those that were; changes turn each into each later one."""
    dice = random.Random(seed)
    keyed = seed % 2 == 0
    con.execute(f"CREATE TABLE t (k INTEGER {'PRIMARY KEY' if keyed else ''}, a INTEGER)")
    states: list[tuple[int, Rows]] = [(last_version(con), [])]
    for _ in range(25):
        con.execute("BEGIN")
        for _ in range(dice.randint(1, 3)):
            key, value = dice.randrange(8), dice.randrange(100)
            con.execute(
                dice.choice(
                    [
                        f"DELETE FROM t WHERE k = {key}",
                        f"UPDATE t SET a = {value} WHERE k <= {key}",
                        (
                            f"INSERT INTO t SELECT {key}, {value}"
                            f" WHERE NOT EXISTS (SELECT 1 FROM t WHERE k = {key})"
                        ),
                    ]
                )
            )
        con.execute("COMMIT")
        if dice.random() < 0.2:
            con.execute("CALL system.flush()")
        states.append((last_version(con), rows(con, "SELECT * FROM t")))
    for version, state in states:
        assert rows(con, f"SELECT * FROM t VERSION AS OF {version}") == state
    for _ in range(20):
        (start, before), (end, after) = sorted(dice.choices(states, k=2))
        found = con.execute(f"SELECT * FROM table_changes('t', {start + 1}, {end})").fetchall()
        now = list(before)
        for k, a, kind, *_ in found if start < end else []:
            if kind in {"delete", "update_preimage"}:
                now.remove((k, a))
            else:
                now.append((k, a))
        assert sorted(now, key=repr) == (after if start < end else before)
