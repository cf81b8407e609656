"""Folders that the demonstration makes, and may replace; others it leaves alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from journal.local_engine.file_modes import OWNER, configured, make_folder
from journal.model.errors import Code, PalimpsestError

MARK = ".palimpsest-demo"
"""File that says a warehouse was made here, so that the next run may replace it."""


def clear(root: Path) -> None:
    """Remove what an earlier run left; raises FILE_ACCESS for a folder that is not ours."""
    if root.exists() and any(root.iterdir()):
        if not (root / MARK).is_file():
            raise PalimpsestError(
                Code.FILE_ACCESS,
                f"{root} holds files that no demonstration made",
                advice="name another folder with --warehouse",
            )
        shutil.rmtree(root)
    make_folder(root, configured() or OWNER)
    (root / MARK).write_text("This warehouse belongs to `palimpsest demo`, which replaces it.\n")
