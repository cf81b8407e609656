"""The composition root: URLs to open warehouses, shared by the connections of this process."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from gateway.opening.databases import is_database, open_database
from gateway.opening.url_secrets import split_secret_url, without_password
from gateway.session.executor import Executor
from journal.files.scratch import Scratch, sweep_scratch
from journal.local_engine.file_modes import (
    MODE_SETTING,
    OWNER,
    change_modes,
    configured,
    make_root,
    modes_of,
)
from journal.model.errors import Code, PalimpsestError
from journal.model.places import is_elsewhere, is_file_system, shown_place
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import recover
from journal.stores.embedded.sealer import Sealer
from journal.stores.embedded.warehouse import DATABASE_FILE
from journal.transactions.protocol import OpenJournal

_FORMS = (
    "palimpsest:///relative/path, palimpsest:////absolute/path, palimpsest:// (a temporary one),"
    " palimpsest+postgresql://user@host:port/database or palimpsest+hive://user@host:port/database"
)


@dataclass(slots=True)
class OpenWarehouse:
    """A warehouse open in this process, and how many connections use it."""

    key: str = field(repr=False)
    """Its folder, or its URL with a password in it."""
    journal: OpenJournal
    executor: Executor
    temporary: Scratch | None = None
    users: int = 0


class Warehouses:
    """Opens each warehouse once and closes it with its last connection."""

    def __init__(self) -> None:
        self._open: dict[str, OpenWarehouse] = {}
        self._forsaken: list[dict[str, OpenWarehouse]] = []
        self._lock = threading.Lock()

    def acquire(self, url: str) -> OpenWarehouse:
        """The warehouse of a URL; made if there is none."""
        if is_database(url):
            return self._acquire(url, lambda: _open_server(url))
        path, store_settings = parse_url(url)
        if path is None:
            scratch = Scratch()
            root = scratch.path / "warehouse"
            return self._acquire(str(root), lambda: _open_folder(root, store_settings, scratch))
        root = path.resolve()
        return self._acquire(str(root), lambda: _open_folder(root, store_settings, None))

    def _acquire(self, key: str, make: Callable[[], OpenWarehouse]) -> OpenWarehouse:
        with self._lock:
            found = self._open.get(key)
            if found is None:
                # What a killed process of this machine has left: rows of people may be in it.
                sweep_scratch()
                found = self._open[key] = make()
            found.users += 1
            return found

    def release(self, warehouse: OpenWarehouse) -> None:
        """One connection fewer; the last one closes the warehouse."""
        with self._lock:
            warehouse.users -= 1
            if warehouse.users == 0 and self._open.pop(warehouse.key, None) is not None:
                _close(warehouse)

    def close_all(self) -> None:
        """Close what is still open when the process ends."""
        with self._lock:
            while self._open:
                _close(self._open.popitem()[1])

    def forget_after_fork(self) -> None:
        """In a forked child: the parent's warehouses are not this process's to touch or free."""
        self._forsaken.append(self._open)
        self._open = {}
        self._lock = threading.Lock()


def parse_url(url: str) -> tuple[Path | None, dict[str, str]]:
    """Path of the warehouse (None: a temporary one) and settings of the store."""
    parts = split_secret_url(url)
    shown = without_password(url)
    if is_file_system(url) or is_elsewhere(unquote(parts.path[1:])):
        raise PalimpsestError(
            Code.URL,
            f"a warehouse lies in a folder of this machine, and {shown_place(shown)} is not one",
            advice="name a folder, mounted if need be; copy rows and backups to other places:"
            " CALL system.backup('t', to => 's3://..'), COPY t TO 's3://..'",
        )
    if parts.scheme != "palimpsest" or parts.netloc:
        raise PalimpsestError(
            Code.URL,
            f"the URL {shown} is not one this gateway can open",
            advice=f"use {_FORMS}",
        )
    path = unquote(parts.path)
    if path in {"", "/"}:
        return None, dict(parse_qsl(parts.query))
    return Path(path[1:]), dict(parse_qsl(parts.query))


def _open_server(url: str) -> OpenWarehouse:
    executor = open_database(url)
    return OpenWarehouse(url, executor.journal, executor)


def _open_folder(root: Path, settings: dict[str, str], temporary: Scratch | None) -> OpenWarehouse:
    settings = dict(settings)
    modes = configured(settings.pop(MODE_SETTING, None))
    file = root / DATABASE_FILE
    try:
        if not file.exists():
            make_root(root, modes)
    except OSError as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the warehouse {root} cannot be made: {error.strerror}",
            advice="check path and permissions",
        ) from error
    journal = Journal(root, settings=settings, modes=modes or OWNER)
    try:
        if modes is not None and modes != modes_of(file):
            change_modes(root, file, modes)
        recover(journal)
    except BaseException:
        journal.close()
        raise
    return OpenWarehouse(str(root), journal, Executor(journal, Sealer(journal)), temporary)


def _close(warehouse: OpenWarehouse) -> None:
    warehouse.executor.close()
    warehouse.journal.close()
    if warehouse.temporary is not None:
        warehouse.temporary.close()


WAREHOUSES = Warehouses()
atexit.register(WAREHOUSES.close_all)
os.register_at_fork(after_in_child=WAREHOUSES.forget_after_fork)
