"""Plans for statements on one cached row: its columns, or constants for some.

    SELECT a, b FROM t WHERE k = ?     UPDATE t SET a = ? WHERE k = ?     DELETE FROM t WHERE k = ?
    SELECT .. FOR UPDATE               INSERT INTO t (k, a) VALUES (?, ?)

Nothing is computed and no constraint concerns what changes, so that no store is needed. Whatever is
not exactly this has no plain form. Pure.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from journal.model.plan import AllocateIdentity, PointInsert, StatementKind, StatementPlan
from journal.model.point_rows import KeyLookup, PointChange, PointClaim, PointRead
from journal.model.schema import ROW_ID, Column, Table, fold
from journal.sql.sql import expression
from rewriter.context import RewriteContext
from rewriter.definitions.generated_values import columns_read
from rewriter.name_resolution import table_name
from rewriter.reading.key_lookup import conjuncts, keys_in
from rewriter.reading.policies.security import is_restricted
from rewriter.syntax.spelled_types import BLANK_PADDED
from rewriter.writing.rounded_seconds import has_digits
from rewriter.writing.target import default_value, is_default

_SELECT = frozenset({"expressions", "from_", "where"})
_UPDATE = frozenset({"this", "expressions", "where"})
_DELETE = frozenset({"this", "where"})
_INSERT = frozenset({"this", "expression"})
_TABLE = frozenset({"this", "db", "alias"})
_NAME = frozenset({"this", "db"})


def point_plan(ast: exp.Expr, context: RewriteContext) -> PointRead | PointChange | None:
    """The plain form of a statement that can be rewritten, if it has one."""
    found = _plain_form(ast, context)
    return None if found is None or is_restricted([found.table_id], context) else found


def point_claim(ast: exp.Expr, context: RewriteContext) -> StatementPlan | None:
    """The plan of a SELECT .. FOR UPDATE of one row, which needs no step; None for others."""
    if not isinstance(ast, exp.Select) or not context.claims:
        return None
    locks, from_ = ast.args.get("locks"), ast.args.get("from_")
    if not locks or from_ is None or not _has_only(ast, _SELECT | {"locks"}):
        return None
    found = _target(from_.this, ast, context)
    if found is None or not all(_locks_all(lock, found[1]) for lock in locks):
        return None
    table, alias = found
    if context.catalog.is_own(table.name) or is_restricted([table.id], context):
        return None
    read = _point_read(ast, context)
    keys = keys_in(ast.args["where"].this, table, alias, context.kinds, alone=True)
    if read is None or keys is None:
        return None
    names = frozenset({table.name})
    return StatementPlan(
        StatementKind.WRITE,
        (),
        reads=names,
        writes=names,
        tag="SELECT",
        keyed=(KeyLookup.of(table, keys, 0),),
        plain=PointClaim(read),
    )


def _locks_all(lock: exp.Lock, alias: str) -> bool:
    """True for a locking clause of a query's only table that leaves out no row."""
    named = all(fold(node.name) == fold(alias) for node in lock.expressions)
    return named and lock.args.get("wait") in {None, True}


def _plain_form(ast: exp.Expr, context: RewriteContext) -> PointRead | PointChange | None:
    match ast:
        case exp.Select() if _has_only(ast, _SELECT):
            return _point_read(ast, context)
        case exp.Update() if _has_only(ast, _UPDATE):
            return _point_change(ast, context)
        case exp.Delete() if _has_only(ast, _DELETE):
            found = _target(ast.this, ast, context)
            if found is None or _referenced_columns(found[0], context):
                return None
            return PointChange(found[0].id, None)
        case _:
            return None


def point_insert(ast: exp.Expr, context: RewriteContext) -> StatementPlan | None:
    """The plan of an INSERT of one row of constants, which needs no step; None for others."""
    if not isinstance(ast, exp.Insert) or not _has_only(ast, _INSERT):
        return None
    node, named = ast.this, None
    if isinstance(node, exp.Schema):
        node, named = node.this, node.expressions
    rows = ast.expression
    if not isinstance(rows, exp.Values) or not _has_only(rows, frozenset({"expressions"})):
        return None
    if not isinstance(node, exp.Table) or not _has_only(node, _NAME) or len(rows.expressions) != 1:
        return None
    table = context.catalog.get(table_name(node, context))
    if not isinstance(table, Table) or table.constraints or table.unique_indexes:
        return None
    if table.triggers or table.materialized is not None or is_restricted([table.id], context):
        return None
    columns = [table.find(n.name) for n in named] if named else list(table.columns)
    cells = rows.expressions[0].expressions or [rows.expressions[0]]
    if len(cells) != len(columns) or len(set(columns)) != len(columns):
        return None
    given = {c.physical: v for c, v in zip(columns, cells, strict=True) if c is not None}
    values = [_initial_value(table, stored, given.get(stored.physical)) for stored in table.stored]
    known = [v for v in values if v is not None]
    if len(given) != len(columns) or len(known) != len(values):
        return None
    writes = frozenset({table.name})
    plain = PointInsert(table.id, tuple(known))
    return StatementPlan(StatementKind.WRITE, (), writes=writes, tag="INSERT", plain=plain)


def _initial_value(
    table: Table, stored: Column, given: exp.Expr | None
) -> exp.Expr | AllocateIdentity | None:
    """The value of a column in a new row; None if it is not a constant."""
    if given is not None and is_default(given):
        given = None
    if stored.generated is not None or (given is not None and stored.identity is not None):
        return None
    if _is_changed(stored):
        return None
    if stored.physical == ROW_ID:
        return AllocateIdentity(table.id, ROW_ID, ROW_ID, count=1)
    if stored.identity is not None:
        made = stored.identity
        counter = made.counted_as(stored.physical)
        return AllocateIdentity(table.id, counter, "", made.first, made.increment, count=1)
    value = default_value(stored) if given is None else given
    return value if _is_value(value) or isinstance(value, exp.Null) else None


def _is_changed(stored: Column) -> bool:
    """True for a column that does not keep values as they are given."""
    return has_digits(stored) or stored.spelled == BLANK_PADDED


def _has_only(node: exp.Expr, args: frozenset[str]) -> bool:
    return all(name in args for name, value in node.args.items() if value)


def _target(node: object, ast: exp.Expr, context: RewriteContext) -> tuple[Table, str] | None:
    """The table whose one row is meant, and its alias."""
    if not isinstance(node, exp.Table) or not _has_only(node, _TABLE):
        return None
    alias = node.args.get("alias")
    where = ast.args.get("where")
    if where is None or not isinstance(node.this, exp.Identifier):
        return None
    if alias is not None and alias.args.get("columns"):
        return None
    table = context.catalog.get(table_name(node, context))
    if not isinstance(table, Table):
        return None
    keys = keys_in(where.this, table, node.alias_or_name, context.kinds, alone=True)
    if keys is None or len(list(conjuncts(where.this))) != len(keys):
        return None
    return (table, node.alias_or_name) if all(map(_is_value, keys.values())) else None


def _is_value(node: exp.Expr) -> bool:
    """True for a parameter, and for literals of text or whole numbers."""
    if isinstance(node, exp.Literal):
        return node.is_string or node.name.isdigit()
    return isinstance(node, exp.Placeholder)


def _point_read(ast: exp.Select, context: RewriteContext) -> PointRead | None:
    from_ = ast.args.get("from_")
    found = None if from_ is None else _target(from_.this, ast, context)
    if found is None:
        return None
    table, alias = found
    shown: list[tuple[str, int]] = []
    for node in ast.expressions:
        if isinstance(node, exp.Star) and _has_only(node, frozenset()):
            shown += [(c.name, i) for i, c in enumerate(table.columns)]
            continue
        given = node.this if isinstance(node, exp.Alias) else node
        place = _column_index(table, given, alias)
        if place is None:
            return None
        shown.append((node.alias_or_name, place))
    return PointRead(table.id, tuple(shown))


def _column_index(table: Table, node: object, alias: str) -> int | None:
    """The place of the stored column that a node names, spelled as it is."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return None
    if node.args.get("db") or node.table not in {"", alias}:
        return None
    return next((i for i, c in enumerate(table.columns) if c.name == node.name), None)


def _point_change(ast: exp.Update, context: RewriteContext) -> PointChange | None:
    found = _target(ast.this, ast, context)
    if found is None:
        return None
    table, alias = found
    if table.triggers:
        return None
    looked_at = _columns_read(table) | _referenced_columns(table, context)
    values = [_assignment(table, node, alias, looked_at) for node in ast.expressions]
    return PointChange(table.id, tuple(v for v in values if v)) if all(values) else None


def _columns_read(table: Table) -> set[str]:
    """The columns that a table's own constraints concern."""
    found = set(table.unique_columns)
    found |= {name for key in table.foreign_keys for name in key.columns}
    for check in table.checks:
        found |= {c.name for c in expression(check.expression).find_all(exp.Column)}
    for made in (c for c in table.columns if c.generated is not None):
        found |= {made.physical, *columns_read(made)}
    return found


def _referenced_columns(table: Table, context: RewriteContext) -> set[str]:
    """The columns that foreign keys refer to."""
    references = context.catalog.references.get(table.id, ())
    return {c for r in references if r.parent.id == table.id for c in r.key.parent_columns}


def _assignment(
    table: Table, node: exp.Expr, alias: str, looked_at: Collection[str]
) -> tuple[int, exp.Expr] | None:
    if not isinstance(node, exp.EQ):
        return None
    place, value = _column_index(table, node.this, alias), node.expression
    if place is None or not (_is_value(value) or isinstance(value, exp.Null)):
        return None
    stored = table.columns[place]
    return None if stored.physical in looked_at or _is_changed(stored) else (place, value)
