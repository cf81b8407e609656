"""Names of segments, staged tables and columns that the metastore accepts. Pure.

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


def copy_id(now_us: int, origin: str) -> str:
    """The name of a partition that a replica has of another store's, whose origin it tells."""
    return f"s{now_us}_r{origin}"


def left_id(now_us: int, unique: str) -> str:
    """The name of a partition of the rows of a replica that are left of another one."""
    return f"s{now_us}_l{unique[:8]}"


def origin_in(name: str) -> str | None:
    """The origin that the name of a copy tells; None for other names."""
    found = _REPLICATED.fullmatch(name)
    return None if found is None else found["origin"]


def is_replicated(name: str) -> bool:
    """True for the name of a partition that a run of a replication has made."""
    return _REPLICATED.fullmatch(name) is not None


def staging_name(prefix: str, now_us: int, unique: str) -> str:
    """The name of a table of staged rows."""
    return f"{prefix}{now_us}_{unique[:8]}"


def made_us(name: str) -> int | None:
    """When what bears a name was made, without the prefix of tables; None where it does not tell.

    Microseconds since 1970.
    """
    number = name.removeprefix("s").partition("_")[0]
    return int(number) if number.isdigit() else None


_REPLICATED = re.compile(r"s\d+_(r(?P<origin>[0-9a-f]+)|l[0-9a-f]+)")
_UNFILED = re.compile(r"[\s.,:;=(){}]")
"""What Apache Hive takes in no name of a column, or cannot write to a Parquet file."""


def column_name(name: str, engine: HiveEngine) -> str:
    """A column's name in journals; a checksum tells apart what is the same without those signs."""
    if engine is HiveEngine.SPARK or not _UNFILED.search(name):
        return name
    return f"{_UNFILED.sub('_', name)}_{zlib.crc32(fold(name).encode()):08x}"
