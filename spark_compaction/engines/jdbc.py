"""Compaction and purge of a database's journal on Spark: rows are read and written through JDBC.

Every value travels as the server's own text, so that each type comes back as it was. Rows are read
in parts by a hash of their key; open and closing rows meet on the executors. What is written no
manifest lists: whoever asked compares it, and lists it or drops it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_compaction.contract import Cluster, Json, Progress

_DRIVER = "org.postgresql.Driver"
_BATCH = "10000"


def fill(cluster: Cluster, task: Mapping[str, Json], _progress: Progress) -> Json:
    """Fill a table with the rows of a base, or of a history; how many parts were read.

    ``opens``, ``closings`` and ``archived`` are queries over the journal's tables.
    """
    keys = [*task["keys"], task["start"]]
    found = _read(cluster, task, task["opens"], keys[0])
    if task["opens"]:
        closings = _read(cluster, task, task["closings"], keys[0])
        if task["is_base"]:
            found = found.join(closings, keys, "left_anti")
        else:
            found = found.drop(task["end"]).join(closings, keys, "inner")
    parts = [found] if task["opens"] else []
    if task["archived"]:
        parts.append(_read(cluster, task, task["archived"], task["columns"][0]))
    for rows in parts:
        _write(task, rows)
    return len(parts)


def _write(task: Mapping[str, Json], rows: Any) -> None:
    names = ["`" + name.replace("`", "``") + "`" for name in task["columns"]]
    rows.select(*names).write.jdbc(
        task["url"], task["target"], mode="append", properties=_properties(task)
    )


def _read(cluster: Cluster, task: Mapping[str, Json], queries: list[str], column: str) -> Any:
    """The rows of some queries, in as many parts as there are cores."""
    if not queries:
        return None
    rows = " UNION ALL ".join(f"({query})" for query in queries)
    quoted = '"' + column.replace('"', '""') + '"'
    count = max(1, cluster.spark.sparkContext.defaultParallelism)
    hashed = f"(coalesce(hashtextextended({quoted}, 0), 0) & 2147483647) % {count}"
    parts = [f"{hashed} = {number}" for number in range(count)]
    return cluster.spark.read.jdbc(
        task["url"], f"({rows}) AS r", predicates=parts, properties=_properties(task)
    )


def _properties(task: Mapping[str, Json]) -> dict[str, str]:
    # Text without a type of its own becomes what the column is.
    return {
        "driver": _DRIVER,
        "user": task["user"],
        "password": task["password"],
        "stringtype": "unspecified",
        "batchsize": _BATCH,
        "fetchsize": _BATCH,
    }
