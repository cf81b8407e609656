"""The lock and socket of a warehouse's folder, and the process that holds them.

    palimpsest.lock      held (flock) by the owner for as long as it has the warehouse open
    palimpsest.waiting   held, shared, by long-lived programs that wait for an owner
    palimpsest.sock      where the owner listens; mode 0600

A program that finds the lock free becomes the owner; one that does not connects to the socket. A
command that is over soon lets long-lived programs that wait go first. Whoever dies lets go of its
locks, so nothing here needs cleaning up; a socket that nobody listens at is replaced.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import socket
import struct
import time
from dataclasses import asdict
from pathlib import Path

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

LOCK_FILE = "palimpsest.lock"
WAITING_FILE = "palimpsest.waiting"
SOCKET_FILE = "palimpsest.sock"
ADDRESS_MAX = 100
"""Longest path of a socket, in bytes; systems differ, and 100 is in reach of all."""
WAIT_S = 30.0
"""How long a program waits for an owner that opens the warehouse or is about to end."""
STOPPED_S = 2.0
"""How long an owner may stay stopped before that is reported."""
_POLL_S = 0.01
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "afs", "ceph", "lustre", "9p")
_MOUNTS = Path("/proc/self/mounts")
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of the other end of a local socket."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that has a folder: ``unshared`` says why it cannot serve others, if it cannot.

    ``url`` is that of a server which this process is.
    """

    pid: int
    name: str
    unshared: str = ""
    url: str = ""

    def __str__(self) -> str:
        return f"process {self.pid} ({self.name})"

    @property
    def is_stopped(self) -> bool:
        """True for a process that exists and has been stopped (SIGSTOP, Ctrl-Z, a debugger)."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] in {"T", "t"}


class OwnerLock:
    """The lock of a folder, held until ``release`` or the end of the process."""

    def __init__(self, root: Path, file: int) -> None:
        self.root = root
        self.file = file

    def announce(self, owner: Owner) -> None:
        """Say to others who has the folder."""
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, json.dumps(asdict(owner)).encode(), 0)

    def release(self) -> None:
        """Let go of the folder."""
        (self.root / LOCK_FILE).unlink(missing_ok=True)
        os.close(self.file)

    def abandon(self) -> None:
        """In a forked child: the lock is the parent's, also after the parent has ended."""
        os.close(self.file)


def claim(root: Path, *, short: bool, wait_s: float = WAIT_S) -> OwnerLock | socket.socket:
    """Be the owner of a folder, or connect to its owner, whichever comes first.

    ``short`` is for programs that are over soon: they let others that wait go first. Raises
    OWNER_STOPPED for an owner that is stopped, NOT_SHARED for one that cannot serve this program,
    and WAREHOUSE_LOCKED for one that does neither answer nor end within ``wait_s`` seconds.
    """
    deadline = time.monotonic() + wait_s
    stopped_since: float | None = None
    with _Queue(root) as queue:
        while True:
            peer = connect(root)
            if peer is not None:
                return peer
            if not short or not queue.has_others():
                lock = _try_lock(root)
                if lock is not None:
                    return lock
            if not short:
                queue.join()
            owner = owner_of(root)
            now = time.monotonic()
            stopped_since = (stopped_since or now) if owner and owner.is_stopped else None
            if stopped_since is not None and now - stopped_since > STOPPED_S:
                assert owner is not None
                raise stopped(root, owner)
            if owner is not None and owner.unshared:
                raise not_shared(root, owner.unshared, owner)
            if now > deadline:
                raise locked(root, owner)
            time.sleep(_POLL_S)


class _Queue:
    """The programs that wait for a folder's next owner."""

    def __init__(self, root: Path) -> None:
        self._path = root / WAITING_FILE
        self._file: int | None = None

    def __enter__(self) -> _Queue:
        return self

    def join(self) -> None:
        """Wait in it, as seen by others."""
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_SH)

    def has_others(self) -> bool:
        """True if a long-lived program waits."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    def __exit__(self, *_error: object) -> None:
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._file)


def _try_lock(root: Path) -> OwnerLock | None:
    try:
        file = os.open(root / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if isinstance(error, PermissionError) and _has_another(root / LOCK_FILE):
            raise not_shared(root, _of_another(root), None) from error
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the warehouse {root} cannot be opened: {error.strerror}",
            advice="check path and permissions: its folder must be yours to write to",
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    if not _is_at(root / LOCK_FILE, file):
        # Whoever had it has let go, and taken away the file that was opened above.
        os.close(file)
        return None
    return OwnerLock(root, file)


def _has_another(path: Path) -> bool:
    """True for a file that belongs to another user."""
    try:
        return path.stat().st_uid != os.geteuid()
    except OSError:
        return False


def _is_at(path: Path, file: int) -> bool:
    """True if an open file is the one that a path names."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


def owner_of(root: Path) -> Owner | None:
    """The process that has announced itself in the folder last; it may have ended since."""
    try:
        return Owner(**json.loads((root / LOCK_FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def unshared_because(root: Path) -> str:
    """Why no other program can connect to an owner of this folder; empty if they can."""
    if not hasattr(socket, "SO_PEERCRED"):
        return "this system does not say whose process is at the other end of a socket"
    size = len(os.fsencode(root / SOCKET_FILE))
    if size > ADDRESS_MAX:
        return f"the path of its socket has {size} bytes, and {ADDRESS_MAX} is the most"
    kind = _file_system(root)
    if kind in _NETWORK:
        return f"its folder lies on a network file system ({kind})"
    return ""


def listen(root: Path) -> socket.socket:
    """A socket in the folder that programs of the same user can connect to."""
    place = root / SOCKET_FILE
    place.unlink(missing_ok=True)
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        before = os.umask(0o177)
        try:
            found.bind(str(place))
        finally:
            os.umask(before)
        found.listen(128)
    except BaseException:
        found.close()
        raise
    return found


def connect(root: Path) -> socket.socket | None:
    """A connection to the owner of a folder; None if nobody listens there."""
    place = root / SOCKET_FILE
    if len(os.fsencode(place)) > ADDRESS_MAX:
        return None
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        peer.connect(str(place))
    except PermissionError as error:
        peer.close()
        raise not_shared(root, _of_another(root), owner_of(root)) from error
    except OSError:
        peer.close()
        return None
    if user_of(peer) not in {os.geteuid(), 0} and os.geteuid() != 0:
        peer.close()
        raise not_shared(root, _of_another(root), owner_of(root))
    return peer


def user_of(peer: socket.socket) -> int:
    """The user whose process is at the other end."""
    return _credentials(peer)[1]


def process_of(peer: socket.socket) -> int:
    """The process at the other end."""
    return _credentials(peer)[0]


def _credentials(peer: socket.socket) -> tuple[int, int, int]:
    size = _CREDENTIALS.size
    process, user, group = _CREDENTIALS.unpack(
        peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    )
    return process, user, group


def stopped(root: Path, owner: Owner) -> PalimpsestError:
    """The error of an owner that has been stopped: what it holds stays as it is."""
    return PalimpsestError(
        Code.OWNER_STOPPED,
        f"{owner} has the warehouse {root} open, and is stopped",
        advice=f"let it go on (kill -CONT {owner.pid}), or end it (kill -KILL {owner.pid})",
    )


def not_shared(root: Path, why: str, owner: Owner | None) -> PalimpsestError:
    """The error of a warehouse that another process has, and cannot share."""
    by = "another process" if owner is None else str(owner)
    return PalimpsestError(
        Code.NOT_SHARED,
        f"{by} has the warehouse {root} open and cannot share it with this one: {why}",
        advice=_server_advice(owner)
        + "end the other process; or move the folder to a short path on a disk of this machine,"
        " and work as the user whom it belongs to",
    )


def locked(root: Path, owner: Owner | None) -> PalimpsestError:
    """The error of a warehouse whose owner neither answers nor ends."""
    by = "another process" if owner is None else str(owner)
    return PalimpsestError(
        Code.WAREHOUSE_LOCKED,
        f"{by} has the warehouse {root} open, and does not answer",
        advice=_server_advice(owner)
        + "wait until it has opened the warehouse or ended, or end it; then try again",
    )


def _server_advice(owner: Owner | None) -> str:
    """How to reach a server that has the folder; empty for other programs."""
    return f"connect to the server, {owner.url}; or " if owner is not None and owner.url else ""


def _of_another(root: Path) -> str:
    user = root.stat().st_uid
    try:
        return f"it belongs to user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"it belongs to user {user}"


def _file_system(root: Path) -> str:
    """The type of the file system that a folder lies on; empty where that cannot be told."""
    try:
        lines = _MOUNTS.read_text().splitlines()
    except OSError:
        return ""
    found, kind, path = -1, "", f"{root.resolve()}/"
    for line in lines:
        _, place, name, *_ = line.split()
        prefix = place.replace("\\040", " ").rstrip("/") + "/"
        if path.startswith(prefix) and len(prefix) >= found:
            found, kind = len(prefix), name
    return kind
