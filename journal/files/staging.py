"""Folders that units of jobs write into, and how nobody writes there who is taken for dead.

    <segment>/                   made by the owner for its job; listed or removed in the end
    <segment>/open/              made by the owner; units may write for as long as it is there
    <segment>/open/<attempt>/    made by one try of one unit; its files move up when all are whole
    <segment>/open/<id>.spilled/ what the unit's database has no memory for; gone with the unit

A unit outlives its job when the driver is killed, or when its executor is lost and another one does
its work. Whatever it does then names something within ``open``, which it never makes itself: once
the owner has moved that away no file and no folder can come to be any more. Lists nothing.
"""

from __future__ import annotations

import logging
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from journal.files.parquet_files import sync_folder
from journal.local_engine.file_modes import OWNER, FileModes, follow_modes, make_folders
from journal.model.errors import Code, PalimpsestError

OPEN = "open"
SPILLED = ".spilled"
GONE = ".gone"
_LOG = logging.getLogger("palimpsest.jobs")
_REMOVALS_MAX = 5
_PAUSE_S = 0.05


@contextmanager
def attempt(root: Path, folder: str) -> Iterator[str]:
    """A new folder for one try of one unit, relative to ``root``; its files end up in ``folder``.

    Give files names that no other try gives, such as one with ``attempt_id``. Raises JOB_FAILED
    once whoever started the job has ended it.
    """
    place = f"{folder}/{OPEN}/{uuid.uuid4().hex}"
    try:
        (root / place).mkdir(0o700)
        follow_modes(root / place)
    except OSError as error:
        raise _closed_error(folder) from error
    try:
        yield place
        _move_up(root / place, root / folder)
    finally:
        shutil.rmtree(root / place, ignore_errors=True)


@contextmanager
def spill_folder(root: Path, folder: str) -> Iterator[Path]:
    """A folder for rows that a unit's database has no memory for; nothing of it moves up.

    It lies where the owner takes away what a unit leaves that was killed, on whatever machine.
    Raises JOB_FAILED once whoever started the job has ended it.
    """
    place = root / folder / OPEN / f"{uuid.uuid4().hex}{SPILLED}"
    try:
        place.mkdir(0o700)
        follow_modes(place)
    except OSError as error:
        raise _closed_error(folder) from error
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def attempt_id(place: str) -> str:
    """What tells the files of one attempt from those of another."""
    return PurePosixPath(place).name[:8]


def _move_up(place: Path, folder: Path) -> None:
    try:
        for path in sorted(place.iterdir()):
            follow_modes(path)
            path.rename(folder / path.name)
        sync_folder(folder)
    except OSError as error:
        raise _closed_error(folder.name) from error


def _closed_error(folder: str) -> PalimpsestError:
    return PalimpsestError(
        Code.JOB_FAILED,
        f"the job's folder {folder} is closed: the process that started the job has ended it",
        advice="nothing was changed; run the job again",
    )


def open_folders(root: Path, folders: Iterable[str], modes: FileModes = OWNER) -> None:
    """Make new folders that units may write into."""
    parents = set()
    for folder in folders:
        make_folders(root, f"{folder}/{OPEN}", modes)
        parents.add((root / folder).parent)
    for parent in parents:
        sync_folder(parent)


def close_folder(root: Path, folder: str) -> None:
    """Let nobody write into a folder any more; what moved up stays, all else in it goes."""
    remove_folder(root / folder / OPEN)


def remove_folder(folder: Path) -> None:
    """Remove a folder, of which others may know the name and be writing in it."""
    moved = folder.with_name(f"{folder.name}-{uuid.uuid4().hex[:8]}{GONE}")
    try:
        folder.rename(moved)
    except FileNotFoundError:
        return
    remove_moved(moved)


def remove_moved(folder: Path) -> None:
    """Across a network somebody may find a folder for a moment after it has been moved."""
    for _ in range(_REMOVALS_MAX):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_PAUSE_S)
    _LOG.warning("%s could not be removed; the next job or start tries again", folder)
