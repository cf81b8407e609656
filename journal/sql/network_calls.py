"""Calls about addresses of networks, as statements and definitions hold them. Pure.

``network_sql`` writes them out for stores that keep addresses as texts. Their arguments are such
texts, as ``network_text`` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.sql.builders import Part, call
from journal.sql.network_text import CIDR, INET

IS_ADDRESS = "is_address"
"""Marks a cast to a type of addresses whose value is the text of one already."""
KEY, DIGITS, PREFIX = "address_key", "address_digits", "address_prefix"
"""What addresses are ordered by; version and all bits; version and the bits of the network."""
MASKLEN, FAMILY, HOST, TEXT = "address_masklen", "address_family", "address_host", "address_text"
NETWORK, INET_OF = "address_network", "address_of_network"
NETMASK, HOSTMASK, BROADCAST = "address_netmask", "address_hostmask", "address_broadcast"
WITH_MASKLEN, NETWORK_OF, MERGE = "address_with_masklen", "address_cut", "address_merge"
NOT, AND, OR = "address_not", "address_and", "address_or"
MOVED, DISTANCE = "address_moved", "address_distance"
RESULTS: Mapping[str, str] = {
    **dict.fromkeys((KEY, DIGITS, PREFIX, HOST, TEXT), "VARCHAR"),
    **dict.fromkeys((MASKLEN, FAMILY), "INTEGER"),
    **dict.fromkeys((NETWORK, NETWORK_OF, MERGE), CIDR),
    **dict.fromkeys((INET_OF, NETMASK, HOSTMASK, BROADCAST, WITH_MASKLEN), INET),
    **dict.fromkeys((NOT, AND, OR, MOVED), INET),
    DISTANCE: "BIGINT",
}
"""The types of what they give."""


def contains(whole: Part, part: Part, *, strictly: bool) -> exp.Expr:
    """``whole >> part``; unless ``strictly``, also of equal networks."""
    kind = exp.GT if strictly else exp.GTE
    longer = kind(this=call(MASKLEN, part), expression=call(MASKLEN, whole))
    begins = exp.StartsWith(this=call(DIGITS, part), expression=call(PREFIX, whole))
    return exp.paren(exp.and_(longer, begins, copy=False), copy=False)


def overlap(left: Part, right: Part) -> exp.Expr:
    """``left && right``: one of them contains the other."""
    either = exp.or_(
        exp.StartsWith(this=call(DIGITS, right), expression=call(PREFIX, left)),
        exp.StartsWith(this=call(DIGITS, left), expression=call(PREFIX, right)),
        copy=False,
    )
    return exp.paren(either, copy=False)
