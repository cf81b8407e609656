"""Random expressions and predicates over the columns in scope; deterministic ones only."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.programs.tables import Kind, Table, literal


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may refer to: columns as written, and tables for subqueries."""

    columns: tuple[tuple[str, Kind], ...]
    tables: tuple[Table, ...] = ()

    def of(self, *kinds: Kind) -> list[str]:
        """Return the columns of these kinds."""
        return [name for name, kind in self.columns if kind in kinds]


def scope_of(table: Table, alias: str = "", tables: Sequence[Table] = ()) -> Scope:
    """Return the scope of one table, its columns qualified by `alias` when given."""
    prefix = f"{alias}." if alias else ""
    columns = tuple((prefix + column.name, column.kind) for column in table.columns)
    return Scope(columns, tuple(tables))


def expression(rng: random.Random, scope: Scope, kind: Kind, depth: int = 2) -> str:
    """Return an expression of that kind."""
    columns = scope.of(kind)
    if depth == 0 or rng.random() < 0.35:
        return rng.choice(columns) if columns and rng.random() < 0.7 else literal(rng, kind)
    general = rng.random()
    if general < 0.15:
        first, second = (expression(rng, scope, kind, depth - 1) for _ in range(2))
        return f"CASE WHEN {predicate(rng, scope, 0)} THEN {first} ELSE {second} END"
    if general < 0.3 and columns:
        return f"coalesce({rng.choice(columns)}, {literal(rng, kind)})"
    return _of_kind(rng, scope, kind, depth)


def _of_kind(rng: random.Random, scope: Scope, kind: Kind, depth: int) -> str:
    inner = expression(rng, scope, kind, depth - 1)
    match kind:
        case "int":
            choices = [f"({inner} + 1)", f"({inner} - 2)", f"abs({inner})", f"(- {inner})"]
            choices += [f"length({name})" for name in scope.of("text")]
            choices += [f"len({name})" for name in scope.of("list")]
            choices += [f"({name}).p" for name in scope.of("struct")]
        case "text":
            choices = [f"upper({inner})", f"({inner} || 'z')", f"substr({inner}, 1, 1)"]
            choices += [f"CAST({name} AS VARCHAR)" for name in scope.of("int", "bool", "date")]
            choices += [f"CAST({name} AS VARCHAR /* list */)" for name in scope.of("list")]
            choices += [f"struct_extract({name}, 'q')" for name in scope.of("struct")]
        case "float":
            choices = [f"({inner} + 0.5)", f"({inner} / 2)"]
            choices += [f"CAST({name} AS DOUBLE)" for name in scope.of("int")]
        case "decimal":
            choices = [f"({inner} + 1.00)", f"CAST({inner} AS DECIMAL(10, 2))"]
        case "bool":
            choices = [f"(NOT {inner})", f"({predicate(rng, scope, depth - 1)})"]
        case "date":
            choices = [f"({inner} + 1)", f"CAST({inner} AS DATE)"]
        case "timestamp":
            choices = [f"({inner} + INTERVAL '1' HOUR)", f"date_trunc('day', {inner})"]
        case "huge":
            choices = [f"({inner} // 2)", f"abs({inner})"]
        case "blob":
            choices = [f"({inner} || 'z'::BLOB)"]
        case "zoned":
            choices = [f"({inner} + INTERVAL '1' HOUR)"]
        case "list":
            choices = [f"list_append({inner}, 7)", f"list_concat({inner}, [9])"]
        case "struct":
            number, text = (expression(rng, scope, k, 0) for k in ("int", "text"))
            choices = [f"{{'p': {number}, 'q': {text}}}"]
        case "uuid" | "time":
            choices = [inner]
    return rng.choice(choices)


def predicate(rng: random.Random, scope: Scope, depth: int = 2) -> str:
    """Return a condition."""
    if depth > 0 and rng.random() < 0.3:
        first, second = (predicate(rng, scope, depth - 1) for _ in range(2))
        form = rng.choice(("({} AND {})", "({} OR {})", "(NOT {} OR {})"))
        return form.format(first, second)
    if depth > 0 and scope.tables and rng.random() < 0.2:
        return _subquery_predicate(rng, scope)
    name, kind = rng.choice(scope.columns)
    match rng.randrange(8):
        case 0:
            return f"{name} IS {rng.choice(('', 'NOT '))}NULL"
        case 1:
            values = ", ".join(literal(rng, kind, nullable=True) for _ in range(3))
            return f"{name} {rng.choice(('', 'NOT '))}IN ({values})"
        # DuckDB refuses BETWEEN over structs, and over lists if it finds one that is not NULL.
        case 2 if kind not in {"struct", "list"}:
            return f"{name} BETWEEN {literal(rng, kind)} AND {literal(rng, kind)}"
        case 3 if kind == "text":
            return f"{name} LIKE '%a%'"
        case 4:
            return f"{name} IS DISTINCT FROM {literal(rng, kind, nullable=True)}"
        case _:
            operator = rng.choice(("=", "=", "<>", "<", "<=", ">", ">="))
            other = expression(rng, scope, kind, 1) if rng.random() < 0.3 else literal(rng, kind)
            return f"{name} {operator} {other}"


def _subquery_predicate(rng: random.Random, scope: Scope) -> str:
    table = rng.choice(scope.tables)
    inner = scope_of(table, "q")
    name, kind = rng.choice(scope.columns)
    matching = inner.of(kind)
    if any(column.name == name for column in table.columns):
        # A bare name would mean the inner table's column, perhaps of a kind that does not compare.
        matching = []
    if matching and rng.random() < 0.5:
        negation = rng.choice(("", "NOT "))
        condition = f"{rng.choice(matching)} = {name}"
        return (
            f"{negation}EXISTS (SELECT 1 FROM {table.reference} AS q WHERE {condition}"
            f" AND {predicate(rng, inner, 0)})"
        )
    if matching:
        chosen = rng.choice(matching)
        return (
            f"{name} IN (SELECT {chosen} FROM {table.reference} AS q"
            f" WHERE {predicate(rng, inner, 0)})"
        )
    return f"(SELECT count(*) FROM {table.reference} AS q WHERE {predicate(rng, inner, 0)}) > 2"
