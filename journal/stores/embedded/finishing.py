"""Finishes new segment files before they are listed: sync, checksum, filters.

DuckDB is done with them when this begins, and its threads are idle. In one thread one core would
work on one file after the other, and wait for the disk in between; so all of it is done side by
side, and filters take hardly any time for which whoever writes does not wait anyway. Each filter is
built by one thread out of one file: how many threads there are makes no difference to it. Lists
nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from journal.files.parquet_files import sync_file, sync_folder
from journal.identity.descriptor import filtered_of
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import SegmentFile

if TYPE_CHECKING:
    import pyarrow as pa

    from journal.files.filters.sidecar import FileFilters, FilterBuilder

_THREADS_MIN, _THREADS_MAX = 2, 8
"""One of the two waits for the disk. Each may hold the hashes of a file: eight bytes a row."""


def finish_files(
    session: DuckDBSession,
    table: Table,
    root: Path,
    folder: str,
    files: Sequence[SegmentFile],
    part: str | None = None,
) -> tuple[SegmentFile, ...]:
    """The files of a new folder as they may be listed, on disk with their filters.

    ``files`` are as ``copy_parquet`` left them; ``part`` names a part of the sidecar.
    """
    builder = _builder(table)
    threads = max(_THREADS_MIN, min(session.threads(), _THREADS_MAX))
    pool = ThreadPoolExecutor(threads, "palimpsest-finishing")
    alone = threading.Lock()
    settling, building = [], {}
    try:
        for file in files:
            settling.append(pool.submit(sync_file, root, file))
            if builder is not None:
                given = builder.fresh(file), root / file.path, session, alone
                building[Path(file.path).name] = pool.submit(filters_of, *given)
        if building:
            from journal.files.filters.sidecar import write_sidecar

            write_sidecar(root / folder, {n: b.result() for n, b in building.items()}, part)
        done = tuple(future.result() for future in settling)
    finally:
        pool.shutdown(cancel_futures=True)
    sync_folder(root / folder)
    sync_folder((root / folder).parent)
    return done


def filters_of(
    builder: FilterBuilder, path: Path, session: DuckDBSession, alone: threading.Lock
) -> FileFilters:
    """The filters of one file; ``alone`` is held while the session, which others share, is read."""
    from journal.files.filters.read_back import BATCH_ROWS, take_in

    def rows(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        source = exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(str(path))])
        named = [exp.column(exp.to_identifier(c, quoted=True)) for c in columns]
        query = exp.select(*named).from_(exp.Table(this=source))
        with alone:
            yield from session.arrow_reader(Query(query, ()), {}, BATCH_ROWS)

    take_in(builder, path, builder.columns, rows)
    return builder.finish()


def _builder(table: Table) -> FilterBuilder | None:
    """What builds a table's filters, if it is to have any."""
    if not filtered_of(table):
        return None
    from journal.files.filters.sidecar import FilterBuilder

    return FilterBuilder.of(table)
