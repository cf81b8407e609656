"""Random ALTER TABLE, DROP and CREATE, such as the oracle can do as well.

DuckDB changes no column of a key, nor any that has a CHECK, and drops none that stands before one
of a key; nothing of that is a limit of the product, so it is not made here.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.support.programs.step import Step
from tests.support.programs.tables import (
    NO_KINDS,
    SCHEMA,
    TYPE_NAMES,
    Column,
    Index,
    Kinds,
    Table,
    literal,
    random_column,
    random_table,
)


@dataclass(frozen=True, slots=True)
class Fresh:
    """What a change may make: something of a name nothing has yet, of no kind in ``lacks``.

    Where tables are ``lasting``, none is dropped: its journal would be in the way of the next.
    """

    name: str
    lacks: Kinds = NO_KINDS
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """Steps, and the table as it is after them."""

    steps: tuple[Step, ...]
    table: Table


def random_change(rng: random.Random, table: Table, fresh: Fresh) -> Change:
    """Return a change of a table; its indexes go before, as DuckDB changes none that has any."""
    gone = (*table.indexes, *table.dropped)
    bare = replace(table, indexes=(), dropped=gone)
    dropped = tuple(Step(f"DROP INDEX IF EXISTS {SCHEMA}.{i.name}") for i in gone)
    if table.indexes and rng.random() < 0.5:
        return Change(dropped, bare)
    made = rng.choice(_SHAPES)(rng, bare, fresh) or _add_column(rng, bare, fresh)
    return replace(made, steps=(*dropped, *made.steps))


def random_index(rng: random.Random, table: Table, fresh: Fresh) -> Change | None:
    """Return an index of a table; of one over expressions DuckDB tells no ON CONFLICT."""
    unique = rng.random() < 0.6
    kinds = ("int", "text") if unique else ("int", "text", "bool", "float")
    columns = [c for c in table.columns if c.kind in kinds]
    if not columns:
        return None
    chosen = rng.sample(columns, min(len(columns), rng.choice((1, 1, 2))))
    orders = ("", "", " DESC", " ASC NULLS LAST")
    terms = ", ".join(c.name + rng.choice(orders) for c in chosen)
    if rng.random() < 0.3:
        chosen = chosen[:1]
        forms = {"int": "({} % 7)", "text": "lower({})"}
        terms = forms.get(chosen[0].kind, "({})").format(chosen[0].name)
    index = Index(f"i_{fresh.name}", terms, tuple(c.name for c in chosen), unique)
    step = Step(index.ddl(table.reference))
    return Change((step,), replace(table, indexes=(*table.indexes, index)))


def _altered(table: Table, action: str, columns: tuple[Column, ...] | None = None) -> Change:
    step = Step(f"ALTER TABLE {table.reference} {action}")
    return Change((step,), table if columns is None else replace(table, columns=columns))


def _add_column(rng: random.Random, table: Table, fresh: Fresh) -> Change:
    column = random_column(rng, fresh.name, fresh.lacks)
    default = f" DEFAULT {column.default}" if column.default else ""
    action = f"ADD COLUMN {column.name} {column.type_name}{default}"
    return _altered(table, action, (*table.columns, column))


def _drop_column(rng: random.Random, table: Table, fresh: Fresh) -> Change | None:
    constrained = {column.name for column in table.columns if column.check} | table.constrained()
    free: list[Column] = []
    for column in reversed(table.columns):
        if column.name in constrained:
            break
        free.append(column)
    if not free or len(table.columns) < 3:
        return None
    gone = rng.choice(free)
    kept = tuple(column for column in table.columns if column is not gone)
    return _altered(table, f"DROP COLUMN {gone.name}", kept)


def _free(table: Table) -> list[Column]:
    keys = table.constrained()
    return [c for c in table.columns if c.name not in keys and not c.check]


def _rename_column(rng: random.Random, table: Table, fresh: Fresh) -> Change | None:
    if not _free(table):
        return None
    chosen = rng.choice(_free(table))
    columns = tuple(replace(c, name=fresh.name) if c is chosen else c for c in table.columns)
    return _altered(table, f"RENAME COLUMN {chosen.name} TO {fresh.name}", columns)


def _change_type(rng: random.Random, table: Table, fresh: Fresh) -> Change | None:
    free = [c for c in _free(table) if c.kind in ("int", "date", "bool") and not c.default]
    if not free:
        return None
    chosen = rng.choice(free)
    kind = chosen.kind if chosen.kind == "int" and rng.random() < 0.5 else "text"
    name = "BIGINT" if kind == "int" else rng.choice(TYPE_NAMES[kind])
    columns = tuple(
        replace(c, kind=kind, type_name=name) if c is chosen else c for c in table.columns
    )
    return _altered(table, f"ALTER COLUMN {chosen.name} TYPE {name}", columns)


def _change_rules(rng: random.Random, table: Table, fresh: Fresh) -> Change | None:
    if not _free(table):
        return None
    chosen = rng.choice(_free(table))
    rule = rng.randrange(4)
    if rule == 0:
        default = literal(rng, chosen.kind)
        action, changed = f"SET DEFAULT {default}", replace(chosen, default=default)
    elif rule == 1:
        action, changed = "DROP DEFAULT", replace(chosen, default="")
    elif rule == 2:
        action, changed = "SET NOT NULL", chosen
    else:
        action, changed = "DROP NOT NULL", replace(chosen, not_null=False)
    columns = tuple(changed if c is chosen else c for c in table.columns)
    return _altered(table, f"ALTER COLUMN {chosen.name} {action}", columns)


def _rename_table(rng: random.Random, table: Table, fresh: Fresh) -> Change:
    name = f"t_{fresh.name}"
    return Change(
        (Step(f"ALTER TABLE {table.reference} RENAME TO {name}"),), replace(table, name=name)
    )


def _again(rng: random.Random, table: Table, fresh: Fresh) -> Change | None:
    """Drop a table and make another one of its name."""
    if fresh.lasting:
        return None
    made = random_table(rng, table.name, fresh.lacks)
    return Change((Step(f"DROP TABLE {table.reference}"), Step(made.ddl())), made)


def _view(rng: random.Random, table: Table, fresh: Fresh) -> Change:
    """Make a view, read it, and drop it again, so that it hinders no later change."""
    view = f"{SCHEMA}.v_{fresh.name}"
    column = rng.choice(table.columns).name
    body = rng.choice(
        (
            f"SELECT {column} AS x, count(*) AS n FROM {table.reference} GROUP BY {column}",
            f"SELECT * FROM {table.reference} WHERE {column} IS NOT NULL",
        )
    )
    made = (f"CREATE VIEW {view} AS {body}", f"SELECT * FROM {view}", f"DROP VIEW {view}")
    return Change(tuple(Step(sql) for sql in made), table)


def _copy(rng: random.Random, table: Table, fresh: Fresh) -> Change:
    """Make a table of a query's rows, and go on with that."""
    name = f"c_{fresh.name}"
    columns = tuple(replace(c, not_null=False, default="", check="") for c in table.columns)
    sql = f"CREATE TABLE {SCHEMA}.{name} AS SELECT * FROM {table.reference}"
    return Change((Step(sql),), Table(name, columns, (), ()))


_SHAPES: tuple[Callable[[random.Random, Table, Fresh], Change | None], ...] = (
    _add_column, _add_column, _drop_column, _drop_column, _rename_column, _change_type,
    _change_rules, _change_rules, _rename_table, _again, _view, _copy, random_index, random_index,
)  # fmt: skip
