"""Which texts mean the same whenever PostgreSQL reads them, so that it may keep their plans."""

from __future__ import annotations

import pytest

from journal.sql import dialects
from journal.stores.postgres.dialect.text import rendered

_LASTING = (
    'SELECT a, "it\'s", ? FROM t',
    "SELECT CAST('now' AS VARCHAR), CAST('it''s' AS VARCHAR)",
    "SELECT DATE '2024-01-01'",
    "SELECT TIMESTAMPTZ '1970-01-01 00:00:00+00' + ? * INTERVAL '1' MICROSECOND",
    "SELECT '_palimpsest refuses a row'",
)
_ELSE = (
    "SELECT DATE 'today'",
    "SELECT TIMESTAMPTZ '2024-01-01 00:00:00'",
    "SELECT TIMESTAMPTZ '2024-01-01'",
    "SELECT CAST('now' AS TIMESTAMP)",
    "SELECT a FROM t WHERE at > 'yesterday'",
    "SELECT a FROM t WHERE at > '\"' OR at > 'today' OR at > '\"'",
    "SELECT CAST('_palimpsest' AS VARCHAR), 'now'",
)


@pytest.mark.parametrize("sql", _LASTING)
def test_a_text_without_constants_of_its_time_lasts(sql: str) -> None:
    assert rendered(dialects.stored(sql)).is_lasting


@pytest.mark.parametrize("sql", _ELSE)
def test_a_text_with_a_constant_of_its_time_does_not(sql: str) -> None:
    assert not rendered(dialects.stored(sql)).is_lasting
