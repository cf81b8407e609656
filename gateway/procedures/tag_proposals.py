"""Proposes tags for columns from their names and values.

A proposal is for a person to confirm. It tells how many values looked like it, and none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gateway.procedures.personal_values import Recogniser
from journal.model.lazy_dataclass import dataclass

PERSONAL = "PII"
"""Proposed besides the kind of data, for masks that hold for all of them."""
SHARE = 0.8
"""So many of the values of a column must look like something, if its name does not say so."""
_SHARE_OF_NAMED = 0.3
_VALUES_MIN = 5
"""Fewer different values say nothing."""
_NAMES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (tag, re.compile(rf"(^|_)({words})(_|$)"))
    for tag, words in (
        ("EMAIL", "e?_?mails?|email_addr(ess)?|courriel"),
        ("IBAN", "iban|bank_?account(_no|_number)?"),
        ("CARD", "card_?(no|num|number)|cc_?(no|num|number)|credit_?card|pan"),
        ("NATIONAL_ID", "ssn|bsn|nir|cpf|pesel|nhs_?(no|number)?|national_?id|passport(_no)?"),
        ("NATIONAL_ID", "social_?security(_no|_number)?|tax_?id|personnummer|codice_?fiscale"),
        ("PHONE", "phones?|telephone|tel|mobile|cell|fax|msisdn"),
        ("NAME", "(first|last|given|family|middle|maiden|full)_?name|sur_?name|fore_?name"),
        ("ADDRESS", "address|street|addr|zip|zip_?code|post_?code|postal_?code"),
        ("BIRTH", "(birth|born)(_?day|_?date|_?on)?|date_?of_?birth|dob"),
        ("IP", "ip|ip_?addr(ess)?|remote_?addr"),
    )
)


@dataclass(frozen=True, slots=True)
class TagProposal:
    """Tags that a column may want: how many of the values seen look like it, of how many.

    ``by_name``: its name says so, too.
    """

    column: str
    tags: tuple[str, ...]
    by_name: bool
    matches: int
    values: int

    @property
    def reason(self) -> str:
        """Why, in words."""
        values = f"{self.matches:,} of {self.values:,} values look like it"
        if not self.by_name:
            return values
        return f"its name, and {values}" if self.matches else "its name"


def propose_tags(
    samples: Mapping[str, Sequence[Any]],
    looks_like: Mapping[str, Recogniser],
    known: Mapping[str, frozenset[str]],
) -> Iterator[TagProposal]:
    """Proposals for columns by name, of which some values are given, as text or as numbers.

    ``known`` are the folded tags that columns have, which are not proposed again.

    >>> looks = {"EMAIL": lambda text: "@" in text}
    >>> mails = [f"{i}@example.org" for i in range(9)]
    >>> [(p.column, p.tags, p.reason) for p in propose_tags({"who": mails}, looks, {})]
    [('who', ('PII', 'EMAIL'), '9 of 9 values look like it')]
    """
    for column, sample in samples.items():
        named = {tag for tag, words in _NAMES if words.search(_words_of(column))}
        values = {str(v) for v in sample if isinstance(v, str | int) and not isinstance(v, bool)}
        found = _best(named, values, looks_like)
        if found is None:
            continue
        tag, matches = found
        has = known.get(column, frozenset())
        tags = tuple(t for t in (PERSONAL, tag) if t.lower() not in has)
        if tags:
            yield TagProposal(column, tags, tag in named, matches, len(values))


def _best(
    named: set[str], values: set[str], looks_like: Mapping[str, Recogniser]
) -> tuple[str, int] | None:
    """The tag that most values speak for, if enough do; else one that the name alone says."""
    best: tuple[str, int] | None = None
    for tag, is_like in looks_like.items():
        matches = sum(map(is_like, values))
        share = _SHARE_OF_NAMED if tag in named else SHARE
        is_enough = len(values) >= _VALUES_MIN and matches >= share * len(values)
        if is_enough and (best is None or matches > best[1]):
            best = (tag, matches)
    if best is not None or not named:
        return best
    checked = sorted(named & looks_like.keys())
    others = sorted(named - looks_like.keys())
    # Where values could have shown it and did not, a name is worth nothing.
    if len(values) >= _VALUES_MIN and not others:
        return None
    return (others or checked)[0], 0


def _words_of(name: str) -> str:
    """A column's name in lower case, with an underscore between words: ``homePhone``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(" ", "_")
