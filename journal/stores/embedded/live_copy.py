"""Rewrites the database file with live data only.

DuckDB leaves dropped tables and replaced rows in free blocks until it needs the space. An erasure
cannot wait for that: a copy of all tables takes the file's place, which the file system does at
once or not at all. Views are left out; the owner writes them anew.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from sqlglot import exp

from journal.files.parquet_files import sync_folder
from journal.local_engine.errors import mapped
from journal.local_engine.file_modes import OWNER, make_folder, set_mode
from journal.local_engine.in_memory import connect_in_memory
from journal.local_engine.session import DIALECT
from journal.model.errors import Code, PalimpsestError


def copy_live(file: Path) -> None:
    """Replace a closed database file by a copy of its tables; raises STORE_WRITE without room.

    The file is as it was unless this returns.
    """
    draft = file.with_name(file.name + ".live")
    log = file.with_name(file.name + ".wal")
    spilled = file.with_name(file.name + ".tmp")
    try:
        draft.unlink(missing_ok=True)
        make_folder(spilled, OWNER)
        with mapped():
            _copy(file, draft, spilled)
        with draft.open("rb") as handle:
            os.fsync(handle.fileno())
        if log.exists() and log.stat().st_size:
            raise PalimpsestError(
                Code.STORE_WRITE,
                f"{log.name} could not be merged into {file.name}",
                advice="free space, then repeat; nothing was changed",
            )
        log.unlink(missing_ok=True)
        draft.replace(file)
        sync_folder(file.parent)
    finally:
        # What it takes may be the room that is lacking.
        draft.unlink(missing_ok=True)
        draft.with_name(f"{draft.name}.wal").unlink(missing_ok=True)
        shutil.rmtree(spilled, ignore_errors=True)


def _copy(file: Path, draft: Path, spilled: Path) -> None:
    # Where the file's own sessions put rows aside, and not in a folder of the process's.
    with connect_in_memory(spilled) as connection:
        for path, name in ((file, "old"), (draft, "live")):
            attach = exp.Attach(
                this=exp.Alias(this=exp.Literal.string(str(path)), alias=exp.to_identifier(name))
            )
            connection.execute(attach.sql(dialect=DIALECT))
        # Before there is anything in it.
        set_mode(draft, stat.S_IMODE(file.stat().st_mode))
        tables = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'old'"
        ).fetchall()
        for schema in dict.fromkeys(schema for schema, _ in tables):
            made = exp.Table(this=_quote(schema), db=_quote("live"))
            create = exp.Create(this=made, kind="SCHEMA", exists=True)
            connection.execute(create.sql(dialect=DIALECT))
        for schema, name in tables:
            old, new = (
                exp.Table(this=_quote(name), db=_quote(schema), catalog=_quote(of))
                for of in ("old", "live")
            )
            copy = exp.Create(this=new, kind="TABLE", expression=exp.select("*").from_(old))
            connection.execute(copy.sql(dialect=DIALECT))
        # Without it, whoever opens the copy writes the views.
        connection.execute("DELETE FROM live._palimpsest.meta WHERE key = 'root'")
        connection.execute("DETACH live")
        connection.execute("DETACH old")


def _quote(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
