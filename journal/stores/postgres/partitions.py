"""Native partitions of sealed rows, so that queries read those that a condition leaves over.

Tables of base and history are partitioned by a column of the user's, as the table's property says;
partitions are made for the values there are, and one for all others. Runs in the session it is
given; commits nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sqlglot import exp

from journal.model.partitioning import Partitioning, partitioning_of
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.model.segment import Fields
from journal.sql.relations import ident
from journal.stores.postgres.dialect.text import quoted_text, rendered, shortened
from journal.stores.postgres.layout import create_rows
from journal.stores.postgres.store import PostgresSession

_PARTS_MAX = 1000
"""So many partitions at most; the values that come first lie in the one for all others."""
_STEP = (
    "SELECT DISTINCT (floor({c} / ?::numeric) * ?::numeric)::text,"
    " ((floor({c} / ?::numeric) + 1) * ?::numeric)::text, floor({c} / ?::numeric)"
    " FROM ({rows}) r WHERE {c} IS NOT NULL ORDER BY 3 DESC LIMIT ?::int"
)
_UNIT = (
    "SELECT DISTINCT date_trunc(?::text, {c})::text,"
    " (date_trunc(?::text, {c}) + ?::interval)::text, date_trunc(?::text, {c})"
    " FROM ({rows}) r WHERE isfinite({c}) ORDER BY 3 DESC LIMIT ?::int"
)
_VALUES = (
    "SELECT DISTINCT {c}::text FROM ({rows}) r WHERE {c} IS NOT NULL ORDER BY 1 DESC LIMIT ?::int"
)
_INTERVALS = {"quarter": "3 months"}
_KEY = re.compile(r'(RANGE|LIST|HASH) \((?:"((?:[^"]|"")+)"|(\w+))\)')
_RANGE = re.compile(r"FOR VALUES FROM \('?(.*?)'?\) TO \('?(.*?)'?\)", re.DOTALL)
_HASH = re.compile(r"FOR VALUES WITH \(modulus (\d+), remainder \d+\)")
_OPEN = frozenset({"MINVALUE", "MAXVALUE"})


def create_sealed(
    session: PostgresSession,
    table: Table,
    target: exp.Table,
    fields: Fields,
    sources: Iterable[exp.Table],
) -> None:
    """Create an empty table for rows out of ``sources``, partitioned if the table says so."""
    made = partitioning_of(table)
    if made is None or made.column not in dict(fields):
        create_rows(session, table, target, fields)
        return
    column = ident(made.column)
    kind = exp.PartitionedByProperty(this=exp.Anonymous(this=made.strategy, expressions=[column]))
    create_rows(session, table, target, fields, kind)
    clauses = _clauses(session, made, list(sources))
    for number, clause in enumerate(clauses):
        part = ident(f"{target.name}_p{number}").sql(dialect="postgres")
        session.text(
            f"CREATE TABLE {STORE_SCHEMA}.{part} PARTITION OF {rendered(target).sql} {clause}"
        )


def _clauses(
    session: PostgresSession, made: Partitioning, sources: Sequence[exp.Table]
) -> list[str]:
    if made.parts is not None:
        return [f"FOR VALUES WITH (MODULUS {made.parts}, REMAINDER {i})" for i in range(made.parts)]
    name = ident(shortened(made.column.casefold())).sql(dialect="postgres")
    rows = " UNION ALL ".join(f"SELECT {name} FROM {rendered(s).sql}" for s in sources)  # noqa: S608
    if made.strategy == "LIST":
        values = session.text(_VALUES.format(c=name, rows=rows), [_PARTS_MAX])
        return [*(f"FOR VALUES IN ({quoted_text(value)})" for (value,) in values), "DEFAULT"]
    found = _ranges(session, made, name, rows)
    return [
        *(f"FOR VALUES FROM ({quoted_text(a)}) TO ({quoted_text(b)})" for a, b in found),
        "DEFAULT",
    ]


def _ranges(
    session: PostgresSession, made: Partitioning, name: str, rows: str
) -> list[tuple[str, str]]:
    if made.bounds:
        return list(zip(made.bounds, made.bounds[1:], strict=False))
    if made.step is not None:
        found = session.text(_STEP.format(c=name, rows=rows), [*[made.step] * 5, _PARTS_MAX])
    else:
        assert made.unit is not None
        length = _INTERVALS.get(made.unit, f"1 {made.unit}")
        values = [made.unit, made.unit, length, made.unit, _PARTS_MAX]
        found = session.text(_UNIT.format(c=name, rows=rows), values)
    return [(low, high) for low, high, _ in found]


def partitioning_in(session: PostgresSession, oid: int) -> Partitioning | None:
    """How a table of the database is partitioned, as far as that can be kept; else None."""
    ((key,),) = session.text("SELECT pg_get_partkeydef(?::bigint::oid)", [oid])
    found = _KEY.fullmatch(key or "")
    if found is None:
        return None
    strategy, quoted, bare = found.groups()
    made = Partitioning(strategy, quoted.replace('""', '"') if quoted else bare)
    rows = session.text(
        "SELECT pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i"
        " JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = ?::bigint ORDER BY c.oid",
        [oid],
    )
    return _like(made, [text for (text,) in rows])


def _like(made: Partitioning, clauses: Sequence[str]) -> Partitioning | None:
    if made.strategy == "LIST":
        return made
    if made.strategy == "HASH":
        parts = [int(found[1]) for text in clauses if (found := _HASH.fullmatch(text))]
        return Partitioning("HASH", made.column, parts=max(parts)) if parts else None
    pairs = [found.groups() for text in clauses if (found := _RANGE.fullmatch(text))]
    bounds = list(dict.fromkeys(b for pair in sorted(pairs) for b in pair if b not in _OPEN))
    if len(bounds) < 2:
        return None
    return Partitioning("RANGE", made.column, bounds=tuple(bounds))
