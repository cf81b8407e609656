"""Runs inside the peers' environment: DuckLake, delta-rs and pyiceberg behind a pipe of JSON lines.

Stands alone, because that environment knows nothing of this project. Functions that measure return
seconds.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import duckdb_extension_ducklake
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo

_open: dict[str, Any] = {}


def _extension() -> Path:
    folder = Path(duckdb_extension_ducklake.__file__).parent
    return next(folder.rglob("ducklake.duckdb_extension"))


def _clean(path: str) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    folder = Path(path)
    folder.mkdir(parents=True)
    return folder


def lake_load(path: str, parquet: str) -> float:
    """A fresh DuckLake with table ``t`` of a Parquet file's rows."""
    folder = _clean(path)
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    connection.execute(f"LOAD '{_extension()}'")
    connection.execute(f"ATTACH 'ducklake:{folder}/lake.db' AS lake (DATA_PATH '{folder}/data/')")
    connection.execute("USE lake")
    connection.execute("SET parquet_metadata_cache = true")
    _open["lake"] = connection
    start = time.perf_counter()
    connection.execute(f"CREATE TABLE t AS SELECT * FROM '{parquet}'")
    return time.perf_counter() - start


def lake_sql(
    sql: str, values: list[Any] | None = None, arrow: bool = False, cpu: bool = False
) -> float:
    """Run a statement on the DuckLake and fetch all of its rows."""
    connection = _open["lake"]
    clock = time.process_time if cpu else time.perf_counter
    start = clock()
    found = connection.execute(sql, values or [])
    if arrow:
        found.to_arrow_table()
    else:
        found.fetchall()
    return clock() - start


def delta_load(path: str, parquet: str) -> float:
    """A fresh Delta table of a Parquet file's rows."""
    folder = _clean(path)
    start = time.perf_counter()
    deltalake.write_deltalake(str(folder), pq.read_table(parquet))
    _open["delta"] = deltalake.DeltaTable(str(folder))
    return time.perf_counter() - start


def delta_update(key: int) -> float:
    """UPDATE of one row of the Delta table by key."""
    start = time.perf_counter()
    _open["delta"].update(predicate=f"k = {key}", updates={"l_comment": f"'changed {key}'"})
    return time.perf_counter() - start


def delta_merge(changes: str) -> float:
    """Updates and deletes by MERGE, then OPTIMIZE: as often as asked, the same work each time."""
    rows = pq.read_table(changes)
    start = time.perf_counter()
    merge = _open["delta"].merge(rows, "t.k = s.k", source_alias="s", target_alias="t")
    columns = {name: f"s.{name}" for name in rows.column_names if name != "op"}
    merge = merge.when_matched_update(columns, predicate="s.op = 'u'")
    merge.when_matched_delete(predicate="s.op = 'd'").execute()
    _open["delta"].optimize.compact()
    return time.perf_counter() - start


def iceberg_load(path: str, parquet: str) -> float:
    """A fresh Iceberg table of a Parquet file's rows."""
    folder = _clean(path)
    catalog = SqlCatalog(
        "bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
    )
    catalog.create_namespace("b")
    rows = pq.read_table(parquet)
    start = time.perf_counter()
    table = catalog.create_table("b.t", schema=rows.schema)
    table.append(rows)
    _open["iceberg"] = table
    return time.perf_counter() - start


def iceberg_update(key: int) -> float:
    """Replacement of one row of the Iceberg table by key: pyiceberg's nearest to UPDATE."""
    table = _open["iceberg"]
    start = time.perf_counter()
    row = table.scan(row_filter=EqualTo("k", key)).to_arrow()
    place = row.schema.get_field_index("l_comment")
    row = row.set_column(place, row.schema.field(place), pa.array([f"changed {key}"] * len(row)))
    table.overwrite(row, overwrite_filter=EqualTo("k", key))
    return time.perf_counter() - start


_ALL: tuple[Callable[..., float], ...] = (
    lake_load,
    lake_sql,
    delta_load,
    delta_update,
    delta_merge,
    iceberg_load,
    iceberg_update,
)
FUNCTIONS = {f.__name__: f for f in _ALL}


def main() -> None:
    """Answer calls until the pipe closes."""
    out = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": FUNCTIONS[request.pop("call")](**request)}
        except Exception as error:  # noqa: BLE001 - whatever a peer raises goes to the caller
            answer = {"error": f"{type(error).__name__}: {error}"}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
