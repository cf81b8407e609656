"""The parts of WITH RECURSIVE in the order in which they read each other. Pure.

WITH RECURSIVE a AS (SELECT * FROM b), b AS (..) ..    becomes    WITH RECURSIVE b AS (..), a AS ..

In PostgreSQL a part may read the parts behind it; elsewhere their names are those of tables there.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold


def in_reading_order(ast: exp.Expr) -> exp.Expr:
    """The tree with such parts in order, in place; parts that read each other in a circle stay."""
    for clause in list(ast.find_all(exp.With)):
        parts = clause.expressions
        if clause.args.get("recursive") and len(parts) > 1:
            ordered = _ordered(parts)
            if [id(part) for part in ordered] != [id(part) for part in parts]:
                clause.set("expressions", ordered)
    return ast


def _ordered(parts: list[exp.Expr]) -> list[exp.Expr]:
    """The parts, each behind those that it reads, else as they are."""
    names = {fold(part.alias): part for part in parts}
    reads = {name: _read_names(part) & names.keys() - {name} for name, part in names.items()}
    found: dict[str, exp.Expr] = {}
    while len(found) < len(names):
        ready = [n for n in names if n not in found and reads[n] <= found.keys()]
        if not ready:
            return parts
        found[ready[0]] = names[ready[0]]
    return [*found.values()] if len(names) == len(parts) else parts


def _read_names(part: exp.Expr) -> set[str]:
    """The names without a schema that a part reads, but for those of its own WITH clauses."""
    return {
        fold(table.name)
        for table in part.find_all(exp.Table)
        if not table.db and not _is_hidden(table, part)
    }


def _is_hidden(table: exp.Table, part: exp.Expr) -> bool:
    node = table.parent
    while node is not None and node is not part:
        clause = node.args.get("with_")
        own = [] if clause is None else [fold(inner.alias) for inner in clause.expressions]
        if fold(table.name) in own:
            return True
        node = node.parent
    return False
