"""Names of table properties that mean something; the catalog keeps any other as it is. Pure."""

from __future__ import annotations

from difflib import get_close_matches

from sqlglot import exp

from journal.identity import descriptor
from journal.model import copied_rows, dependents, distribution, inlining, partitioning
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.relations_flat import STALE_WRITES
from rewriter.name_resolution import position_of

KNOWN_PROPERTIES = (
    descriptor.PROPERTY,
    descriptor.FILTERED,
    dependents.PROPERTY,
    partitioning.PROPERTY,
    distribution.PROPERTY,
    inlining.PROPERTY,
    copied_rows.PROPERTY,
    STALE_WRITES,
)
_LIKENESS = 0.8


def property_name(written: str, node: exp.Expr | None = None) -> str:
    """The name under which a property is kept: a known one in small letters, others as written.

    Raises INVALID_DEFINITION for a name that is like a known one, because a descriptor of an
    erasure under a misspelled name would find nobody.

    >>> property_name("Erasure")
    'erasure'
    >>> property_name("owner_team")
    'owner_team'
    """
    folded = fold(written)
    if folded in KNOWN_PROPERTIES:
        return folded
    near = get_close_matches(folded, KNOWN_PROPERTIES, 1, cutoff=_LIKENESS)
    if near:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f'the property "{written}" would have no effect',
            advice=f"did you mean {near[0]}? A name that is not like it may hold what you like",
            position=None if node is None else position_of(node),
        )
    return written
