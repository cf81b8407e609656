"""The database file written anew with what is live in it, and nothing else.

DuckDB leaves dropped tables and replaced rows in free blocks until it needs the space. An erasure
cannot wait for that: a copy of all tables takes the file's place, which the file system does at
once or not at all. Views are left out; the owner writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp

from journal.stores.duckdb.store import DIALECT
from journal.stores.parquet_files import sync_folder


def copy_live(file: Path) -> None:
    """Replace a closed database file by a copy of its tables."""
    draft = file.with_name(file.name + ".live")
    draft.unlink(missing_ok=True)
    # Where the file's own sessions put rows aside, and not in a folder of the process's.
    settings: dict[str, Any] = {"temp_directory": f"{file}.tmp"}
    with duckdb.connect(":memory:", config=settings) as connection:
        for path, name in ((file, "old"), (draft, "live")):
            attach = exp.Attach(
                this=exp.Alias(this=exp.Literal.string(str(path)), alias=exp.to_identifier(name))
            )
            connection.execute(attach.sql(dialect=DIALECT))
        tables = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'old'"
        ).fetchall()
        for schema in dict.fromkeys(schema for schema, _ in tables):
            made = exp.Table(this=_quoted(schema), db=_quoted("live"))
            create = exp.Create(this=made, kind="SCHEMA", exists=True)
            connection.execute(create.sql(dialect=DIALECT))
        for schema, name in tables:
            old, new = (
                exp.Table(this=_quoted(name), db=_quoted(schema), catalog=_quoted(of))
                for of in ("old", "live")
            )
            copy = exp.Create(this=new, kind="TABLE", expression=exp.select("*").from_(old))
            connection.execute(copy.sql(dialect=DIALECT))
        # Without it, whoever opens the copy writes the views.
        connection.execute("DELETE FROM live._palimpsest.meta WHERE key = 'root'")
        connection.execute("DETACH live")
        connection.execute("DETACH old")
    with draft.open("rb") as handle:
        os.fsync(handle.fileno())
    file.with_name(file.name + ".wal").unlink(missing_ok=True)
    draft.replace(file)
    sync_folder(file.parent)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
