"""Sets timeouts for clients of file systems that have none of their own.

    s3        its client gives up by itself, but for an upload that nobody answers, or nobody takes
    webhdfs   waits for ever
    gs        gives up after five minutes, which a large file may take that does arrive

What fsspec's configuration says comes first. Opens nothing.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from functools import partial
from typing import Any

from journal.files.tcp_keepalive import SILENCE_S, set_keepalive
from journal.model.errors import Code, PalimpsestError

_CONNECT_S = 10.0
_GOOGLE = frozenset({"gs", "gcs"})
_S3 = frozenset({"s3", "s3a"})


def options(scheme: str, configured: Mapping[str, Any]) -> dict[str, Any]:
    """What a file system is made with, besides what is configured, or in its place.

    Raises SETTING_VALUE for a configured limit that is no number.
    """
    if scheme in _S3:
        return _of_s3(configured)
    if scheme not in _GOOGLE:
        return {}
    import aiohttp

    silence_s = _seconds(scheme, configured.get("requests_timeout", SILENCE_S))
    waits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=silence_s)
    return {"requests_timeout": waits}


def _seconds(scheme: str, given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"fsspec's configuration has {given!r} as the timeout of {scheme}, not a number",
            advice="give seconds, as FSSPEC_WEBHDFS_TIMEOUT=60",
        ) from None


def _of_s3(configured: Mapping[str, Any]) -> dict[str, Any]:
    """A limit for what is sent and nobody takes: the client's own are about answers."""
    given = dict(configured.get("config_kwargs", {}))
    connector = {**given.get("connector_args", {}), "socket_factory": connect_watched}
    try:
        from aiobotocore.config import AioConfig

        AioConfig(connector_args=connector)
    except Exception:  # noqa: BLE001 - an older client, which takes no sockets of ours.
        return {}
    return {"config_kwargs": {**given, "connector_args": connector}}


def connect_watched(address: tuple[Any, ...]) -> socket.socket:
    """A socket for an address, which gives up when the other side is silent."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    set_keepalive(made, SILENCE_S)
    return made


def set_client_timeouts(scheme: str, files: Any) -> None:
    """Limit what a file system that was made would wait for without an end; raises as above."""
    if scheme in _S3:
        files.connect()
        # It would wait for leave to send what follows, for as long as it takes.
        files.s3.meta.events.register_last("before-call.s3", _send_at_once, "palimpsest")
    elif scheme == "webhdfs" and not isinstance(files.session.request, partial):
        silence_s = _seconds(scheme, files.storage_options.get("timeout", SILENCE_S))
        waits = (min(_CONNECT_S, silence_s), silence_s)
        files.session.request = partial(files.session.request, timeout=waits)


def _send_at_once(params: dict[str, Any], **_given: Any) -> None:
    params["headers"].pop("Expect", None)
