"""A warehouse in a folder of its own, and one warm Spark worker."""

from __future__ import annotations

from tests.support.spark import spark
from tests.support.warehouse import connect, run

__all__ = ["connect", "run", "spark"]
