"""The data: rows like TPC-H's lineitem, sorted by a BIGINT key, made by DuckDB from hashes of it.

``changed_query`` says what the table must hold after some percent of the rows were changed; the
statements that change it are ``changes``. Both come from the same conditions, so that every answer
can be checked against a plain file.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

COLUMNS = (
    ("k", "BIGINT"),
    ("l_orderkey", "BIGINT"),
    ("l_partkey", "BIGINT"),
    ("l_suppkey", "BIGINT"),
    ("l_quantity", "DECIMAL(15,2)"),
    ("l_extendedprice", "DECIMAL(15,2)"),
    ("l_discount", "DECIMAL(15,2)"),
    ("l_tax", "DECIMAL(15,2)"),
    ("l_returnflag", "VARCHAR"),
    ("l_linestatus", "VARCHAR"),
    ("l_shipdate", "DATE"),
    ("l_shipmode", "VARCHAR"),
    ("l_comment", "VARCHAR"),
)

# 7919 is prime to 1000, so a range of the product's rest scatters rows evenly over the whole file:
# the worst case for anything that would like changes to lie together.
_SPREAD = "(k * 7919) % 1000"
_STEPS = {1: ((0, 8), (9, 9)), 10: ((10, 90), (91, 99))}
"""Per percentage the ranges of rests updated and deleted; 10 comes on top of 1."""


def create_table(name: str) -> str:
    """CREATE TABLE with a primary key."""
    columns = ", ".join(f"{c} {t}{' PRIMARY KEY' if c == 'k' else ''}" for c, t in COLUMNS)
    return f"CREATE TABLE {name} ({columns})"


def changes(name: str, percent: int) -> list[str]:
    """Statements that bring ``name`` from the percentage before to this one."""
    (low, high), (first, last) = _STEPS[percent]
    return [
        f"UPDATE {name} SET l_quantity = l_quantity + 1 WHERE {_SPREAD} BETWEEN {low} AND {high}",
        f"DELETE FROM {name} WHERE {_SPREAD} BETWEEN {first} AND {last}",
    ]


def changed_query(source: str, percent: int) -> str:
    """The rows of ``source`` after the changes up to ``percent``."""
    steps = [s for p, s in _STEPS.items() if p <= percent]
    if not steps:
        return f"SELECT * FROM {source}"
    updated = " OR ".join(f"{_SPREAD} BETWEEN {u[0]} AND {u[1]}" for u, _ in steps)
    deleted = " OR ".join(f"{_SPREAD} BETWEEN {d[0]} AND {d[1]}" for _, d in steps)
    quantity = f"l_quantity + CASE WHEN {updated} THEN 1 ELSE 0 END"
    return (
        f"SELECT * REPLACE (CAST({quantity} AS DECIMAL(15,2)) AS l_quantity)"
        f" FROM {source} WHERE NOT ({deleted})"
    )


def lineitem_file(folder: Path, rows: int) -> Path:
    """The table as one Parquet file with DuckDB's own settings; made once."""
    return _made(folder / f"lineitem-{rows}.parquet", _lineitem(rows))


def shuffled_file(folder: Path, rows: int) -> Path:
    """The same rows in no order at all."""
    source = lineitem_file(folder, rows)
    query = f"SELECT * FROM '{source}' ORDER BY hash(k)"
    return _made(folder / f"lineitem-{rows}-shuffled.parquet", query)


def changed_file(folder: Path, rows: int, percent: int) -> Path:
    """The table after the changes up to ``percent``, as a plain Parquet file."""
    source = lineitem_file(folder, rows)
    if percent == 0:
        return source
    return _made(
        folder / f"lineitem-{rows}-{percent}.parquet", changed_query(f"'{source}'", percent)
    )


def orders_file(folder: Path, rows: int) -> Path:
    """A table to join with: a quarter as many orders."""
    query = f"""
        SELECT o AS o_orderkey,
               CAST(DATE '1992-01-01' + CAST(hash(o * 3 + 11) % 2400 AS INTEGER) AS DATE)
                   AS o_orderdate,
               (1 + hash(o) % 5) || '-PRIORITY' AS o_orderpriority
        FROM range(0, {max(1, rows // 4)}) AS r(o)"""
    return _made(folder / f"orders-{rows}.parquet", query)


def _made(path: Path, query: str) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({query}) TO '{unfinished}' (FORMAT parquet)")
        unfinished.rename(path)
    return path


def _lineitem(rows: int) -> str:
    def rest(salt: int, modulus: int) -> str:
        return f"(hash(k * 7 + {salt}) % {modulus})"

    date = f"DATE '1992-01-01' + CAST({rest(11, 2526)} AS INTEGER)"
    modes = "['MAIL', 'SHIP', 'AIR', 'RAIL', 'TRUCK', 'FOB', 'REG AIR']"
    values = (
        "k",
        rest(1, max(1, rows // 4)),
        rest(2, 200_000),
        rest(3, 10_000),
        f"1 + {rest(4, 50)}",
        f"900 + {rest(5, 10_000_000)} / 100.0",
        f"{rest(6, 11)} / 100.0",
        f"{rest(8, 9)} / 100.0",
        f"['A', 'N', 'R'][1 + CAST({rest(9, 3)} AS INTEGER)]",
        f"['F', 'O'][1 + CAST({rest(10, 2)} AS INTEGER)]",
        date,
        f"{modes}[1 + CAST({rest(12, 7)} AS INTEGER)]",
        f"'comment ' || {rest(13, 1_000_000)}",
    )
    outputs = ", ".join(
        f"CAST({value} AS {kind}) AS {name}"
        for value, (name, kind) in zip(values, COLUMNS, strict=True)
    )
    return f"SELECT {outputs} FROM range(1, {rows + 1}) AS r(k)"
