"""Keywords that are misspelt in a text that does not parse: which word, and what is meant.

A guess for the error's place and advice; nothing is taken for what it may have meant.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from journal.model.lazy_dataclass import dataclass

_KEYWORDS = (
    "SELECT INSERT UPDATE DELETE MERGE CREATE ALTER TRUNCATE DESCRIBE EXPLAIN INTO FROM WHERE GROUP"
    " ORDER HAVING LIMIT SET VALUES"
).split()
_CLOSE = 0.75
_DOUBLED = re.compile(r"(.)\1")


@dataclass(frozen=True, slots=True)
class MisspelledKeyword:
    """A word, its place in the text in characters from 0, and the keyword that it stands for."""

    word: str
    place: int
    meant: str


def misspelled_keyword(before: str) -> MisspelledKeyword | None:
    """The last word of the text before parsing ended, or the first, if it is nearly a keyword.

    >>> misspelled_keyword("SELECT * FORM ")
    MisspelledKeyword(word='FORM', place=9, meant='FROM')
    >>> misspelled_keyword("SELECT * FROM orders ") is None
    True
    """
    words = before.split()
    for word in {**dict.fromkeys(words[-1:]), **dict.fromkeys(words[:1])}:
        meant = _keyword_near(word.upper())
        if meant is not None:
            place = before.rfind(word) if word == words[-1] else before.find(word)
            return MisspelledKeyword(word, place, meant)
    return None


def _keyword_near(word: str) -> str | None:
    close = get_close_matches(word, _KEYWORDS, n=1, cutoff=_CLOSE)
    if not close or word == close[0]:
        return None
    # What is longer, as orders, is rather a name than a slip, unless a letter is doubled.
    is_slip = len(word) <= len(close[0]) or _DOUBLED.sub(r"\1", word) == close[0]
    return close[0] if is_slip else None
