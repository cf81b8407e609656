"""The hash keys of a store, and the one that hashed an entry of the suppression list.

    key                     hashed with the key of the store itself
    key @0a1b2c3d4e5f6071   with that of another store, of whose tables it has replicas

A key is told by a digest of it, so an entry can never be compared under another: it says itself
which one made it, and who lacks that one fails. Pure.
"""

from __future__ import annotations

import hashlib
import hmac
import re

P_SECRET = "p_secret"
"""The parameter for the store's own key; that for another is followed by the key's id."""
_LABEL = re.compile(r"(?P<kind>.*) @(?P<key>[0-9a-f]{16})", re.DOTALL)
_ID_CHARS = 16


def key_id(secret: str) -> str:
    """What tells a key from all others, and nothing else of it."""
    digest = hmac.new(bytes.fromhex(secret), b"palimpsest key of hashes", hashlib.sha256)
    return digest.hexdigest()[:_ID_CHARS]


def labelled(kind: str, key: str | None) -> str:
    """A kind as entries name it that are hashed with a key; None is the store's own."""
    return kind if key is None else f"{kind} @{key}"


def parted(label: str) -> tuple[str, str | None]:
    """The kind in a label, and the id of the key; None for the store's own.

    >>> parted(labelled("id:email lower", "0a1b2c3d4e5f6071"))
    ('id:email lower', '0a1b2c3d4e5f6071')
    """
    found = _LABEL.fullmatch(label)
    return (label, None) if found is None else (found["kind"], found["key"])


def secret_parameter(key: str | None) -> str:
    """The name of the parameter that takes a key."""
    return P_SECRET if key is None else f"{P_SECRET}_{key}"


def key_of_parameter(name: str) -> str | None:
    """The id in such a name; None for that of the store's own key."""
    return name.removeprefix(P_SECRET).removeprefix("_") or None


def is_secret_parameter(name: str) -> bool:
    """True for the name of a parameter that takes a key."""
    return name.startswith(P_SECRET)
