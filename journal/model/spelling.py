"""Names that a misspelt one may have meant. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def spelling_hint(given: str, known: Iterable[str]) -> str:
    """``did you mean FAILED? `` for a word that is like some of the known ones, else nothing.

    What follows in an advice is written behind it.

    >>> spelling_hint("FALED", ["FAILED", "WAITING"]) + "SHOW STATES lists them"
    'did you mean FAILED? SHOW STATES lists them'
    """
    folded = {word.lower(): word for word in known}
    close = get_close_matches(given.lower(), list(folded), n=3)
    return f"did you mean {' or '.join(folded[word] for word in close)}? " if close else ""
