"""Connections of a test: opened as it asks for them, closed when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gateway
from gateway.dbapi.connection import Connection


@contextmanager
def opening(url: str, **defaults: Any) -> Iterator[Callable[..., Connection]]:
    """Opens connections to a store, with these options unless told others; closes them all."""
    opened: list[Connection] = []

    def open_connection(**options: Any) -> Connection:
        opened.append(gateway.connect(url, **{**defaults, **options}))
        return opened[-1]

    try:
        yield open_connection
    finally:
        for connection in opened:
            connection.close()
