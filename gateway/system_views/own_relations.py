"""What ``information_schema`` lists of schema ``system``: views, and their columns.

Types are those that DESCRIBE shows of them. Nothing here reads a store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from journal.records.record_types import RecordType
from journal.records.schema import OF_WAREHOUSE
from rewriter.reading.system import STORED, SUPPLIED, system_names

_SUPPLIED_TYPES = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.bool_(): "BOOLEAN",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
    pa.list_(pa.string()): "VARCHAR[]",
}
_STORED_TYPES = {
    RecordType.TEXT: "VARCHAR",
    RecordType.INTEGER: "INTEGER",
    RecordType.BIGINT: "BIGINT",
    RecordType.NUMERIC: "HUGEINT",
    RecordType.BOOLEAN: "BOOLEAN",
    RecordType.MOMENT: "TIMESTAMP WITH TIME ZONE",
    RecordType.TEXTS: "VARCHAR[]",
}
_RECORDS = {table.name: table for table in OF_WAREHOUSE}
Columns = Sequence[tuple[str, str]]
Supplied = Mapping[str, Sequence[tuple[str, pa.DataType]]]


def own_relations(supplied: Supplied) -> Iterator[tuple[str, Columns]]:
    """Name and columns (name and type) of each relation of ``system``.

    Args:
        supplied: The columns of what the gateway supplies, by the name that plans give it.
    """
    for name in system_names("system"):
        if name in STORED:
            record = _RECORDS[name]
            columns = [(new, _STORED_TYPES[record.type_of(o)]) for o, new in STORED[name].items()]
        else:
            shown = supplied[SUPPLIED["system", name]]
            columns = [(column, _SUPPLIED_TYPES[kind]) for column, kind in shown]
        yield name, columns
