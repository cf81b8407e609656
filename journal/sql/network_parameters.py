"""Parameters that a statement reads as addresses, for a store that keeps these as texts.

Their values are read here, so that the store need not plan how to. Knows no store; pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.sql import network_calls as calls
from journal.sql.array_text import parse_array
from journal.sql.network_text import CIDR, INET, address_of, network_key, network_text

_SUFFIXES = {INET: "inet", CIDR: "cidr", f"{INET}[]": "inets", f"{CIDR}[]": "cidrs"}
_ANY = "0.0.0.0/0"


def _digits(text: str) -> str:
    found = address_of(text, INET)
    return f"{found.version}{found.digits}"


def _prefix(text: str) -> str:
    found = address_of(text, INET)
    return f"{found.version}{found.digits[: found.bits]}"


_MADE: Mapping[str, Callable[[str], Any]] = {
    calls.KEY: network_key,
    calls.DIGITS: _digits,
    calls.PREFIX: _prefix,
    calls.MASKLEN: lambda text: address_of(text, INET).bits,
}
"""What calls give of the text of an address."""


class BoundAddresses:
    """The parameters of one statement that take the place of those that are read."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, str, str]] = {}
        self.named: frozenset[str] = frozenset()
        """The names of the parameters that the statement has now."""

    def replaced(self, node: exp.Expr) -> exp.Expr | None:
        """The parameter in the place of a cast of one, or of a call of such; None for others."""
        if isinstance(node, exp.Cast):
            kind = node.to.sql(dialect="duckdb").upper()
            is_read = type(node) is exp.Cast and calls.IS_ADDRESS not in node.meta
            if not is_read or kind not in _SUFFIXES or not isinstance(node.this, exp.Placeholder):
                return None
            return self._placeholder(node.this.name, kind, "")
        name = node.name.lower()
        if name not in _MADE or len(node.expressions) != 1:
            return None
        given = node.expressions[0]
        given = given.this if isinstance(given, exp.Cast) else given
        known = self._made.get(given.name) if isinstance(given, exp.Placeholder) else None
        if known is None or known[2] or known[1] not in {INET, CIDR}:
            return None
        return self._placeholder(known[0], known[1], name)

    def _placeholder(self, source: str, kind: str, made: str) -> exp.Expr:
        name = f"{source}_{_SUFFIXES[kind]}{made.removeprefix('address')}"
        self._made[name] = (source, kind, made)
        if made == calls.MASKLEN:
            return exp.Placeholder(this=name)
        # Of which type the value is, which may be NULL, says the cast.
        is_list = kind.endswith("[]")
        to = exp.DataType.build("TEXT[]" if is_list else "TEXT", dialect="duckdb")
        return exp.Cast(this=exp.Placeholder(this=name), to=to)

    def values(self, given: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
        """The values of the parameters that the statement has now.

        Raises CONVERSION for a text that is no address; unless ``strict``, takes any for it.
        """
        found: dict[str, Any] = {}
        for name in self.named:
            if name not in self._made:
                found[name] = given[name]
                continue
            source, kind, made = self._made[name]
            try:
                value = _read(given[source], kind)
            except PalimpsestError:
                if strict:
                    raise
                value = _ANY if not kind.endswith("[]") else [_ANY]
            found[name] = _MADE[made](value) if made and value is not None else value
        return found


def _read(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if not kind.endswith("[]"):
        return network_text(str(value), kind)
    listed = parse_array(value, str) if isinstance(value, str) else value
    element = kind.removesuffix("[]")
    return [None if item is None else network_text(str(item), element) for item in listed]
