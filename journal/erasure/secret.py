"""The secret of a warehouse: what its keyed hashes are made with. It never enters the catalog.

    <root>/_palimpsest/secret.key     32 random bytes, readable by the owner alone

Without it the hashes of erased identifiers say nothing to whoever has the catalog, and nobody can
find out by guessing whether an address is among them.
"""

from __future__ import annotations

import os
from pathlib import Path

from journal.errors import Code, PalimpsestError

PRIVATE = "_palimpsest"
"""Folder of the warehouse for what is neither catalog nor segment."""
_FILE = "secret.key"
_BYTES = 32


def make_secret(root: Path) -> str:
    """The secret, made if there is none."""
    path = root / PRIVATE / _FILE
    if not path.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        draft = path.with_suffix(".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(os.urandom(_BYTES))
            handle.flush()
            os.fsync(handle.fileno())
        draft.replace(path)
    return read_secret(root)


def read_secret(root: Path) -> str:
    """The secret; raises WAREHOUSE_FORMAT if it is gone."""
    path = root / PRIVATE / _FILE
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if len(data) != _BYTES:
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            f"{PRIVATE}/{_FILE} of the warehouse is missing or damaged: what was erased cannot be"
            " told from what may be written",
            advice="put the file back from where the warehouse was copied from",
        )
    return data.hex()
