"""What plain Spark does with the same files, as functions for the worker: find rows, and copy all.

Run by ``bench.locate`` and ``bench.purge`` beside the Spark session that our jobs use.
"""

from __future__ import annotations

from typing import Any


def find(cluster: Any, task: dict[str, Any], progress: object) -> int:
    """Keys of the rows whose column has one of some values, counted."""
    frame = cluster.spark.read.parquet(*task["files"])
    column = frame[task["column"]]
    if len(task["values"]) == 1:
        found = frame.where(column == task["values"][0])
    else:
        from pyspark.sql.functions import broadcast

        values = cluster.spark.createDataFrame([(v,) for v in task["values"]], ["_v"])
        found = frame.join(broadcast(values), column == values["_v"], "left_semi")
    return len(found.select("k").distinct().collect())


def copy(cluster: Any, task: dict[str, Any], progress: object) -> int:
    """Every row written anew, as many files as before."""
    frame = cluster.spark.read.parquet(*task["files"])
    frame.write.mode("overwrite").option("compression", "lz4").parquet(task["target"])
    return len(task["files"])
