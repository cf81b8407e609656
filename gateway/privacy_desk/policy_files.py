"""Files of YAML with settings of the desk's policy: nested names are joined by dots. Pure.

four_eyes: [erasure, rectification]
actions:
  hr:
    people: {email: hmac, phone: mask 2}
    invoices: keep tax law, ten years
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.governance.declarations import read_declarations
from gateway.privacy_desk.desk_policy import desk_policy_error


def settings_in(text: str, source: str) -> dict[str, str]:
    """The settings of a file, by name; raises ENTITY, with file and line, for what is no YAML."""
    found: dict[str, str] = {}
    for declared in read_declarations(text, source):
        for name, value in _flat(declared.fields, ""):
            if name in found:
                raise desk_policy_error(f"{source}: {name} is set twice", "leave one of them out")
            found[name] = value
    return found


def _flat(fields: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, list):
            yield f"{before}{name}", ", ".join(map(str, value))
        else:
            # YAML has a word of its own for null, which is what becomes of a column.
            yield f"{before}{name}", "null" if value is None else str(value)
