"""A process that has a job write elsewhere, and kills itself with SIGKILL.

python -m tests.elsewhere.killed_copier WAREHOUSE-OR-URL STEP STATEMENT
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import s3fs

import gateway
from journal.files.object_storage import Folder
from journal.stores.embedded.warehouse import Warehouse
from spark_compaction.programs import archives
from spark_compaction.programs.copies import MANIFEST
from tests.support.client import Client
from tests.support.killed_job import die, dying_after

BACKUP_STEPS = ("recorded", "in a file", "after a file", "all files", "listed")
PURGE_STEPS = ("recorded", "after a file", "all files", "listed", "one removed")
DROP_STEPS = ("one removed", "two removed")
ARCHIVE_STEPS = ("before swap", "swap", "recorded", "after a file", "listed", "let go", "reap")
"""Of a retention that moves what it archives, on a server."""


def _before_and_after(verb: str, step: str) -> None:
    """Die before or after a file is put or removed, as the step says."""
    usual = getattr(Folder, verb)
    done: list[str] = []

    def watched(folder: Folder, *given: Any) -> None:
        name = given[-1]
        is_list = name == MANIFEST
        if verb == "put" and (step == "recorded" or (step == "all files" and is_list)):
            die()
        usual(folder, *given)
        done.append(name)
        if verb == "put":
            reached = {"after a file": not is_list, "listed": is_list}.get(step, False)
        else:
            reached = len(done) == {"one removed": 1, "two removed": 2}.get(step)
        if reached:
            die()

    setattr(Folder, verb, watched)


def _in_parts() -> None:
    """Upload in parts, which large files are, and die when the first one has arrived."""
    s3fs.core.calculate_chunksize = lambda *_, **__: 100
    usual = s3fs.S3FileSystem._call_s3

    async def watched(files: Any, method: str, *given: Any, **named: Any) -> Any:
        found = await usual(files, method, *given, **named)
        if method == "upload_part":
            die()
        return found

    s3fs.S3FileSystem._call_s3 = watched


def _around_a_swap(journal: Any, step: str) -> None:
    """Die before or after a server's store lists what a job has written."""
    from journal.stores.hive.journal import HiveJournal
    from spark_compaction.backends.hive.maintenance import HiveBackend
    from spark_compaction.backends.postgres import segment_swap

    if step == "before swap":
        segment_swap.swap = HiveBackend.swap = die
    elif isinstance(journal, HiveJournal):
        journal.keep = dying_after(journal.keep)  # type: ignore[method-assign]
    else:
        segment_swap.swap = dying_after(segment_swap.swap)


def _on_server(url: str, step: str, statement: str) -> None:
    connection = gateway.connect(url, autocommit=True)
    journal = connection.session.journal
    if step in {"before swap", "swap"}:
        _around_a_swap(journal, step)
    if step == "let go":
        archives.release = die
    if step == "reap":
        archives.release = dying_after(archives.release)
    _before_and_after("put", step)
    _before_and_after("remove", step)
    connection.execute(statement)


def main() -> None:
    """Run the statement, and never come to its end."""
    root, step, statement = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if "://" in sys.argv[1]:
        _on_server(sys.argv[1], step, statement)
        return
    run = Client(root)
    if step == "in a file":
        _in_parts()
    if step == "let go":
        Warehouse.remove_files = die  # type: ignore[method-assign]
    _before_and_after("put", step)
    _before_and_after("remove", step)
    run(statement)


if __name__ == "__main__":
    main()
