"""Changes that make stale what is kept of statements: definitions, names, views and settings."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tests.support.programs.repeated.tables import Column, Table, random_table
from tests.support.programs.repeated.values import KINDS, TYPES, literal, value_of
from tests.support.programs.tables import SCHEMA

ROLE = f"{SCHEMA}_role"
"""Whose rights statements have now and then, in PostgreSQL's dialect."""
_WIDER = {
    "int": ("bigint", "text", "decimal", "double"),
    "bigint": ("text", "int"),
    "decimal": ("text", "double"),
    "date": ("timestamp", "text"),
    "timestamp": ("date", "text"),
    "bool": ("text", "int"),
    "uuid": ("text",),
    "double": ("text", "decimal"),
    "text": ("text",),
}


@dataclass(slots=True)
class Course:
    """What a program knows of its tables, and where it gets chance and numbers from."""

    rng: random.Random
    postgres: bool
    tables: list[Table]
    is_shadowed: bool = False
    """True while a temporary table stands before the first table."""
    changes: int = 0
    """How often something was defined anew."""
    _made: int = field(default=0)

    def number(self) -> int:
        """A number never given before."""
        self._made += 1
        return self._made


def random_change(course: Course) -> list[str]:
    """Statements that define something anew."""
    made: list[str] = []
    for _ in range(5):
        place = course.rng.randrange(len(course.tables))
        made = course.rng.choice(_CHANGES)(course, place)
        if made:
            course.changes += 1
            break
    return made


def _unindexed(course: Course, place: int) -> tuple[list[str], Table]:
    """A table without its indexes, which DuckDB does not alter otherwise."""
    table = course.tables[place]
    if course.postgres or not table.indexes:
        return [], table
    return [f"DROP INDEX {name}" for name in table.indexes], replace(table, indexes=())


def _add(course: Course, place: int) -> list[str]:
    before, table = _unindexed(course, place)
    kind = course.rng.choice(KINDS)
    default = ""
    if course.rng.random() < 0.5:
        value = value_of(course.rng, kind)
        default = f" DEFAULT {literal(course.rng, value, postgres=course.postgres, plain=True)}"
    taken = {c.name for c in table.columns}
    name = course.rng.choice([n for n in ("v", "w", "x", "y", "z") if n not in taken] or ["zz"])
    course.tables[place] = replace(table, columns=(*table.columns, Column(name, kind)))
    kind = TYPES[kind][course.postgres]
    return [*before, f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}{default}"]


def _drop(course: Course, place: int) -> list[str]:
    before, table = _unindexed(course, place)
    if len(table.free) < 2:
        return []
    last = max((n for n, c in enumerate(table.columns) if c.name in table.key), default=-1)
    # DuckDB drops no column before one with an index.
    gone = course.rng.choice(table.free if course.postgres else table.columns[last + 1 :] or [None])
    if gone is None or (not course.postgres and any("UNIQUE" in c.more for c in table.columns)):
        return []
    course.tables[place] = replace(table, columns=tuple(c for c in table.columns if c != gone))
    return [*before, f"ALTER TABLE {table.name} DROP COLUMN {gone.name}"]


def _rename(course: Course, place: int) -> list[str]:
    """A column gets a name, or two columns change names."""
    before, table = _unindexed(course, place)
    rng, rename = course.rng, f"ALTER TABLE {table.name} RENAME COLUMN"
    columns = table.free if rng.random() < 0.7 else list(table.columns)
    if not columns:
        return []
    if len(columns) < 2 or rng.random() < 0.5:
        (one,) = rng.sample(columns, 1)
        new = f"{one.name[0]}_{course.number()}"
        course.tables[place] = _renamed(table, {one.name: new})
        return [*before, f"{rename} {one.name} TO {new}"]
    one, other = rng.sample(columns, 2)
    course.tables[place] = _renamed(table, {one.name: other.name, other.name: one.name})
    steps = ((one.name, "aside"), (other.name, one.name), ("aside", other.name))
    return [*before, *(f"{rename} {old} TO {new}" for old, new in steps)]


def _renamed(table: Table, names: dict[str, str]) -> Table:
    columns = tuple(replace(c, name=names.get(c.name, c.name)) for c in table.columns)
    return replace(table, columns=columns, key=tuple(names.get(n, n) for n in table.key))


def _retype(course: Course, place: int) -> list[str]:
    before, table = _unindexed(course, place)
    columns = list(table.columns) if course.postgres else table.free
    columns = [c for c in columns if not c.more]
    if not columns:
        return []
    one = course.rng.choice(columns)
    kind = course.rng.choice(_WIDER[one.kind])
    of_type = TYPES[kind][course.postgres]
    using = f" USING {one.name}::text::{of_type}" if course.postgres else ""
    changed = tuple(replace(c, kind=kind) if c == one else c for c in table.columns)
    course.tables[place] = replace(table, columns=changed)
    before += [f"DROP VIEW IF EXISTS {SCHEMA}.v0"] if course.postgres else []
    return [*before, f"ALTER TABLE {table.name} ALTER COLUMN {one.name} TYPE {of_type}{using}"]


def _index(course: Course, place: int) -> list[str]:
    table, rng = course.tables[place], course.rng
    if table.indexes and rng.random() < 0.5:
        course.tables[place] = replace(table, indexes=table.indexes[1:])
        return [f"DROP INDEX {table.indexes[0]}"]
    name = f"i{course.number()}"
    names = rng.sample([c.name for c in table.columns], rng.randint(1, min(2, len(table.columns))))
    unique = rng.choice(("", "", "UNIQUE "))
    course.tables[place] = replace(table, indexes=(*table.indexes, f"{SCHEMA}.{name}"))
    return [f"CREATE {unique}INDEX {name} ON {table.name} ({', '.join(names)})"]


def _rule(course: Course, place: int) -> list[str]:
    before, table = _unindexed(course, place)
    if not table.free:
        return []
    one, rng = course.rng.choice(table.free), course.rng
    value = literal(rng, value_of(rng, one.kind), postgres=course.postgres, plain=True)
    rules = [
        f"ALTER COLUMN {one.name} SET DEFAULT {value}",
        f"ALTER COLUMN {one.name} DROP DEFAULT",
    ]
    rules += [f"ALTER COLUMN {one.name} SET NOT NULL", f"ALTER COLUMN {one.name} DROP NOT NULL"]
    if course.postgres:
        rules += [f"ADD CONSTRAINT c{course.number()} CHECK ({one.name} <> {value})"]
        rules += [f"ADD CONSTRAINT u{course.number()} UNIQUE ({one.name})"]
    return [*before, f"ALTER TABLE {table.name} {rng.choice(rules)}"]


def _key(course: Course, place: int) -> list[str]:
    """The table is keyed by other columns, or by none."""
    table = course.tables[place]
    if not course.postgres or not table.key:
        return []
    name = table.name.split(".")[1]
    chosen = course.rng.sample([c.name for c in table.columns], 1)
    course.tables[place] = replace(table, key=())
    dropped = f"ALTER TABLE {table.name} DROP CONSTRAINT {name}_pkey"
    if course.rng.random() < 0.4:
        return [dropped]
    return [dropped, f"ALTER TABLE {table.name} ADD PRIMARY KEY ({chosen[0]})"]


def _again(course: Course, place: int) -> list[str]:
    """Drop a table and make another one of its name."""
    table = course.tables[place]
    name = table.name.split(".")[1]
    made = random_table(course.rng, name, postgres=course.postgres)
    if course.rng.random() < 0.5:
        made = replace(table, indexes=())
    course.tables[place] = made
    cascade = " CASCADE" if course.postgres else ""
    granted = [f"GRANT ALL ON {table.name} TO {ROLE}"] if course.postgres else []
    return [f"DROP TABLE {table.name}{cascade}", made.ddl(postgres=course.postgres), *granted]


def _swap(course: Course, place: int) -> list[str]:
    """Two tables change names."""
    if len(course.tables) < 2 or course.tables[0].indexes or course.tables[1].indexes:
        return []
    first, second = course.tables[:2]
    one, other = (t.name.split(".")[1] for t in (first, second))
    course.tables[:2] = [replace(second, name=first.name), replace(first, name=second.name)]
    return [
        f"ALTER TABLE {first.name} RENAME TO aside",
        f"ALTER TABLE {second.name} RENAME TO {one}",
        f"ALTER TABLE {SCHEMA}.aside RENAME TO {other}",
    ]


def _view(course: Course, place: int) -> list[str]:
    """A view by the name that shapes read is another one."""
    table, rng = course.tables[place], course.rng
    shown = ", ".join(c.name for c in rng.sample(table.columns, len(table.columns)))
    one = rng.choice(table.columns)
    value = literal(rng, value_of(rng, one.kind), postgres=course.postgres, plain=True)
    where = rng.choice((f" WHERE {one.name} = {value}", f" WHERE {one.name} <> {value}", ""))
    made = f"VIEW {SCHEMA}.v0 AS SELECT {shown} FROM {table.name}{where}"
    if course.postgres:
        return [f"DROP VIEW IF EXISTS {SCHEMA}.v0", f"CREATE {made}"]
    return [f"CREATE OR REPLACE {made}"]


def _macro(course: Course, place: int) -> list[str]:
    body = course.rng.choice(("a + 1", "a - 1", "a * 2", "a"))
    if course.postgres:
        name = f"FUNCTION {SCHEMA}.f0(a INTEGER) RETURNS INTEGER LANGUAGE sql"
        return [f"CREATE OR REPLACE {name} RETURN {body}"]
    return [f"CREATE OR REPLACE MACRO {SCHEMA}.f0(a) AS {body}"]


def _truncated(course: Course, place: int) -> list[str]:
    return [f"TRUNCATE {course.tables[place].name}"]


def _shadow(course: Course, place: int) -> list[str]:
    """A temporary table of the first table's bare name comes before it, or goes."""
    if not course.postgres:
        return []
    course.is_shadowed = not course.is_shadowed
    table = course.tables[0]
    bare = table.name.split(".")[1]
    if not course.is_shadowed:
        return [f"DROP TABLE pg_temp.{bare}"]
    made = replace(table, name=f"{bare}").ddl(postgres=True)
    return [made.replace("CREATE TABLE", "CREATE TEMPORARY TABLE", 1)]


def _policy(course: Course, place: int) -> list[str]:
    """What a role sees of a table, and may do to it, is something else."""
    if not course.postgres:
        return []
    table, rng = course.tables[place], course.rng
    one = rng.choice(table.columns)
    value = literal(rng, value_of(rng, one.kind), postgres=True, plain=True)
    seen = rng.choice((f"{one.name} = {value}", f"{one.name} <> {value}", f"{one.name} IS NULL"))
    may = rng.choice(("SELECT", "UPDATE", "DELETE", "INSERT", f"SELECT ({one.name})"))
    on = f"ON {table.name}"
    return rng.choice((
        [f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY"],
        [f"ALTER TABLE {table.name} DISABLE ROW LEVEL SECURITY"],
        [f"DROP POLICY IF EXISTS p {on}", f"CREATE POLICY p {on} USING ({seen})"],
        [f"DROP POLICY IF EXISTS p {on}", f"CREATE POLICY p {on} USING ({seen})"],
        [f"DROP POLICY IF EXISTS p {on}"],
        [f"GRANT {may} {on} TO {ROLE}"], [f"REVOKE {may} {on} FROM {ROLE}"],
    ))  # fmt: skip


def _mass_update(course: Course, place: int) -> list[str]:
    """Many rows are written at once, on a condition without places."""
    table, rng = course.tables[place], course.rng
    if not table.free:
        return []
    one = rng.choice(table.free)
    return [f"UPDATE {table.name} SET {one.name} = {one.name} WHERE {one.name} IS NOT NULL"]


_CHANGES: Sequence[Callable[[Course, int], list[str]]] = (
    _add, _add, _drop, _drop, _rename, _rename, _rename, _retype, _retype, _index, _index, _index,
    _rule, _rule, _key, _again, _again, _swap, _view, _macro, _truncated, _shadow, _mass_update,
    _policy, _policy, _policy,
)  # fmt: skip
