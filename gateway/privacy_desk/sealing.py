"""Stores identifiers of requests: encrypted while needed, and as keyed hashes.

Both keys come of the store's secret: who has the records alone can neither read nor guess whom
somebody asked about. AES-256-GCM, each value bound to its request and type. Pure but for the nonce.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from journal.identity.identifiers import texts_of
from journal.identity.normalisers import Normaliser
from journal.model.errors import Code, PalimpsestError

FORMS = "forms"
"""Where the detail of a request that gets a file has hashes of whom it names, by normaliser."""
_NONCE = 12
_JOINED = "&"
"""Between the types of an identity of several parts: ``first_name&last_name``."""


def is_composite(kind: str) -> bool:
    """True for an identity of several parts, all of which a row must have."""
    return _JOINED in kind


def join_parts(parts: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Type and value of an identity of several parts, whatever their order."""
    ordered = sorted(parts)
    return _JOINED.join(k for k, _ in ordered), json.dumps([v for _, v in ordered])


def split_parts(kind: str, value: str) -> list[tuple[str, str]]:
    """The parts of an identity of several."""
    values: list[str] = json.loads(value)
    return list(zip(kind.split(_JOINED), values, strict=True))


def types_of(kind: str) -> list[str]:
    """The types of an identity, one or several."""
    return kind.split(_JOINED)


def parts_of(kind: str, value: str) -> list[tuple[str, str]]:
    """The parts of an identity, one or several."""
    return split_parts(kind, value) if is_composite(kind) else [(kind, value)]


def identity_digest(secret: str, kind: str, value: str, normaliser: Normaliser) -> str:
    """The keyed hash by which an identifier is told again, in the form of a normaliser."""
    (text,) = texts_of([value], normaliser)
    return hmac.new(_derived(secret, "digests"), f"{kind}\x1f{text}".encode(), "sha256").hexdigest()


def sealer(secret: str) -> Callable[[str, str, str], str]:
    """Encrypts: takes request, type and value. Raises DRIVER_MISSING without ``cryptography``."""
    cipher = _cipher(secret)

    def seal(request: str, kind: str, value: str) -> str:
        nonce = os.urandom(_NONCE)
        locked = cipher.encrypt(nonce, value.encode(), f"{request}\x1f{kind}".encode())
        return base64.b64encode(nonce + locked).decode()

    return seal


def opener(secret: str) -> Callable[[str, str, str], str]:
    """Decrypts what ``sealer`` encrypted: takes request, type and sealed value."""
    cipher = _cipher(secret)
    invalid_tag: type[Exception] = import_module("cryptography.exceptions").InvalidTag

    def unseal(request: str, kind: str, sealed: str) -> str:
        try:
            data = base64.b64decode(sealed)
            found = cipher.decrypt(data[:_NONCE], data[_NONCE:], f"{request}\x1f{kind}".encode())
        except (invalid_tag, binascii.Error) as error:
            raise PalimpsestError(
                Code.PRIVACY_REQUEST,
                f"an identifier of request {request} cannot be decrypted",
                advice="put back the secret that the store had when the request came",
            ) from error
        return str(found, "utf-8")

    return unseal


@lru_cache(maxsize=8)
def _derived(secret: str, purpose: str) -> bytes:
    key = bytes.fromhex(secret)
    return hmac.new(key, f"palimpsest privacy desk {purpose}".encode(), hashlib.sha256).digest()


def _cipher(secret: str) -> Any:
    try:
        aead = import_module("cryptography.hazmat.primitives.ciphers.aead")
    except ImportError as error:
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            "the privacy desk needs the package cryptography",
            advice="pip install 'palimpsest-gateway[jobs]'",
        ) from error
    return aead.AESGCM(_derived(secret, "identities"))
