"""Sets TCP keepalive, so that a connection to a dead server ends.

A machine that vanishes, or a network that swallows packets, closes no connection: without a limit
whoever waits for an answer waits for hours, and a lock on the server is held for as long. So TCP
asks the other side while nothing comes, and gives up when nobody answers, at both ends where the
server lets us say so. A statement that takes long is not concerned: its server answers.
"""

from __future__ import annotations

import select
import socket
from typing import Any

SILENCE_S = 60
"""What a URL that says nothing gets; 0 leaves it to the operating system."""
_PROBES = 3


def limits(silence_s: int) -> dict[str, int]:
    """By the names that libpq gives them: seconds of idleness, between probes, how many, and ms."""
    if silence_s <= 0:
        return {}
    return {
        "keepalives_idle": max(1, silence_s // 2),
        "keepalives_interval": max(1, silence_s // (2 * _PROBES)),
        "keepalives_count": _PROBES,
        "tcp_user_timeout": silence_s * 1000,
    }


def of_server(silence_s: int) -> str:
    """The same as settings of a PostgreSQL session, for the server's end."""
    found = limits(silence_s).items()
    return " ".join(f"-c tcp_{name.removeprefix('tcp_')}={value}" for name, value in found)


def set_keepalive(connected: Any, silence_s: int) -> None:
    """Have the kernel watch a connected socket of TCP, as far as this platform can."""
    found = limits(silence_s)
    if not found:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, name in (
        ("TCP_KEEPIDLE", "keepalives_idle"),
        ("TCP_KEEPINTVL", "keepalives_interval"),
        ("TCP_KEEPCNT", "keepalives_count"),
        ("TCP_USER_TIMEOUT", "tcp_user_timeout"),
    ):
        if hasattr(socket, option):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), found[name])


def is_quiet(connected: Any) -> bool:
    """True if nothing came over a socket that nobody waits at; the end of a connection comes."""
    waiting = select.poll()
    try:
        waiting.register(connected, select.POLLIN)
    except (OSError, ValueError):
        return False
    return not waiting.poll(0)
