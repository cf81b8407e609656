"""Texts of network addresses as PostgreSQL reads and writes them. Pure.

    10.0.0.1            an ``inet``; of all its bits, so that no mask is shown
    10.1/16             as an ``inet`` and as a ``cidr``: 10.1.0.0/16
    10.0.0.1/8          an ``inet``; no ``cidr``, for it has bits right of its mask
    ::ffff:10.0.0.1     of the sixth version, spelled as short as it can be

One value has one text, so that equal texts are equal addresses. Their order is that of
``network_key``: by version, by the bits of the network, by how many these are, by all bits.
"""

from __future__ import annotations

import re

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

INET, CIDR = "INET", "INET(CIDR)"
"""The types, as the catalog spells them: a ``cidr`` is the address of a network."""
NAMES = {INET: "inet", CIDR: "cidr"}
"""What PostgreSQL calls them."""
_WIDTH = {4: 32, 6: 128}
_FOUR = re.compile(r"([0-9.]+?)(?:/([0-9]+))?")
_HEXADECIMAL = re.compile(r"0[xX]([0-9a-fA-F]+)(?:/([0-9]+))?")
_SIX = re.compile(r"([0-9a-fA-F:]+:)?((?:[0-9]+\.){1,3}[0-9]+)(/[0-9]+)?|([0-9a-fA-F:]+)(/[0-9]+)?")
CLASSES = ((240, 32), (224, 8), (192, 24), (128, 16), (0, 8))
"""The first number of a network from which on it has so many bits, if it does not say how many."""
MULTICAST = 224
"""A network of this number alone has four bits."""


@dataclass(frozen=True, slots=True)
class NetworkAddress:
    """An address of the version 4 or 6, its bits as a number, and how many are the network's."""

    version: int
    number: int
    bits: int

    @property
    def digits(self) -> str:
        """All of its bits as digits."""
        return f"{self.number:0{_WIDTH[self.version]}b}"

    def text(self, kind: str) -> str:
        """As PostgreSQL writes it, as a value of a type."""
        spelled = _spelled_four(self.number) if self.version == 4 else _spelled_six(self.number)
        is_whole = self.bits == _WIDTH[self.version] and kind == INET
        return spelled if is_whole else f"{spelled}/{self.bits}"


def is_network_kind(kind: str | None) -> bool:
    """True for the types of addresses and networks."""
    return kind in NAMES


def network_text(text: str, kind: str) -> str:
    """The one text of the value that a text means.

    Raises CONVERSION for what is none of the type.

    >>> network_text("10.1/16", "INET"), network_text("10.1", "INET(CIDR)")
    ('10.1.0.0/16', '10.1.0.0/16')
    >>> network_text("2001:DB8:0:0::1", "INET")
    '2001:db8::1'
    """
    return address_of(text, kind).text(kind)


def network_key(text: str) -> str:
    """What texts of addresses are ordered by.

    >>> sorted(["10.0.0.0/8", "9.0.0.1", "::1", "10.0.0.0"], key=network_key)
    ['9.0.0.1', '10.0.0.0/8', '10.0.0.0', '::1']
    """
    found = address_of(text, INET)
    return f"{found.version}{found.digits[: found.bits]}-{found.digits[found.bits :]}"


def address_of(text: str, kind: str) -> NetworkAddress:
    """What a text means as a value of a type; raises CONVERSION for what is none."""
    found = _six(text) if ":" in text else _four(text, kind)
    if found is None:
        raise PalimpsestError(
            Code.CONVERSION,
            f'invalid input syntax for type {NAMES[kind]}: "{text}"',
            advice="write 10.0.0.1, 10.0.0.0/8 or 2001:db8::1",
        )
    if kind == CIDR and "1" in found.digits[found.bits :]:
        raise PalimpsestError(
            Code.CONVERSION,
            f'invalid cidr value: "{text}"',
            advice="it has bits set to right of mask: write the network's address, or use inet",
        )
    return found


def _four(text: str, kind: str) -> NetworkAddress | None:
    found = _FOUR.fullmatch(text)
    if found is None:
        return _hexadecimal(text) if kind == CIDR else None
    parts = found[1].split(".")
    if kind == INET and len(parts) > 1 and parts[-1] == "":
        # PostgreSQL takes a point at the end of an inet for nothing.
        parts.pop()
    if not all(parts) or len(parts) > 4 or any(int(part) > 255 for part in parts):
        return None
    return _of_parts([int(part) for part in parts], found[2], kind)


def _hexadecimal(text: str) -> NetworkAddress | None:
    found = _HEXADECIMAL.fullmatch(text)
    if found is None or len(found[1]) > 8:
        return None
    digits = found[1] + "0" * (len(found[1]) % 2)
    return _of_parts(list(bytes.fromhex(digits)), found[2], CIDR)


def _of_parts(parts: list[int], mask: str | None, kind: str) -> NetworkAddress | None:
    """The address of which the first parts are given."""
    number = int.from_bytes(bytes([*parts, 0, 0, 0, 0][:4]), "big")
    if mask is not None:
        bits = int(mask)
        is_told = kind == CIDR or bits // 8 <= len(parts)
        return NetworkAddress(4, number, bits) if bits <= _WIDTH[4] and is_told else None
    if kind == INET:
        return NetworkAddress(4, number, _WIDTH[4]) if len(parts) == 4 else None
    bits = max(next(b for first, b in CLASSES if parts[0] >= first), 8 * len(parts))
    return NetworkAddress(4, number, 4 if bits == 8 and parts[0] == MULTICAST else bits)


def _six(text: str) -> NetworkAddress | None:
    found = _SIX.fullmatch(text)
    if found is None:
        return None
    head, tail, behind_tail, plain, behind = found.groups()
    groups, mask = plain or head, (behind_tail or behind or "/128")[1:]
    if tail is not None:
        # PostgreSQL takes numbers that are left out at its end for zeros.
        parts = [*tail.split("."), "0", "0"][:4]
        if groups is None or any(part != str(int(part)) or int(part) > 255 for part in parts):
            return None
        numbers = [int(part) for part in parts]
        groups += f"{numbers[0] << 8 | numbers[1]:x}:{numbers[2] << 8 | numbers[3]:x}"
    words = _words(groups)
    if words is None or mask != str(int(mask)) or int(mask) > _WIDTH[6]:
        return None
    return NetworkAddress(6, int("".join(f"{word:04x}" for word in words), 16), int(mask))


def _words(groups: str) -> list[int] | None:
    """The eight numbers of an address; ``::`` stands for one or more that are zero."""
    sides = groups.split("::")
    if len(sides) > 2:
        return None
    given = [side.split(":") if side else [] for side in sides]
    if any(not 1 <= len(word) <= 4 for side in given for word in side):
        return None
    first, last = given[0], given[1] if len(given) > 1 else []
    missing = 8 - len(first) - len(last)
    if missing < 0 or (missing > 0) != (len(sides) == 2):
        return None
    return [int(word, 16) for word in (*first, *["0"] * missing, *last)]


def _spelled_four(number: int) -> str:
    return ".".join(str(part) for part in number.to_bytes(4, "big"))


def _spelled_six(number: int) -> str:
    words = [number >> place & 0xFFFF for place in range(112, -1, -16)]
    start, length = _longest_zeros(words)
    last = [f"{word:x}" for word in words]
    if start == 0 and (length == 6 or (length == 5 and words[5] == 0xFFFF)):
        last[6:] = [_spelled_four(number & 0xFFFFFFFF)]
    if length < 2:
        return ":".join(last)
    return f"{':'.join(last[:start])}::{':'.join(last[start + length :])}"


def _longest_zeros(words: list[int]) -> tuple[int, int]:
    """Where the longest run of zeros begins, the first of those, and how long it is."""
    best, length = 0, 0
    for start in range(len(words)):
        size = 0
        while start + size < len(words) and words[start + size] == 0:
            size += 1
        if size > length:
            best, length = start, size
    return best, length
