"""Seconds of more than six digits in texts: PostgreSQL rounds them, on every kind of store."""

from __future__ import annotations

from datetime import datetime

import pytest

import gateway
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)

LONG, ROUNDED = "2024-01-01 10:00:00.1234567", datetime(2024, 1, 1, 10, 0, 0, 123457)  # noqa: DTZ001
TEXTS: tuple[tuple[str, str], ...] = (
    (LONG, "2024-01-01 10:00:00.123457"),
    ("2024-01-01 10:00:00.1234564", "2024-01-01 10:00:00.123456"),
    ("2024-01-01 10:00:00.1234565", "2024-01-01 10:00:00.123456"),
    ("2024-01-01 10:00:00.1234575", "2024-01-01 10:00:00.123458"),
    # The fraction is a DOUBLE, in which this one lies below the half.
    ("2024-01-01 10:00:00.0001255", "2024-01-01 10:00:00.000125"),
    ("1999-12-31 23:59:59.9999999", "2000-01-01 00:00:00"),
    ("2024-01-01 10:00:00.123456", "2024-01-01 10:00:00.123456"),
    ("2024-01-01 00:00", "2024-01-01 00:00:00"),
)


@pytest.mark.drifts(toy="it has other moments", hive="Spark cuts them")
def test_seconds_of_computed_texts_are_rounded(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT, p TIMESTAMP, z TIMESTAMPTZ)")
    with con.cursor() as cursor:
        rows = [(place, text) for place, (text, _) in enumerate(TEXTS)]
        cursor.executemany("INSERT INTO t (k, v) VALUES (%s, %s)", rows)
    wanted = [text for _, text in TEXTS]
    for value in (
        "v::timestamp",
        "(v || '')::timestamp",
        "v::timestamp(6)",
        "left(v, 30)::timestamp",
    ):
        found = con.execute(f"SELECT ({value})::text FROM t ORDER BY k").fetchall()
        assert [text for (text,) in found] == wanted, value
    con.execute("UPDATE t SET p = v::timestamp, z = (v || '+00')::timestamptz")
    found = con.execute("SELECT p::text, z = (p::text || '+00')::timestamptz FROM t ORDER BY k")
    assert found.fetchall() == [(text, True) for text in wanted]
    (same,) = con.execute(
        "SELECT count(*) FROM t WHERE v::timestamp(3) <> p::timestamp(3)"
    ).fetchone()
    assert same == 0
    for literal, meant in TEXTS:
        found = con.execute(f"SELECT timestamp '{literal}'::text").fetchall()
        assert found == [(meant,)], literal


@pytest.mark.drifts(toy="it has no times of day", hive="it has no times of day")
def test_seconds_of_times_of_day_are_rounded(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
    con.execute(
        "INSERT INTO t VALUES (1, '10:00:00.1234567'), (2, '23:59:59.9999999'),"
        " (3, '2024-01-01 23:59:59.9999999'), (4, '23:59:59.99999949')"
    )
    times = ["10:00:00.123457", "24:00:00", "24:00:00", "23:59:59.999999"]
    found = con.execute("SELECT v::time::text FROM t ORDER BY k").fetchall()
    assert [text for (text,) in found] == times
    found = con.execute(
        "SELECT (v || '+02')::timetz::text FROM t WHERE k <> 3 ORDER BY k"
    ).fetchall()
    assert [text for (text,) in found] == [f"{times[place]}+02" for place in (0, 1, 3)]
    found = con.execute("SELECT '23:59:59.9999999'::time::text, interval '-1:00:00.9999999'::text")
    assert found.fetchall() == [("24:00:00", "-01:00:01")]


def test_seconds_of_parameters_are_rounded(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, p TIMESTAMP, z TIMESTAMPTZ, v TEXT)")
    con.execute("INSERT INTO t VALUES (0, %s, %s, %s)", [LONG, LONG + "+00", LONG])
    assert con.execute("SELECT k FROM t WHERE p = %s", [LONG]).fetchall() == [(0,)]
    assert con.execute("SELECT %s::timestamp", [LONG]).fetchall() == [(ROUNDED,)]
    with con.cursor() as cursor:
        rows = [(place, LONG, LONG) for place in range(1, 100)]
        cursor.executemany("INSERT INTO public.t (k, p, v) VALUES (%s, %s, %s)", rows)
    found = con.execute("SELECT DISTINCT p, v FROM t WHERE z IS NULL OR z = %s", [LONG + "+00"])
    assert found.fetchall() == [(ROUNDED, LONG)]


@pytest.mark.drifts(toy="it has other moments")
@pytest.mark.parametrize("options", ["", " (FORMAT csv, DELIMITER E'\\t')"])
def test_seconds_of_copied_texts_are_rounded(store: Store, options: str) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, p TIMESTAMP, z TIMESTAMPTZ, v TEXT)")
    with con.cursor() as cursor, cursor.copy(f"COPY t FROM STDIN{options}") as copy:
        for place, (text, _) in enumerate(TEXTS):
            copy.write(f"{place}\t{text}\t{text}+00\t{text}\n")
    found = con.execute("SELECT p::text, (z AT TIME ZONE 'UTC')::text, v FROM t ORDER BY k")
    assert found.fetchall() == [(meant, meant, text) for text, meant in TEXTS]


def test_bad_moments_of_a_copy_are_named_and_left_out(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, p TIMESTAMP)")
    rows = f"1\t{LONG}\n2\t2024-13-01 10:00:00.1234567\n"
    with pytest.raises(gateway.Error, match="STDIN, line 2, column p"):
        with con.cursor() as cursor, cursor.copy("COPY t FROM STDIN") as copy:
            copy.write(rows)
    with con.cursor() as cursor, cursor.copy("COPY t FROM STDIN (ON_ERROR ignore)") as copy:
        copy.write(rows)
    assert con.execute("SELECT k FROM t").fetchall() == [(1,)]
