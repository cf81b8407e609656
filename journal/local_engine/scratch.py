"""Folders of this machine for rows on their way, and how those of killed processes are removed.

    <temporary folder>/palimpsest-new-XXXXXXXX/           made and locked, still without contents
    <temporary folder>/palimpsest-scratch-XXXXXXXX/lock   locked for as long as its process lives

A file fetched from elsewhere, a temporary warehouse, what Spark spills on one machine: rows of
people may lie in it who are erased meanwhile. Whoever makes such a folder holds its lock; the
system takes the lock back when the process ends, however it ends. So a folder whose lock can be had
is nobody's: the next process of this machine and user that makes one removes it, and so do each
start of a gateway and each erasure before it is called complete. Sweeps no other machine.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NEW, _KEPT = "palimpsest-new-", "palimpsest-scratch-"
_LOCK = "lock"
_LOG = logging.getLogger("palimpsest.scratch")


class Scratch:
    """A folder that goes with ``close``, or once its process is dead."""

    def __init__(self, parent: Path | None = None) -> None:
        """Make it in ``parent``, or where temporary files go, after a sweep there."""
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        sweep_scratch(parent)
        made = Path(tempfile.mkdtemp(prefix=_NEW, dir=parent))
        self._owner = os.getpid()
        self._lock = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # A name that is swept is one whose lock is held from its first moment on.
        self.path = made.rename(parent / made.name.replace(_NEW, _KEPT, 1))

    def close(self) -> None:
        """Remove it; a forked child only forgets it."""
        if self._lock < 0:
            return
        if self._owner == os.getpid():
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone with the block."""
    made = Scratch()
    try:
        yield made.path
    finally:
        made.close()


def sweep_scratch(parent: Path | None = None) -> list[Path]:
    """Remove the folders of this user whose processes are dead; those that could not be removed."""
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    found = [f for f in sorted(parent.glob(f"{_KEPT}*")) if _is_ours(f)]
    left = [folder for folder in found if not _remove_if_dead(folder)]
    for folder in left:
        _LOG.warning("%s could not be removed; rows may be in it", folder)
    return left


def _is_ours(folder: Path) -> bool:
    """Others of this machine may put anything where all put their temporary files."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _remove_if_dead(folder: Path) -> bool:
    """False if nobody lives who holds it, and yet it is still there."""
    lock: int | None = None
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        # Whoever was removing it is as good as dead, if it got as far as the lock.
        _LOG.debug("%s has no lock: %s", folder, error)
    finally:
        if lock is not None:
            os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
