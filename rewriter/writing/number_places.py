"""Finds where a statement calls a sequence, and for which rows. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.cte_scopes import is_cte
from rewriter.definitions.sequences import sequence_calls, whole_call
from rewriter.name_resolution import position_of

_BEFORE = "take it in a statement before"
_WHOLE = ("distinct", "where", "joins", "laterals", "group", "having", "qualify", "limit", "offset")


def place_of(call: exp.Anonymous) -> exp.Select | exp.Values:
    """The SELECT that lists a call, or the VALUES that hold it."""
    node = whole_call(call)
    while True:
        parent = node.parent
        if isinstance(parent, exp.Values):
            return parent
        if isinstance(parent, exp.Select) and node.arg_key == "expressions":
            return parent
        if parent is None or isinstance(parent, exp.Query | exp.AggFunc | exp.Window):
            raise place_refusal(call, "here", "list it in a SELECT, or in VALUES or SET")
        if isinstance(parent, exp.Where | exp.Order | exp.Group | exp.Having | exp.Join):
            raise place_refusal(call, f"in {parent.key.upper()}", "list it in a SELECT")
        node = parent


def own_calls(place: exp.Select) -> list[exp.Anonymous]:
    """The calls that a SELECT itself lists, not those of queries inside it."""
    found = [c for node in place.expressions for c in sequence_calls(node)]
    return [c for c in found if place_of(c) is place]


def row_count(place: exp.Select) -> int | None:
    """How many rows a SELECT has, where its text says so."""
    if any(place.args.get(part) for part in _WHOLE):
        return None
    from_ = place.args.get("from_")
    if from_ is None:
        calls = place.find(exp.Column, exp.Unnest, exp.Explode, exp.AggFunc)
        return 1 if calls is None else None
    source = from_.this
    if isinstance(source, exp.Subquery):
        source = source.this
    if isinstance(source, exp.Values):
        return len(source.expressions)
    if not isinstance(source, exp.Select):
        return None
    plain = (exp.Column, exp.Star, exp.Literal, exp.Placeholder, exp.Null, exp.Boolean, exp.Cast)
    if all(isinstance(node.unalias(), plain) for node in source.expressions):
        return row_count(source) if source.args.get("from_") is not None else 1
    return None


def condition_of(call: exp.Anonymous, root: exp.Expr) -> exp.Expr | None:
    """The condition under which a call is made; None if it is made for every row."""
    node = whole_call(call)
    found: exp.Expr | None = None
    while node.parent is not None and node is not root:
        parent = node.parent
        made: exp.Expr | None = None
        if isinstance(parent, exp.If) and isinstance(parent.parent, exp.Case):
            if node.arg_key == "this":
                raise place_refusal(call, "in a condition", _BEFORE)
            made = _branch(parent.parent, parent)
        elif isinstance(parent, exp.Case):
            made = _branch(parent, None) if node.arg_key == "default" else None
        elif isinstance(parent, exp.Coalesce) and node.arg_key == "expressions":
            before = [parent.this, *parent.expressions[: node.index]]
            made = exp.and_(*[exp.Is(this=b.copy(), expression=exp.Null()) for b in before])
        elif isinstance(parent, exp.And | exp.Or | exp.If):
            raise place_refusal(call, f"under {parent.key.upper()}", _BEFORE)
        if made is not None:
            if found is not None or sequence_calls(made):
                raise place_refusal(call, "under several conditions", _BEFORE)
            found = made
        node = parent
    return found


def _branch(case: exp.Case, chosen: exp.If | None) -> exp.Expr:
    """True for the rows that take one branch of a CASE."""
    copy = case.copy()
    for given, own in zip(copy.args["ifs"], case.args["ifs"], strict=True):
        given.set("true", exp.true() if own is chosen else exp.false())
    copy.set("default", exp.true() if chosen is None else exp.false())
    return copy


def check_separate(place: exp.Select) -> None:
    """Raise unless a SELECT has the same rows for itself as where it stands."""
    if place.args.get("distinct"):
        raise place_refusal(place.expressions[0], "beside DISTINCT", "DISTINCT in a subquery")
    node: exp.Expr = place
    while node.parent is not None:
        parent = node.parent
        inside = isinstance(
            parent,
            exp.Subquery | exp.SetOperation | exp.From | exp.Join | exp.CTE | exp.With | exp.Select,
        )
        scalar = isinstance(node, exp.Subquery) and not isinstance(
            parent, exp.From | exp.Join | exp.Subquery | exp.SetOperation
        )
        if not inside or (scalar and node.parent is not None):
            raise place_refusal(place.expressions[0], "in a subquery of an expression", "use FROM")
        node = parent


def outer_ctes(place: exp.Select) -> list[exp.Expr]:
    """Copies of the CTEs outside that a SELECT reads, and of those that it has itself."""
    own = place.args.get("with_")
    found: list[exp.Expr] = []
    names = {t.name for t in place.find_all(exp.Table) if is_cte(t)}
    node: exp.Expr = place
    while node.parent is not None:
        node = node.parent
        with_ = node.args.get("with_")
        if with_ is None or not names:
            continue
        for cte in with_.expressions:
            if any(cte is outer for outer in _parents(place)):
                break
            found.append(cte.copy())
    return found + ([c.copy() for c in own.expressions] if own is not None and found else [])


def _parents(node: exp.Expr) -> Iterator[exp.Expr]:
    while node.parent is not None:
        node = node.parent
        yield node


def place_refusal(node: exp.Expr, where: str, advice: str) -> PalimpsestError:
    """The error for a call at a place where no number can be taken."""
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"no number of a sequence can be taken {where}",
        advice=advice,
        position=position_of(node),
    )
