"""Values that a repeated statement is given, by kind of column: as literals and as parameters."""

import datetime as dt
import random
import re
import uuid
from decimal import Decimal

KEY_KINDS = (
    *("int",) * 8,
    *("text",) * 5,
    "bigint",
    "decimal",
    "date",
    "timestamp",
    "uuid",
    "bool",
)
KINDS = (*KEY_KINDS, "double", "decimal", "date", "timestamp", "bool")
"""Of keys and of other columns; rows are kept in memory by whole numbers and texts."""
PLAIN_KINDS = ("int", "int", "text", "text", "date", "double", "bool")
TYPES: dict[str, tuple[str, str]] = {
    "int": ("INTEGER", "INTEGER"),
    "bigint": ("BIGINT", "BIGINT"),
    "text": ("VARCHAR", "TEXT"),
    "decimal": ("DECIMAL(8, 2)", "NUMERIC(8, 2)"),
    "date": ("DATE", "DATE"),
    "timestamp": ("TIMESTAMP", "TIMESTAMP"),
    "uuid": ("UUID", "UUID"),
    "bool": ("BOOLEAN", "BOOLEAN"),
    "double": ("DOUBLE", "DOUBLE PRECISION"),
}
"""The type of each kind in DuckDB and in PostgreSQL."""
_VALUES: dict[str, tuple[object, ...]] = {
    "int": (1, 2, 1, 3, 0, 4, 7, -1, 10, 123456),
    "bigint": (0, 1, 2, -3, 2**53, 2**53 + 1),
    "text": (
        "a", "b", "a", "c", "ab", "A", "", "it's", "a ", "1", "01", "é", "x''y", "50%", "NULL",
    ),
    "decimal": tuple(map(Decimal, ("0", "1", "1.00", "1.5", "1.50", "-2.25", "2", "1.005"))),
    "date": (dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 2, 29)),
    "timestamp": tuple(
        map(dt.datetime.fromisoformat, ("2024-01-01", "2024-01-01 10:30", "2024-01-02 00:00:00.5"))
    ),
    "uuid": tuple(uuid.UUID(letter * 32) for letter in "01af"),
    "bool": (True, False),
    "double": (0.5, 1.0, 2.0, -2.25),
}  # fmt: skip
_SLOT = re.compile(r"§(\w+)§")


def slot(kind: str) -> str:
    """The place of a value in a shape."""
    return f"§{kind}§"


def value_of(rng: random.Random, kind: str) -> object:
    """A value of a kind, mostly one of a few, so that rows are found."""
    return rng.choice(_VALUES[kind][:4] if rng.random() < 0.85 else _VALUES[kind])


def _odd_value(rng: random.Random, kind: str) -> object:
    """A value of another kind, or in another form."""
    value = rng.choice(_VALUES[rng.choice((kind, "int", "text", "decimal", "double"))])
    return str(value) if rng.random() < 0.5 else value


def filled(
    rng: random.Random, shape: str, *, postgres: bool, parameters: float, odd: float
) -> tuple[str, tuple[object, ...] | None, bool]:
    """A shape with values in its places, each as a parameter as often as ``parameters`` says.

    Some values are of another kind, as often as ``odd`` says; True: some are, or are NULL.
    """
    given: list[object] = []
    is_odd = False

    def put(found: re.Match[str]) -> str:
        nonlocal is_odd
        value = value_of(rng, found[1]) if rng.random() < 0.96 else None
        is_odd = is_odd or value is None
        if rng.random() < odd:
            is_odd, value = True, _odd_value(rng, found[1])
        if rng.random() < parameters:
            given.append(value)
            return "?"
        return literal(rng, value, postgres=postgres)

    sql = _SLOT.sub(put, shape)
    return sql, tuple(given) or None, is_odd


def literal(rng: random.Random, value: object, *, postgres: bool, plain: bool = False) -> str:
    """A value as SQL writes it, mostly in the plainest way."""
    kind = _kind_of(value)
    bare = "NULL" if value is None else str(value).replace("'", "''")
    if value is None:
        return bare
    if isinstance(value, bool):
        bare = bare.upper()
    is_number = isinstance(value, int | Decimal | float)
    is_text = isinstance(value, str)
    usual = bare if is_number else f"'{bare}'"
    name = TYPES[kind][postgres]
    if isinstance(value, dt.date | uuid.UUID) and (plain or rng.random() < 0.5):
        usual = f"'{bare}'::{name}"
    if plain or rng.random() < 0.85:
        return usual
    other = [f"CAST({usual} AS {name})", f"({usual})", f"{usual}::{name}"]
    if is_number and not isinstance(value, bool):
        other += [f"'{bare}'", f"({usual} + 0)"]
        other += [f"{bare}.0"] if isinstance(value, int) else []
    if is_text:
        other += [f"{usual} || ''"]
    return rng.choice(other)


def _kind_of(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if abs(value) < 2**31 else "bigint"
    if isinstance(value, dt.datetime):
        return "timestamp"
    found = {Decimal: "decimal", float: "double", dt.date: "date", uuid.UUID: "uuid"}
    return found.get(type(value), "text")
