"""Statements of Spark SQL in the application of a job: text in, columns of plain values out.

Runs in the worker, beside its Spark session. Each connection of the gateway has a session of its
own there, so that settings of one do not reach another. Imports no pyspark: it is handed a session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_compaction.contract import Cluster, Json, Progress

_SESSIONS: dict[str, Any] = {}
_WORDS = {
    "int": "INT_TYPE",
    "bigint": "BIGINT_TYPE",
    "smallint": "SMALLINT_TYPE",
    "tinyint": "TINYINT_TYPE",
    "boolean": "BOOLEAN_TYPE",
    "float": "FLOAT_TYPE",
    "double": "DOUBLE_TYPE",
    "decimal": "DECIMAL_TYPE",
    "date": "DATE_TYPE",
    "timestamp": "TIMESTAMP_TYPE",
    "timestamp_ntz": "TIMESTAMP_TYPE",
    "binary": "BINARY_TYPE",
    "void": "NULL_TYPE",
}
"""HiveServer2's words for Spark's types; it calls all others STRING_TYPE."""
_AS_IT_IS = frozenset({"int", "bigint", "smallint", "tinyint", "boolean", "float", "double"})
_NESTED = frozenset({"array", "map", "struct"})
_METASTORE = ("hive.metastore.uris", "javax.jdo.option.ConnectionURL")
"""One of these leads an application to the metastore that the server of others reads."""


def execute(cluster: Cluster, task: Mapping[str, Json], _progress: Progress) -> Json:
    """Run ``statement`` in the session of ``connection``; its ``types`` and ``columns``.

    ``types`` are pairs of HiveServer2's word and Spark's name; decimals, dates, times and nested
    values are text, bytes hexadecimal. What Spark refuses comes back as ``error``, its own words.
    """
    try:
        session = _session(cluster, task)
        frame = session.sql(task["statement"])
        kinds = [field.dataType.simpleString() for field in frame.schema.fields]
        names = [field.name for field in frame.schema.fields]
        numbered = frame.toDF(*(f"c{place}" for place in range(len(kinds))))
        rows = numbered.selectExpr(*(_plain(f"c{i}", kind) for i, kind in enumerate(kinds)))
        found = rows.collect() if kinds else []
    except cluster.refused as error:
        return {"error": str(error)}
    return {
        "names": names,
        "types": [[_WORDS.get(_base(kind), "STRING_TYPE"), kind] for kind in kinds],
        "columns": [list(values) for values in zip(*found, strict=True)] or [[] for _ in kinds],
    }


def close(_cluster: Cluster, task: Mapping[str, Json], _progress: Progress) -> Json:
    """Forget the session of ``connection``."""
    _SESSIONS.pop(task["connection"], None)
    return None


def _session(cluster: Cluster, task: Mapping[str, Json]) -> Any:
    found = _SESSIONS.get(task["connection"])
    if found is None:
        found = cluster.spark.newSession()
        for name, value in task["settings"].items():
            found.conf.set(name, value)
        found.catalog.setCurrentDatabase(task["database"])
        _SESSIONS[task["connection"]] = found
    return found


def metastore(cluster: Cluster, _task: Mapping[str, Json], _progress: Progress) -> Json:
    """Which metastore the application reads, by its setting; None where it was given none."""
    cluster.spark._jsparkSession.sharedState()
    told = cluster.spark.sparkContext._jsc.hadoopConfiguration()
    return next((found for name in _METASTORE if (found := told.get(name))), None)


def _base(kind: str) -> str:
    return kind.partition("(")[0].partition("<")[0]


def _plain(name: str, kind: str) -> str:
    base = _base(kind)
    if base in _AS_IT_IS:
        return name
    if base in _NESTED:
        return f"to_json({name}) AS {name}"
    return f"hex({name}) AS {name}" if base == "binary" else f"CAST({name} AS STRING) AS {name}"
