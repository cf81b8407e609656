"""The Bloom filters of a copy that lies elsewhere: all of its files in one sidecar.

They are put with the files, and written anew without those of a file that a purge has replaced, so
that no filter answers for somebody who is gone.
"""

from __future__ import annotations

from collections.abc import Mapping

from journal.files.filters.sidecar import FileFilters, read_sidecar, write_sidecar
from journal.files.object_storage import Folder
from journal.local_engine.scratch import scratch
from journal.model.segment import SIDECAR
from journal.records.backups import Backup


def read(backup: Backup) -> dict[str, FileFilters]:
    """The filters of a copy's files by their paths there; files without one must be read."""
    assert backup.place is not None
    held = None if backup.filters is None else Folder(backup.place).read(backup.filters)
    if held is None:
        return {}
    with scratch() as place:
        (place / SIDECAR).write_bytes(held)
        return dict(read_sidecar(place))


def put(folder: Folder, filters: Mapping[str, FileFilters], name: str) -> str | None:
    """Put filters into a copy; the file they are in, None if there are none."""
    if not filters:
        return None
    with scratch() as place:
        write_sidecar(place, filters)
        folder.put(place / SIDECAR, f"filters-{name}.bloom")
    return f"filters-{name}.bloom"
