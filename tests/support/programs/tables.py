"""Random tables of a program: columns, keys, constraints, and literals that fit them."""

import random
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

SCHEMA = "fz"

Kind: TypeAlias = Literal[
    "int", "text", "float", "decimal", "bool", "date", "timestamp",
    "huge", "blob", "uuid", "time", "zoned", "list", "struct",
]  # fmt: skip

Kinds: TypeAlias = frozenset[Kind]
NO_KINDS: Kinds = frozenset()

TYPE_NAMES: dict[Kind, tuple[str, ...]] = {
    "int": ("INTEGER", "BIGINT", "SMALLINT"),
    "text": ("VARCHAR", "TEXT"),
    "float": ("DOUBLE",),
    "decimal": ("DECIMAL(10, 2)",),
    "bool": ("BOOLEAN",),
    "date": ("DATE",),
    "timestamp": ("TIMESTAMP",),
    "huge": ("HUGEINT",),
    "blob": ("BLOB",),
    "uuid": ("UUID",),
    "time": ("TIME",),
    "zoned": ("TIMESTAMP WITH TIME ZONE",),
    "list": ("INTEGER[]",),
    "struct": ("STRUCT(p INTEGER, q VARCHAR)",),
}

# Few values, so that keys collide and joins and predicates match.
_LITERALS: dict[Kind, tuple[str, ...]] = {
    "int": ("0", "1", "2", "3", "4", "5", "6", "7", "-1"),
    "text": (
        "'a'", "'b'", "'c'", "'ab'", "''", "'it''s'", "'Ünï'", "'x y'", "'é'", "'😀'", "'; --'",
        "'? :a $1'", "'a text that is longer than any inlined string'",
    ),
    "float": ("0.5", "1.5", "-2.25", "3.0", "CAST('nan' AS DOUBLE)", "CAST('-inf' AS DOUBLE)"),
    "decimal": ("1.25", "0.10", "-7.50", "42.00"),
    "bool": ("TRUE", "FALSE"),
    "date": ("DATE '2024-01-01'", "DATE '2024-02-29'", "DATE '1999-12-31'"),
    "timestamp": ("TIMESTAMP '2024-01-01 10:00:00'", "TIMESTAMP '2023-06-30 23:59:59.123456'"),
    "huge": ("0", "12345678901234567890123456789", "-170141183460469231731687303715884105727"),
    "blob": ("'a'::BLOB", "''::BLOB", "'\\x00\\xFF'::BLOB"),
    "uuid": tuple(f"'{n * 8}-0000-0000-0000-{n * 12}'::UUID" for n in ("0", "a", "f")),
    "time": ("TIME '00:00:00'", "TIME '23:59:59.999999'"),
    "zoned": (
        "TIMESTAMPTZ '2024-01-01 10:00:00+00'", "TIMESTAMPTZ '2024-07-01 10:00:00.5-07'",
    ),
    "list": ("[1, 2]", "[1, NULL]", "CAST([] AS INTEGER[])", "[3]"),
    "struct": ("{'p': 1, 'q': 'a'}", "{'p': NULL, 'q': 'it''s'}", "{'p': 2, 'q': NULL}"),
}  # fmt: skip
# Keys come from a wider range, so that most inserts succeed.
_KEY_LITERALS: dict[Kind, tuple[str, ...]] = {
    "int": tuple(str(number) for number in range(24)),
    "text": tuple(f"'{letter}{digit}'" for letter in "abc" for digit in range(5)),
    "date": tuple(f"DATE '2024-01-{day:02}'" for day in range(1, 15)),
    "decimal": tuple(f"{number}.{number}5" for number in range(10)),
    "uuid": tuple(f"'{d * 8}-0000-0000-0000-{d * 12}'::UUID" for d in "0123456789abcdef"),
    "timestamp": tuple(f"TIMESTAMP '2024-01-01 00:00:00.{n:06}'" for n in range(8)),
}
_CHECKS: dict[Kind, str] = {"int": "{} < 50", "text": "length({}) < 6", "decimal": "{} > -100"}
_COLUMN_NAMES = ("a", "b", "c", "d", '"Mixed"', '"order"', '"two words"', "Name")
_VALUE_KINDS: tuple[Kind, ...] = (
    "int", "int", "int", "int", "int", "int", "text", "text", "text", "text",
    "float", "float", "decimal", "decimal", "bool", "bool", "date", "timestamp",
    "huge", "blob", "uuid", "time", "zoned", "list", "struct",
)  # fmt: skip
_KEY_KINDS: tuple[Kind, ...] = (
    "int", "int", "int", "int", "int", "text", "text", "date", "decimal", "uuid", "timestamp",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name as written in SQL, its type, and what must hold for its values."""

    name: str
    kind: Kind
    type_name: str
    not_null: bool = False
    default: str = ""
    check: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """An index: its name, what it is over as written in SQL, and the columns in that."""

    name: str
    terms: str
    columns: tuple[str, ...]
    unique: bool = False

    def ddl(self, table: str) -> str:
        """Return CREATE INDEX."""
        kind = "UNIQUE INDEX" if self.unique else "INDEX"
        return f"CREATE {kind} {self.name} ON {table} ({self.terms})"


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its unqualified name, columns, primary key and UNIQUE keys (column names).

    Of its indexes a unique one may have failed to be made, since rows were alike; one that was
    dropped may be there again, since the transaction failed.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    uniques: tuple[tuple[str, ...], ...]
    mark: str = ""
    indexes: tuple[Index, ...] = ()
    dropped: tuple[Index, ...] = ()

    @property
    def reference(self) -> str:
        """Return the qualified name, and the mark of the moment at which it is read."""
        return f"{SCHEMA}.{self.name}" + (f"/*@{self.mark}*/" if self.mark else "")

    def at(self, mark: str) -> "Table":
        """Return the table as it is read at a mark."""
        return replace(self, mark=mark)

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        return next(column for column in self.columns if column.name == name)

    def constrained(self) -> frozenset[str]:
        """Return the columns that take part in any key."""
        return frozenset(self.key).union(*self.uniques, *(i.columns for i in self.indexes))

    def ddl(self) -> str:
        """Return CREATE TABLE."""
        parts = [_column_ddl(column) for column in self.columns]
        if len(self.key) == 1:
            place = [column.name for column in self.columns].index(self.key[0])
            parts[place] += " PRIMARY KEY"
        elif self.key:
            parts.append(f"PRIMARY KEY ({', '.join(self.key)})")
        parts += [f"UNIQUE ({', '.join(unique)})" for unique in self.uniques]
        return f"CREATE TABLE {self.reference} ({', '.join(parts)})"


def literal(rng: random.Random, kind: Kind, *, nullable: bool = False) -> str:
    """Return a literal of that kind, now and then NULL."""
    if nullable and rng.random() < 0.15:
        return "NULL"
    return rng.choice(_LITERALS[kind])


def distinct_literals(rng: random.Random, kind: Kind, count: int) -> list[str]:
    """Return up to `count` different literals of that kind."""
    pool = list({**_LITERALS, **_KEY_LITERALS}[kind])
    rng.shuffle(pool)
    return pool[:count]


def random_column(rng: random.Random, name: str, lacks: Kinds = NO_KINDS) -> Column:
    """Return a column that is no part of a key, of no kind in ``lacks``; some have a default."""
    column = _column(rng, name, _value_kind(rng, lacks))
    return replace(column, default=rng.choice(_LITERALS[column.kind]) if rng.random() < 0.5 else "")


def random_table(rng: random.Random, name: str, lacks: Kinds = NO_KINDS) -> Table:
    """Return a table with one of: no key, a single key, a composite key."""
    key_size = rng.choice((0, 1, 1, 1, 2))
    names = list(_COLUMN_NAMES)
    rng.shuffle(names)
    key_names = ("k", "k2")[:key_size]
    columns = [_column(rng, key_name, rng.choice(_KEY_KINDS)) for key_name in key_names]
    for _ in range(rng.randint(2, 4)):
        columns.append(_with_rules(rng, _column(rng, names.pop(), _value_kind(rng, lacks))))
    uniques: list[tuple[str, ...]] = []
    plain = [column.name for column in columns[key_size:] if column.kind in ("int", "text")]
    if plain and rng.random() < 0.3:
        uniques.append(tuple(rng.sample(plain, min(len(plain), rng.randint(1, 2)))))
    if rng.random() < 0.2:
        rng.shuffle(columns)
    return Table(name, tuple(columns), key_names, tuple(uniques))


def _value_kind(rng: random.Random, lacks: Kinds) -> Kind:
    return rng.choice([kind for kind in _VALUE_KINDS if kind not in lacks])


def _column(rng: random.Random, name: str, kind: Kind) -> Column:
    return Column(name, kind, rng.choice(TYPE_NAMES[kind]))


def _with_rules(rng: random.Random, column: Column) -> Column:
    default = rng.choice(_LITERALS[column.kind]) if rng.random() < 0.25 else ""
    check = ""
    if column.kind in _CHECKS and rng.random() < 0.15:
        check = _CHECKS[column.kind].format(column.name)
    not_null = rng.random() < 0.12
    return Column(column.name, column.kind, column.type_name, not_null, default, check)


def _column_ddl(column: Column) -> str:
    text = f"{column.name} {column.type_name}"
    if column.default:
        text += f" DEFAULT {column.default}"
    if column.not_null:
        text += " NOT NULL"
    if column.check:
        text += f" CHECK ({column.check})"
    return text
