"""Values that are computed in steps of DuckDB's SQL. Pure.

Each step is a ``list_transform`` over a list of one state, so that it is computed once. A step in
the lambda of another one would be bound twice by each that is around it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping


class Steps:
    """One step after another over a state, whose parts are given by name."""

    def __init__(self, **parts: str) -> None:
        self.set = list(parts)
        self.sql = f"[{_struct(parts)}]"

    def step(self, **changed: str) -> None:
        """A state with other parts, which may name those of the state before: ``s_``, ``x_``."""
        kept = {name: f"{name}_" for name in self.set} | changed
        self.sql = f"list_transform({self.sql}, LAMBDA t: {self._named(_struct(kept))})"
        self.set = list(kept)

    def result_sql(self, made: str) -> str:
        """What is made of the last state; NULL of no text."""
        named = self._named(f"CASE WHEN s_ IS NOT NULL THEN {made} END")
        return f"list_extract(list_transform({self.sql}, LAMBDA t: {named}), 1)"

    def _named(self, sql: str) -> str:
        every = "|".join(self.set)
        return re.sub(rf"\b({every})_(?!\w)", r"struct_extract(t, '\1')", sql)


def _struct(parts: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"'{name}': {value}" for name, value in parts.items()) + "}"
