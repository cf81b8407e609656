"""Types of results as PostgreSQL numbers them, from the gateway's names of types.

Numbers, lengths and modifiers are those of PostgreSQL's ``pg_type`` and ``atttypmod``.
"""

from __future__ import annotations

import re

from gateway.servers.pgwire.messages import Field
from journal.model.lazy_dataclass import dataclass
from journal.model.result_column import ResultColumn
from journal.sql.text_lengths import TextLength
from rewriter.reading.taken_types import AS_WRITTEN


@dataclass(frozen=True, slots=True)
class PgType:
    """A type: its number, its name, its length in bytes (-1: varies), and that of its arrays."""

    oid: int
    name: str
    size: int
    array: int


BOOL = PgType(16, "bool", 1, 1000)
BYTEA = PgType(17, "bytea", -1, 1001)
CHAR = PgType(18, "char", 1, 1002)
"""PostgreSQL's type ``"char"`` of one byte, which its catalog says kinds in."""
NAME = PgType(19, "name", 64, 1003)
INT8 = PgType(20, "int8", 8, 1016)
INT2 = PgType(21, "int2", 2, 1005)
INT4 = PgType(23, "int4", 4, 1007)
TEXT = PgType(25, "text", -1, 1009)
INT2VECTOR = PgType(22, "int2vector", -1, 1006)
OIDVECTOR = PgType(30, "oidvector", -1, 1013)
OID = PgType(26, "oid", 4, 1028)
JSON = PgType(114, "json", -1, 199)
JSONB = PgType(3802, "jsonb", -1, 3807)
FLOAT4 = PgType(700, "float4", 4, 1021)
FLOAT8 = PgType(701, "float8", 8, 1022)
DATE = PgType(1082, "date", 4, 1182)
TIME = PgType(1083, "time", 8, 1183)
TIMESTAMP = PgType(1114, "timestamp", 8, 1115)
TIMESTAMPTZ = PgType(1184, "timestamptz", 8, 1185)
INTERVAL = PgType(1186, "interval", 16, 1187)
TIMETZ = PgType(1266, "timetz", 12, 1270)
NUMERIC = PgType(1700, "numeric", -1, 1231)
UUID = PgType(2950, "uuid", 16, 2951)
BIT = PgType(1560, "bit", -1, 1561)
RECORD = PgType(2249, "record", -1, 2287)
INET = PgType(869, "inet", -1, 1041)
CIDR = PgType(650, "cidr", -1, 651)

_NAMED = {
    "BOOLEAN": BOOL, "TINYINT": INT2, "SMALLINT": INT2, "INTEGER": INT4,
    "USMALLINT": INT4, "BIGINT": INT8, "UINTEGER": INT8, "UBIGINT": NUMERIC, "HUGEINT": NUMERIC,
    "UHUGEINT": NUMERIC, "FLOAT": FLOAT4, "DOUBLE": FLOAT8, "BLOB": BYTEA, "DATE": DATE,
    "TIME": TIME, "TIME WITH TIME ZONE": TIMETZ, "TIMESTAMP": TIMESTAMP, "TIMESTAMP_S": TIMESTAMP,
    "TIMESTAMP_MS": TIMESTAMP, "TIMESTAMP_NS": TIMESTAMP, "TIMESTAMP WITH TIME ZONE": TIMESTAMPTZ,
    "INTERVAL": INTERVAL, "UUID": UUID, "INET": INET, "INET(CIDR)": CIDR, "JSON": JSONB,
    AS_WRITTEN: JSON, "OID": OID,
    "INT2VECTOR": INT2VECTOR, "OIDVECTOR": OIDVECTOR, "NAME": NAME, '"char"': CHAR,
    "INT": INT4, "REAL": FLOAT4, "TIMESTAMPTZ": TIMESTAMPTZ, "TIMETZ": TIMETZ, "BYTEA": BYTEA,
    "UTINYINT": INT2, "BIGNUM": NUMERIC, "INT128": NUMERIC, "UINT128": NUMERIC, "VARBINARY": BYTEA,
    "BIT": BIT,
}  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_DIGITS = re.compile(r"(TIMESTAMP|INTERVAL)[( ](\d)\)?")
"""Types with a number of digits of their seconds, as columns are declared."""
_NESTED = ("STRUCT(", "MAP(", "UNION(")
_ROW = "TUPLE("
ENUM_SIZE = 4
"""The length of a value of an enum, as PostgreSQL keeps it; its label is what is sent."""
HEADER = 4
"""PostgreSQL adds the length of a value's header to modifiers."""
BY_OID = {t.oid: t for t in (*_NAMED.values(), TEXT, JSON) if t not in (CHAR, NAME)}
ELEMENTS = {
    **{t.array: t for t in BY_OID.values()},
    **dict.fromkeys((1002, 1003, 1014, 1015), TEXT),
}
"""The types of elements by the numbers of array types; text for char, name, bpchar and varchar."""
BPCHAR, VARCHAR = 1042, 1043
BPCHARS, VARCHARS = 1014, 1015
"""Arrays of these."""
OTHER_TEXT = frozenset({18, 19, 705, BPCHAR, VARCHAR, 0})
"""char, name, unknown, bpchar, varchar, and no type at all: their values are text."""


def pg_type(name: str) -> PgType:
    """The type of values of a type of the gateway's; text for one that PostgreSQL lacks."""
    if name.startswith("DECIMAL"):
        return NUMERIC
    if name.startswith(_NESTED):
        return JSON
    if name.startswith(_ROW):
        return RECORD
    digits = _DIGITS.fullmatch(name)
    return _NAMED.get(name if digits is None else digits[1], TEXT)


def element_type(name: str) -> str | None:
    """The type of a list's elements, None for what is no list: ``INTEGER[3]`` as ``INTEGER[]``."""
    return name[: name.rindex("[")] if name.endswith("]") else None


def field_types(name: str) -> list[str]:
    """The types of the fields of a row.

    >>> field_types("TUPLE(INTEGER, DECIMAL(2,1), TUPLE(DATE, VARCHAR[]))")
    ['INTEGER', 'DECIMAL(2,1)', 'TUPLE(DATE, VARCHAR[])']
    """
    found, depth, start = [], 0, len(_ROW)
    for place, sign in enumerate(name):
        depth += (sign == "(") - (sign == ")")
        if (sign == "," and depth == 1) or (depth == 0 and place > start):
            found.append(name[start:place].strip())
            start = place + 1
    return found


def innermost_type(name: str) -> str:
    """The type of what lists of lists hold at last; the type itself of what is no list."""
    while (inner := element_type(name)) is not None:
        name = inner
    return name


def text_field(name: str, length: TextLength) -> Field:
    """A column of texts that have a length, as the catalog describes it."""
    fixed, varying = (BPCHARS, VARCHARS) if length.is_list else (BPCHAR, VARCHAR)
    return Field(name, fixed if length.is_fixed else varying, -1, length.most + HEADER)


def field_of(column: ResultColumn) -> Field:
    """A column as the protocol describes it; lists of lists are arrays of their last elements."""
    inner, is_list = innermost_type(column.type), element_type(column.type) is not None
    found = pg_type(inner)
    modifier = -1
    if decimal := _DECIMAL.fullmatch(inner):
        modifier = (int(decimal[1]) << 16 | int(decimal[2])) + HEADER
    elif (digits := _DIGITS.fullmatch(inner)) and found is TIMESTAMP:
        modifier = int(digits[2])
    if is_list:
        return Field(column.name, found.array, -1, modifier)
    return Field(column.name, found.oid, found.size, modifier)
