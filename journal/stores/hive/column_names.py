"""What columns are called in journals: Apache Hive lacks some signs in names. Pure."""

from __future__ import annotations

import re
import zlib

from journal.model.schema import fold
from journal.stores.hive.engine import HiveEngine

_UNFILED = re.compile(r"[\s.,:;=(){}]")
"""What Apache Hive takes in no name of a column, or cannot write to a Parquet file."""


def column_name(name: str, engine: HiveEngine) -> str:
    """A column's name in journals; a checksum tells apart what is the same without those signs."""
    if engine is HiveEngine.SPARK or not _UNFILED.search(name):
        return name
    return f"{_UNFILED.sub('_', name)}_{zlib.crc32(fold(name).encode()):08x}"
