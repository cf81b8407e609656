"""Tells Spark from Apache Hive by what the server says of itself. Pure."""

from __future__ import annotations

from enum import Enum


class HiveEngine(Enum):
    """A program, by the name that it gives."""

    SPARK = "Spark SQL"
    APACHE = "Apache Hive"

    @property
    def dialect(self) -> str:
        """What sqlglot calls its language."""
        return "hive" if self is HiveEngine.APACHE else "spark"

    @staticmethod
    def of_name(name: str) -> HiveEngine:
        """The engine of a name; what is not Apache Hive is taken for one that speaks Spark's."""
        return HiveEngine.APACHE if name.strip() == HiveEngine.APACHE.value else HiveEngine.SPARK
