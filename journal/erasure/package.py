"""An encrypted package with an expiry: what a person is given of their own data.

    magic, length of the header, header (JSON), AES-256-GCM of a zip archive

The header holds salt, nonce and the times, and is authenticated with the rest: nobody can move the
expiry without the passphrase, from which scrypt makes the key. Whoever has the passphrase and their
own program can read an expired package; ours refuses. In memory only; writes nothing.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_MAGIC = b"PALACCESS1\n"
_LENGTH = struct.Struct("<I")
_SCRYPT = {"n": 1 << 15, "r": 8, "p": 1}
_PASSPHRASE_MIN = 12
_HEADER_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class Package:
    """What was in a package, and its times."""

    files: Mapping[str, bytes]
    created: datetime
    expires: datetime


def seal_package(
    files: Mapping[str, bytes], passphrase: str, created: datetime, expires: datetime
) -> bytes:
    """An encrypted package of some files."""
    if len(passphrase) < _PASSPHRASE_MIN:
        raise PalimpsestError(
            Code.PACKAGE,
            f"a passphrase of {len(passphrase)} characters is too short, use {_PASSPHRASE_MIN}",
            advice="take several words, and send them another way than the package",
        )
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as written:
        for name, data in files.items():
            written.writestr(name, data)
    salt, nonce = os.urandom(16), os.urandom(12)
    fields = {
        "salt": salt.hex(),
        "nonce": nonce.hex(),
        "scrypt": _SCRYPT,
        "created": created.isoformat(),
        "expires": expires.isoformat(),
    }
    header = json.dumps(fields).encode()
    front = _MAGIC + _LENGTH.pack(len(header)) + header
    locked: bytes = _cipher(passphrase, fields).encrypt(nonce, archive.getvalue(), front)
    return front + locked


def open_package(data: bytes, passphrase: str, now: datetime) -> Package:
    """The files of a package; raises PACKAGE if it is damaged, expired, or locked otherwise."""
    start = len(_MAGIC) + _LENGTH.size
    if not data.startswith(_MAGIC) or len(data) < start:
        raise _package_error("this file is not an access package")
    (length,) = _LENGTH.unpack(data[len(_MAGIC) : start])
    front, body = data[: start + length], data[start + length :]
    try:
        fields = json.loads(front[start:]) if length <= _HEADER_MAX else {}
        created = datetime.fromisoformat(fields["created"])
        expires = datetime.fromisoformat(fields["expires"])
        cipher = _cipher(passphrase, fields)
        nonce = bytes.fromhex(fields["nonce"])
    except (ValueError, KeyError, TypeError) as error:
        raise _package_error("the package is damaged") from error
    from cryptography.exceptions import InvalidTag

    try:
        archive = cipher.decrypt(nonce, body, front)
    except InvalidTag as error:
        raise _package_error("the passphrase is wrong, or somebody altered the package") from error
    if now >= expires:
        raise _package_error(f"the package expired on {expires:%Y-%m-%d %H:%M} UTC")
    with ZipFile(BytesIO(archive)) as read:
        return Package({n: read.read(n) for n in read.namelist()}, created, expires)


def _cipher(passphrase: str, fields: Mapping[str, Any]) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
    except ImportError as error:
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            "access packages need the package cryptography",
            advice="pip install 'palimpsest-gateway[jobs]'",
        ) from error
    cost = fields["scrypt"]
    if cost != _SCRYPT:
        raise ValueError(cost)
    derive = Scrypt(salt=bytes.fromhex(fields["salt"]), length=32, **_SCRYPT)
    return AESGCM(derive.derive(passphrase.encode()))


def _package_error(message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.PACKAGE, message, advice="check passphrase and file, or ask for a new package"
    )
