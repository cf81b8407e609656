"""Folders that hold an embedded warehouse: their URLs, and the journals in them opened here.

palimpsest:///relative/path    palimpsest:////absolute/path    palimpsest:// (a temporary one)
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote

from gateway.opening.schemes import OpenedStore
from gateway.opening.url_secrets import split_secret_url, without_password
from journal.files.scratch import Scratch
from journal.local_engine.file_modes import (
    MODE_SETTING,
    OWNER,
    FileModes,
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

_FORMS = (
    "palimpsest:///relative/path, palimpsest:////absolute/path, palimpsest:// (a temporary one),"
    " palimpsest+postgresql://user@host:port/database or palimpsest+hive://user@host:port/database"
)


def key(url: str) -> str | None:
    """The folder of a URL; None for a temporary one."""
    path, _ = parse_url(url)
    return None if path is None else str(path.resolve())


def shared_folder(url: str) -> Path | None:
    """The folder of a URL, made if it is not there; None for a temporary one."""
    path, settings = parse_url(url)
    if path is None:
        return None
    _make_folder(path.resolve(), configured(settings.get(MODE_SETTING)))
    return path.resolve()


def open_folder(url: str) -> OpenedStore:
    """The journals of a folder; it is made where there is none."""
    path, settings = parse_url(url)
    if path is None:
        temporary = Scratch()
        journal = _open_journal(temporary.path / "warehouse", settings)
        return OpenedStore(journal, Sealer(journal), temporary)
    journal = _open_journal(path.resolve(), settings)
    return OpenedStore(journal, Sealer(journal))


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


def _make_folder(root: Path, modes: FileModes | None) -> None:
    try:
        if not (root / DATABASE_FILE).exists():
            make_root(root, modes)
    except OSError as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the warehouse {root} cannot be made: {error.strerror}",
            advice="check path and permissions",
        ) from error


def _open_journal(root: Path, settings: dict[str, str]) -> Journal:
    settings = dict(settings)
    modes = configured(settings.pop(MODE_SETTING, None))
    file = root / DATABASE_FILE
    _make_folder(root, modes)
    journal = Journal(root, settings=settings, modes=modes or OWNER)
    try:
        if modes is not None and modes != modes_of(file):
            change_modes(root, file, modes)
        recover(journal)
    except BaseException:
        journal.close()
        raise
    return journal
