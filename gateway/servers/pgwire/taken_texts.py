"""Values of other types that a statement takes as texts, as PostgreSQL writes them.

    INSERT INTO t (name) VALUES ($1)     of a float8 1.0: the text 1
    SELECT $1::text                      of an interval: the text 1 day 02:00:00

A store writes texts of its own, and reads intervals in a spelling that is no PostgreSQL's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from gateway.servers.pgwire import types
from gateway.servers.pgwire.given_types import kind_of
from gateway.servers.pgwire.interval_texts import interval_text
from gateway.servers.pgwire.text_style import TextStyle
from gateway.servers.pgwire.values_text import text_of
from journal.model.plan import USER_PARAMETER
from journal.sql.interval_text import interval_of_fields
from rewriter.statement import SqlStatement, Statement

_TEXTS = frozenset({"VARCHAR", "TEXT", "CHAR", "BPCHAR"})
_LEFT = frozenset({types.TEXT.oid, types.BOOL.oid, types.JSON.oid, types.JSONB.oid})
"""Types whose values every store makes the same texts of."""
_PARTS = re.compile(r"(-?\d+) months (-?\d+) days (-?\d+) microseconds")


def places_of_texts(
    statement: Statement | None, kinds: Sequence[str | None], given: Sequence[int]
) -> frozenset[int]:
    """The parameters whose places take a text, and whose values are given as something else.

    One that stands in several places may be a number in another.
    """
    if not isinstance(statement, SqlStatement):
        return frozenset()
    wanted = [
        place
        for place, (kind, oid) in enumerate(zip(kinds, given, strict=False))
        if (kind or "").partition("(")[0] in _TEXTS and _has_own_text(oid)
    ]
    if not wanted:
        return frozenset()
    used = Counter(node.name for node in statement.ast.find_all(exp.Placeholder))
    return frozenset(place for place in wanted if used[f"{USER_PARAMETER}{place}"] == 1)


def _has_own_text(oid: int) -> bool:
    is_known = oid in types.BY_OID or oid in types.ELEMENTS
    return is_known and oid not in _LEFT | types.OTHER_TEXT


def text_given(value: Any, oid: int, style: TextStyle) -> Any:
    """The text of a parameter's value; NULL stays one."""
    if value is None:
        return None
    if oid == types.INTERVAL.oid:
        plain = interval_of_fields(value, "year", "second")
        parts = None if plain is None else _PARTS.fullmatch(plain)
        if parts is None:
            return value
        months, days, micros = map(int, parts.groups())
        return interval_text(months, days, micros, style.intervals)
    return value if isinstance(value, str) else text_of(value, kind_of(oid) or "DECIMAL", style)
