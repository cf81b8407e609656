"""Normalisers: which spellings of an identifier are equal.

    (none)         each character counts
    LOWER          neither blanks around nor the case of ASCII letters count
    DIGITS         of text of digits, blanks, dots, dashes and slashes the digits count
    ALPHANUMERIC   of text of ASCII letters, digits and these the letters, in any case, and digits
    PHONE CH       numbers as they are written in a country, see ``telephone_plans``

Text that a normaliser does not understand counts as it stands. ``identifiers`` has the forms. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from journal.identity.telephone_plans import TelephonePlan, telephone_plan
from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Normaliser:
    """One normaliser: its word in a descriptor, and the plan of a country's numbers."""

    word: str = ""
    plan: TelephonePlan | None = None

    def __str__(self) -> str:
        return self.word if self.plan is None else f"{self.word} {self.plan}"

    @property
    def suffix(self) -> str:
        """What distinguishes its hashes and filters from those of others: all that decides it."""
        return f" {self}".lower() if self.word else ""

    @property
    def is_plain(self) -> bool:
        """True for what every record has had a hash of, ever since there are records."""
        return self in PLAIN


EXACT, LOWER = Normaliser(), Normaliser("LOWER")
PLAIN = (EXACT, LOWER)
DIGITS, ALPHANUMERIC = Normaliser("DIGITS"), Normaliser("ALPHANUMERIC")
_PHONE = "PHONE"
_WITHOUT_WORDS = {n.word: n for n in (LOWER, DIGITS, ALPHANUMERIC)}


def phone(country: str) -> Normaliser:
    """The normaliser of a country's numbers; raises ValueError where it has no plan."""
    return Normaliser(_PHONE, telephone_plan(country.strip("'\"")))


def read_normaliser(words: list[str]) -> tuple[Normaliser, int] | None:
    """The normaliser that words of a descriptor begin with, and how many it takes; or None."""
    first = words[0].upper()
    if first in _WITHOUT_WORDS:
        return _WITHOUT_WORDS[first], 1
    if first != _PHONE:
        return None
    if len(words) < 2:
        raise ValueError("PHONE needs a country, as PHONE CH")
    return phone(words[1]), 2


def common(found: Iterable[Normaliser]) -> Normaliser:
    """The one normaliser of several columns; EXACT where they differ."""
    once = dict.fromkeys(found)
    return next(iter(once)) if len(once) == 1 else EXACT
