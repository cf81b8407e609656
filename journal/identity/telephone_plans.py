"""How telephone numbers are written in the countries that ``PHONE`` can be declared for.

A number is understood with ``+``, with the country's international prefix, with its trunk prefix,
or, where national numbers have none or may lack it, as it is; see ``identifiers``. Of each country
stand here the calling code, the prefix of calls abroad, the trunk prefix (``1~``: numbers may lack
it) and how many digits national numbers of people have. They come from the metadata of Google's
libphonenumber 9.0.43 (Apache License 2.0): ``country_code``, ``international_prefix``,
``national_prefix`` and the lengths of fixed and mobile numbers. Countries where the number alone
does not say which it is are left out: those where calls name a carrier, as in Brazil, where digits
come and go, as in Argentina, or where some numbers have a trunk prefix and mobile ones have none,
as in China and India. Pure.
"""

from __future__ import annotations

import re

from journal.model.lazy_dataclass import dataclass

_NORTH_AMERICA = (
    "US CA AG AI AS BB BM BS DM DO GD GU JM KN KY LC MP MS PR SX TC TT VC VG VI".split()
)
_COUNTRIES = {
    "AL": "355:00:0:8-9",
    "AT": "43:00:0:4-13",
    "AU": "61:0011:0:9-9",
    "BA": "387:00:0:8-9",
    "BE": "32:00:0:8-9",
    "BG": "359:00:0:6-9",
    "CH": "41:00:0:9-9",
    "DE": "49:00:0:5-13",
    "FI": "358:00:0:5-10",
    "FR": "33:00:0:9-9",
    "HR": "385:00:0:8-9",
    "HU": "36:00:06:8-9",
    "IE": "353:00:0:7-10",
    "IL": "972:00:0:8-9",
    "JP": "81:010:0:9-10",
    "LT": "370:00:0:8-8",
    "MA": "212:00:0:9-9",
    "MD": "373:00:0:8-8",
    "ME": "382:00:0:8-8",
    "MK": "389:00:0:8-8",
    "NL": "31:00:0:9-9",
    "NZ": "64:00:0:8-10",
    "RO": "40:00:0:9-9",
    "RS": "381:00:0:7-10",
    "SE": "46:00:0:7-9",
    "SI": "386:00:0:8-8",
    "SK": "421:00:0:9-9",
    "TR": "90:00:0:10-10",
    "UA": "380:00:0:9-9",
    "ZA": "27:00:0:9-9",
    **dict.fromkeys(["GB", "GG", "JE", "IM"], "44:00:0:9-10"),
    **dict.fromkeys(["RU", "KZ"], "7:810:8:10-10"),
    **dict.fromkeys(_NORTH_AMERICA, "1:011:1~:10-10"),
    # Numbers without a trunk prefix.
    "CY": "357:00::8-8",
    "CZ": "420:00::9-9",
    "DK": "45:00::8-8",
    "EE": "372:00::7-8",
    "ES": "34:00::9-9",
    "GR": "30:00::10-10",
    "IS": "354:00::7-7",
    "LV": "371:00::8-8",
    "MT": "356:00::8-8",
    "NO": "47:00::8-8",
    "PL": "48:00::9-9",
    "PT": "351:00::9-9",
    **dict.fromkeys(["IT", "VA"], "39:00::9-10"),
}
_RULE = re.compile(
    r"([1-9][0-9]{0,2}):([0-9]{1,5}):(?:([0-9]{1,2})(~?))?:([0-9]{1,2})-([0-9]{1,2})"
)
E164_MAX = 15
"""So many digits an international number has at most."""


@dataclass(frozen=True, slots=True)
class TelephonePlan:
    """How one country's numbers are written.

    ``may_lack_trunk`` is true where a national number is whole without the trunk prefix.
    """

    code: str
    international: str
    trunk: str
    may_lack_trunk: bool
    shortest: int
    longest: int

    def __str__(self) -> str:
        marked = f"{self.trunk}~" if self.trunk and self.may_lack_trunk else self.trunk
        lengths = f"{self.shortest}-{self.longest}"
        return ":".join((self.code, self.international, marked, lengths))


def countries() -> list[str]:
    """The countries, by ISO 3166, for which there is a plan."""
    return sorted(_COUNTRIES)


def telephone_plan(text: str) -> TelephonePlan:
    """The plan of a country, or the one that a written-out rule says; raises ValueError.

    What a column was declared with is kept written out, so that a later version of this table
    changes no column.
    """
    found = _RULE.fullmatch(_COUNTRIES.get(text.upper(), text))
    if found is None:
        raise ValueError(
            f"PHONE knows no country {text!r}; it has {', '.join(countries())}. A computed column"
            " can have numbers of others in a form of your own"
        )
    code, international, trunk, optional, shortest, longest = found.groups()
    low, high = int(shortest), int(longest)
    if not 1 <= low <= high <= E164_MAX - len(code):
        raise ValueError(f"PHONE {text} says that numbers have {low} to {high} digits")
    return TelephonePlan(code, international, trunk or "", not trunk or bool(optional), low, high)
