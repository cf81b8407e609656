"""Which program answers behind the protocol of HiveServer2, as it says itself. Pure."""

from __future__ import annotations

from enum import Enum


class Engine(Enum):
    """A program, by the name that it gives."""

    SPARK = "Spark SQL"
    APACHE = "Apache Hive"

    @property
    def dialect(self) -> str:
        """What sqlglot calls its language."""
        return "hive" if self is Engine.APACHE else "spark"

    @staticmethod
    def named(name: str) -> Engine:
        """The engine of a name; what is not Apache Hive is taken for one that speaks Spark's."""
        return Engine.APACHE if name.strip() == Engine.APACHE.value else Engine.SPARK
