"""Files that appear at their place only once they are whole.

A device or a pipe is never taken for such a file: renaming a draft to ``/dev/null`` would put an
ordinary file in its place, for every program of the machine.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def appearing_whole(path: Path) -> Iterator[Path]:
    """Where to write what shall lie at ``path``: a draft beside it, which is renamed at the end.

    A link stays, and the file that it leads to is replaced. Of a device or a pipe it is the path
    itself. The draft is removed if the block raises. Raises OSError where no file may lie.

        with appearing_whole(Path("rows.csv")) as draft:
            draft.write_text("a,b")
    """
    if is_written_in_place(path):
        yield path
        return
    target = path.resolve()
    draft = target.with_name(f".part-{os.getpid()}-{threading.get_ident()}-{target.name}")
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def is_written_in_place(path: Path) -> bool:
    """True for a character device or a pipe, which take bytes as they come."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
