"""Folders of a warehouse that units write into: made for a block, swept after a breakdown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from journal.files.staging import GONE, OPEN, open_folders, remove_folder, remove_moved
from journal.stores.embedded.journal import Journal


@contextmanager
def scratch_folder(journal: Journal, folder: str) -> Iterator[None]:
    """A folder that units may write into, which is gone with the block, whatever they still do."""
    journal.staged.add(folder)
    try:
        open_folders(journal.root, [folder], journal.warehouse.modes)
        yield
    finally:
        remove_folder(journal.root / folder)
        journal.staged.discard(folder)


def sweep(journal: Journal) -> list[Path]:
    """Remove what jobs that ended badly left open, or could not remove; what is still there.

    Those of this process that still run are in ``journal.staged``, and are left alone.
    """
    for left in [*journal.root.glob(f"*/*/*{GONE}"), *journal.root.glob(f"*/*/*/*{GONE}")]:
        remove_moved(left)
    for left in journal.root.glob(f"*/*/*/{OPEN}"):
        if str(left.parent.relative_to(journal.root)) not in journal.staged:
            remove_folder(left)
    return [*journal.root.glob(f"*/*/*{GONE}"), *journal.root.glob(f"*/*/*/*{GONE}")]
