"""Random INSERT, UPDATE, DELETE and MERGE statements, failing ones among them.

Statements whose effect a database may choose (two source rows for one target row of UPDATE FROM,
one ON CONFLICT statement proposing a key twice) are never made.
"""

import random
from collections.abc import Callable, Sequence

from tests.support.programs.expressions import Scope, expression, predicate, scope_of
from tests.support.programs.step import Step
from tests.support.programs.tables import Column, Table, distinct_literals, literal


def random_write(rng: random.Random, tables: Sequence[Table]) -> Step:
    """Return a statement that changes one of the tables; some may be read as they were."""
    table = rng.choice([table for table in tables if not table.mark])
    sql = rng.choice(_SHAPES)(rng, table, tables)
    if " RETURNING " in sql and not sql.startswith("MERGE") and rng.random() < 0.3:
        return Step(f"WITH x AS ({sql}) SELECT * FROM x")
    return Step(sql)


def seed_rows(rng: random.Random, table: Table, count: int = 0) -> Step:
    """Return an INSERT of a few rows, or of up to ``count`` rows."""
    if count:
        rows = _rows_with_distinct_keys(rng, table.columns, table, count)
        return Step(f"INSERT INTO {table.reference} VALUES {rows}")
    return Step(insert_values(rng, table, (table,)))


def updates_by_size(rng: random.Random, table: Table) -> list[Step]:
    """Return an UPDATE of a few rows and one of all, either first, and a read of what they leave.

    A store may keep the few with what is new and write the many elsewhere at once.
    """
    free = [c for c in table.columns if c.name not in table.constrained() and not c.check]
    if not free:
        return []
    column, by = rng.choice(free), rng.choice([c for c in table.columns if c.kind != "struct"])
    some = ", ".join(distinct_literals(rng, by.kind, rng.choice((1, 2, 3))))
    few, many = (
        f"UPDATE {table.reference} SET {column.name} = {literal(rng, column.kind)}{where}"
        for where in (f" WHERE {by.name} IN ({some})", "")
    )
    writes = [few, many] if rng.random() < 0.7 else [many, few]
    return [*map(Step, writes), Step(f"SELECT * FROM {table.reference}")]


def insert_values(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    """Return INSERT .. VALUES, of all columns or of some."""
    columns = list(table.columns)
    if rng.random() < 0.4:
        optional = [column for column in columns if column.name not in table.key]
        for column in rng.sample(optional, rng.randint(0, max(0, len(optional) - 1))):
            columns.remove(column)
    if not columns:
        columns = list(table.columns)
    if rng.random() < 0.2:
        rng.shuffle(columns)
    named = columns != list(table.columns) or rng.random() < 0.5
    listed = f" ({', '.join(column.name for column in columns)})" if named else ""
    count = rng.choice((1, 1, 2, 3, 5))
    if rng.random() < 0.85:
        rows = _rows_with_distinct_keys(rng, columns, table, count)
    else:
        rows = ", ".join(_row(rng, columns, table) for _ in range(count))
    return f"INSERT INTO {table.reference}{listed} VALUES {rows}{_returning(rng, table)}"


def _row(rng: random.Random, columns: Sequence[Column], table: Table) -> str:
    return f"({', '.join(_value(rng, column, table) for column in columns)})"


def _value(rng: random.Random, column: Column, table: Table) -> str:
    if column.name not in table.key and rng.random() < 0.08:
        return "DEFAULT"
    if rng.random() < 0.01:
        return "NULL"
    nullable = not column.not_null and column.name not in table.key
    return literal(rng, column.kind, nullable=nullable)


def _insert_select(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    source = rng.choice(tables)
    scope = scope_of(source)
    values = ", ".join(expression(rng, scope, column.kind, 1) for column in table.columns)
    return (
        f"INSERT INTO {table.reference} SELECT {values} FROM {source.reference}"
        f" WHERE {predicate(rng, scope, 1)}{_returning(rng, table)}"
    )


def _insert_defaults(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    if table.key and rng.random() < 0.8:
        return insert_values(rng, table, tables)
    return f"INSERT INTO {table.reference} DEFAULT VALUES"


def _upsert(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    if not table.key:
        return insert_values(rng, table, tables)
    rows = _rows_with_distinct_keys(rng, table.columns, table, rng.choice((1, 1, 2, 3)))
    names = ", ".join(column.name for column in table.columns)
    head = f"INTO {table.reference} ({names}) VALUES {rows}"
    tail = _returning(rng, table)
    form = rng.randrange(6)
    if any(index.unique for index in table.indexes):
        # DuckDB takes no index over an expression for what a conflict may be about.
        form = max(form, 3)
    if form == 0:
        return f"INSERT {head} ON CONFLICT DO NOTHING{tail}"
    if form == 1:
        return f"INSERT OR IGNORE {head}{tail}"
    if form == 2 and not table.uniques:
        return f"INSERT OR REPLACE {head}{tail}"
    target = f"({', '.join(rng.choice([table.key, *table.uniques]))})"
    free = [column for column in table.columns if column.name not in table.constrained()]
    if form == 3 or not free:
        return f"INSERT {head} ON CONFLICT {target} DO NOTHING{tail}"
    sets = ", ".join(
        f"{column.name} = {_upsert_value(rng, table, column)}"
        for column in rng.sample(free, rng.randint(1, len(free)))
    )
    condition = ""
    if rng.random() < 0.3:
        # Qualified, since here a bare name could be the target's or the proposed row's.
        scope = Scope(tuple((f"{table.name}.{c.name}", c.kind) for c in table.columns))
        condition = f" WHERE {predicate(rng, scope, 1)}"
    return f"INSERT {head} ON CONFLICT {target} DO UPDATE SET {sets}{condition}{tail}"


def _upsert_value(rng: random.Random, table: Table, column: Column) -> str:
    excluded = f"excluded.{column.name}"
    choice = rng.random()
    if choice < 0.6:
        return excluded
    if choice < 0.8:
        return f"coalesce({excluded}, {table.name}.{column.name})"
    return literal(rng, column.kind, nullable=not column.not_null)


def _rows_with_distinct_keys(
    rng: random.Random, columns: Sequence[Column], table: Table, count: int
) -> str:
    constrained = table.constrained()
    pools = {
        column.name: distinct_literals(rng, column.kind, count)
        for column in columns
        if column.name in constrained
    }
    count = min([count, *(len(pool) for pool in pools.values())])
    rows = []
    for place in range(count):
        values = [
            pools[column.name][place] if column.name in pools else _value(rng, column, table)
            for column in columns
        ]
        rows.append(f"({', '.join(values)})")
    return ", ".join(rows)


def _update(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    scope = scope_of(table, tables=tables)
    keys = table.constrained()
    candidates = [c for c in table.columns if c.name not in keys or rng.random() < 0.25]
    candidates = candidates or list(table.columns)
    chosen = rng.sample(candidates, rng.randint(1, min(2, len(candidates))))
    sets = ", ".join(f"{c.name} = {_new_value(rng, scope, c, tables)}" for c in chosen)
    where = f" WHERE {predicate(rng, scope)}" if rng.random() < 0.85 else ""
    return f"UPDATE {table.reference} SET {sets}{where}{_returning(rng, table)}"


def _new_value(rng: random.Random, scope: Scope, column: Column, tables: Sequence[Table]) -> str:
    choice = rng.random()
    if choice < 0.08:
        return "DEFAULT"
    if choice < 0.12 and (not column.not_null or rng.random() < 0.1):
        return "NULL"
    if choice < 0.2:
        source = rng.choice(tables)
        matching = [c.name for c in source.columns if c.kind == column.kind]
        if matching:
            return f"(SELECT max(q.{rng.choice(matching)}) FROM {source.reference} AS q)"
    return expression(rng, scope, column.kind)


def _update_from(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    source = rng.choice(tables)
    pair = _unique_pair(rng, table, source)
    free = [c for c in table.columns if c.name not in table.constrained()]
    if pair is None or not free:
        return _update(rng, table, tables)
    target_column, source_column = pair
    column = rng.choice(free)
    scope = Scope(scope_of(table, "t").columns + scope_of(source, "s").columns)
    condition = f"t.{target_column} = s.{source_column}"
    if rng.random() < 0.5:
        condition += f" AND {predicate(rng, scope, 1)}"
    return (
        f"UPDATE {table.reference} AS t SET {column.name} = {expression(rng, scope, column.kind)}"
        f" FROM {source.reference} AS s WHERE {condition}"
    )


def _unique_pair(rng: random.Random, table: Table, source: Table) -> tuple[str, str] | None:
    """Return a column of the target and a key of the source that match at most one row."""
    if len(source.key) != 1:
        return None
    kind = source.column(source.key[0]).kind
    matching = [column.name for column in table.columns if column.kind == kind]
    return (rng.choice(matching), source.key[0]) if matching else None


def _delete(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    scope = scope_of(table, tables=tables)
    if rng.random() < 0.05:
        return f"DELETE FROM {table.reference}{_returning(rng, table)}"
    return f"DELETE FROM {table.reference} WHERE {predicate(rng, scope)}{_returning(rng, table)}"


def _delete_using(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    source = rng.choice(tables)
    pairs = [
        (mine.name, other.name)
        for mine in table.columns
        for other in source.columns
        if mine.kind == other.kind
    ]
    if not pairs:
        return _delete(rng, table, tables)
    mine_name, other_name = rng.choice(pairs)
    condition = f"t.{mine_name} = s.{other_name}"
    if rng.random() < 0.5:
        condition += f" AND {predicate(rng, scope_of(source, 's'), 1)}"
    return f"DELETE FROM {table.reference} AS t USING {source.reference} AS s WHERE {condition}"


def _merge(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    source = rng.choice(tables)
    pair = _unique_pair(rng, table, source)
    if pair is None:
        return _update(rng, table, tables)
    both = Scope(scope_of(table, "t").columns + scope_of(source, "s").columns)
    free = [c for c in table.columns if c.name not in table.constrained()]
    clauses = []
    if free and rng.random() < 0.7:
        column = rng.choice(free)
        value = expression(rng, both, column.kind)
        clauses.append(f"WHEN MATCHED{_and(rng, both)} THEN UPDATE SET {column.name} = {value}")
    if not clauses or (" AND " in clauses[0].split(" THEN ")[0] and rng.random() < 0.5):
        clauses.append(f"WHEN MATCHED{_and(rng, both)} THEN DELETE")
    if rng.random() < 0.6 or not clauses:
        mine = scope_of(source, "s")
        names = ", ".join(c.name for c in table.columns)
        values = ", ".join(expression(rng, mine, c.kind, 1) for c in table.columns)
        clauses.append(f"WHEN NOT MATCHED{_and(rng, mine)} THEN INSERT ({names}) VALUES ({values})")
    if rng.random() < 0.2:
        condition = _and(rng, scope_of(table, "t"))
        clauses.append(f"WHEN NOT MATCHED BY SOURCE{condition} THEN DELETE")
    return (
        f"MERGE INTO {table.reference} AS t USING {source.reference} AS s"
        f" ON t.{pair[0]} = s.{pair[1]} {' '.join(clauses)}{_merge_returning(rng, table)}"
    )


def _merge_returning(rng: random.Random, table: Table) -> str:
    if rng.random() > 0.15:
        return ""
    return rng.choice((" RETURNING merge_action, *", f" RETURNING t.{table.columns[0].name} AS r"))


def _and(rng: random.Random, scope: Scope) -> str:
    return f" AND {predicate(rng, scope, 1)}" if rng.random() < 0.4 else ""


def _truncate(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    return f"TRUNCATE {table.reference}" if rng.random() < 0.3 else _delete(rng, table, tables)


def _broken(rng: random.Random, table: Table, tables: Sequence[Table]) -> str:
    if rng.random() < 0.4:
        return _delete(rng, table, tables)
    column = rng.choice(table.columns)
    nulls = ", ".join("NULL" for _ in table.columns)
    return rng.choice(
        (
            f"INSERT INTO {table.reference} (nowhere) VALUES (1)",
            f"INSERT INTO {table.reference} VALUES ({nulls})",
            f"UPDATE {table.reference} SET nowhere = 1",
            f"DELETE FROM {table.reference} WHERE nowhere = 1",
            f"SELECT nowhere FROM {table.reference}",
            "SELECT * FROM fz.nothing",
            "INSERT INTO fz.nothing VALUES (1)",
            f"SELEC {column.name} FROM {table.reference}",
            f"UPDATE {table.reference} SET WHERE 1 = 1",
            (
                f"INSERT INTO {table.reference} ({column.name})"
                f" VALUES ({literal(rng, column.kind)}, 1)"
            ),
            f"SELECT CAST('zz' AS INTEGER) FROM {table.reference}",
            f"SELECT (SELECT q.{column.name} FROM {table.reference} AS q, {table.reference} AS r)",
        )
    )


def _returning(rng: random.Random, table: Table) -> str:
    if rng.random() > 0.15:
        return ""
    if rng.random() < 0.5:
        return " RETURNING *"
    return f" RETURNING {rng.choice(table.columns).name} AS r"


_SHAPES: tuple[Callable[[random.Random, Table, Sequence[Table]], str], ...] = (
    insert_values, insert_values, insert_values, insert_values, _insert_select, _insert_select,
    _insert_defaults, _upsert, _upsert, _upsert, _update, _update, _update, _update, _update_from,
    _delete, _delete, _delete_using, _merge, _merge, _truncate, _broken,
)  # fmt: skip
