"""Names of segments, staged tables and columns as the metastore takes them. Pure.

A name of a segment or a staged table tells when it was made, and no two are the same.
"""

from __future__ import annotations

import re
import zlib

from journal.model.schema import fold
from journal.stores.hive.engine import HiveEngine


def segment_id(now_us: int, unique: str) -> str:
    """The name of a segment's partition."""
    return f"s{now_us}_{unique[:8]}"


def staging_name(prefix: str, now_us: int, unique: str) -> str:
    """The name of a table of staged rows."""
    return f"{prefix}{now_us}_{unique[:8]}"


def made_us(name: str) -> int | None:
    """When what bears a name was made, without the prefix of tables; None where it does not tell.

    Microseconds since 1970.
    """
    number = name.removeprefix("s").partition("_")[0]
    return int(number) if number.isdigit() else None


_UNFILED = re.compile(r"[\s.,:;=(){}]")
"""What Apache Hive takes in no name of a column, or cannot write to a Parquet file."""


def column_name(name: str, engine: HiveEngine) -> str:
    """A column's name in journals; a checksum tells apart what is the same without those signs."""
    if engine is HiveEngine.SPARK or not _UNFILED.search(name):
        return name
    return f"{_UNFILED.sub('_', name)}_{zlib.crc32(fold(name).encode()):08x}"
