"""What rows of ``pg_catalog`` say of other rows: indexes of foreign keys, collations. Pure."""

from __future__ import annotations

import re
from typing import Any

from gateway.servers.pg_catalog import numbering

Rows = dict[str, list[dict[str, Any]]]
_DEFAULT = 100
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:_([a-z]{2}))?")
_FORMS = frozenset({"nfc"})
"""Collations of DuckDB that are of no language."""


def put_referenced_indexes(rows: Rows) -> None:
    """Say of foreign keys which index of the parent they rely on: JDBC lists no others."""
    indexes: dict[tuple[int, tuple[int, ...]], int] = {}
    for index in rows.get("pg_index", ()):
        if index["indisunique"]:
            columns = index["indkey"][: index["indnkeyatts"]]
            indexes.setdefault((index["indrelid"], tuple(sorted(columns))), index["indexrelid"])
    for constraint in rows.get("pg_constraint", ()):
        if constraint["contype"] == "f":
            place = (constraint["confrelid"], tuple(sorted(constraint["confkey"])))
            constraint["conindid"] = indexes.get(place, 0)


def _shown_collation(name: str) -> str:
    """What clients read as the name of a collation: ``de-AT-x-icu`` of DuckDB's ``de_at``."""
    found = _LANGUAGE.fullmatch(name)
    if found is None or name in _FORMS:
        return name
    return f"{found[1]}{'-' + found[2].upper() if found[2] else ''}-x-icu"


def collation_number(rows: Rows, name: str | None) -> int:
    """The number of a text's collation, which gets its row; None is the order of bytes."""
    if name is None:
        return _DEFAULT
    name = _shown_collation(name)
    number = numbering.collation_oid(name)
    known = rows.setdefault("pg_collation", [])
    if all(row["oid"] != number for row in known):
        known.append(
            {"oid": number, "collname": name, "collnamespace": 11, "collowner": numbering.OWNER}
        )
    return number
