"""Keeps what a request looks for until copies out of reach can be searched.

    <root>/_palimpsest/erasure/<request>.sought     readable by the owner alone

There identifiers, or a condition with its values, wait for the purge that reaches those copies: it
searches them, and the file goes. It never outlives the request it belongs to. Searches nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from journal.erasure.requests import ErasureRequest, looked_for
from journal.erasure.secret import PRIVATE
from journal.files.parquet_files import sync_folder
from journal.model.errors import Code, PalimpsestError


def _path(root: Path, request_id: str) -> Path:
    return root / PRIVATE / "erasure" / f"{request_id}.sought"


def keep(root: Path, request_id: str, text: str) -> None:
    """Write down what a request looks for; on disk when this returns."""
    path = _path(root, request_id)
    for made in (path.parent.parent, path.parent):
        made.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    sync_folder(path.parent)


def load_subjects(root: Path, request_id: str) -> str | None:
    """What a request looks for; None if that is lost."""
    try:
        return _path(root, request_id).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def subjects_lost(request_id: str) -> PalimpsestError:
    """The error of a request of which nobody knows any more what it looks for."""
    return PalimpsestError(
        Code.ERASURE,
        f"the record of what request {request_id} looks for in copies out of reach is lost",
        advice="submit it again, or drop those copies: CALL system.backup(.., drop => true)",
    )


def forget(root: Path, request_id: str) -> None:
    """Remove what a request looked for."""
    _path(root, request_id).unlink(missing_ok=True)


def forget_stale(root: Path, found: Iterable[ErasureRequest]) -> None:
    """Remove what no request looks for any more, ``found`` being all that there are."""
    wanted = looked_for(found)
    for path in (root / PRIVATE / "erasure").glob("*.sought"):
        if path.stem not in wanted:
            path.unlink(missing_ok=True)
