"""Rows out of a database into Parquet files, and out of files into a database, by Spark's JDBC.

What is written goes into a staged table first; one transaction of the database then moves its rows,
so that a reader there sees all of them or none. Statements come as text in the database's dialect.
Passwords are in the task alone, which is neither recorded nor logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_compaction.contract import Cluster, Json, Progress

READ = "spark_compaction.engines.jdbc_transfers:read_rows"
HIGHEST = "spark_compaction.engines.jdbc_transfers:read_highest"
WRITE = "spark_compaction.engines.jdbc_transfers:write_rows"


def read_rows(cluster: Cluster, task: Mapping[str, Json], progress: Progress) -> Json:
    """Write the rows of ``table`` to Parquet files in ``folder``; how many, and the ``last`` value.

    ``columns`` are read, all if it is empty. With ``incremental`` those whose value there lies
    above ``last``; not below it if ``again``.
    """
    found = cluster.spark.read.jdbc(task["url"], task["table"], properties=_properties(task))
    column, last = task["incremental"], task["last"]
    if column and last is not None:
        # The text becomes a value of the column's type, and the database compares it.
        value = found[_quoted_name(_column_name(found, column))]
        found = found.where(value >= last if task["again"] else value > last)
    if task["columns"]:
        found = found.select(*[_quoted_name(_column_name(found, c)) for c in task["columns"]])
    progress("read", 0, 1)
    found.write.parquet(task["folder"])
    written = cluster.spark.read.parquet(task["folder"])
    rows = written.count()
    if column and rows:
        highest = written.agg({_column_name(written, column): "max"})
        value = highest.select(highest[_quoted_name(highest.columns[0])].cast("string"))
        last = value.first()[0] or last
    progress("read", 1, 1)
    return {"rows": rows, "last": last, "columns": written.columns}


def read_highest(cluster: Cluster, task: Mapping[str, Json], _progress: Progress) -> Json:
    """The value that query ``highest`` gives, as text; None where its table is not there."""
    with _Database(cluster, task) as database:
        if not database.has(task["probe"]):
            return None
    found = cluster.spark.read.jdbc(task["url"], task["highest"], properties=_properties(task))
    row = found.select(found[found.columns[0]].cast("string")).first()
    return None if row is None else row[0]


def write_rows(cluster: Cluster, task: Mapping[str, Json], progress: Progress) -> Json:
    """Write the Parquet files in ``folder`` into a database; how many rows.

    ``stage`` is run first, if the table ``is_there``; Spark fills ``staged``; then ``publish`` is
    run in one transaction. What a killed run has staged, ``clean`` drops.
    """
    found = cluster.spark.read.parquet(task["folder"])
    progress("write", 0, 2)
    with _Database(cluster, task) as database:
        is_there = database.has(task["probe"])
        database.run(task["clean"])
        if is_there:
            database.run(task["stage"])
    try:
        mode = "append" if is_there else "errorifexists"
        found.write.jdbc(task["url"], task["staged"], mode=mode, properties=_properties(task))
        progress("write", 1, 2)
        with _Database(cluster, task) as database:
            database.run(task["publish"] if is_there else task["rename"])
    except BaseException:
        with _Database(cluster, task) as database:
            database.run(task["clean"])
        raise
    progress("write", 2, 2)
    return found.count()


class _Database:
    """A connection of the driver's JVM; each ``run`` is one transaction."""

    def __init__(self, cluster: Cluster, task: Mapping[str, Json]) -> None:
        jvm = cluster.spark._jvm
        if task["driver"]:
            jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(
                task["driver"]
            )
        properties = jvm.java.util.Properties()
        for name, value in _properties(task).items():
            properties.setProperty(name, value)
        self._connection = jvm.java.sql.DriverManager.getConnection(task["url"], properties)
        self._connection.setAutoCommit(False)

    def __enter__(self) -> _Database:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    def run(self, statements: list[str]) -> None:
        """Run statements and commit them; none if one fails."""
        statement = self._connection.createStatement()
        try:
            for text in statements:
                statement.executeUpdate(text)
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        finally:
            statement.close()

    def has(self, query: str) -> bool:
        """True if a query can be run: its table is there."""
        statement = self._connection.createStatement()
        try:
            statement.executeQuery(query).close()
        except Exception as error:
            if type(error).__name__ != "Py4JJavaError":
                raise
            return False
        finally:
            statement.close()
            self._connection.rollback()
        return True


def _column_name(found: Any, column: str) -> str:
    """A column by its name, whatever the case."""
    names = [c for c in found.columns if c.casefold() == column.casefold()]
    if not names:
        known = ", ".join(found.columns)
        raise ValueError(f"the source has no column {column}; it has {known}")
    return column if column in names else str(names[0])


def _quoted_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _properties(task: Mapping[str, Json]) -> dict[str, str]:
    found = {"fetchsize": "10000", "batchsize": "10000"}
    for name in ("driver", "user", "password"):
        if task[name]:
            found[name] = task[name]
    if task["driver"] == "org.postgresql.Driver":
        found["stringtype"] = "unspecified"
    return found
