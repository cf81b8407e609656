"""Checks a word against a list, such as states, and suggests similar words.

A listing that took any word would answer an empty list for a misspelt one. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from journal.model.errors import Code, PalimpsestError


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


def spelling_hint(given: str, known: Iterable[str]) -> str:
    """``did you mean FAILED? `` for a word that is like some of the known ones, else nothing."""
    folded = {word.lower(): word for word in known}
    close = get_close_matches(given.lower(), list(folded), n=3)
    return f"did you mean {' or '.join(folded[word] for word in close)}? " if close else ""
