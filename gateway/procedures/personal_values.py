"""Recognises personal values: mails, phone numbers, cards, accounts, national numbers.

A recogniser takes the text of a value. Numbers are checked by the libraries ``phonenumbers`` and
``python-stdnum``, which know lengths, prefixes and check digits; none of them says more than that a
value could be one. Nothing here keeps or shows a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from importlib import import_module

from journal.model.errors import Code, PalimpsestError

Recogniser = Callable[[str], bool]

_MAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(\.[^@\s.]+)+")
_CARD = re.compile(r"(?:4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6\d{15})")
_SEPARATORS = str.maketrans("", "", " -")
_DIGITS_MIN = 7
"""Shorter numbers are numbers of something else."""
NATIONAL_NUMBERS: Mapping[str, str] = dict(
    pair.split(".", 1)
    for pair in (
        "at.vnr be.nn bg.egn br.cpf ch.ssn cl.rut cn.ric cz.rc de.idnr dk.cpr ee.ik es.dni "
        "fi.hetu fr.nir gb.nhs gr.amka hr.oib ie.pps il.idnr in_.aadhaar is_.kennitala "
        "it.codicefiscale kr.rrn lt.asmens mx.curp my.nric nl.bsn no.fodselsnummer pl.pesel "
        "pt.cc ro.cnp se.personnummer sk.rc th.pin tr.tckimlik us.ssn za.idnr"
    ).split()
)
"""The number of a person by country, as modules of ``stdnum`` are called."""
_TELLING = frozenset({"es", "fi", "fr", "it", "kr", "mx", "no", "ro"})
"""Countries whose numbers have letters, dates or two check digits: hardly any others do."""


def recognisers(region: str | None, countries: Collection[str]) -> dict[str, Recogniser]:
    """Recognisers by the tag that they propose, the one that asks for more first.

    ``region`` is where phone numbers without a country code are of; ``countries`` are those whose
    national numbers are looked for besides the telling ones. Raises NOT_SUPPORTED without the extra
    ``tags``, and SETTING_VALUE for unknown regions and countries.
    """
    try:
        phones, iban, luhn = map(import_module, ("phonenumbers", "stdnum.iban", "stdnum.luhn"))
    except ImportError:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "proposals of tags need phonenumbers and python-stdnum",
            advice="pip install 'palimpsest-gateway[tags]'",
        ) from None
    if region is not None and region.upper() not in phones.SUPPORTED_REGIONS:
        raise _unknown("region", region, phones.SUPPORTED_REGIONS)
    numbers = [_national_number(c) for c in sorted({*map(str.lower, countries), *_TELLING})]

    def is_card(text: str) -> bool:
        digits = text.translate(_SEPARATORS)
        return _CARD.fullmatch(digits) is not None and bool(luhn.is_valid(digits))

    def is_phone(text: str) -> bool:
        if sum(c.isdigit() for c in text) < _DIGITS_MIN:
            return False
        try:
            found = phones.parse(text, None if region is None else region.upper())
        except phones.NumberParseException:
            return False
        return bool(phones.is_valid_number(found))

    def is_national(text: str) -> bool:
        return any(is_valid(text) for is_valid in numbers)

    return {
        "EMAIL": lambda text: _MAIL.fullmatch(text) is not None,
        "IBAN": lambda text: bool(iban.is_valid(text)),
        "CARD": is_card,
        "NATIONAL_ID": is_national,
        "PHONE": is_phone,
    }


def _national_number(country: str) -> Recogniser:
    package = country if country in NATIONAL_NUMBERS else f"{country}_"
    module = NATIONAL_NUMBERS.get(package)
    if module is None:
        raise _unknown("country", country, [name.rstrip("_") for name in NATIONAL_NUMBERS])
    is_valid: Recogniser = import_module(f"stdnum.{package}.{module}").is_valid
    return is_valid


def _unknown(what: str, given: str, known: Collection[str]) -> PalimpsestError:
    return PalimpsestError(
        Code.SETTING_VALUE,
        f"{given} is no {what} whose numbers are known",
        advice=f"those are {', '.join(sorted(known))}",
    )
