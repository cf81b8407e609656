"""Checks a word against a list, such as states.

A listing that took any word would answer an empty list for a misspelt one. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from journal.model.errors import Code, PalimpsestError
from journal.model.spelling import spelling_hint


def check_word(what: str, given: str, known: Iterable[str]) -> str:
    """The word as the list has it, in whatever case it was given.

    Raises SETTING_VALUE for others.

    >>> check_word("state of an instance", "failed", ["FAILED", "WAITING"])
    'FAILED'
    >>> check_word("state of an instance", "FALED", ["FAILED", "WAITING"])
    Traceback (most recent call last):
    journal.model.errors.PalimpsestError: there is no state of an instance FALED
    did you mean FAILED? there are FAILED, WAITING
    """
    words = list(known)
    folded = {word.lower(): word for word in words}
    if given.lower() in folded:
        return folded[given.lower()]
    raise PalimpsestError(
        Code.SETTING_VALUE,
        f"there is no {what} {given}",
        advice=f"{spelling_hint(given, words)}there are {', '.join(words)}",
    )
