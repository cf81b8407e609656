"""Which clauses of a writing statement its rule understands; any other that is set is refused.

sqlglot parses clauses of many engines into arguments of its nodes. A rule that does not read one
would ignore it silently, so every node of these types is checked before any rule runs. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from rewriter.limits import Limits
from rewriter.names import position_of

_CLAUSES: dict[type[exp.Expr], frozenset[str]] = {
    exp.Insert: frozenset(
        {
            "this",
            "expression",
            "with_",
            "conflict",
            "returning",
            "overwrite",
            "alternative",
            "ignore",
            "by_name",
            "default",
            "overriding",
            "replacing",
            "alias",
        }
    ),
    exp.OnConflict: frozenset(
        {"duplicate", "expressions", "action", "conflict_keys", "constraint", "where"}
    ),
    exp.Update: frozenset(
        {"this", "expressions", "from_", "where", "with_", "returning", "order", "limit"}
    ),
    exp.Delete: frozenset(
        {"this", "tables", "using", "where", "with_", "returning", "order", "limit"}
    ),
    exp.Merge: frozenset({"this", "using", "on", "using_cond", "whens", "returning", "with_"}),
    exp.Whens: frozenset({"expressions"}),
    exp.When: frozenset({"matched", "source", "condition", "then"}),
    exp.Returning: frozenset({"expressions"}),
    exp.TruncateTable: frozenset({"expressions", "identity", "option"}),
    exp.MultitableInserts: frozenset({"expressions", "source", "with_"}),
    exp.Copy: frozenset({"this", "kind", "files", "params", "with_"}),
}
_TARGET = frozenset({"this", "db", "catalog", "alias", "joins"})


def check_clauses(statement: exp.Expr) -> None:
    """Raise NOT_SUPPORTED if a writing statement has a clause that no rule reads."""
    for node in statement.walk():
        known = _CLAUSES.get(type(node))
        if known is None:
            continue
        for name, value in node.args.items():
            if name not in known and _is_set(value):
                raise _refused(node, name)
        if isinstance(node, exp.Insert | exp.Update | exp.Delete | exp.Merge):
            _check_target(node)


def check_lengths(statement: exp.Expr, limits: Limits) -> None:
    """Raise TOO_MANY_ITEMS for an IN list or VALUES longer than the limit."""
    for node in statement.find_all(exp.In, exp.Values):
        found = len(node.expressions)
        if found > limits.list_items:
            what = "VALUES has" if isinstance(node, exp.Values) else "an IN list has"
            raise PalimpsestError(
                Code.TOO_MANY_ITEMS,
                f"{what} {found:,} items, at most {limits.list_items:,} are taken",
                advice="use executemany, COPY or a joined table, or raise max_list_items",
                position=position_of(node),
            )


def _is_set(value: object) -> bool:
    if isinstance(value, exp.Expr):
        return any(_is_set(v) for v in value.args.values()) or not value.args
    return bool(value)


def _check_target(node: exp.Expr) -> None:
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    if not isinstance(target, exp.Table):
        return
    for name, value in target.args.items():
        if name not in _TARGET and _is_set(value):
            raise _refused(target, name, of=f"the target of {node.key.upper()}")


def _refused(node: exp.Expr, name: str, of: str | None = None) -> PalimpsestError:
    clause = name.rstrip("_").upper().replace("_", " ")
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{clause} in {of or node.key.upper()} is not supported",
        advice="leave the clause out; see docs/sql.md for what each statement takes",
        position=position_of(node),
    )


def check_some(nodes: Sequence[exp.Expr], near: exp.Expr | None) -> None:
    """Raise SYNTAX for a SET that assigns nothing; ``near`` is where the error points."""
    if not nodes:
        raise PalimpsestError(
            Code.SYNTAX,
            "SET assigns nothing",
            advice="write SET column = value",
            position=position_of(near),
        )
