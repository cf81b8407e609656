"""Reject files on this machine: made on record, reached, and removed when their time is over.

A file is on record before anything stands in it, and whether somebody was erased from its table is
looked at after that. So a request to erase either lists the file, or is known to whoever writes it:
then the file says where rows were wrong, and nothing that stood in them.
"""

from __future__ import annotations

import platform
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from journal.files.rejected_rows import (
    RejectedRow,
    is_reject_file,
    new_reject_file,
    remove_reject_file,
)
from journal.model.duration import Duration
from journal.model.effective_policy import effective_policy
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.version import to_datetime
from journal.records import reject_files as records
from journal.records.reject_files import RejectFile
from journal.transactions.protocol import OpenJournal
from journal.transactions.reading import reading

_USUAL = Duration.parse("30 DAYS")


@contextmanager
def kept_rejects(
    journal: OpenJournal,
    table: Table,
    path: Path,
    source: str,
    rows: Sequence[RejectedRow],
    by: str | None,
) -> Iterator[RejectFile]:
    """Write the rows of ``source`` that a table did not take to a new file, which is on record.

    A block that fails takes the file away again. Raises FILE_ACCESS where no file can be made.
    """
    drop_expired(journal, to_datetime(journal.clock.now()))
    now = to_datetime(journal.clock.now())
    expires = (effective_policy(journal.state.catalog, table).rejects or _USUAL).after(now)
    kept = RejectFile(
        *(uuid.uuid4().hex[:12], table.id, str(table.name), source, platform.node(), str(path)),
        *(len(rows), by, now, expires),
    )
    with new_reject_file(path) as write:
        try:
            with journal.exclusive_session() as session:
                records.add(session, kept)
                session.commit()
            with reading(journal) as statement:
                withholds = statement.committed.fence.concerns(table)
            write(r.without_values() if withholds else r for r in rows)
            yield kept
        except BaseException:
            path.unlink(missing_ok=True)
            _forget(journal, kept.id)
            raise


def reached(file: RejectFile) -> Path | None:
    """Where a file lies on this machine; None if it is gone.

    Raises FILE_ACCESS if it is not there, and was made on another machine.
    """
    path = Path(file.path)
    if is_reject_file(path):
        return path
    if file.host == platform.node() and not path.exists():
        return None
    raise PalimpsestError(
        Code.FILE_ACCESS,
        f"the reject file {file.path} of {file.table_name} is not on this machine, but on"
        f" {file.host}",
        advice="run this there; or, once the file is gone for good:"
        f" CALL system.drop_rejects('{file.id}', gone => true)",
    )


def drop_rejects(journal: OpenJournal, file: RejectFile, *, is_gone: bool = False) -> None:
    """Remove a file, and forget it; one that ``is_gone`` is forgotten wherever it was."""
    path = None if is_gone else reached(file)
    if path is not None:
        remove_reject_file(path)
    _forget(journal, file.id)


def drop_expired(journal: OpenJournal, now: datetime, *, dry_run: bool = False) -> list[str]:
    """Remove the files past their time that can be reached: the paths of those."""
    with journal.reading_session() as session:
        over = [f for f in records.load(session) if f.is_over(now)]
    removed = []
    for file in over:
        try:
            if not dry_run:
                drop_rejects(journal, file)
            removed.append(file.path)
        except PalimpsestError as error:
            if error.code not in {Code.FILE_ACCESS, Code.JOB_BUSY}:
                raise
    return removed


def find_rejects(journal: OpenJournal, file_id: str) -> RejectFile:
    """The file with that id; raises FILE_ACCESS if none is on record."""
    with journal.reading_session() as session:
        found = [f for f in records.load(session) if f.id == file_id]
    if not found:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f'no reject file has the id "{file_id}"',
            advice="SELECT * FROM system.reject_files lists them",
        )
    return found[0]


def _forget(journal: OpenJournal, file_id: str) -> None:
    with journal.exclusive_session() as session:
        records.drop(session, file_id)
        session.commit()
