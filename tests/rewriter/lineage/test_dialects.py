"""One script, written in each dialect that can spell it, has the same sources in all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import ErrorLevel, parse_one
from sqlglot.dialects.dialect import Dialects
from sqlglot.errors import SqlglotError

from tests.rewriter.lineage.test_statements import written

_NO_SQL = frozenset({"dax", "prql"})
_HAS_NO = {"merge": frozenset({"clickhouse"})}
"""Dialects that have no such statement, though it can be written."""
_DIALECTS_LEAST = 15
_FIXTURE = Path(__file__).with_name("dialects.sql")
_NAMED = re.compile(r"-- name: (.+)\n(.+);\n")
STATEMENTS = dict(_NAMED.findall(_FIXTURE.read_text(encoding="utf-8")))
"""By name, in the dialect duckdb."""


def _spelled(name: str) -> Iterator[tuple[str, str]]:
    for dialect in sorted(found.value for found in Dialects if found.value):
        if dialect in _NO_SQL | _HAS_NO.get(name, frozenset()):
            continue
        try:
            tree = parse_one(STATEMENTS[name], dialect="duckdb")
            yield dialect, tree.sql(dialect=dialect, unsupported_level=ErrorLevel.RAISE)
        except SqlglotError:
            continue  # This dialect cannot spell it.


@pytest.mark.parametrize("name", STATEMENTS)
def test_each_dialect_has_the_same_sources(name: str) -> None:
    expected = written(STATEMENTS[name], "duckdb")
    assert not any("?" in line or "unknown" in line for line in expected)
    found = {dialect: written(sql, dialect) for dialect, sql in _spelled(name)}
    assert len(found) >= _DIALECTS_LEAST
    assert {d: lines for d, lines in found.items() if lines != expected} == {}
