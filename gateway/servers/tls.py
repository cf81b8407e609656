"""TLS of a server: its certificate, reloaded when its files change, and channel binding."""

from __future__ import annotations

import hashlib
import re
import ssl
import threading
from pathlib import Path
from weakref import WeakKeyDictionary

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_HASHES = {
    "2a864886f70d01010b": "sha256", "2a864886f70d01010c": "sha384", "2a864886f70d01010d": "sha512",
    "2a864886f70d010104": "sha256", "2a864886f70d010105": "sha256", "2a864886f70d01010e": "sha224",
    "2a8648ce3d0401": "sha256", "2a8648ce3d040301": "sha224", "2a8648ce3d040302": "sha256",
    "2a8648ce3d040303": "sha384", "2a8648ce3d040304": "sha512",
}  # fmt: skip
"""The hash of a certificate by the object id of its signature; SHA-256 for MD5 and SHA-1."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files: the certificate with its chain, its key, and who signs clients'."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


class ServerTls:
    """The TLS of a server; ``context`` is what a connection that begins now is wrapped with."""

    def __init__(self, files: TlsFiles, protocols: tuple[str, ...]) -> None:
        """``protocols`` are the names of ALPN; raises SETTING_VALUE for files that do not serve."""
        self._files = files
        self._protocols = list(protocols)
        self._lock = threading.Lock()
        self._seen = self._stamps()
        # A connection may outlive the context of its server, and is bound by what it was shown.
        self._bindings: WeakKeyDictionary[ssl.SSLContext, bytes | None] = WeakKeyDictionary()
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        """The context of now; while new files do not fit together yet, the one of before."""
        stamps = self._stamps()
        with self._lock:
            if stamps != self._seen:
                try:
                    self._context = self._load()
                    self._seen = stamps
                except PalimpsestError:
                    pass
            return self._context

    def binding(self, context: ssl.SSLContext) -> bytes | None:
        """What SCRAM-SHA-256-PLUS binds to: ``tls-server-end-point`` of RFC 5929.

        It is of the certificate that ``context`` shows, also after another one has come. None for
        one whose signature names no hash.
        """
        with self._lock:
            return self._bindings.get(context)

    def _stamps(self) -> tuple[int, ...]:
        found = []
        for path in (self._files.certificate, self._files.key, self._files.client_ca):
            try:
                found.append(0 if path is None else path.stat().st_mtime_ns)
            except OSError:
                found.append(-1)
        return tuple(found)

    def _load(self) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.set_alpn_protocols(self._protocols)
        try:
            text = self._files.certificate.read_text()
            made.load_cert_chain(self._files.certificate, self._files.key, password="")
            if self._files.client_ca is not None:
                made.load_verify_locations(self._files.client_ca)
                made.verify_mode = ssl.CERT_OPTIONAL
        except (OSError, ValueError) as error:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"TLS cannot be served with {self._files.certificate}: {error}",
                advice=(
                    "give the key of the certificate, too: --tls-key"
                    if self._files.key is None
                    else "give the certificate and its key, without a password, as PEM files"
                ),
            ) from error
        self._bindings[made] = _end_point_of(text)
        return made


def _end_point_of(text: str) -> bytes | None:
    """What the first certificate of a PEM file is bound by."""
    found = re.search(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", text, re.DOTALL)
    return None if found is None else end_point(ssl.PEM_cert_to_DER_cert(found[0]))


def end_point(certificate: bytes) -> bytes | None:
    """The hash that names a certificate in DER, by the hash of its signature."""
    name = _HASHES.get(_signature(certificate))
    return None if name is None else hashlib.new(name, certificate).digest()


def _signature(certificate: bytes) -> str:
    """The object id of a certificate's signature, in hex."""
    inside, _ = _element(certificate, 0)
    _, after = _element(certificate, inside)  # What is signed.
    algorithm, _ = _element(certificate, after)
    start, end = _element(certificate, algorithm)
    return certificate[start:end].hex()


def _element(data: bytes, at: int) -> tuple[int, int]:
    """Where the content of an element of DER begins, and where it ends."""
    size, start = data[at + 1], at + 2
    if size & 0x80:
        width = size & 0x7F
        size, start = int.from_bytes(data[start : start + width], "big"), start + width
    return start, start + size
