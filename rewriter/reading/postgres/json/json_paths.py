"""``jsonb_set``, ``jsonb_insert`` and ``#-`` at a constant path, in DuckDB's SQL. Pure.

jsonb_set(j, '{a,0}', v)       what lies at the path is another value; a last key may be new
jsonb_insert(j, '{a,0}', v)    another element of an array, or a key that an object lacks
j #- '{a,0}'                   what lies at the path is gone

A value is made anew along the path; where a step leads nowhere, it stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.reading.postgres.json.json import path_steps, step_into

_KEYS = "TRY_CAST(j AS MAP(VARCHAR, JSON))"
_ITEMS = "TRY_CAST(j AS JSON[])"
_SIZE = f"len({_ITEMS})"
_OF_KIND = "CASE json_type(j) WHEN 'OBJECT' THEN keyed WHEN 'ARRAY' THEN placed ELSE j END"
_UNLESS_SCALAR = (
    "CASE WHEN json_type(j) IN ('OBJECT', 'ARRAY') THEN made"
    " WHEN j IS NOT NULL THEN CAST(error('cannot set path in scalar') AS JSON) END"
)
_KEYED = f"CAST(to_json(map_concat({_KEYS}, map([k], [v]))) AS JSON)"
_WITHOUT_KEY = (
    "CAST(to_json(map_from_entries(list_filter("
    f"map_entries({_KEYS}), LAMBDA e: e.key <> k))) AS JSON)"
)
_PLACED = (
    f"CASE WHEN n BETWEEN 0 AND {_SIZE} - 1 THEN CAST(to_json(list_transform({_ITEMS},"
    " LAMBDA e, i: CASE WHEN i = n + 1 THEN v ELSE e END)) AS JSON) ELSE beyond END"
)
_WITHOUT_PLACE = f"CAST(to_json(list_filter({_ITEMS}, LAMBDA e, i: i <> n + 1)) AS JSON)"
_INSERTED = (
    f"CAST(to_json(list_concat(list_slice({_ITEMS}, 1, b), [v],"
    f" list_slice({_ITEMS}, b + 1, {_SIZE}))) AS JSON)"
)
_HAS_KEY = "list_contains(json_keys(j), k)"
Change = Callable[[exp.Expr, str], exp.Expr]
"""What becomes of a value at the last step of a path."""


def spell_set(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``jsonb_set(j, path, value[, create])``; None where path or flag is no constant."""
    given = _given(arguments)
    if given is None:
        return None
    value, creates = fill("CAST(v AS JSON)", v=arguments[2]), given[1] is not False
    return _first_changed(arguments, _changed(given[0], lambda j, s: _set(j, s, value, creates)))


def spell_insert(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``jsonb_insert(j, path, value[, after])``; None where path or flag is no constant."""
    given = _given(arguments)
    if given is None:
        return None
    value, is_after = fill("CAST(v AS JSON)", v=arguments[2]), given[1] is True
    return _first_changed(
        arguments, _changed(given[0], lambda j, s: _insert(j, s, value, is_after))
    )


def spell_delete(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``j #- path``; None where the path is no constant."""
    steps = _steps(arguments[1]) if len(arguments) == 2 else None
    return None if not steps else _first_changed(arguments[:1], _changed(steps, _delete))


def _given(arguments: Sequence[exp.Expr]) -> tuple[list[str], bool | None] | None:
    """The steps of a path and the flag behind the value."""
    steps = _steps(arguments[1]) if len(arguments) in {3, 4} else None
    flag = arguments[3] if len(arguments) == 4 else None
    if not steps or not (flag is None or isinstance(flag, exp.Boolean)):
        return None
    return steps, None if flag is None else bool(flag.this)


def _steps(path: exp.Expr) -> list[str] | None:
    """The steps of ``'{a,b}'`` and of ``ARRAY['a', 'b']``."""
    while isinstance(path, exp.Cast | exp.Paren):
        path = path.this
    if isinstance(path, exp.Array):
        parts = [p.this if isinstance(p, exp.Cast) else p for p in path.expressions]
        return [part.name for part in parts] if all(part.is_string for part in parts) else None
    return path_steps(path.name) if path.is_string else None


def _first_changed(
    arguments: Sequence[exp.Expr], change: Callable[[exp.Expr], exp.Expr]
) -> exp.Expr:
    """A change of a value, and NULL where an argument is."""
    value = fill("CAST(j AS JSON)", j=arguments[0])
    made = fill(_UNLESS_SCALAR, j=value, made=change(value))
    if len(arguments) < 3:
        return made
    return fill("CASE WHEN v IS NOT NULL THEN made END", v=arguments[2], made=made)


def _changed(steps: Sequence[str], last: Change) -> Callable[[exp.Expr], exp.Expr]:
    """What a change at the end of a path makes of the value around it."""
    first, *rest = steps

    def change(value: exp.Expr) -> exp.Expr:
        if not rest:
            return last(value, first)
        inner = step_into(value, first)
        made = _set(value, first, _changed(rest, last)(inner), creates=False)
        kept = value
        if _place(value, first) is None:
            sql = "CASE json_type(j) WHEN 'ARRAY' THEN t ELSE j END"
            kept = fill(sql, j=value, t=_no_place(first))
        return fill("CASE WHEN f IS NULL THEN kept ELSE made END", f=inner, kept=kept, made=made)

    return change


def _set(value: exp.Expr, step: str, new: exp.Expr, creates: bool) -> exp.Expr:
    keyed = fill(_KEYED, j=value, k=exp.Literal.string(step), v=new)
    if not creates:
        has_key = fill(_HAS_KEY, j=value, k=exp.Literal.string(step))
        keyed = fill("CASE WHEN has THEN made ELSE j END", has=has_key, made=keyed, j=value)
    place = _place(value, step)
    placed = _no_place(step)
    if place is not None:
        beyond = _insert_at(value, _bounded(value, step), new) if creates else value
        placed = fill(_PLACED, j=value, n=place, v=new, beyond=beyond)
    return fill(_OF_KIND, j=value, keyed=keyed, placed=placed)


def _insert(value: exp.Expr, step: str, new: exp.Expr, is_after: bool) -> exp.Expr:
    key = exp.Literal.string(step)
    has_key = fill(_HAS_KEY, j=value, k=key)
    taken = fill("CAST(error('cannot replace existing key') AS JSON)")
    keyed = fill(_KEYED, j=value, k=key, v=new)
    keyed = fill("CASE WHEN has THEN taken ELSE made END", has=has_key, taken=taken, made=keyed)
    placed = _no_place(step)
    if _place(value, step) is not None:
        placed = _insert_at(value, _bounded(value, step, more=int(is_after)), new)
    return fill(_OF_KIND, j=value, keyed=keyed, placed=placed)


def _delete(value: exp.Expr, step: str) -> exp.Expr:
    keyed = fill(_WITHOUT_KEY, j=value, k=exp.Literal.string(step))
    place = _place(value, step)
    placed = _no_place(step) if place is None else fill(_WITHOUT_PLACE, j=value, n=place)
    return fill(_OF_KIND, j=value, keyed=keyed, placed=placed)


def _place(value: exp.Expr, step: str) -> exp.Expr | None:
    """The place of an element from 0 on, of which there may be none; None for a step by a key."""
    if not step.removeprefix("-").isdigit():
        return None
    if not step.startswith("-"):
        return exp.Literal.number(step)
    return fill(f"{_SIZE} - n", j=value, n=exp.Literal.number(step[1:]))


def _no_place(step: str) -> exp.Expr:
    """What comes of a key where there is an array."""
    said = f'path element is not an integer: "{step}"'
    return fill("CAST(error(t) AS JSON)", t=exp.Literal.string(said))


def _bounded(value: exp.Expr, step: str, more: int = 0) -> exp.Expr:
    """How many elements stand before a new one at a place, which may lie beyond the ends."""
    place = _place(value, step)
    return fill(f"greatest(0, least({_SIZE}, n + m))", j=value, n=place, m=more)


def _insert_at(value: exp.Expr, at: exp.Expr, new: exp.Expr) -> exp.Expr:
    return fill(_INSERTED, j=value, b=at, v=new)
