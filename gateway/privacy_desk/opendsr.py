"""This store as a processor of OpenDSR: its domain and key, and how states of requests are called.

PALIMPSEST_OPENDSR_KEY names a PEM file with an RSA key, PALIMPSEST_OPENDSR_DOMAIN the domain that
its certificate is for, PALIMPSEST_OPENDSR_CERTIFICATE the URL where that can be read, and
PALIMPSEST_OPENDSR_CONTROLLER what the controller is called here.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from gateway.privacy_desk.states import PrivacyState
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_S = PrivacyState
_PENDING = frozenset(
    {_S.RECEIVED, _S.IDENTITY_UNVERIFIED, _S.PENDING_APPROVAL, _S.QUEUED, _S.DUPLICATE}
)
_CANCELLED = frozenset({_S.CANCELLED, _S.DENIED})
COMPLETED, CANCELLED = "completed", "cancelled"
"""The statuses that end a request."""


@dataclass(frozen=True, slots=True)
class OpenDsrVersion:
    """A version of the specification: how it calls headers and requests, and what it knows.

    1.0 was called OpenGDPR: it knows one regulation, and no count of results.
    """

    number: str
    headers: str
    requests: str
    only_regulation: str | None = None
    has_counts: bool = True

    @property
    def major(self) -> str:
        """How paths begin: ``v2``."""
        return f"v{self.number.partition('.')[0]}"


VERSIONS = {
    version.number: version
    for version in (
        OpenDsrVersion("1.0", "X-OpenGDPR", "opengdpr_requests", "GDPR", has_counts=False),
        OpenDsrVersion("2.0", "X-OpenDSR", "requests"),
    )
}
LATEST = "2.0"


@dataclass(frozen=True, slots=True)
class Processor:
    """Who answers: ``sign`` makes a signature of RSA with SHA-256 over a body."""

    domain: str
    certificate_url: str
    controller_id: str
    sign: Callable[[bytes], bytes]


def processor() -> Processor:
    """The processor that the environment describes; raises NOT_SUPPORTED where it does not."""
    names = ("KEY", "DOMAIN", "CERTIFICATE")
    key, domain, url = (os.environ.get(f"PALIMPSEST_OPENDSR_{name}", "") for name in names)
    if not key or not domain or not url:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "OpenDSR takes signed answers, and this server has no key for them",
            advice="set PALIMPSEST_OPENDSR_KEY, _DOMAIN and _CERTIFICATE; see docs/privacy.md",
        )
    controller = os.environ.get("PALIMPSEST_OPENDSR_CONTROLLER", domain)
    return Processor(domain, url, controller, _signer(Path(key)))


def _signer(path: Path) -> Callable[[bytes], bytes]:
    hashes = import_module("cryptography.hazmat.primitives.hashes")
    padding = import_module("cryptography.hazmat.primitives.asymmetric.padding")
    serialization = import_module("cryptography.hazmat.primitives.serialization")
    try:
        private = serialization.load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"{path} is not the PEM file of a private key",
            advice="PALIMPSEST_OPENDSR_KEY names the key, without a passphrase",
        ) from error

    def sign(data: bytes) -> bytes:
        signature: bytes = private.sign(data, padding.PKCS1v15(), hashes.SHA256())
        return signature

    return sign


def status_of_request(state: str) -> str:
    """What OpenDSR calls a state: pending, in_progress, completed or cancelled."""
    known = PrivacyState(state)
    if known in _PENDING:
        return "pending"
    if known in _CANCELLED:
        return CANCELLED
    return COMPLETED if known is _S.COMPLETED else "in_progress"


def signed_headers(own: Processor, version: OpenDsrVersion, data: bytes) -> dict[str, str]:
    """The headers by which whoever gets a body tells that the processor wrote it."""
    return {
        f"{version.headers}-Processor-Domain": own.domain,
        f"{version.headers}-Signature": base64.b64encode(own.sign(data)).decode(),
    }
