"""The refusal of what Apache Hive could answer otherwise than other stores do. Pure.

Where only the values tell, the server refuses: ``only_if`` is an error while it runs.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError

_ADVICE = "raise held_rows in the URL, so that the gateway answers it, or ask Hive itself"


def refused(what: str) -> PalimpsestError:
    """The error for a part of a query."""
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"Apache Hive may answer this differently: {what}", advice=_ADVICE
    )


def only_if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A value, or an error where a condition does not hold; both need a column.

    Nobody can count in no buckets. Hive's own ASSERT_TRUE is NULL instead of an error where rows
    are worked on in batches.
    """
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    buckets = exp.Case().when(condition, one).else_(none)
    given = [one.copy(), one.copy(), exp.Literal.number(2), buckets]
    checked = exp.Anonymous(this="width_bucket", expressions=given)
    return exp.Case().when(exp.Not(this=exp.Is(this=checked, expression=exp.Null())), value)
