"""How fast does lineage read scripts, on one core?

Scripts of a nightly load: inserts into partitions, joins, windows, common table expressions,
multi-inserts and merges over two hundred tables. The first is Hive's; the second is written in six
dialects, a part in each. The peer is sqlglot's parser alone, over the same text: what lineage takes
besides is ours. Times are the processor's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial

import sqlglot

from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from rewriter.lineage.scripts import trace_script
from rewriter.lineage.tables import KnownTables

_TABLES, _STATEMENTS, _STATEMENTS_QUICK = 200, 5_000, 500
_RATE = 300
_PARSER = "sqlglot, parsing alone"
_TABLE = """CREATE TABLE raw.t{n} (id BIGINT, customer BIGINT, item BIGINT, price DECIMAL(15, 2),
quantity INT, state STRING, placed TIMESTAMP) PARTITIONED BY (ds STRING)"""
_SHAPES = (
    """INSERT OVERWRITE TABLE raw.t{to} PARTITION (ds = '2024-05-01')
SELECT a.id, a.customer, b.item, a.price * b.quantity, coalesce(b.quantity, 0),
  CASE WHEN a.state = 'x' THEN b.state ELSE upper(a.state) END, a.placed
FROM raw.t{a} a LEFT JOIN raw.t{b} b ON a.id = b.id AND a.ds = b.ds
WHERE a.placed >= '2024-05-01' AND b.state IS NOT NULL""",
    """WITH latest AS (
  SELECT id, customer, price, row_number() OVER (PARTITION BY customer ORDER BY placed DESC) AS rn
  FROM raw.t{a} WHERE ds > '2024-04-01'
), sums AS (SELECT customer, sum(price) AS total, count(*) AS n FROM raw.t{b} GROUP BY customer)
INSERT INTO mart.m{to} SELECT l.id, s.total / s.n AS mean, l.price, s.n
FROM latest l JOIN sums s ON l.customer = s.customer WHERE l.rn = 1""",
    """FROM raw.t{a} s
INSERT OVERWRITE TABLE raw.t{to} PARTITION (ds)
  SELECT id, customer, item, price, quantity, state, placed, ds
INSERT INTO mart.c{to} SELECT customer, max(price) GROUP BY customer""",
    """CREATE TABLE IF NOT EXISTS mart.n{to} AS
SELECT * FROM (SELECT id, customer, price FROM raw.t{a}
  UNION ALL SELECT id, customer, price FROM raw.t{b}) u
WHERE u.customer IN (SELECT customer FROM raw.t{c} WHERE quantity > 3)""",
    """MERGE INTO raw.t{to} t USING (SELECT id, max(price) AS price FROM raw.t{a} GROUP BY id) s
ON t.id = s.id WHEN MATCHED AND s.price > t.price THEN UPDATE SET price = s.price, state = 'new'
WHEN NOT MATCHED THEN INSERT (id, price) VALUES (s.id, s.price)""",
    """CREATE OR REPLACE VIEW mart.v{to} AS
SELECT t.customer, w.day, count(DISTINCT t.item) AS items, avg(t.price) AS price
FROM raw.t{a} t JOIN (SELECT id, to_date(placed) AS day FROM raw.t{b}) w ON t.id = w.id
GROUP BY t.customer, w.day HAVING count(*) > 1 ORDER BY price""",
)


_SPOKEN = ("hive", "spark", "postgres", "snowflake", "bigquery", "tsql")
_OF_HIVE = (0, 2)
"""Shapes that only Hive has."""

Scripts = Sequence[tuple[str, str]]
"""Dialects with texts."""


def script(statements: int, *, dialect: str = "hive") -> str:
    """A script of so many statements that write, after those that define their tables."""
    found = [_TABLE.format(n=n) for n in range(_TABLES)]
    shapes = [s for n, s in enumerate(_SHAPES) if dialect == "hive" or n not in _OF_HIVE]
    for n in range(statements):
        places = {name: (n * step) % _TABLES for name, step in (("a", 7), ("b", 13), ("c", 29))}
        found.append(shapes[n % len(shapes)].format(to=(n * 31 + 5) % _TABLES, **places))
    if dialect != "hive":
        found = [sqlglot.transpile(one, read="hive", write=dialect)[0] for one in found]
    return ";\n".join(found) + ";\n"


def measure(options: Options) -> Report:
    """Read the scripts by turns with the parser."""
    statements = _STATEMENTS if options.rows >= 1_000_000 else _STATEMENTS_QUICK
    report = Report("lineage of scripts", statements, clock=time.process_time)
    part = statements // len(_SPOKEN)
    cases: dict[str, Scripts] = {
        "Hive": [("hive", script(statements))],
        f"{len(_SPOKEN)} dialects": [(d, script(part, dialect=d)) for d in _SPOKEN],
    }
    for case, scripts in cases.items():
        contenders = {OURS: partial(_read, scripts), _PARSER: partial(_parse, scripts)}
        report.compare(case, contenders, options.repeats)
        # The statements that define the tables are read as well.
        limit_ms = (statements + _TABLES * len(scripts)) / _RATE * 1000
        share = report.median_ms(case, OURS) / limit_ms
        report.judge(case, Promise(f"{_RATE} statements a second", 1.0), [share])
        report.judge_times(case, Promise(_PARSER, 2.0))
    return report


def _read(scripts: Scripts) -> None:
    for dialect, text in scripts:
        for statement in trace_script(text, KnownTables(dialect)):
            assert statement.unknown is None, statement


def _parse(scripts: Scripts) -> None:
    for dialect, text in scripts:
        sqlglot.parse(text, dialect=dialect)


if __name__ == "__main__":
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
