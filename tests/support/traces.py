"""What is left of somebody in a folder, or in a database: in bytes of files, in values of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import psycopg

from tests.support.postgres import Cluster


def holders(root: Path, token: str) -> list[str]:
    """Files with the token in their bytes, or in a value of a Parquet file."""
    found = []
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        data = path.read_bytes().lower()
        if token.lower().encode() in data:
            found.append(str(path.relative_to(root)))
        elif path.suffix in {".parquet", ".keys"}:
            rows = duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
            if any(token.lower() in str(row).lower() for row in rows):
                found.append(str(path.relative_to(root)))
    return found


def everything(cluster: Cluster, database: str) -> str:
    """Every row of every table of the database, as text."""
    with psycopg.connect(cluster.conninfo(database)) as admin:
        tables = admin.execute(
            "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relkind IN ('r', 'm')"
            " AND c.relnamespace::regnamespace::text IN ('_palimpsest', 'public')"
        ).fetchall()
        found: list[Any] = []
        for (name,) in tables:
            found += admin.execute(f"SELECT t::text FROM {name} AS t").fetchall()
        return "\n".join(str(row[0]) for row in found)
