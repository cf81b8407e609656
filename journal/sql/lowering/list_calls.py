"""Functions over the elements of a list, read out of a tree by any of their names.

    list_transform(l, x -> f(x))    list_filter(l, x -> p(x))    [f(x) FOR x IN l IF p(x)]
    list_sort(l, 'DESC', 'NULLS LAST')

What stands for them is each store's own. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold

TRANSFORMS = ("list_transform", "list_apply", "apply", "array_apply", "array_transform")
"""Names of one function; the parser knows only the first."""
SORTS = ("list_sort", "array_sort", "list_reverse_sort", "array_reverse_sort")
_NULLS = {"NULLS FIRST", "NULLS LAST"}


@dataclass(frozen=True, slots=True)
class ListCall:
    """What becomes of the list ``of``: what is made of each element, and which are left.

    ``names`` are those of an element, and perhaps of its place, in ``made`` and ``kept``.
    """

    of: exp.Expr
    names: tuple[str, ...]
    made: exp.Expr | None = None
    kept: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class ListOrder:
    """How the elements of the list ``of`` are sorted."""

    of: exp.Expr
    descends: bool
    nulls_first: bool


def list_call(node: exp.Expr) -> ListCall | None:
    """The transformation, filter or comprehension that a node is; raises NOT_SUPPORTED."""
    match node:
        case exp.Array(expressions=[exp.Comprehension() as each]):
            given = [each.expression, each.args.get("position")]
            names = tuple(str(n.name) for n in given if isinstance(n, exp.Expr))
            return ListCall(each.args["iterator"], names, each.this, each.args.get("condition"))
        case exp.Transform() | exp.ArrayFilter():
            of, body = node.this, node.expression
        case exp.Anonymous() if str(node.this).lower() in TRANSFORMS and len(node.expressions) == 2:
            of, body = node.expressions
        case _:
            return None
    if not isinstance(body, exp.Lambda):
        return None
    names = tuple(str(parameter.name) for parameter in body.expressions)
    if len(names) > 2:
        raise _refused(
            "has no lambda of more than an element and its place",
            "unnest the list, and aggregate its elements",
        )
    if isinstance(node, exp.ArrayFilter):
        kept = body.this
        if not isinstance(kept, exp.Predicate | exp.Connector | exp.Not | exp.Paren):
            kept = exp.cast(kept.copy(), "BOOLEAN")
        return ListCall(of, names, kept=kept)
    return ListCall(of, names, made=body.this)


def list_order(node: exp.Expr) -> ListOrder | None:
    """The order of a call that sorts a list; raises NOT_SUPPORTED for one that is not written."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if name not in SORTS or not node.expressions:
        return None
    of, *how = node.expressions
    words = [w.name.upper() for w in how if isinstance(w, exp.Literal) and w.is_string]
    is_reverse = "reverse" in name
    order, nulls = ([], words) if is_reverse else (words[:1], words[1:])
    is_known = set(order) <= {"ASC", "DESC"} and set(nulls) <= _NULLS and len(nulls) < 2
    if len(words) != len(how) or not is_known:
        raise _refused(
            "has lists sorted only in an order that the statement gives",
            "write 'ASC' or 'DESC', and then 'NULLS FIRST' or 'NULLS LAST'",
        )
    return ListOrder(of, is_reverse or order == ["DESC"], nulls == ["NULLS FIRST"])


def parameter_uses(body: exp.Expr, name: str) -> Iterator[exp.Expr]:
    """Where a lambda's body has its parameter; one within may have another of that name."""

    def hides(node: exp.Expr) -> bool:
        return isinstance(node, exp.Lambda) and _has_name(node.expressions, name)

    for node in body.walk(prune=hides):
        if fold(node.name) != fold(name) or hides(node):
            continue
        is_column = isinstance(node, exp.Column) and not node.table
        if is_column or (isinstance(node, exp.Identifier) and _is_bare(node)):
            yield node


def _has_name(parameters: Sequence[exp.Expr], name: str) -> bool:
    return any(fold(p.name) == fold(name) for p in parameters)


def _is_bare(name: exp.Identifier) -> bool:
    """True for a parameter, which the parser leaves as a bare name."""
    above = name.parent
    if isinstance(above, exp.Dot):
        return name.arg_key == "this"
    return not isinstance(
        above, exp.Column | exp.Alias | exp.TableAlias | exp.Table | exp.Star | exp.Lambda
    )


def _refused(what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, f"this store {what}", advice=advice)
