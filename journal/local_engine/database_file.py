"""The embedded store's DuckDB database file: opened, its idle sessions kept, closed.

What a session does is ``duckdb``'s; this module never runs a client's query. Rows that DuckDB has
no memory for are put aside in a folder of this file's alone, ``<file>.tmp`` or one below the
setting ``temp_directory``: what a killed process left in it is removed when the file is opened.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from journal.local_engine.errors import mapped, open_error
from journal.local_engine.file_modes import OWNER, FileModes, follow_log, make_folder, set_mode
from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import file_error

IN_MEMORY = Path(":memory:")
"""The file of a store that has none; its setting ``temp_directory`` is required."""
_IDLE_SESSIONS_MAX = 64
_IDLE_POLL_S = 0.01


Reopen = Callable[[Callable[[Path], None]], DuckDBSession]


def _scratch_folder(file: Path, given: str | None) -> Path:
    """Where one file's rows are put aside, and no others."""
    if given is None:
        if file == IN_MEMORY:
            raise ValueError("a database in memory needs a folder for rows that it puts aside")
        return file.with_name(f"{file.name}.tmp")
    name = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:16]
    try:
        make_folder(Path(given), OWNER)
    except OSError as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the folder {given} of the setting temp_directory cannot be made: {error.strerror}",
            advice="name another folder, or leave the setting out",
        ) from error
    return Path(given) / f"palimpsest-{name}"


def _inode(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except FileNotFoundError:
        return None


class DuckDBStore:
    """An open DuckDB database file and its idle sessions."""

    def __init__(self, file: Path, settings: Mapping[str, str], modes: FileModes = OWNER) -> None:
        """Open a file; one that is made gets its mode from ``modes``."""
        self._modes = modes
        self._aside = _scratch_folder(file, settings.get("temp_directory"))
        config: dict[str, Any] = {
            "immediate_transaction_mode": True,
            "autoinstall_known_extensions": False,
            "arrow_lossless_conversion": True,
            **settings,
            "temp_directory": str(self._aside),
        }
        self._file = file
        self._config = config
        self._inode: int | None = None
        self._idle: list[DuckDBSession] = []
        self._sessions: weakref.WeakSet[DuckDBSession] = weakref.WeakSet()
        # Its holder may be who the garbage collector makes close a reader that was forgotten.
        self._lock = threading.RLock()
        self.broke_down = False
        """Whether a commit has found out that the file must be opened again."""
        self._root = self._connect()
        try:
            # DuckDB lets one process open the file, so no other one that lives has put rows there.
            self._forget_aside()
            self._make_aside()
        except PalimpsestError:
            self._root.close()
            raise

    def _forget_aside(self) -> None:
        # The setting may have been another when somebody was killed.
        folders = {self._aside}
        if self._file != IN_MEMORY:
            folders.add(_scratch_folder(self._file, None))
        for folder in folders:
            try:
                shutil.rmtree(folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise PalimpsestError(
                    Code.FILE_ACCESS,
                    f"rows that DuckDB put aside in {folder} cannot be removed: {error.strerror}",
                    advice="fix permissions, or remove the folder; people's rows may be in it",
                ) from error

    def _make_aside(self) -> None:
        """DuckDB would make it for everybody to read."""
        try:
            make_folder(self._aside, OWNER)
        except OSError as error:
            # What is there can be read on a full disk, and the warehouse's own folder is private.
            if self._aside.parent != self._file.parent:
                raise file_error(error) from error

    def _connect(self) -> duckdb.DuckDBPyConnection:
        is_new = not self._file.exists()
        try:
            connection = duckdb.connect(str(self._file), config=self._config)
        except duckdb.Error as error:
            found = open_error(self._file, error)
            if is_new and found.code is Code.STORE_WRITE:
                # What there was no room for would be taken for a damaged warehouse.
                self._file.unlink(missing_ok=True)
            raise found from error
        if is_new and self._file.exists():
            set_mode(self._file, self._modes.file)
        self._inode = _inode(self._file)
        with mapped():
            # Not accepted as connection configuration, because parquet loads later.
            connection.execute("SET GLOBAL parquet_metadata_cache = true")
        return connection

    def is_broken(self) -> bool:
        """True when DuckDB refuses to go on before it is opened again, say after a full disk."""
        with self._lock:
            try:
                self._root.execute("SELECT 1").fetchall()
            except (duckdb.FatalException, duckdb.ConnectionException):
                return True
            return False

    def reopen(self) -> None:
        """Close everything and open the file again; sessions in use elsewhere are lost."""
        with self._lock:
            self._idle.clear()
            for session in list(self._sessions):
                session.close()
            self._sessions.clear()
            self._root.close()
            self._root = self._connect()
            self.broke_down = False

    def _session(self) -> DuckDBSession:
        log = self._file.with_name(f"{self._file.name}.wal")
        session = DuckDBSession(self._root.cursor(), self._file.parent)
        session.check_commit = self._check_there
        session.after_commit = partial(follow_log, log, self._file)
        session.after_breakdown = self._note_breakdown
        return session

    def _check_there(self) -> None:
        """Raise STORE_WRITE if the file is gone that is open: what goes into it is lost."""
        if self._inode is not None and _inode(self._file) != self._inode:
            raise PalimpsestError(
                Code.STORE_WRITE,
                f"{self._file} was removed, or another took its place, while it was open",
                advice="close all connections, bring it back, and repeat; nothing was changed",
            )

    def _note_breakdown(self) -> None:
        self.broke_down = True

    def acquire(self) -> DuckDBSession:
        """A session for one thread; give it back with ``release``."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            with mapped():
                session = self._session()
            self._sessions.add(session)
            return session

    def release(self, session: DuckDBSession) -> None:
        """Take a session back; it has no open transaction."""
        with suppress(duckdb.Error):
            session.use_zone(None)
        with self._lock:
            if session in self._sessions and len(self._idle) < _IDLE_SESSIONS_MAX:
                self._idle.append(session)
                return
            self._sessions.discard(session)
        session.close()

    def when_idle(self, action: Callable[[Path, Reopen], None], wait_s: float) -> bool:
        """Do something while no session is in use and none can be had; False if that never was.

        ``action`` is given the file, and a function that closes it, lets another write it anew, and
        gives a session on the new file.
        """
        until = time.monotonic() + wait_s
        while True:
            with self._lock:
                if all(session in self._idle for session in self._sessions):
                    action(self._file, self._reopen_after)
                    return True
            if time.monotonic() >= until:
                return False
            time.sleep(_IDLE_POLL_S)

    def _reopen_after(self, write: Callable[[Path], None]) -> DuckDBSession:
        for session in self._idle:
            session.close()
        self._idle.clear()
        self._sessions.clear()
        self._root.close()
        try:
            self._forget_aside()
            write(self._file)
        finally:
            self._root = self._connect()
            self._make_aside()
        with mapped():
            session = self._session()
        self._sessions.add(session)
        self._idle.append(session)
        return session

    def close(self) -> None:
        """Close every connection; the database file is checkpointed."""
        with self._lock:
            # A result that nobody read to the end still holds its session.
            for session in list(self._sessions):
                session.close()
            self._idle.clear()
            self._root.close()
            shutil.rmtree(self._aside, ignore_errors=True)
