"""Modes of folders and files that hold rows: their owner's alone, unless configured otherwise.

    0700, 0600    by default
    0750, 0640    with warehouse_mode=0750: engines of a group read the Parquet files

The mode of a warehouse is that of its catalog file; all that is written later follows it. A folder
gets its mode before anything lies in it, and a file that of its folder, less what only folders
need: so a process that writes in a folder, on whatever machine, need not know what is configured.
Decides nothing about what is written.
"""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

MODE_SETTING = "warehouse_mode"
MODE_VARIABLE = "PALIMPSEST_WAREHOUSE_MODE"
_OWNER, _READ, _WRITE = 0o700, 0o044, 0o022
_FILE = 0o666


@dataclass(frozen=True, slots=True)
class FileModes:
    """The mode of folders; that of files follows from it."""

    folder: int = _OWNER

    @property
    def file(self) -> int:
        """The mode of files."""
        return self.folder & _FILE

    @property
    def is_open_to_all(self) -> bool:
        """Whether every user of the machine may read."""
        return bool(self.folder & stat.S_IROTH)

    def __str__(self) -> str:
        return f"{self.folder:04o}"


OWNER = FileModes()


def read_mode(text: str, name: str) -> FileModes:
    """The modes that a setting asks for, as chmod writes that of a folder; raises SETTING_VALUE.

    What everybody may write, everybody may change past the gateway.
    """
    try:
        mode = int(text, 8)
    except ValueError:
        mode = 0
    readers = (mode & _READ) >> 2
    is_sound = (mode & 0o011) == readers and not mode & _WRITE & ~(readers << 1)
    if mode & _OWNER != _OWNER or mode > 0o777 or mode & stat.S_IWOTH or not is_sound:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{name} needs the mode of a folder that its owner may use, not {text!r}",
            advice="give 0700 (the owner alone), 0750 (a group reads), 0770 (a group writes) or"
            " 0755 (everybody reads)",
        )
    return FileModes(mode)


def configured(given: str | None = None) -> FileModes | None:
    """What a URL says, or else the environment; None where neither says anything."""
    if given is not None:
        return read_mode(given, MODE_SETTING)
    found = os.environ.get(MODE_VARIABLE)
    return read_mode(found, MODE_VARIABLE) if found else None


def modes_of(catalog_file: Path) -> FileModes:
    """The modes of a warehouse, by its catalog file; the owner's alone if that is not there."""
    try:
        mode = catalog_file.stat().st_mode
    except OSError:
        return OWNER
    readers = mode & _READ
    return FileModes(_OWNER | readers | (mode & _WRITE & (readers >> 1)) | (readers >> 2))


def make_folder(folder: Path, modes: FileModes) -> bool:
    """Make a folder, and what is missing above it as anybody would; False if it is there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    return _make(folder, modes)


def _make(folder: Path, modes: FileModes) -> bool:
    try:
        folder.mkdir(_OWNER)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return False
    set_mode(folder, modes.folder)
    return True


def make_folders(root: Path, folder: str, modes: FileModes) -> None:
    """Make a folder below a root, and those between them, which may be there already.

    A root that is gone is not made again: nothing in it would be found.
    """
    for part in [*reversed(Path(folder).parents), Path(folder)][1:]:
        _make(root / part, modes)


def follow_modes(path: Path) -> None:
    """Give a new file, or folder, the mode that the folder has in which it lies."""
    mode = stat.S_IMODE(path.parent.stat().st_mode) & 0o777
    set_mode(path, mode if path.is_dir() else mode & _FILE)


def set_mode(path: Path, mode: int) -> None:
    """Give a path a mode, if it has another; a folder that hands on its group goes on to do so."""
    now = stat.S_IMODE(path.stat().st_mode)
    wanted = mode | (now & stat.S_ISGID)
    if now != wanted:
        path.chmod(wanted)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that its owner alone may read, whatever was there; it appears whole or not."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    draft = path.with_name(f".part-{uuid.uuid4().hex[:12]}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
        draft.replace(path)
    except OSError as error:
        # The draft's name says nothing to whoever named the file.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        draft.unlink(missing_ok=True)


def make_root(root: Path, modes: FileModes | None) -> None:
    """Make the folder of a new warehouse, or take one that is there.

    An empty one becomes private, as if it were new. One that others keep files in stays as it is,
    unless ``modes`` are asked for.
    """
    if make_folder(root, modes or OWNER):
        return
    found = root.stat()
    is_ours = found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX
    if is_ours and (modes is not None or not any(root.iterdir())):
        set_mode(root, (modes or OWNER).folder)


def change_modes(root: Path, catalog_file: Path, modes: FileModes) -> None:
    """Give all segments of a warehouse other modes; raises FILE_ACCESS where that is not allowed.

    The catalog file comes last: one who was stopped halfway is not taken for done.
    """
    try:
        set_mode(root, modes.folder)
        segments = {path.parent for path in root.glob("*/*/*/*.parquet")}
        above = {parent for s in segments for parent in (s.parent, s.parent.parent)}
        for folder in [*sorted(above), *sorted(segments)]:
            set_mode(folder, modes.folder)
        for path in (p for s in sorted(segments) for p in s.iterdir() if p.is_file()):
            set_mode(path, modes.file)
        set_mode(catalog_file, modes.file)
    except OSError as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the warehouse {root} cannot be given the mode {modes}: {error}",
            advice=f"leave out {MODE_SETTING}, or let the owner of its files open it once",
        ) from error


def follow_log(log: Path, file: Path) -> None:
    """Give the log of a database file the file's mode; it comes and goes as its database likes."""
    with suppress(OSError):
        # What is committed is committed, and a log in a folder of ours is nobody else's anyway.
        set_mode(log, stat.S_IMODE(file.stat().st_mode) & _FILE)
