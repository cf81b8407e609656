"""The secret of a warehouse: what its keyed hashes are made with. It never enters the catalog.

    <root>/_palimpsest/secret.key           32 random bytes, readable by the owner alone
    <root>/_palimpsest/secret-<id>.key      those of another store, of whose tables it has replicas

Without it the hashes of erased identifiers say nothing to whoever has the catalog, and nobody can
find out by guessing whether an address is among them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from journal.identity.key_ring import key_id
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import RecordSession
from journal.records import erasure_rows as rows_of
from journal.records import maintenance as holds_of

if TYPE_CHECKING:
    from journal.erasure.seam import SecretJournal

PRIVATE = "_palimpsest"
"""Folder of the warehouse for what is neither catalog nor segment."""
_BYTES = 32


def lasting_secret(journal: SecretJournal, session: RecordSession) -> str:
    """The secret to hash with; made only while nothing depends on one.

    One that got lost is never replaced by itself: with another, whoever was erased could be
    written again, and nobody would be told.
    """
    value = holds_of.HOLD.index("subject_value")
    held = any(row[value] is not None for row in holds_of.holds(session))
    if held or rows_of.last_audit(session) is not None:
        return journal.read_secret()
    return journal.make_secret()


def make_secret(root: Path) -> str:
    """The secret, made if there is none."""
    if not has_secret(root):
        adopt_secret(root, os.urandom(_BYTES).hex())
    return read_secret(root)


def adopt_secret(root: Path, secret: str) -> None:
    """Hash with the secret of another store from now on; nothing may depend on one before."""
    _write(_path(root), secret)


def keep_secret(root: Path, secret: str) -> None:
    """Know the secret of another store by its id; one that is there stays as it is."""
    path = _path(root, key_id(secret))
    if not path.exists():
        _write(path, secret)


def _path(root: Path, key: str | None = None) -> Path:
    return root / PRIVATE / ("secret.key" if key is None else f"secret-{key}.key")


def _write(path: Path, secret: str) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(bytes.fromhex(secret))
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(path)


def has_secret(root: Path) -> bool:
    """True if a warehouse has the file of its secret."""
    return _path(root).exists()


def read_secret(root: Path, key: str | None = None) -> str:
    """The secret, or that of another store by its id.

    Raises WAREHOUSE_FORMAT if it is gone, FILE_ACCESS if all is.
    """
    path = _path(root, key)
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if not root.exists():
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the folder {root} of the warehouse is gone",
            advice="put it back, or mount it again; then open the warehouse once more",
        )
    if len(data) != _BYTES or (key is not None and key_id(data.hex()) != key):
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            f"{PRIVATE}/{path.name} of the warehouse is missing or damaged: without it the gateway"
            " cannot recognise erased values",
            advice="copy the file back from the warehouse that this one was copied from",
        )
    return data.hex()
