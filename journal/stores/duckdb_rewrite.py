"""One segment file written anew without the rows of some keys: the unit of work of a purge.

Runs wherever Spark puts it, on a DuckDB of its own in memory; opens no warehouse. The keys are the
small side: they go along with every unit and are anti-joined, so rows whose key or identifiers are
NULL stay. What it reports lets the owner check the result without reading it again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp

from journal.erasure.descriptor import parse_descriptor
from journal.filters import FilterBuilder, packed
from journal.stores.duckdb import DIALECT
from journal.stores.duckdb_hash import row_hash
from journal.stores.parquet_files import checksum

_KEYS = "keys"


def rewrite_without(unit: dict[str, Any]) -> dict[str, Any]:
    """``source`` without the keys in ``keys`` (files), as ``target``; nothing if none is left.

    ``casts`` turns keys, column by column, into the types of the source: SQL expressions.
    """
    with duckdb.connect(":memory:", config={"threads": "1"}) as connection:
        paths = exp.Array(expressions=[exp.Literal.string(p) for p in unit["keys"]])
        keys = exp.select(
            *[
                exp.alias_(exp.maybe_parse(sql, dialect=DIALECT), _quoted(name))
                for name, sql in unit["casts"].items()
            ]
        ).distinct()
        keys = keys.from_(_call("read_parquet", paths))
        create = exp.Create(this=exp.to_table(_KEYS), kind="TABLE", expression=keys)
        connection.execute(create.sql(dialect=DIALECT)).fetchall()
        before = _digest(connection, unit, None)
        gone = _digest(connection, unit, "semi")
        found: dict[str, Any] = {"before": before, "gone": gone, "file": None}
        if before["rows"] > gone["rows"]:
            found["file"] = _write(connection, unit)
            after = _digest(connection, {**unit, "source": unit["target"]}, None)
            found["after"] = after
            found["filters"] = _filters(connection, unit)
        return found


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _call(name: str, *arguments: exp.Expr) -> exp.Table:
    return exp.Table(this=exp.Anonymous(this=name, expressions=list(arguments)))


def _rows(unit: dict[str, Any], join: str | None) -> exp.Select:
    source = exp.alias_(_call("read_parquet", exp.Literal.string(unit["source"])), "p", table=True)
    rows = exp.select("p.*").from_(source)
    if join is None:
        return rows
    same = [
        exp.EQ(this=exp.column(_quoted(k), table="p"), expression=exp.column(_quoted(k), table="k"))
        for k in unit["casts"]
    ]
    keys = exp.alias_(exp.to_table(_KEYS), "k", table=True)
    return rows.join(keys, on=exp.and_(*same), join_type=join)


def _digest(
    connection: duckdb.DuckDBPyConnection, unit: dict[str, Any], join: str | None
) -> dict[str, Any]:
    """Rows by kind, and a sum over the hashes of whole rows that no order changes."""
    start, end = (exp.column(_quoted(unit[n]), table="r") for n in ("version", "subsequent"))
    kinds = [
        exp.Is(this=end.copy(), expression=exp.Null()),
        exp.EQ(this=end.copy(), expression=start),
    ]
    whole = row_hash(unit["fields"], [start.copy(), end.copy()], "r")
    wide = exp.cast(whole, "HUGEINT", dialect=DIALECT)
    query = exp.select(
        exp.Count(this=exp.Star()),
        *[
            exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=kind))
            for kind in kinds
        ],
        exp.Coalesce(this=exp.Sum(this=wide), expressions=[exp.Literal.number(0)]),
    ).from_(_rows(unit, join).subquery("r"))
    (row,) = connection.execute(query.sql(dialect=DIALECT)).fetchall()
    rows, opens, tombstones, total = row
    closing = rows - opens - tombstones
    return {
        "rows": rows,
        "open": opens,
        "closing": closing,
        "tombstone": tombstones,
        "digest": str(int(total)),
    }


def _write(connection: duckdb.DuckDBPyConnection, unit: dict[str, Any]) -> dict[str, Any]:
    options = {"FORMAT": "parquet", "RETURN_STATS": "true", **unit["options"]}
    copy = exp.Copy(
        this=exp.Subquery(this=_rows(unit, "anti")),
        kind=False,
        files=[exp.Literal.string(unit["target"])],
        params=[
            exp.CopyParameter(this=exp.var(name), expression=exp.Literal.string(value))
            for name, value in options.items()
        ],
    )
    (row,) = connection.execute(copy.sql(dialect=DIALECT)).fetchall()
    path = Path(unit["target"])
    with path.open("rb") as handle:
        os.fsync(handle.fileno())
    low = high = None
    if unit["bounded"] is not None:
        stats = (row[4] or {}).get(_quoted(unit["bounded"]).sql(dialect=DIALECT), {})
        if "min" in stats and "max" in stats:
            low, high = int(stats["min"]), int(stats["max"])
    return {
        "bytes": int(row[2]),
        "rows": int(row[1]),
        "checksum": checksum(path),
        "key_low": low,
        "key_high": high,
    }


def _filters(connection: duckdb.DuckDBPyConnection, unit: dict[str, Any]) -> dict[str, Any] | None:
    """The filters of the new file, in the form in which JSON can carry them."""
    if not unit["filters"]:
        return None
    builder = FilterBuilder(parse_descriptor(unit["filters"]), tuple(unit["casts"]))
    source = _call("read_parquet", exp.Literal.string(unit["target"]))
    columns = [exp.column(_quoted(c)) for c in builder.columns if c in dict(unit["fields"])]
    rows = exp.select(*columns).from_(source)
    for batch in connection.sql(rows.sql(dialect=DIALECT)).to_arrow_reader():
        builder.add(batch)
    return packed(builder.finish())
