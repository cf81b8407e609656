"""Functions of the canonical dialect that PostgreSQL has otherwise, or for other types.

Each expression gives what it gives in an embedded warehouse.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores

TABLE = (
    "CREATE TABLE t (k INTEGER PRIMARY KEY, f BOOLEAN, u UUID, y BLOB, l INTEGER[], i INTEGER,"
    " s VARCHAR, d DATE, e DATE, a TIMESTAMP, b TIMESTAMP, j JSON, p VARCHAR)"
)
ROWS = """INSERT INTO t VALUES
 (1, true, '00000000-0000-0000-0000-00000000000a', 'ab'::BLOB, [1, 2], -1, 'a', DATE '2020-01-31',
  DATE '2019-12-31', TIMESTAMP '2019-12-31 23:59:59.5', TIMESTAMP '2020-01-01 00:00:00.25',
  '{"a": 1, "b": -2.5}', 'day'),
 (2, false, 'f0000000-0000-0000-0000-00000000000a', '\\xFF'::BLOB, [], 1, 'bb', DATE '2021-03-01',
  DATE '2020-02-29', TIMESTAMP '2021-03-01 10:00:00', TIMESTAMP '2020-01-31 12:30:00',
  '[1, null]', 'Months'),
 (3, true, 'a0000000-0000-0000-0000-00000000000a', ''::BLOB, [7, 8, 9], -3, 'c', DATE '1999-12-26',
  DATE '2000-01-03', TIMESTAMP '1999-12-26', TIMESTAMP '2000-01-03', '"text"', 'week'),
 (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'hour')"""
OF_ROWS = [
    "len(l), length(l), array_length(l), len(s), length(s)",
    "list_contains(l, 1), list_contains(l, NULL), array_contains(l, 3)",
    "l[1], l[-1], l[-2], l[-9], l[i], l[len(l)]",
    "date_diff(p, d, e), date_diff(p, a, b), datediff(p, d, e)",
    *(
        f"date_diff('{unit}', d, e), date_diff('{unit}', a, b)"
        for unit in ("year", "quarter", "month", "week", "day", "hour", "second", "decade")
    ),
    "time_bucket(INTERVAL '1 hour', a), time_bucket(INTERVAL '7 minutes', b)",
    "time_bucket(INTERVAL '5 days', d), time_bucket(INTERVAL '1 week', a)",
    "time_bucket(INTERVAL '1 month', d), time_bucket(INTERVAL '5 months', a)",
    "json_type(j), json_type(j, '$.a'), json_type(j, '$.b'), json_type(j, '$[1]')",
    "hour(a), minute(a), second(a), hour(b), second(b)",
    "weekday(a), dayofweek(a), isodow(a), dayofyear(d), weekofyear(a), week(d), quarter(d)",
    "dayname(d), monthname(a)",
    "date_trunc('month', d), date_trunc('hour', a)",
    "date_part('second', a), date_part('minute', a), extract(second FROM a)",
    "extract(milliseconds FROM b), extract(era FROM d), extract(ms FROM a)",
    "epoch_ms(a), epoch_us(a), epoch_ms(d), epoch_ms(i), make_timestamp(i)",
    "year(d), month(a), day(d), dayofmonth(a), century(d), decade(d), millennium(d), isoyear(d)",
    "era(a), yearweek(a), millisecond(a), microsecond(b), epoch_ns(b), days_in_month(d)",
    "d + to_days(i), a + to_hours(2), a + to_seconds(1.5), d + to_months(i), d + to_years(1)",
    "strftime(a, '%Y-%m-%d %H:%M:%S.%f'), strftime(d, 'Year %Y, Day %-d \"M\" %% %p \\ %A')",
    "strftime(a, '%I:%M %p'), strftime(a, '%j %u %V %G %g %b %B %a %y'), strftime(a, '%c|%x|%X')",
    "l[-2:], l[:-1], l[i:], l[2:-2], l[-9:2], l[2:3]",
    "list_sum(l), list_avg(l), list_min(l), list_max(l), list_count(l), list_unique(l)",
    "list_first(l), list_last(l), list_any_value(l), list_string_agg(l), list_reverse(l)",
    "list_extract(l, -1), list_element(l, i), list_position(l, 2), list_sort(list_distinct(l))",
    "list_has_all(l, [1]), list_has_any(l, [2, 7]), array_push_back(l, i), list_pack(i, 2)",
    "substr('hello', i), substr('hello', i, 2), substr('hello', -9, 3), substring('hello', -3)",
    "range(k), generate_series(1, k, 2), len(range(5)), k",
    "sign(i), even(i), isinf(i), log(2, 64), ord(s), prefix(p, 'w'), suffix(p, 'k')",
    "contains(p, 'e'), ends_with(p, 'y'), ends_with(p, '')",
    "string_split(p, 'e'), string_split(p, ''), string_split('', 'e'), string_split(s, NULL)",
    "str_split_regex(p, '[ae]'), regexp_extract(p, '[a-z]{3}'), regexp_extract(p, '(.)(.)', 2)",
    "regexp_extract_all(p, '(.)(e|o)', 1), regexp_full_match(p, '[a-z]+'), regexp_extract(s, 'x')",
    "base64(y), to_base64(y), from_base64('QQ=='), unhex('2A'), encode(s), decode('ab'::BLOB)",
]
OF_ALL = [
    "min(f), max(f), min(u), max(u), min(y), max(y)",
    "max(f) FILTER (WHERE k > 1), min(u) FILTER (WHERE k > 2)",
    "min(k), max(s), min(d), max(a), min(l)",
    "make_date(2020, 2, 29), strptime('2020-01-02', '%Y-%m-%d')",
    "strptime('02/01/24 08:03 PM', '%d/%m/%y %I:%M %p'), strptime('Day 2', 'Day %d')::DATE",
    "mean(k), favg(i), fsum(k), mean(k) FILTER (WHERE k > 1), quantile(k, 0.5), mode(f)",
    "arg_max(k, d), arg_min(k, d), max_by(s, i), approx_count_distinct(i), count_if(f)",
    "count(*) + (SELECT count(*) FROM unnest(range(3)) AS r(x), generate_series(1, 2))",
    "[1, 2][-1], [1, 2, 3][2]",
]


@pytest.fixture
def two(con: Connection, tmp_path: Path) -> Iterator[tuple[Connection, Connection]]:
    """The same table in the database and in an embedded warehouse."""
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as embedded:
        for each in (con, embedded):
            each.execute(TABLE)
            each.execute(ROWS)
        yield con, embedded


def test_they_give_what_the_embedded_store_gives(two: tuple[Connection, Connection]) -> None:
    asked = [f"SELECT {e} FROM t ORDER BY k" for e in OF_ROWS]
    asked += [f"SELECT {e} FROM t" for e in OF_ALL]
    asked += ["SELECT k, min(f) OVER (PARTITION BY f) FROM t ORDER BY k"]
    asked += ["SELECT f, max(u), min(y) FROM t GROUP BY f HAVING max(f) ORDER BY f"]
    asked += ["SELECT range, r.generate_series FROM range(2), generate_series(1, 2) r ORDER BY ALL"]
    for sql in asked:
        there, here = (each.execute(sql).fetchall() for each in two)
        assert there == here, sql
        for mine, theirs in zip(there, here, strict=True):
            assert [type(v) for v in mine] == [type(v) for v in theirs], sql


def test_a_unit_that_is_none_is_an_error(two: tuple[Connection, Connection]) -> None:
    for each in two:
        with pytest.raises(gateway.Error):
            each.execute("SELECT date_diff(s, a, b) FROM t WHERE k = 1").fetchall()


def test_views_with_them_are_read_by_others(
    two: tuple[Connection, Connection], cluster: Cluster, database: str
) -> None:
    con, _ = two
    con.execute("CREATE VIEW v AS SELECT max(u) AS u, max(len(l)) AS n FROM t")
    role = f"reader_{database}"
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role}")
        admin.execute(f"GRANT SELECT ON v TO {role}")
        admin.execute(f"SET ROLE {role}")
        found: list[Any] = admin.execute("SELECT u::text, n FROM v").fetchall()
    assert found == [("f0000000-0000-0000-0000-00000000000a", 3)]


def test_a_format_that_is_computed_or_asks_for_more_is_refused(
    two: tuple[Connection, Connection],
) -> None:
    con, _ = two
    for pattern in ("'{:d} of {}'", "s"):
        with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
            con.execute(f"SELECT format({pattern}, k, 2) FROM t").fetchall()
    assert con.execute("SELECT format('%s of %s', k, 2) FROM t WHERE k = 1").fetchall() == [
        ("1 of 2",)
    ]
