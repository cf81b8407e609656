"""Finds reject files of a request's tables, lists them in receipts, and clears them.

    accept   every file on record of such a table gets a receipt, NOT_SEARCHED, in the same commit
    purge    rows that name somebody go; a request by a condition, which rejected rows cannot be
             asked, takes the whole file along, and so does one whose rows depend on others

A request is not purged before each of its files is searched. One under a legal hold waits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from journal.erasure import audit
from journal.erasure.erasure_spec import Subjects
from journal.erasure.recorded_forms import recorded_forms
from journal.erasure.reject_files import reached
from journal.erasure.requests import ErasureRequest, Outcome, Target
from journal.erasure.suppressing import spelling_patterns
from journal.files.rejected_rows import remove_reject_file, remove_rows_naming
from journal.model.store_session import StoreSession
from journal.records import erasure_rows as rows_of
from journal.records import reject_files as records
from journal.records.reject_files import RejectFile
from journal.transactions.reading import committed_state
from spark_compaction.erasure.backend import ErasureBackend
from spark_compaction.erasure.deferred_target import with_target


def reject_receipts(
    session: StoreSession, searched: Mapping[int, bool], passed: Collection[int]
) -> list[Target]:
    """The receipts of the files of tables that are ``searched``; true: all of a file goes.

    Files of tables that are gone are searched as well; ``passed`` are the others that there are.
    """
    return [
        Target(
            *(f.table_id, f.table_name, Outcome.NOT_SEARCHED, f"reject file {f.path}"),
            reject_file=f.id,
            is_whole_file=searched.get(f.table_id, False),
        )
        for f in records.load(session)
        if f.table_id not in passed
    ]


def clear_reject_file(
    backend: ErasureBackend,
    request: ErasureRequest,
    target: Target,
    subjects: Subjects,
    by: str,
) -> ErasureRequest:
    """Take who is meant out of one file, or the file away if nobody is named; the request then.

    Raises FILE_ACCESS where the file is on another machine, JOB_BUSY while a load writes it.
    """
    journal = backend.journal
    with journal.reading_session() as session:
        file = next((f for f in records.load(session) if f.id == target.reject_file), None)
    path = None if file is None else reached(file)
    removed = left = size = 0
    if path is not None and file is not None:
        size = path.stat().st_size
        if target.is_whole_file:
            remove_reject_file(path)
            removed = file.rows
        else:
            forms = recorded_forms(committed_state(journal))
            identifiers = [value for values in subjects.values() for value in values]
            patterns = spelling_patterns(subjects, forms)
            removed, left = remove_rows_naming(path, identifiers, patterns)
    done = replace(
        target,
        outcome=Outcome.ERASED if removed else Outcome.SEARCHED_NONE,
        why=_result_text(target, file, removed, left, is_gone=path is None),
        files_searched=0 if path is None else 1,
        bytes_searched=size,
        files_rewritten=1 if removed else 0,
        versions_removed=removed,
    )
    with journal.fencing_session() as session:
        if file is not None and left:
            records.put_rows(session, file.id, left)
        elif file is not None:
            records.drop(session, file.id)
        moved = with_target(session, request.id, target, done, journal.clock.next())
        rows_of.put_erasure(session, moved.to_row())
        audit.record_searched(journal, session, by, moved, done)
    return moved


def _result_text(
    target: Target, file: RejectFile | None, removed: int, left: int, *, is_gone: bool
) -> str:
    if file is None or is_gone:
        return f"{target.why}: it was removed before"
    if not removed:
        return f"{target.why}: nobody is in it"
    return f"{target.why}: {removed} rows removed" + ("" if left else ", and the file with them")
