"""Opens the journals in folders, which are made where there are none."""

from __future__ import annotations

from pathlib import Path

from gateway.opening.folder_urls import make_folder, parse_url
from gateway.opening.schemes import OpenedStore
from journal.local_engine.file_modes import MODE_SETTING, OWNER, change_modes, configured, modes_of
from journal.local_engine.scratch import Scratch
from journal.stores.embedded.file_names import DATABASE_FILE
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import recover
from journal.stores.embedded.sealer import Sealer


def open_folder(url: str) -> OpenedStore:
    """The journals of a folder; it is made where there is none."""
    path, settings = parse_url(url)
    if path is None:
        temporary = Scratch()
        journal = _open_journal(temporary.path / "warehouse", settings)
        return OpenedStore(journal, Sealer(journal), temporary)
    journal = _open_journal(path.resolve(), settings)
    return OpenedStore(journal, Sealer(journal))


def _open_journal(root: Path, settings: dict[str, str]) -> Journal:
    settings = dict(settings)
    modes = configured(settings.pop(MODE_SETTING, None))
    file = root / DATABASE_FILE
    make_folder(root, modes)
    journal = Journal(root, settings=settings, modes=modes or OWNER)
    try:
        if modes is not None and modes != modes_of(file):
            change_modes(root, file, modes)
        recover(journal)
    except BaseException:
        journal.close()
        raise
    return journal
