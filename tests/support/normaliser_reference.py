"""The normalisers in plain Python, written apart from the gateway's; and texts to try them on."""

from __future__ import annotations

import re
from collections.abc import Callable

SEPARATOR = r"[ \t\n\r\x0b\x0c./-]"
Form = Callable[[str], str]


def lower(text: str) -> str:
    """LOWER."""
    stripped = re.sub(r"^[ \t\n\r\x0b\x0c]+|[ \t\n\r\x0b\x0c]+$", "", text)
    return re.sub("[A-Z]", lambda found: found[0].lower(), stripped)


def digits(text: str) -> str:
    """DIGITS."""
    bare = re.sub(SEPARATOR, "", text)
    return bare if re.fullmatch("[0-9]+", bare) else text


def alphanumeric(text: str) -> str:
    """ALPHANUMERIC."""
    bare = re.sub(SEPARATOR, "", text)
    return bare.lower() if re.fullmatch("[0-9A-Za-z]+", bare) else text


def phone_of_switzerland(text: str) -> str:
    """PHONE CH."""
    bare = re.sub(SEPARATOR, "", text)
    bare = re.sub(r"\A(\+|00)41\(0\)", r"\g<1>41", bare)
    if re.search(r"(?s).\(0\)", bare):
        return text
    bare = re.sub("[()]", "", bare)
    if re.fullmatch(r"\+[1-9][0-9]{0,14}", bare):
        return bare
    if found := re.fullmatch("00([1-9][0-9]{0,14})", bare):
        return f"+{found[1]}"
    if found := re.fullmatch("0([1-9][0-9]{8})", bare):
        return f"+41{found[1]}"
    return bare if re.fullmatch("[0-9]+", bare) else text


def phone_of_america(text: str) -> str:
    """PHONE US."""
    bare = re.sub(SEPARATOR, "", text)
    if re.search(r"(?s).\(0\)", bare):
        return text
    bare = re.sub("[()]", "", bare)
    if re.fullmatch(r"\+[1-9][0-9]{0,14}", bare):
        return bare
    if found := re.fullmatch("011([1-9][0-9]{0,14})", bare):
        return f"+{found[1]}"
    if found := re.fullmatch("1([1-9][0-9]{9})", bare):
        return f"+1{found[1]}"
    if re.fullmatch("(?!1)[0-9]{10}", bare):
        return f"+1{bare}"
    return bare if re.fullmatch("[0-9]+", bare) else text


FORMS: dict[str, Form] = {
    "": lambda text: text,
    "LOWER": lower,
    "DIGITS": digits,
    "ALPHANUMERIC": alphanumeric,
    "PHONE CH": phone_of_switzerland,
    "PHONE US": phone_of_america,
}
PIECES = [
    *"0123456789 \t\n\x0b.-/()+xXaZ*#,;é٣²",
    *("00", "0", "+41", "0041", "(0)", "+41(0)", "0041 (0)", "011", "1", "+1", "079 123 45 67"),
    *("791234567", "415 555 2671", "4155552671", "\u00a0", "\u2013", "中", "ab", "İ"),
]
TEXTS = (
    *("079 123 45 67", "+41 79 123 45 67", "+41 (0)79 123 45 67", "0041(0)791234567"),
    *("(079) 123-45-67", "+41 079 123 45 67", "791234567", "41791234567", "1234567", "00", "+"),
    *("0", "000417912345", "+0417912345", "+1234567890123456", "00123456789012345", "---", ""),
    *("+49 (0)30 123456", "079 123 45 67 x12", "(415) 555-2671", "1-415-555-2671", "(0)", "(0)(0)"),
    *("011 41 79 123 45 67", "555-2671", "CH93 0076 2011 6238 5295 7", "ch9300762011623852957"),
    *("756.1234.5678.97", "756 1234 5678 97", "ZH 1234", "zh-1234", "Zü 1234", " 12 ", "A/b"),
)
