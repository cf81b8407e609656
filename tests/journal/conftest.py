"""A warehouse in a folder of its own, reached through the gateway."""

from __future__ import annotations

from tests.support.warehouse import common, connect, run

__all__ = ["common", "connect", "run"]
