"""Random programs over what stands beside tables: indexes, sequences, enums, foreign keys that act,
temporary tables, prepared statements; in PostgreSQL's dialect, with PostgreSQL as the oracle.

Statements keep to what PostgreSQL settles whatever the order of its rows and triggers: no UPDATE
gives several rows keys of other rows, no unique index is over what a foreign key sets, what takes a
number of a sequence is one row, and no transaction truncates, indexes or alters tables whose
deferred checks may still be due, which PostgreSQL refuses.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.support.programs.program import Program
from tests.support.programs.step import Step
from tests.support.programs.tables import SCHEMA

_LABELS = ("sad", "ok", "happy")
_TEXTS = ("a", "A", "b", "ab", "", "it''s", "é")
_ACTIONS = ("", "RESTRICT", "CASCADE", "CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION")
_DEFERRALS = ("", "", "", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED")
_TABLES = ("p", "c", "t", "x")
"""A parent, its child, a table that refers to itself, and a temporary one."""
_COLUMNS = {
    "p": ("k", "u", "n", "s", "m"),
    "c": ("k", "r", "n", "s", "m"),
    "t": ("k", "up", "n", "s", "m"),
    "x": ("k", "n", "s", "m"),
}
_TEMPORARY_ENDS = ("", "", " ON COMMIT PRESERVE ROWS", " ON COMMIT DELETE ROWS", " ON COMMIT DROP")


def random_object_program(seed: int, length: int = 24) -> Program:
    """Return the program of a seed."""
    rng = random.Random(f"objects {seed}")
    created = [Step(sql) for sql in _created(rng)]
    course = _Course(rng, defers=any("DEFERRABLE" in step.sql for step in created))
    while len(course.steps) < length:
        course.advance()
    if course.inside:
        course.steps.append(Step(rng.choice(("COMMIT", "ROLLBACK"))))
    final = [Step(f"SELECT * FROM {name(table)}") for table in _TABLES]
    return Program(seed, (*created, *course.steps, *final), len(created), ())


def name(table: str) -> str:
    """A table as statements name it; the temporary one has no schema."""
    return table if table == "x" else f"{SCHEMA}.{table}"


def _created(rng: random.Random) -> list[str]:
    bounds = rng.choice(("", "", " MAXVALUE 40 CYCLE", " MAXVALUE 30", " MINVALUE -5"))
    start = rng.choice(("", " START 10", " START WITH 3 INCREMENT BY 2"))
    # Identity columns count on behind what is given, where PostgreSQL would meet it.
    key = rng.choice((f"INTEGER DEFAULT nextval('{SCHEMA}.s0')", "INTEGER"))
    default = rng.choice(("", "", " DEFAULT 1"))
    referring = f"r INTEGER{default} REFERENCES {SCHEMA}.p ({rng.choice('kku')}){_actions(rng)}"
    itself = f"up INTEGER REFERENCES {SCHEMA}.t{_actions(rng)}"
    generated = rng.choice(("INTEGER", f"INTEGER DEFAULT nextval('{SCHEMA}.s1')"))
    mood = f"{SCHEMA}.mood" + rng.choice(("", "", " DEFAULT 'ok'", " NOT NULL DEFAULT 'sad'"))
    check = rng.choice(("", " CHECK (n < 20)"))
    found = [
        f"CREATE SCHEMA {SCHEMA}",
        f"CREATE SEQUENCE {SCHEMA}.s0{start}{bounds}",
        f"CREATE SEQUENCE {SCHEMA}.s1",
        f"CREATE TYPE {SCHEMA}.mood AS ENUM ({', '.join(map(repr, _LABELS))})",
        _table("p", f"k {key} PRIMARY KEY, u INTEGER UNIQUE, n INTEGER{check}, s TEXT, m {mood}"),
        _table("c", f"k INTEGER PRIMARY KEY, {referring}, n INTEGER DEFAULT 7, s TEXT, m {mood}"),
        _table(
            "t", f"k {generated} PRIMARY KEY, {itself}, n INTEGER, s TEXT DEFAULT 'z', m {mood}"
        ),
    ]
    found += [_index(rng, number) for number in range(rng.randrange(3))]
    found += [_insert_rows(rng, table) for table in ("p", "p", "c", "t")]
    return found


def _table(table: str, parts: str) -> str:
    return f"CREATE TABLE {SCHEMA}.{table} ({parts})"


def _actions(rng: random.Random) -> str:
    events = [f" ON {event} {action}" for event in ("DELETE", "UPDATE")
              if (action := rng.choice(_ACTIONS))]  # fmt: skip
    return "".join(events) + rng.choice(_DEFERRALS)


def _index(rng: random.Random, number: int) -> str:
    table = rng.choice(("p", "c", "t"))
    unique = rng.random() < 0.7
    terms = rng.choice(("n", "(n % 5)", "lower(s)", "s, n", "m, n", "n DESC"))
    condition = rng.choice(("", "", " WHERE m = 'ok'", " WHERE n > 3", " WHERE s IS NOT NULL"))
    kind = "UNIQUE INDEX" if unique else "INDEX"
    return f"CREATE {kind} i{number} ON {SCHEMA}.{table} ({terms}){condition}"


def _number(rng: random.Random) -> str:
    return rng.choice(("NULL", *map(str, range(8))))


def _label(rng: random.Random) -> str:
    if rng.random() < 0.02:
        return "'none'"
    return rng.choice(("NULL", *(f"'{label}'" for label in _LABELS), f"'ok'::{SCHEMA}.mood"))


def _value(rng: random.Random, column: str) -> str:
    if column == "m":
        return _label(rng)
    if column == "s":
        return rng.choice(("NULL", *(f"'{text}'" for text in _TEXTS)))
    return str(rng.randrange(12)) if column == "k" else _number(rng)


def _row(rng: random.Random, columns: tuple[str, ...]) -> str:
    return f"({', '.join(_value(rng, column) for column in columns)})"


def _insert_rows(rng: random.Random, table: str) -> str:
    """Several rows; none takes a number of a sequence."""
    columns = _COLUMNS[table]
    rows = ", ".join(_row(rng, columns) for _ in range(rng.choice((1, 1, 2, 3))))
    return f"INSERT INTO {name(table)} ({', '.join(columns)}) VALUES {rows}"


def _insert(rng: random.Random) -> str:
    table = rng.choice(_TABLES)
    sql = _insert_rows(rng, table)
    target = {"p": ("(k)", "(u)", "(lower(s))"), "c": ("(k)", "(n) WHERE m = 'ok'")}
    if rng.random() < 0.35:
        which = rng.choice(("", "(k)", *target.get(table, ("(k)",))))
        action = "DO NOTHING"
        if which and rng.random() < 0.6:
            value = rng.choice(("excluded.n", f"{table}.n + 1", "2"))
            action = f"DO UPDATE SET n = {value}, m = excluded.m"
        sql += f" ON CONFLICT {which} {action}"
    return sql + _returning(rng)


def _insert_default(rng: random.Random) -> str:
    """One row, whose key a sequence gives."""
    table = rng.choice(("p", "p", "t", "c", "x"))
    columns = [c for c in _COLUMNS[table] if c == "k" or rng.random() < 0.7]
    given = {"k": rng.choice(("DEFAULT", "DEFAULT", f"nextval('{SCHEMA}.s1')"))}
    values = [given.get(c) or _value(rng, c) for c in columns]
    sql = f"INSERT INTO {name(table)} ({', '.join(columns)}) VALUES ({', '.join(values)})"
    return sql + _returning(rng)


def _insert_select(rng: random.Random) -> str:
    table, source = rng.choice(_TABLES), rng.choice(_TABLES)
    columns = _COLUMNS[table]
    values = ", ".join("k + 12" if c == "k" else _value_of(rng, c, source) for c in columns)
    return (
        f"INSERT INTO {name(table)} ({', '.join(columns)}) SELECT {values} FROM {name(source)}"
        f" WHERE {_condition(rng)}{_returning(rng)}"
    )


def _value_of(rng: random.Random, column: str, source: str) -> str:
    return column if column in ("n", "s", "m") or column in _COLUMNS[source] else "NULL"


def _condition(rng: random.Random) -> str:
    return rng.choice(
        (
            f"k = {rng.randrange(12)}",
            f"k < {rng.randrange(12)}",
            f"n >= {rng.randrange(8)}",
            f"m = {_label(rng)}",
            f"m {rng.choice(('<', '<=', '>', '>=', '<>'))} '{rng.choice(_LABELS)}'",
            f"m IN ('sad', '{rng.choice(_LABELS)}')",
            f"m BETWEEN 'sad' AND '{rng.choice(_LABELS)}'",
            f"'ok'::{SCHEMA}.mood < m",
            f"lower(s) = '{rng.choice(('a', 'b'))}'",
            "s IS NULL",
            "m IS NOT NULL AND n IS NOT NULL",
            f"EXISTS (SELECT 1 FROM {SCHEMA}.c AS q WHERE q.r = k)",
            f"m > (SELECT min(q.m) FROM {SCHEMA}.p AS q)",
        )
    )


def _update(rng: random.Random) -> str:
    table = rng.choice(_TABLES)
    column = rng.choice(_COLUMNS[table])
    # Of several rows only what no key is over; a condition over one row otherwise.
    if column in ("n", "s", "m"):
        return (
            f"UPDATE {name(table)} SET {column} = {_value(rng, column)} WHERE {_condition(rng)}"
            f"{_returning(rng)}"
        )
    change = rng.choice((_value(rng, column), f"{column} + 20"))
    return f"UPDATE {name(table)} SET {column} = {change} WHERE k = {rng.randrange(12)}"


def _delete(rng: random.Random) -> str:
    return f"DELETE FROM {name(rng.choice(_TABLES))} WHERE {_condition(rng)}{_returning(rng)}"


def _returning(rng: random.Random) -> str:
    return rng.choice(("", "", "", " RETURNING k, m", " RETURNING *"))


def _select(rng: random.Random) -> str:
    table = rng.choice(_TABLES)
    return rng.choice(
        (
            f"SELECT * FROM {name(table)} WHERE {_condition(rng)}",
            f"SELECT m AS m, count(*) AS c, min(n) AS lo FROM {name(table)} GROUP BY m",
            f"SELECT min(m) AS lo, max(m) AS hi FROM {name(table)} WHERE {_condition(rng)}",
            f"SELECT m::text AS w, max(k) AS k FROM {name(table)} GROUP BY 1",
            f"SELECT p.k AS pk, c.k AS ck FROM {SCHEMA}.p JOIN {SCHEMA}.c ON c.m >= p.m",
            f"SELECT p.k AS pk, c.k AS ck FROM {SCHEMA}.p LEFT JOIN {SCHEMA}.c ON c.r = p.k",
            f"SELECT DISTINCT m AS m FROM {name(table)} UNION SELECT m FROM {SCHEMA}.p",
            f"SELECT k AS k, CASE WHEN m = 'ok' THEN 'happy' ELSE m END AS m FROM {name(table)}",
            f"SELECT k AS k, coalesce(m, 'sad') AS m, 'ok'::{SCHEMA}.mood AS l FROM {name(table)}",
            f"SELECT k AS k, greatest(m, 'ok') AS g, nullif(m, 'ok') AS i FROM {name(table)}",
        )
    )


def _ordered(rng: random.Random) -> Step:
    order = rng.choice(("m, k", "m DESC, k", "m DESC NULLS LAST, k", "m NULLS FIRST, k DESC"))
    limit = rng.choice(("", "", " LIMIT 3"))
    # With n, rows that are equal by the order are equal.
    sql = f"SELECT k, m, n FROM {name(rng.choice(_TABLES))} ORDER BY {order}, n{limit}"
    return Step(sql, ordered=True)


def _sequence(rng: random.Random) -> str:
    which = f"'{SCHEMA}.s{rng.randrange(2)}'"
    ours = f"{SCHEMA}.s{rng.randrange(2)}"
    return rng.choice(
        (
            f"SELECT nextval({which}) AS v",
            f"SELECT nextval({which}) AS v",
            f"SELECT currval({which}) AS v",
            "SELECT lastval() AS v",
            f"SELECT nextval({which}) AS v, n FROM generate_series(1, 3) AS g(n)",
            f"SELECT setval({which}, {rng.randrange(1, 30)}) AS v",
            f"ALTER SEQUENCE {ours} RESTART WITH {rng.randrange(1, 20)}",
            f"ALTER SEQUENCE {ours} MAXVALUE {rng.choice((20, 40, 100))}",
            f"SELECT last_value AS v FROM {ours} WHERE is_called",
        )
    )


class _Course:
    """What happens after the tables are there; knows what is open and what has been prepared."""

    def __init__(self, rng: random.Random, *, defers: bool) -> None:
        self.rng, self.defers = rng, defers
        self.steps: list[Step] = [Step(self._temporary())]
        self.inside = False
        self.numbers = 0
        self.labels = list(_LABELS)

    def advance(self) -> None:
        """Add a statement, and what goes with it."""
        rng = self.rng
        choice = rng.random()
        if choice < 0.1:
            self.steps.append(Step("COMMIT" if self.inside and rng.random() < 0.7 else
                                   "ROLLBACK" if self.inside else "BEGIN"))  # fmt: skip
            self.inside = not self.inside
        elif choice < 0.13 and self.inside:
            self.steps += [Step("SAVEPOINT a"), self._written(), Step("ROLLBACK TO SAVEPOINT a")]
        elif choice < 0.15 and self.inside:
            mode = rng.choice(("DEFERRED", "DEFERRED", "IMMEDIATE"))
            self.steps.append(Step(f"SET CONSTRAINTS ALL {mode}"))
        elif choice < 0.22:
            self.steps.append(Step(self._definition()))
        elif choice < 0.28:
            self._prepared()
        elif choice < 0.36:
            self.steps.append(Step(_sequence(rng)))
        elif choice < 0.66:
            self.steps.append(self._written())
        elif choice < 0.74:
            self.steps.append(_ordered(rng))
        elif choice < 0.84:
            self.steps.append(Step(_select(rng)))
        else:
            table = rng.choice(_TABLES)
            self.steps.append(Step(f"SELECT * FROM {name(table)}"))

    def _written(self) -> Step:
        return Step(self.rng.choice(_WRITES)(self.rng))

    def _definition(self) -> str:
        rng = self.rng
        self.numbers += 1
        choice = rng.choice((3, 4)) if self.inside and self.defers else rng.randrange(8)
        if choice < 2:
            return _index(rng, rng.randrange(3, 6))
        if choice == 2:
            return f"DROP INDEX {rng.choice(('', 'IF EXISTS '))}{SCHEMA}.i{rng.randrange(6)}"
        if choice == 3:
            return self._temporary()
        if choice == 4:
            return "DROP TABLE IF EXISTS pg_temp.x"
        if choice == 5 and not self.inside:
            label, beside = f"v{self.numbers}", rng.choice(self.labels)
            self.labels.append(label)
            place = rng.choice(("", f" BEFORE '{beside}'", f" AFTER '{beside}'"))
            return f"ALTER TYPE {SCHEMA}.mood ADD VALUE '{label}'{place}"
        if choice == 5 and rng.random() < 0.3:
            return f"ALTER TYPE {SCHEMA}.mood RENAME VALUE 'happy' TO 'glad'"
        if choice == 6:
            return f"TRUNCATE {rng.choice(('fz.c', 'fz.t', 'x', 'fz.p CASCADE', 'fz.t CASCADE'))}"
        table = rng.choice(("p", "c", "t"))
        number = rng.randrange(8)
        return rng.choice(
            (
                f"ALTER TABLE {SCHEMA}.{table} ALTER COLUMN n SET DEFAULT {number}",
                f"ALTER TABLE {SCHEMA}.{table} ALTER COLUMN n DROP DEFAULT",
                f"ALTER TABLE {SCHEMA}.{table} ALTER COLUMN m SET DEFAULT 'happy'",
                f"ALTER TABLE {SCHEMA}.{table} ADD CHECK (n <> {number})",
            )
        )

    def _temporary(self) -> str:
        rng = self.rng
        end = rng.choice(_TEMPORARY_ENDS)
        if rng.random() < 0.3:
            return f"CREATE TEMP TABLE x{end} AS SELECT k, n, s, m FROM {SCHEMA}.p"
        return (
            f"CREATE TEMP TABLE x (k INTEGER PRIMARY KEY, n INTEGER, s TEXT, m {SCHEMA}.mood){end}"
        )

    def _prepared(self) -> None:
        """Prepare a statement, run it twice and let it go."""
        rng = self.rng
        table = name(rng.choice(_TABLES))
        form = rng.randrange(4)
        types = ("(int, text)", "", f"({SCHEMA}.mood)", "(int)")[form]
        sql = (
            f"INSERT INTO {table} (k, s) VALUES ($1, $2)",
            f"UPDATE {table} SET m = $1 WHERE n = $2 RETURNING k, m",
            f"SELECT k, m FROM {table} WHERE m >= $1",
            f"DELETE FROM {table} WHERE k = $1",
        )[form]
        self.steps.append(Step(f"PREPARE q {types} AS {sql}"))
        for _ in range(2):
            number, label = rng.randrange(12), f"'{rng.choice(_LABELS)}'"
            values = (f"{number}, {_value(rng, 's')}", f"{label}, {number}", label, f"{number}")
            self.steps.append(Step(f"EXECUTE q({values[form]})"))
        self.steps.append(Step("DEALLOCATE q"))


_WRITES: tuple[Callable[[random.Random], str], ...] = (
    _insert, _insert, _insert, _insert_default, _insert_default, _insert_select, _update, _update,
    _update, _delete, _delete,
)  # fmt: skip
