"""Previewed SQL over flat journals, run as it is printed, against an ordinary mutable table.

The journal is a plain DuckDB table in the classic convention; every shape must answer like a table
that was really updated, and each statement must have appended only.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import duckdb
import pytest

from journal.sql.relations_flat import FlatShape
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.preview import Assumptions, parse_one, without_store
from rewriter.preview.synthetic_catalog import catalog_of
from rewriter.syntax.parsing import parse

TABLE = """CREATE TABLE depts (deptno INTEGER, region VARCHAR, name VARCHAR, budget INTEGER,
  PRIMARY KEY (deptno, region))"""
JOURNAL = """CREATE TABLE depts_journal (deptno INTEGER, region VARCHAR, name VARCHAR,
  budget INTEGER, version_number TIMESTAMPTZ NOT NULL, subsequent_version_number TIMESTAMPTZ,
  PRIMARY KEY (deptno, region, version_number))"""

WRITES = [
    "INSERT INTO depts VALUES (1, 'n', 'one', 10), (2, 'n', 'two', 20), (1, 's', 'uno', 30)",
    "INSERT INTO depts (region, deptno, name) VALUES ('w', 3, 'three')",
    "UPDATE depts SET budget = budget + 1 WHERE deptno = 1",
    "UPDATE depts SET name = upper(name), budget = 5 WHERE region = 'w'",
    "DELETE FROM depts WHERE deptno = 1 AND region = 's'",
    "INSERT INTO depts SELECT deptno + 100, region, name, budget FROM depts WHERE deptno = 2",
    "INSERT INTO depts VALUES (1, 's', 'back again', 1)",
    "UPDATE depts AS d SET budget = (SELECT max(budget) FROM depts) WHERE d.deptno < 3",
    "UPDATE depts SET deptno = deptno + 1 WHERE region = 'n'",
    "UPDATE depts SET region = 'x', name = 'moved' WHERE region = 'w'",
    "DELETE FROM depts WHERE budget > (SELECT avg(budget) FROM depts)",
    "TRUNCATE depts",
    "INSERT INTO depts VALUES (1, 'n', 'new life', 0)",
]
READS = [
    "SELECT * FROM depts",
    "SELECT * FROM depts WHERE deptno = 1",
    "SELECT name FROM depts WHERE deptno = 1 AND region = 's' AND budget < 100",
    "SELECT * FROM depts WHERE deptno IN (1, 2) AND name <> 'one'",
    "SELECT d.deptno, e.name FROM depts d JOIN depts e ON d.deptno = e.deptno WHERE d.region = 'n'",
    """SELECT d.deptno, e.name FROM depts d LEFT JOIN depts e ON e.deptno = d.deptno + 1
    WHERE d.deptno BETWEEN 1 AND 2""",
    "WITH depts AS (SELECT 1 AS one FROM depts) SELECT count(*) FROM depts",
    "SELECT region, sum(budget) FROM depts GROUP BY region",
    "SELECT count(*) FROM depts WHERE deptno NOT IN (SELECT deptno FROM depts WHERE budget > 10)",
]


class Twin:
    """A mutable table, and a flat journal that the previewed statements write."""

    def __init__(self, shape: FlatShape) -> None:
        self._catalog = catalog_of(parse(TABLE, "duckdb", DEFAULT_LIMITS), "duckdb")
        self._shape = shape
        self._clock = itertools.count(1)
        self.plain = duckdb.connect()
        self.plain.execute(TABLE)
        self.journal = duckdb.connect()
        self.journal.execute(JOURNAL)

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        assumed = Assumptions(self._catalog, layout="flat", shape=self._shape)
        text = without_store(parse_one(sql, "duckdb"), assumed).sql
        needed = {"p_version": next(self._clock)} if "$p_version" in text else None
        return self.journal.execute(text, needed).fetchall()

    def write(self, sql: str) -> None:
        """Run a write on both; the journal must only grow."""
        before = self.journal.execute("SELECT * FROM depts_journal").fetchall()
        self.plain.execute(sql)
        self._run(sql)
        after = self.journal.execute("SELECT * FROM depts_journal").fetchall()
        assert after[: len(before)] == before

    def check(self, sql: str) -> None:
        """Both must answer alike."""
        assert sorted(self._run(sql), key=repr) == sorted(
            self.plain.execute(sql).fetchall(), key=repr
        ), sql


@pytest.mark.parametrize("shape", list(FlatShape))
def test_flat_previews_answer_like_an_ordinary_table(shape: FlatShape) -> None:
    twin = Twin(shape)
    for write in WRITES:
        twin.write(write)
        for read in READS:
            twin.check(read)


@pytest.mark.parametrize("shape", list(FlatShape))
@pytest.mark.parametrize("seed", range(3))
def test_random_writes(shape: FlatShape, seed: int) -> None:
    rng = random.Random(seed)
    twin = Twin(shape)
    for _ in range(40):
        number, region = rng.randrange(4), rng.choice("nsw")
        present = twin.plain.execute(
            "SELECT 1 FROM depts WHERE deptno = ? AND region = ?", [number, region]
        ).fetchone()
        where = f"WHERE deptno = {number} AND region = '{region}'"
        choices = [
            f"UPDATE depts SET budget = {rng.randrange(9)} {where}",
            f"DELETE FROM depts {where}",
        ]
        if present is None:
            choices = [f"INSERT INTO depts VALUES ({number}, '{region}', 'x', 0)"]
        twin.write(rng.choice(choices))
        twin.check("SELECT * FROM depts")
