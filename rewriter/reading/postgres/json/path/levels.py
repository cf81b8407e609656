"""``.**`` in DuckDB's SQL: what lies in a value, each before what lies within it. Pure."""

from __future__ import annotations

from rewriter.reading.postgres.json.path.items import (
    NO_ITEMS,
    Surroundings,
    children,
    filtered,
    kind,
    mapped,
    raised,
)
from rewriter.reading.postgres.json.path.nodes import Levels
from rewriter.reading.postgres.json.path.predicates import Unsaid

_DEPTH_MAX = 64
_DEEP = f".** goes through at most {_DEPTH_MAX} objects and arrays in one another on this store"


def levels(item: str, step: Levels, scope: Surroundings) -> str:
    """The items from one level within an item to another."""
    first, last = step.first, step.last
    if first is None:
        # Of the innermost ones no more than scalars.
        inner = _within(children(item), None, scope)
        return NO_ITEMS if last is not None else filtered(inner, scope, _is_scalar)
    if max(first, last or 0) > _DEPTH_MAX:
        raise Unsaid(f"a level beyond {_DEPTH_MAX} in .**", "write last for it")
    items = f"[{item}]"
    for _ in range(first):
        items = f"flatten({mapped(items, scope, children)})"
    if last is not None and last <= first:
        return items if last == first else NO_ITEMS
    return _within(items, None if last is None else last - first, scope)


def _is_scalar(item: str) -> str:
    return f"{kind(item)} <> '{{'"


def _within(items: str, depth: int | None, scope: Surroundings) -> str:
    """The items of a list, each before what lies within it to some depth.

    An item with a question mark is still to be followed by what lies in it.
    """

    def followed(item: str) -> str:
        inner = mapped(children(f"substr({item}, 2)"), scope, lambda child: f"'?' || {child}")
        return (
            f"CASE WHEN starts_with({item}, '?')"
            f" THEN list_concat([substr({item}, 2)], {inner}) ELSE [{item}] END"
        )

    rounds = str(depth + 1) if depth is not None else _rounds(items)
    found, name = scope.new_name(), scope.new_name()
    opened = mapped(items, scope, lambda item: f"'?' || {item}")
    sql = (
        f"list_reduce(list_transform(range({rounds}), LAMBDA {name}: {NO_ITEMS}),"
        f" LAMBDA {found}, {name}: flatten({mapped(found, scope, followed)}), {opened})"
    )
    if depth is not None:
        return filtered(sql, scope, lambda item: f"NOT starts_with({item}, '?')")
    return mapped(
        sql,
        scope,
        lambda item: f"CASE WHEN starts_with({item}, '?') THEN {raised(_DEEP)} ELSE {item} END",
    )


def _rounds(items: str) -> str:
    """A number of levels that is not less than there are in a list."""
    text = f"array_to_string({items}, '')"
    return f"least({_DEPTH_MAX}, 1 + length({text}) - length(translate({text}, '{{[', '')))"
