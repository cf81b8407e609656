"""Which request over HTTP gets which answer; no sockets.

    /healthz   the process answers                      everybody
    /readyz    statements can run                       everybody
    /metrics   what Prometheus gathers                  this machine, or whoever has the token

Host and Origin are looked at, so that no page of the web makes a browser ask here.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable, Mapping

from journal.model.lazy_dataclass import dataclass

_TEXT = "text/plain; charset=utf-8"
Exposition = Callable[[str], tuple[bytes, str]]
"""From an Accept header to what Prometheus reads, and its content type."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A status, a body and its content type, and further headers."""

    status: int
    body: bytes
    kind: str = _TEXT
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorPages:
    """The pages of one server.

    ``not_ready`` says why no statements can run, empty if they can. ``names`` are those that the
    Host header may have besides addresses and localhost. ``exposition`` is None without Prometheus'
    client. Without a ``token`` metrics are for this machine alone: ``is_loopback``.
    """

    not_ready: Callable[[], str]
    names: frozenset[str]
    exposition: Exposition | None
    token: str | None
    is_loopback: bool

    def answer(self, method: str, path: str, headers: Mapping[str, str]) -> HttpAnswer:
        """The answer to a request; ``headers`` has the first value of each, by folded name."""
        refused = self._refusal(headers)
        if refused is not None:
            return refused
        page = path.partition("?")[0]
        if page not in {"/healthz", "/readyz", "/metrics"}:
            return _text(404, "there are /healthz, /readyz and /metrics")
        if method not in {"GET", "HEAD"}:
            return HttpAnswer(405, b"ask with GET\n", headers=(("Allow", "GET, HEAD"),))
        if page == "/healthz":
            return _text(200, "ok")
        if page == "/readyz":
            why = self.not_ready()
            return _text(503 if why else 200, why or "ok")
        return self._metrics(headers)

    def _refusal(self, headers: Mapping[str, str]) -> HttpAnswer | None:
        host = headers.get("host", "")
        if not is_own_name(host, self.names):
            return _text(403, "the Host header names another server; --http-name allows a name")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return _text(403, "a page of another origin asks")
        return None

    def _metrics(self, headers: Mapping[str, str]) -> HttpAnswer:
        if self.exposition is None:
            return _text(501, "prometheus_client is missing: palimpsest-gateway[metrics] has it")
        if self.token is not None:
            given = headers.get("authorization", "").encode()
            if not secrets.compare_digest(given, f"Bearer {self.token}".encode()):
                challenge = (("WWW-Authenticate", 'Bearer realm="palimpsest"'),)
                return HttpAnswer(401, b"metrics need the token of the server\n", headers=challenge)
        elif not self.is_loopback:
            return _text(403, "metrics are for this machine, unless --metrics-token-file is given")
        body, kind = self.exposition(headers.get("accept", ""))
        return HttpAnswer(200, body, kind)


def is_own_name(host: str, names: frozenset[str]) -> bool:
    """Whether a Host header has an address, ``localhost`` or one of these names."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name.lower() in names | {"localhost"}:
        return True
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _text(status: int, text: str) -> HttpAnswer:
    return HttpAnswer(status, f"{text}\n".encode())
