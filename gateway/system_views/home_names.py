"""The home schema in ``information_schema`` under the name that clients read it by. Pure."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from rewriter.reading.system import SUPPLIED

_STANDARD = {relation for (schema, _), relation in SUPPLIED.items() if schema != "system"}


def with_home_called(shown: str, relation: str, rows: pa.Table, home: str) -> pa.Table:
    """The rows of a relation, by the name plans give it, with ``shown`` for the schema ``home``.

    Only names of schemas change, and only in ``information_schema``.
    """
    for place, name in enumerate(rows.column_names if relation in _STANDARD else ()):
        if name.endswith("_schema") or name == "schema_name":
            values = rows.column(place)
            named = pc.if_else(pc.equal(values, home), shown, values)
            rows = rows.set_column(place, rows.schema.field(place), named)
    return rows
