"""SCRAM-SHA-256: verifiers of passwords, in PostgreSQL's own text form, and the server's proofs.

    SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>        (salt and keys in base64)

What a verifier was made of cannot be read off it. RFC 5802 and RFC 7677; pure but for ``salt``,
which the caller draws. Passwords are prepared by SASLprep where they can be, as PostgreSQL does.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import stringprep
import unicodedata

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

ITERATIONS = 4096
SALT_BYTES = 16
_FORM = re.compile(
    r"SCRAM-SHA-256\$(\d{1,9}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)"
)
_ITERATIONS_MAX = 1_000_000
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Verifier:
    """What a password is checked against."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def text(self) -> str:
        """As PostgreSQL writes it."""
        salt, stored, server = (
            base64.b64encode(part).decode()
            for part in (self.salt, self.stored_key, self.server_key)
        )
        return f"SCRAM-SHA-256${self.iterations}:{salt}${stored}:{server}"


def parsed_verifier(text: str) -> Verifier | None:
    """The verifier that a text is; None for any other text."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    try:
        salt, stored, server = (
            base64.b64decode(part, validate=True) for part in found.groups()[1:]
        )
    except (binascii.Error, ValueError):
        return None
    iterations = int(found[1])
    is_whole = len(stored) == len(server) == _KEY_BYTES and salt
    if not is_whole or not 1 <= iterations <= _ITERATIONS_MAX:
        return None
    return Verifier(iterations, salt, stored, server)


def make_verifier(password: str, salt: bytes, iterations: int = ITERATIONS) -> Verifier:
    """The verifier of a password."""
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password), salt, iterations)
    stored = hashlib.sha256(_mac(salted, b"Client Key")).digest()
    return Verifier(iterations, salt, stored, _mac(salted, b"Server Key"))


def verifier_text(given: str, salt: bytes) -> str:
    """What is kept of a password; a verifier is kept as it is.

    Raises SETTING_VALUE for an empty password, and for one that MD5 has made of another.
    """
    if parsed_verifier(given) is not None:
        return given
    if not given:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            "an empty password lets nobody in",
            advice="write PASSWORD NULL for a role that has none",
        )
    if re.fullmatch(r"md5[0-9a-f]{32}", given):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "passwords that are hashed with MD5 are not supported",
            advice="give the password itself, or its SCRAM-SHA-256 verifier",
        )
    return make_verifier(given, salt).text()


def is_proof(verifier: Verifier, message: bytes, proof: bytes) -> bool:
    """Whether a client's proof over an exchange shows that it knows the password."""
    if len(proof) != _KEY_BYTES:
        return False
    signature = _mac(verifier.stored_key, message)
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    return hmac.compare_digest(hashlib.sha256(client_key).digest(), verifier.stored_key)


def is_password(verifier: Verifier, password: str) -> bool:
    """Whether a password is the one that a verifier was made of."""
    made = make_verifier(password, verifier.salt, verifier.iterations)
    return hmac.compare_digest(made.stored_key, verifier.stored_key)


def server_signature(verifier: Verifier, message: bytes) -> bytes:
    """What shows the client that the server knows its verifier."""
    return _mac(verifier.server_key, message)


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def prepared(password: str) -> bytes:
    """A password as SASLprep writes it (RFC 4013); one that it forbids is taken as it is."""
    mapped = "".join(
        " " if stringprep.in_table_c12(c) else c for c in password if not stringprep.in_table_b1(c)
    )
    normal = unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    if not normal or any(_is_forbidden(c) for c in normal) or not _is_one_way(normal):
        return password.encode()
    return normal.encode()


def _is_forbidden(c: str) -> bool:
    return any(
        table(c)
        for table in (
            stringprep.in_table_a1,
            stringprep.in_table_c12,
            stringprep.in_table_c21_c22,
            stringprep.in_table_c3,
            stringprep.in_table_c4,
            stringprep.in_table_c5,
            stringprep.in_table_c6,
            stringprep.in_table_c7,
            stringprep.in_table_c8,
            stringprep.in_table_c9,
        )
    )


def _is_one_way(text: str) -> bool:
    """Text that is read from right to left is so from its first to its last character."""
    if not any(stringprep.in_table_d1(c) for c in text):
        return True
    ends = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    return ends and not any(stringprep.in_table_d2(c) for c in text)
