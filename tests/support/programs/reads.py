"""Random SELECT statements whose answer is determined, so that two engines can be compared."""

import random
from collections.abc import Callable, Sequence

from tests.support.programs.expressions import Scope, expression, predicate, scope_of
from tests.support.programs.step import Step
from tests.support.programs.tables import Kind, Table

_ADDABLE: tuple[Kind, ...] = ("int", "decimal")


def random_read(rng: random.Random, tables: Sequence[Table]) -> Step:
    """Return a SELECT over some of the tables."""
    return rng.choice(_SHAPES)(rng, tables)


def _plain(rng: random.Random, tables: Sequence[Table]) -> Step:
    table = rng.choice(tables)
    scope = scope_of(table, tables=tables)
    if rng.random() < 0.3:
        return Step(f"SELECT * FROM {table.reference} WHERE {predicate(rng, scope)}")
    columns = [expression(rng, scope, rng.choice(scope.columns)[1]) for _ in range(3)]
    listed = ", ".join(f"{text} AS x{place}" for place, text in enumerate(columns))
    distinct = rng.choice(("", "", "DISTINCT "))
    sql = f"SELECT {distinct}{listed} FROM {table.reference} WHERE {predicate(rng, scope)}"
    if rng.random() < 0.4:
        limit = f" LIMIT {rng.randint(0, 4)}" + rng.choice(("", " OFFSET 1"))
        return Step(f"{sql} ORDER BY x0, x1, x2{limit}", ordered=True)
    return Step(sql)


def _aggregate(rng: random.Random, tables: Sequence[Table]) -> Step:
    table = rng.choice(tables)
    scope = scope_of(table, tables=tables)
    group, _ = rng.choice(scope.columns)
    where = f" WHERE {predicate(rng, scope)}" if rng.random() < 0.5 else ""
    aggregates = ", ".join(_aggregates(rng, scope))
    if rng.random() < 0.3:
        if rng.random() < 0.3:
            aggregates = f"count(*), max({group}), count({group}) + 1"
        return Step(f"SELECT {aggregates} FROM {table.reference}{where}")
    having = rng.choice(("", "", " HAVING count(*) > 1"))
    form = rng.choice(("{}", "{}", "ROLLUP ({})", "GROUPING SETS (({}), ())"))
    return Step(
        f"SELECT {group} AS g, {aggregates} FROM {table.reference}{where}"
        f" GROUP BY {form.format(group)}{having}"
    )


def _aggregates(rng: random.Random, scope: Scope) -> list[str]:
    name, _ = rng.choice(scope.columns)
    chosen = ["count(*) AS n", f"count({name}) AS m", f"min({name}) AS lo", f"max({name}) AS hi"]
    chosen.append(f"count(DISTINCT {name}) AS dn")
    addable = scope.of(*_ADDABLE)
    if addable:
        number = rng.choice(addable)
        chosen += [f"sum({number}) AS s", f"avg({number}) AS av"]
        chosen.append(f"sum({number}) FILTER (WHERE {predicate(rng, scope, 0)}) AS sf")
    return rng.sample(chosen, rng.randint(1, 4))


def _linear(rng: random.Random, tables: Sequence[Table]) -> Step:
    """Sums and counts by expressions of a row, over a table, a join or a subquery."""
    table, other = rng.choice(tables), rng.choice(tables)
    inner = scope_of(table, tables=tables)
    kinds = [kind for _, kind in inner.columns if kind not in {"float", "list", "struct"}]
    second = rng.choice(inner.columns)[0]
    group = expression(rng, inner, rng.choice(kinds), 1) if kinds else second
    if not any(name in group for name, _ in inner.columns):
        group = second
    where = f" WHERE {predicate(rng, inner)}" if rng.random() < 0.4 else ""
    source, before = table.reference, ""
    form = rng.randrange(5)
    if form == 0:
        extra = expression(rng, inner, "int", 1)
        wide = f"SELECT *, {group} AS gx, {extra} AS nx FROM {table.reference}{where}"
        where = "" if rng.random() < 0.5 else f" WHERE {predicate(rng, scope_of(table), 0)}"
        if rng.random() < 0.5:
            before, source = f"WITH w AS ({wide}) ", "w"
        else:
            source = f"({wide}) AS w"
        group = "gx"
    elif form == 1:
        kind = rng.choice(("LEFT JOIN", "SEMI JOIN", "JOIN"))
        condition = _join_condition(rng, table, other)
        scope = scope_of(table, "l", tables)
        group, second = rng.choice(scope.columns)[0], rng.choice(scope.columns)[0]
        source = f"{table.reference} AS l {kind} {other.reference} AS r ON {condition}"
        inner, where = scope, ""
    chosen = _sums(rng, inner)
    sums = ", ".join(chosen)
    if rng.random() < 0.15:
        return Step(f"{before}SELECT DISTINCT {group} AS g, {second} AS h FROM {source}{where}")
    if rng.random() < 0.2:
        return Step(f"{before}SELECT {sums} FROM {source}{where}")
    having = rng.choice(("", "", " HAVING count(*) > 1"))
    by, listed = rng.choice(
        (
            (group, f"{group} AS g"),
            (group, group),
            ("g", f"{group} AS g"),
            ("1", f"{group} AS g"),
            (f"{group}, {second}", f"{group} AS g, {second} AS h"),
            (f"ROLLUP ({group}, {second})", f"{group} AS g, {second} AS h"),
            (f"CUBE ({group}, {second})", f"{group} AS g, {second} AS h"),
            (f"GROUPING SETS (({group}), ({second}), ())", f"{group} AS g, {second} AS h"),
        )
    )
    if listed == group and ("date_trunc" in group or "substr" in group):
        # The names that the gateway gives these are spelled in another way.
        listed = f"{group} AS g"
    if second == group:
        by, listed = second, f"{second} AS g"
    sql = f"{before}SELECT {listed}, {sums} FROM {source}{where} GROUP BY {by}{having}"
    if rng.random() < 0.3:
        width = len(chosen) + (2 if listed.endswith(" AS h") else 1)
        order = ", ".join(str(place + 1) for place in range(width))
        return Step(f"{sql} ORDER BY {order} LIMIT {rng.randint(1, 4)}", ordered=True)
    return Step(sql)


def _sums(rng: random.Random, scope: Scope) -> list[str]:
    name = rng.choice(scope.columns)[0]
    chosen = ["count(*) AS n", f"count({name}) AS m", f"count(DISTINCT {name}) AS dn"]
    chosen.append(f"count(*) FILTER (WHERE {predicate(rng, scope, 0)}) AS nf")
    for kind in _ADDABLE:
        value = expression(rng, scope, kind, 1)
        chosen.append(f"sum({value}) AS s_{kind}")
        chosen.append(
            f"sum(CASE WHEN {predicate(rng, scope, 0)} THEN {value} ELSE 0 END) AS c_{kind}"
        )
        chosen.append(f"avg({value}) AS a_{kind}")
        chosen.append(f"sum(if({predicate(rng, scope, 0)}, {value}, NULL)) AS i_{kind}")
    return rng.sample(chosen, rng.randint(1, 4))


def _join(rng: random.Random, tables: Sequence[Table]) -> Step:
    left, right = rng.choice(tables), rng.choice(tables)
    scope = Scope(scope_of(left, "l").columns + scope_of(right, "r").columns, tables=tuple(tables))
    condition = _join_condition(rng, left, right)
    kind = rng.choice(("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
    source = f"{left.reference} AS l {kind} {right.reference} AS r ON {condition}"
    where = f" WHERE {predicate(rng, scope, 1)}" if rng.random() < 0.5 else ""
    if rng.random() < 0.4:
        return Step(f"SELECT {', '.join(_aggregates(rng, scope))} FROM {source}{where}")
    picked = [rng.choice(scope.columns)[0] for _ in range(3)]
    listed = ", ".join(f"{name} AS x{place}" for place, name in enumerate(picked))
    return Step(f"SELECT {listed} FROM {source}{where}")


def _join_condition(rng: random.Random, left: Table, right: Table) -> str:
    pairs = [
        (mine.name, other.name)
        for mine in left.columns
        for other in right.columns
        if mine.kind == other.kind
    ]
    if not pairs:
        return predicate(rng, scope_of(left, "l"), 0)
    mine_name, other_name = rng.choice(pairs)
    return f"l.{mine_name} = r.{other_name}"


def _with_query(rng: random.Random, tables: Sequence[Table]) -> Step:
    table = rng.choice(tables)
    scope = scope_of(table, tables=tables)
    name, _ = rng.choice(scope.columns)
    cte = f"SELECT {name} AS x, count(*) AS n FROM {table.reference} GROUP BY {name}"
    other = rng.choice(tables)
    tail = rng.choice(
        (
            "SELECT * FROM c WHERE n > 1",
            "SELECT sum(n) AS s, count(x) AS cx FROM c",
            f"SELECT c.x, c.n, (SELECT count(*) FROM {other.reference}) AS k FROM c",
            "SELECT a.x FROM c AS a JOIN c AS b ON a.n = b.n",
        )
    )
    return Step(f"WITH c AS ({cte}) {tail}")


def _set_operation(rng: random.Random, tables: Sequence[Table]) -> Step:
    left, right = rng.choice(tables), rng.choice(tables)
    kinds = [column.kind for column in left.columns]
    kind = rng.choice(kinds)
    first = expression(rng, scope_of(left), kind, 1)
    second = expression(rng, scope_of(right), kind, 1)
    operator = rng.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT"))
    return Step(
        f"SELECT {first} AS x FROM {left.reference} {operator}"
        f" SELECT {second} FROM {right.reference} WHERE {predicate(rng, scope_of(right), 1)}"
    )


def _window(rng: random.Random, tables: Sequence[Table]) -> Step:
    table = rng.choice(tables)
    scope = scope_of(table)
    group, _ = rng.choice(scope.columns)
    name, _ = rng.choice(scope.columns)
    window = f"count({name}) OVER (PARTITION BY {group}) AS w"
    if table.key:
        order = ", ".join(table.key)
        window = rng.choice(
            (
                f"row_number() OVER (PARTITION BY {group} ORDER BY {order}) AS w",
                f"lag({name}) OVER (ORDER BY {order}) AS w",
                f"rank() OVER (ORDER BY {group}) AS w",
                window,
            )
        )
    sql = f"SELECT {name} AS x, {window} FROM {table.reference}"
    if table.key and rng.random() < 0.3:
        order = ", ".join(table.key)
        sql += f" QUALIFY row_number() OVER (PARTITION BY {group} ORDER BY {order}) = 1"
    return Step(sql)


def _lateral(rng: random.Random, tables: Sequence[Table]) -> Step:
    left, right = rng.choice(tables), rng.choice(tables)
    condition = _join_condition(rng, left, right)
    picked = rng.choice(left.columns).name
    return Step(
        f"SELECT l.{picked} AS x, q.n FROM {left.reference} AS l,"
        f" LATERAL (SELECT count(*) AS n FROM {right.reference} AS r WHERE {condition}) AS q"
    )


def _derived(rng: random.Random, tables: Sequence[Table]) -> Step:
    table = rng.choice(tables)
    scope = scope_of(table, tables=tables)
    inner = f"SELECT * FROM {table.reference} WHERE {predicate(rng, scope, 1)}"
    outer = rng.choice(scope.columns)[0]
    if rng.random() < 0.5:
        return Step(f"SELECT d.{outer} AS x FROM ({inner}) AS d")
    scalar = f"(SELECT max(m.{outer}) FROM {table.reference} AS m)"
    return Step(f"SELECT d.{outer} AS x, d.{outer} = {scalar} AS is_top FROM ({inner}) AS d")


_SHAPES: tuple[Callable[[random.Random, Sequence[Table]], Step], ...] = (
    _plain, _plain, _plain, _aggregate, _aggregate, _aggregate, _join, _join, _join,
    _linear, _linear, _linear, _linear, _with_query, _set_operation, _window, _lateral, _derived,
)  # fmt: skip
