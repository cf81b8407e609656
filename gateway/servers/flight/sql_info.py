"""Answers GetSqlInfo and GetXdbcTypeInfo: the server's features and types. Pure.

Numbers and shapes are those of the specification of Flight SQL.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gateway.version import VERSION
from journal.model.lazy_dataclass import dataclass

_MAP = pa.map_(pa.int32(), pa.list_(pa.int32()))
_KINDS = (
    ("string_value", pa.string()),
    ("bool_value", pa.bool_()),
    ("bigint_value", pa.int64()),
    ("int32_bitmask", pa.int32()),
    ("string_list", pa.list_(pa.string())),
    ("int32_to_int32_list_map", _MAP),
)
_VALUE = pa.dense_union([pa.field(name, kind) for name, kind in _KINDS])
SQL_INFO = pa.schema(
    [pa.field("info_name", pa.uint32(), nullable=False), pa.field("value", _VALUE, nullable=False)]
)


@dataclass(frozen=True, slots=True)
class Bits:
    """A set of numbered choices."""

    value: int


_SAVEPOINTS = 2
_FORWARD_ONLY, _READ_ONLY = Bits(1 << 1), Bits(1 << 1)
_SNAPSHOT = 3
"""Repeatable read: what a transaction reads stays as it was when it began."""
_NO_LIMITS = (*range(541, 556), *range(557, 562))
"""Limits of lengths and counts; 0 says that none is known."""


def sql_info(wanted: Sequence[int], *, is_read_only: bool) -> pa.Table:
    """The facts of those numbers, all for none."""
    facts = _facts(is_read_only=is_read_only)
    names = [name for name in (wanted or sorted(facts)) if name in facts]
    columns: list[list[object]] = [[] for _ in _KINDS]
    types, offsets = [], []
    for name in names:
        kind, value = _placed(facts[name])
        types.append(kind)
        offsets.append(len(columns[kind]))
        columns[kind].append(value)
    values = pa.UnionArray.from_dense(
        pa.array(types, pa.int8()),
        pa.array(offsets, pa.int32()),
        [pa.array(found, kind) for found, (_, kind) in zip(columns, _KINDS, strict=True)],
        [name for name, _ in _KINDS],
    )
    return pa.Table.from_arrays([pa.array(names, pa.uint32()), values], schema=SQL_INFO)


def _placed(value: object) -> tuple[int, object]:
    match value:
        case bool():
            return 1, value
        case str():
            return 0, value
        case Bits(bits):
            return 3, bits
        case int():
            return 2, value
        case dict():
            return 5, list(value.items())
        case _:
            return 4, value


def _facts(*, is_read_only: bool) -> dict[int, object]:
    server: dict[int, object] = {
        0: "Palimpsest", 1: VERSION, 2: pa.__version__, 3: is_read_only,
        4: True, 5: False, 8: Bits(_SAVEPOINTS), 9: True, 10: True, 11: True, 100: 0, 101: 0,
    }  # fmt: skip
    names: dict[int, object] = {
        500: False, 501: True, 502: True, 503: 1, 504: '"', 505: 1, 506: False, 507: 0,
        508: [], 509: ["ABS", "CEIL", "EXP", "FLOOR", "LN", "MOD", "POWER", "ROUND", "SQRT"],
        510: ["CONCAT", "LENGTH", "LOWER", "LTRIM", "REPLACE", "RTRIM", "SUBSTRING", "UPPER"],
        511: [], 512: ["CURRENT_DATE", "CURRENT_TIMESTAMP", "DATE_TRUNC", "EXTRACT"],
        513: "\\", 514: "", 515: True, 516: True, 517: {}, 518: True, 519: False, 520: True,
        521: True, 522: Bits(0b11), 523: True, 524: True, 525: Bits(0b011), 526: Bits(0b001),
        527: True, 528: Bits(0b110), 529: "schema", 530: "procedure", 531: "database", 532: True,
        533: Bits(0b101), 534: Bits(0), 535: Bits(0), 536: True, 537: False, 538: Bits(0b1111),
        539: True, 540: Bits(0b11),
    }  # fmt: skip
    limits: dict[int, object] = dict.fromkeys(_NO_LIMITS, 0)
    changes: dict[int, object] = {
        556: True, 562: _SNAPSHOT, 563: True, 564: Bits(1 << _SNAPSHOT), 565: False, 566: False,
        567: _FORWARD_ONLY, 568: Bits(0), 569: _READ_ONLY, 570: Bits(0), 571: Bits(0), 572: True,
        573: True, 574: False, 575: False, 576: False,
    }  # fmt: skip
    return {**server, **names, **limits, **changes}


XDBC_TYPES = pa.schema(
    [
        pa.field("type_name", pa.string(), nullable=False),
        pa.field("data_type", pa.int32(), nullable=False),
        pa.field("column_size", pa.int32()),
        pa.field("literal_prefix", pa.string()),
        pa.field("literal_suffix", pa.string()),
        pa.field("create_params", pa.list_(pa.field("item", pa.string(), nullable=False))),
        pa.field("nullable", pa.int32(), nullable=False),
        pa.field("case_sensitive", pa.bool_(), nullable=False),
        pa.field("searchable", pa.int32(), nullable=False),
        pa.field("unsigned_attribute", pa.bool_()),
        pa.field("fixed_prec_scale", pa.bool_(), nullable=False),
        pa.field("auto_increment", pa.bool_()),
        pa.field("local_type_name", pa.string()),
        pa.field("minimum_scale", pa.int32()),
        pa.field("maximum_scale", pa.int32()),
        pa.field("sql_data_type", pa.int32(), nullable=False),
        pa.field("datetime_subcode", pa.int32()),
        pa.field("num_prec_radix", pa.int32()),
        pa.field("interval_precision", pa.int32()),
    ]
)
_TYPES: tuple[tuple[str, int, int | None, bool, list[str], int | None], ...] = (
    # Name, number of ODBC, size, quoted, parameters, radix.
    ("boolean", -7, 1, False, [], None),
    ("smallint", 5, 16, False, [], 2),
    ("integer", 4, 32, False, [], 2),
    ("bigint", -5, 64, False, [], 2),
    ("real", 7, 24, False, [], 2),
    ("double precision", 8, 53, False, [], 2),
    ("numeric", 2, 38, False, ["precision", "scale"], 10),
    ("text", 12, None, True, [], None),
    ("bytea", -3, None, True, [], None),
    ("date", 91, 10, True, [], None),
    ("time", 92, 15, True, [], None),
    ("timestamp", 93, 26, True, [], None),
    ("timestamp with time zone", 93, 32, True, [], None),
    ("uuid", 12, 36, True, [], None),
)
_NULLABLE, _SEARCHABLE = 1, 3
_DATETIMES = {91: 1, 92: 2, 93: 3}


def xdbc_types(wanted: int | None) -> pa.Table:
    """The types of SQL with that number, all for None."""
    rows = []
    for name, number, size, is_quoted, parameters, radix in _TYPES:
        if wanted is not None and wanted != number:
            continue
        quote = "'" if is_quoted else None
        unsigned = None if radix is None else False
        scales = (0, 38) if name == "numeric" else (None, None)
        rows.append(
            (name, number, size, quote, quote, parameters, _NULLABLE, name == "text", _SEARCHABLE,
             unsigned, False, None, name, *scales, number, _DATETIMES.get(number), radix, None)
        )  # fmt: skip
    rows.sort(key=lambda row: row[1])
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(XDBC_TYPES)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, XDBC_TYPES, strict=True)]
    return pa.table(arrays, schema=XDBC_TYPES)
