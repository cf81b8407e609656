"""The key of a processor of OpenDSR, for tests: made, put into the environment, checked with."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa


def make_opendsr_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> rsa.RSAPublicKey:
    """Make a key that answers and callbacks are signed with; its public half."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    monkeypatch.setenv("PALIMPSEST_OPENDSR_KEY", str(folder / "key.pem"))
    monkeypatch.setenv("PALIMPSEST_OPENDSR_DOMAIN", "processor.example")
    monkeypatch.setenv("PALIMPSEST_OPENDSR_CERTIFICATE", "https://processor.example/cert.pem")
    return key.public_key()


def check_signature(public: rsa.RSAPublicKey, signature: bytes, data: bytes) -> None:
    """Raise InvalidSignature unless the key has signed the data."""
    public.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
