"""Takes the values at a path out of Arrow rows, for filters and searches.

Walks the same paths as the SQL of ``paths``. Pure: arrays in, arrays out.
"""

from __future__ import annotations

import pyarrow as pa

from journal.identity.paths import KEYS, VALUES, Path


def values_at(rows: pa.Array, path: Path) -> pa.Array:
    """All values at a path, in no particular order, NULLs among them."""
    import pyarrow.compute as pc

    for step in path.steps:
        match step:
            case "[]":
                rows = rows.flatten()
            case _ if step in {VALUES, KEYS}:
                entries = rows.cast(_entries(rows.type)).flatten()
                rows = entries.flatten()[step == VALUES]
            case _:
                rows = pc.struct_field(rows, _field(rows.type, step[1:]))
    return rows


def _entries(kind: pa.MapType) -> pa.DataType:
    return pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))


def _field(kind: pa.StructType, name: str) -> str:
    wanted = name.casefold()
    return str(next(f.name for f in kind if f.name.casefold() == wanted))
