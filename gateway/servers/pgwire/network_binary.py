"""Addresses in PostgreSQL's binary format: version, bits, whether a cidr, size, bytes. Pure."""

from __future__ import annotations

from journal.sql.network_text import CIDR, INET, NetworkAddress, address_of

_FAMILIES = {4: 2, 6: 3}
"""What stands for the versions of addresses."""


def address_to_bytes(text: str, kind: str) -> bytes:
    """The bytes of an address.

    >>> address_to_bytes("10.0.0.1/8", "INET").hex()
    '020800040a000001'
    """
    found = address_of(text, kind)
    size = len(found.digits) // 8
    head = bytes([_FAMILIES[found.version], found.bits, int(kind == CIDR), size])
    return head + found.number.to_bytes(size, "big")


def address_from_bytes(data: bytes, kind: str = INET) -> str:
    """The text of an address; raises ValueError for bytes that are none."""
    version = {family: version for version, family in _FAMILIES.items()}.get(data[0])
    size = 4 if version == 4 else 16
    if version is None or len(data) != size + 4 or data[3] != size or data[1] > size * 8:
        raise ValueError("these bytes are no address")
    found = NetworkAddress(version, int.from_bytes(data[4:], "big"), data[1])
    if kind == CIDR and "1" in found.digits[found.bits :]:
        raise ValueError("it has bits set to right of mask")
    return found.text(kind)
