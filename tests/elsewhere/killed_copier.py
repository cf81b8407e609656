"""A process that owns a warehouse, has a job write elsewhere, and kills itself with SIGKILL.

python -m tests.elsewhere.killed_copier WAREHOUSE STEP STATEMENT
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import s3fs

from journal.jobs.copies import MANIFEST
from journal.stores.elsewhere import Folder
from journal.warehouse import Warehouse
from tests.support.client import Client

BACKUP_STEPS = ("recorded", "in a file", "after a file", "all files", "listed")
PURGE_STEPS = ("recorded", "after a file", "all files", "listed", "one removed")
DROP_STEPS = ("one removed", "two removed")


def die(*_: Any, **__: Any) -> Any:
    """Be gone at once."""
    os.kill(os.getpid(), signal.SIGKILL)


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


def main() -> None:
    """Run the statement, and never come to its end."""
    root, step, statement = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
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
