"""What an INSERT says about keys that are taken: ON CONFLICT, ON DUPLICATE KEY UPDATE, OR REPLACE.

Reads the clause, finds the constraints it means and refuses what has no meaning; the rows are made
in ``upserting``. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, fold
from journal.sql.unique_keys import UniqueKey, logical_text, unique_keys
from rewriter.definitions.index_terms import row_text, same_conditions, term_of
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of


class ConflictAction(Enum):
    """What happens to a new row whose key is taken."""

    NOTHING = "nothing"
    UPDATE = "update"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Upsert:
    """What a statement says about conflicts.

    ``arbiters`` are the keys that conflicts are about; ``assigned`` the SET expressions (None:
    every column given), ``excluded`` the name under which they see the new row. One that
    ``names_arbiters`` reads columns of the table, as privileges and row policies see it.
    """

    action: ConflictAction
    arbiters: tuple[UniqueKey, ...]
    excluded: str = "excluded"
    excluded_columns: tuple[str, ...] = ()
    assigned: tuple[exp.Expr, ...] | None = None
    where: exp.Expr | None = None
    names_arbiters: bool = False


def wanted_upsert(ast: exp.Insert, table: Table, dialect: str) -> Upsert | None:
    """What an INSERT in a dialect says about conflicts, or None."""
    conflict = ast.args.get("conflict")
    alternative = str(ast.args.get("alternative") or "").upper()
    constraints = unique_keys(table)
    if isinstance(conflict, exp.OnConflict):
        if alternative:
            raise PalimpsestError(
                Code.SYNTAX,
                f"INSERT OR {alternative} and ON CONFLICT both say what a conflict does",
                advice="leave one of them out",
                position=position_of(ast),
            )
        return _on_conflict(ast, conflict, table, dialect)
    if ast.args.get("replacing"):
        return Upsert(ConflictAction.REPLACE, tuple(constraints)) if constraints else None
    if alternative == "REPLACE":
        if not constraints:
            raise _no_constraint("INSERT OR REPLACE", table, ast)
        return Upsert(ConflictAction.UPDATE, _only_constraint(constraints, ast))
    if alternative == "IGNORE" or ast.args.get("ignore"):
        return Upsert(ConflictAction.NOTHING, tuple(constraints)) if constraints else None
    if alternative:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"INSERT OR {alternative} is not supported",
            advice="use INSERT OR REPLACE, INSERT OR IGNORE, or ON CONFLICT",
            position=position_of(ast),
        )
    return None


def share_ctes(ast: exp.Insert) -> None:
    """Give the CTEs of an INSERT to the queries of its ON CONFLICT that read them."""
    with_, conflict = ast.args.get("with_"), ast.args.get("conflict")
    if not isinstance(with_, exp.With) or not isinstance(conflict, exp.OnConflict):
        return
    queries = {fold(c.alias) for c in with_.expressions if isinstance(c.this, exp.Query)}
    for query in conflict.find_all(exp.Query):
        is_outermost = query.find_ancestor(exp.Query, exp.OnConflict) is conflict
        inner = query.this if isinstance(query, exp.Subquery) else query
        names = {fold(t.name) for t in inner.find_all(exp.Table) if not t.db}
        if is_outermost and queries & names and inner.args.get("with_") is None:
            shared = with_.copy()
            shared.set("expressions", [c for c in shared.expressions if fold(c.alias) in queries])
            inner.set("with_", shared)


def _on_conflict(ast: exp.Insert, conflict: exp.OnConflict, table: Table, dialect: str) -> Upsert:
    constraints = unique_keys(table)
    action = str(conflict.args.get("action") or "").upper()
    duplicate = bool(conflict.args.get("duplicate"))
    where = conflict.args.get("where")
    condition = where.this if where is not None else None
    arbiters = _arbiters(conflict, table)
    if action.endswith("NOTHING"):
        chosen = arbiters if arbiters is not None else constraints
        is_named = arbiters is not None
        return Upsert(ConflictAction.NOTHING, tuple(chosen), names_arbiters=is_named)
    if not action.endswith("UPDATE"):
        raise PalimpsestError(
            Code.SYNTAX,
            "ON CONFLICT needs DO NOTHING or DO UPDATE SET",
            advice="say what happens to a row whose key is taken",
            position=position_of(conflict),
        )
    needs_key = not (duplicate or semantics_of(dialect).updates_on_any_conflict)
    if arbiters is None and needs_key:
        raise PalimpsestError(
            Code.SYNTAX,
            "ON CONFLICT DO UPDATE needs the columns of a key, or the name of a constraint",
            advice="write ON CONFLICT (columns) DO UPDATE",
            position=position_of(conflict),
        )
    if not constraints:
        raise _no_constraint("ON CONFLICT", table, ast)
    if arbiters is not None:
        chosen = arbiters
    else:
        chosen = [constraints[0]] if duplicate and len(constraints) == 1 else constraints
        _only_constraint(chosen, ast)
    alias = ast.expression.args.get("alias") if isinstance(ast.expression, exp.Values) else None
    named = alias if duplicate and isinstance(alias, exp.TableAlias) else None
    return Upsert(
        ConflictAction.UPDATE,
        tuple(chosen),
        named.name if named else "excluded",
        tuple(c.name for c in named.columns) if named else (),
        tuple(conflict.expressions),
        condition,
    )


def _arbiters(conflict: exp.OnConflict, table: Table) -> list[UniqueKey] | None:
    constraints = unique_keys(table)
    named = conflict.args.get("constraint")
    if named is not None:
        found = [k for k in constraints if k.index is None and fold(k.name) == fold(named.name)]
        if not found:
            raise PalimpsestError(
                Code.NO_UNIQUE_CONSTRAINT,
                f'{table.name} has no key or UNIQUE constraint named "{named.name}"',
                advice="its constraints are "
                + (", ".join(k.name for k in constraints if k.index is None) or "none"),
                position=position_of(conflict),
            )
        return found
    nodes = conflict.args.get("conflict_keys")
    if not nodes:
        return None
    wanted = {term_of(table, n.this if isinstance(n, exp.Ordered) else n).text for n in nodes}
    part = conflict.args.get("index_predicate")
    if part is not None:
        row_text(table, part)  # An index over all rows says yes to any condition on one.
    found = [k for k in constraints if _texts(k) == wanted and _is_meant(k, part, table)]
    if not found:
        raise PalimpsestError(
            Code.NO_UNIQUE_CONSTRAINT,
            f"no PRIMARY KEY, UNIQUE constraint or unique index of {table.name} is on exactly"
            " these columns",
            advice="name the columns of one: "
            + "; ".join(_conflict_target(k, table) for k in constraints),
            position=position_of(conflict),
        )
    return found[:1]


def _texts(key: UniqueKey) -> set[str]:
    return set(key.columns) if key.index is None else {t.text for t in key.index.terms}


def _is_meant(key: UniqueKey, part: exp.Expr | None, table: Table) -> bool:
    """False for an index over some rows only, unless ``part`` says all that its predicate does."""
    predicate = None if key.index is None else key.index.predicate
    return predicate is None or (part is not None and same_conditions(table, part, predicate))


def _conflict_target(key: UniqueKey, table: Table) -> str:
    """How ON CONFLICT names a key."""
    predicate = None if key.index is None else key.index.predicate
    more = "" if predicate is None else f" WHERE {logical_text(table, predicate)}"
    return f"({key.value_names(table)}){more}"


def _only_constraint(constraints: Sequence[UniqueKey], node: exp.Expr) -> tuple[UniqueKey, ...]:
    if len(constraints) == 1:
        return tuple(constraints)
    raise PalimpsestError(
        Code.NO_UNIQUE_CONSTRAINT,
        "the table has several unique constraints, so the conflict to act on must be named",
        advice="write ON CONFLICT (columns) DO UPDATE ..",
        position=position_of(node),
    )


def _no_constraint(what: str, table: Table, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NO_UNIQUE_CONSTRAINT,
        f"{what} needs a PRIMARY KEY or UNIQUE constraint, and {table.name} has none",
        advice="insert without it, or create the table with a key",
        position=position_of(node),
    )
