"""The catalog of the embedded store: made, brought to this format, and its manifests and numbers.

The catalog log, transactions and counters only grow; of manifests only the newest is kept. Runs
inside a given transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.segment import Manifest
from journal.records import catalog_format
from journal.records.catalog_format import put_format, put_meta
from journal.records.schema import COUNTERS, MANIFESTS, OF_WAREHOUSE
from journal.records.statements import by, delete, execute, insert, maximum, select

_MANIFESTS = select(MANIFESTS, ["table_id", "manifest"])
_REMOVE_MANIFEST = delete(MANIFESTS, by("table_id"))
_REMOVE_COUNTER = delete(COUNTERS, by("table_id", "column_name"))
_COUNTERS = maximum(COUNTERS, "value", ["table_id", "column_name"])


@contextmanager
def reading() -> Iterator[None]:
    """Turn whatever a damaged catalog leads to into the error that says so."""
    try:
        yield
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise _damaged(f"{type(error).__name__} {error}") from error
    except PalimpsestError as error:
        if error.code in {Code.UNKNOWN_TABLE, Code.UNKNOWN_COLUMN, Code.BIND, Code.STORE}:
            raise _damaged(error.message) from error
        raise


def _damaged(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.WAREHOUSE_FORMAT,
        f"the catalog of the warehouse is damaged: {what}",
        advice="restore the warehouse from a backup",
    )


def exists(session: DuckDBSession) -> bool:
    """True when the database holds a warehouse, brought to this format if it has an older one.

    Raises WAREHOUSE_FORMAT for a format that this version does not know.
    """
    # The schema is made with its tables, whose names DuckDB takes much longer to list.
    if not session.text("FROM duckdb_schemas() WHERE schema_name = '_palimpsest'"):
        return False
    catalog_format.bring_up(session, OF_WAREHOUSE, "the warehouse", 1, lambda _: None)
    return True


def create(session: DuckDBSession, warehouse_id: str) -> None:
    """Make the catalog tables of a new warehouse."""
    session.text("CREATE SCHEMA _palimpsest")
    catalog_format.make_tables(session, OF_WAREHOUSE)
    put_format(session)
    put_meta(session, "id", warehouse_id)


def load_manifests(session: DuckDBSession) -> dict[int, Manifest]:
    """The live manifest of each journal."""
    rows = execute(session, _MANIFESTS)
    return {table_id: Manifest.from_json(json.loads(text)) for table_id, text in rows}


def listed_paths(session: DuckDBSession) -> set[str]:
    """Every segment file that a live manifest lists."""
    manifests = load_manifests(session).values()
    return {f.path for m in manifests for s in m.segments for f in s.files}


def put_manifest(session: DuckDBSession, table_id: int, manifest: Manifest) -> None:
    """Replace the live manifest of a journal."""
    execute(session, _REMOVE_MANIFEST, [table_id])
    text = json.dumps(manifest.to_json())
    execute(session, insert(MANIFESTS), [table_id, manifest.generation, text])


def load_counters(session: DuckDBSession) -> dict[tuple[int, str], int]:
    """The next value of each generated number."""
    rows = execute(session, _COUNTERS)
    return {(table_id, name): int(value) for table_id, name, value in rows}


def put_counter(session: DuckDBSession, table_id: int, column_name: str, value: int) -> None:
    """Put a counter's next number in the place of those that are recorded."""
    execute(session, _REMOVE_COUNTER, [table_id, column_name])
    add_counter(session, table_id, column_name, value)


def add_counter(session: DuckDBSession, table_id: int, column_name: str, value: int) -> None:
    """Record that values below ``value`` may be in use."""
    execute(session, insert(COUNTERS), [table_id, column_name, value])
