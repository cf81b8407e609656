"""Proof that rows just written have distinct keys, without grouping them all.

Files that were written from sorted rows consist of runs in which the key only grows. When the runs
are few and do not overlap, no key stands twice. Runs are broken where the key does not grow, and at
the borders of row groups, because several threads write those in turns. Where to break is free:
more runs are as sound as fewer. With the lowest and the highest keys of all runs each sorted for
themselves, the runs are apart exactly if each highest lies below the next lowest. Where there is no
proof, nothing is said about the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlglot
from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.segment import SegmentFile
from journal.sql.relations import column

_ENDS_MAX = 100_000
"""Ends of runs after which keys count as unsorted."""
_PROOF = sqlglot.parse_one(
    """
    WITH borders AS (
        SELECT CAST(sum(row_group_num_rows) OVER (ORDER BY file_name, row_group_id) AS BIGINT) AS n
        FROM parquet_metadata(:files) WHERE column_id = 0
    ), keys AS (
        SELECT k, row_number() OVER () AS n, lag(k) OVER () AS before, lead(k) OVER () AS after
        FROM given
    ), marked AS (
        SELECT k, coalesce(k <= before, TRUE) OR n IN (SELECT n + 1 FROM borders) AS lowest,
               coalesce(after <= k, TRUE) OR n IN (SELECT n FROM borders) AS highest
        FROM keys
    ), ends AS MATERIALIZED (
        SELECT * FROM marked WHERE lowest OR highest LIMIT :most
    ), lows AS (
        SELECT k, row_number() OVER (ORDER BY k) AS place FROM ends WHERE lowest
    ), highs AS (
        SELECT k, row_number() OVER (ORDER BY k) AS place FROM ends WHERE highest
    )
    SELECT 1 WHERE (SELECT count(*) FROM ends) >= :most
    UNION ALL
    SELECT 1 FROM highs JOIN lows ON lows.place = highs.place + 1 WHERE lows.k <= highs.k
    """,
    read="duckdb",
)


def proved_distinct(
    session: DuckDBSession, relation: str, columns: Sequence[str], files: Iterable[SegmentFile]
) -> bool:
    """True if no two rows of ``relation``, which shows ``files``, agree in ``columns``.

    NULL agrees with nothing, as in a UNIQUE constraint.
    """
    session.execute(_proof(session, relation, columns, files), {})
    return not session.fetch_many(1)


def _proof(
    session: DuckDBSession, relation: str, columns: Sequence[str], files: Iterable[SegmentFile]
) -> Query:
    paths = [exp.Literal.string(str(session.root / f.path)) for f in files]
    keys = [column(c) for c in columns]
    key: exp.Expr = keys[0] if len(keys) == 1 else exp.Anonymous(this="row", expressions=keys)
    filled = [exp.Not(this=exp.Is(this=k.copy(), expression=exp.Null())) for k in keys]
    given = exp.select(exp.alias_(key, "k")).from_(exp.to_table(relation)).where(*filled)
    values = {"files": exp.Array(expressions=paths), "most": exp.Literal.number(_ENDS_MAX)}
    proof = _PROOF.copy()
    for node in list(proof.find_all(exp.Placeholder)):
        node.replace(values[node.name].copy())
    for table in list(proof.find_all(exp.Table)):
        if table.name == "given":
            table.replace(given.subquery("given"))
    return Query(proof, ())
