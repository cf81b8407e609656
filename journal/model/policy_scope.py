"""Policies that are stated for more than one table: of a database, a schema or a dataset. Values.

They stand in the catalog's log, as the policies of tables do. A column that a retention goes by is
kept by its name, since it stands for a column in each of the tables. Nothing here does I/O.
"""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from journal.model.lazy_dataclass import dataclass
from journal.model.table_name import TableName, fold


class ScopeKind(StrEnum):
    """What states a policy, the nearest to the rows first."""

    TABLE = "table"
    DATASET = "dataset"
    SCHEMA = "schema"
    DATABASE = "database"


_ORDER = list(ScopeKind)
ScopeKey = tuple[ScopeKind, str]


@dataclass(frozen=True, slots=True)
class ScopedPolicy:
    """What one scope states, as properties ``policy_..``.

    ``name`` is that of the schema or dataset as people write it, empty for the database.
    ``pattern`` says which tables a dataset is made of: ``sales.*``, matched without regard to case,
    several with commas between them.
    """

    kind: ScopeKind
    name: str
    properties: tuple[tuple[str, str], ...]
    pattern: str = ""

    @property
    def key(self) -> ScopeKey:
        """What no other scope has."""
        return self.kind, fold(self.name)

    @property
    def nearness(self) -> tuple[int, int, str]:
        """Orders scopes, the nearest first; of datasets see ``nearness_to``."""
        return _ORDER.index(self.kind), -len(self.pattern), fold(self.name)

    def nearness_to(self, table: TableName) -> tuple[int, int, int, str]:
        """Orders the scopes that cover a table, the nearest first.

        Of two datasets the one counts that names the table, or else leaves less of it open: whose
        pattern has more letters beside its wildcards. Of two alike it is the first by name.
        """
        exact = max(map(_exactness, self._matching(table)), default=(0, 0))
        return (_ORDER.index(self.kind), -exact[0], -exact[1], fold(self.name))

    def _matching(self, table: TableName) -> list[str]:
        schema, name = table.key
        patterns = fold(self.pattern).split(",")
        return [part for part in patterns if fnmatchcase(f"{schema}.{name}", part.strip())]

    def covers(self, table: TableName) -> bool:
        """True if the scope states policies for the table of that name."""
        if self.kind is ScopeKind.SCHEMA:
            return table.key[0] == fold(self.name)
        if self.kind is ScopeKind.DATASET:
            return bool(self._matching(table))
        return self.kind is ScopeKind.DATABASE

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip()


def _exactness(pattern: str) -> tuple[int, int]:
    """Whether a pattern names one table, and how many letters it has beside wildcards."""
    letters = len(pattern) - sum(map(pattern.count, "*?["))
    return int(not set(pattern) & set("*?[")), letters


@dataclass(frozen=True, slots=True)
class PutScopedPolicy:
    """Catalog change: what a scope states from now on; one without properties states nothing."""

    policy: ScopedPolicy


def scoped_to_json(policy: ScopedPolicy) -> dict[str, Any]:
    """A plain structure."""
    found: dict[str, Any] = {"kind": policy.kind.value, "name": policy.name}
    found["properties"] = [list(pair) for pair in policy.properties]
    return {**found, "pattern": policy.pattern} if policy.pattern else found


def scoped_from_json(data: dict[str, Any]) -> ScopedPolicy:
    """The policy that ``scoped_to_json`` wrote."""
    properties = tuple((name, value) for name, value in data["properties"])
    kind, name = ScopeKind(data["kind"]), data["name"]
    return ScopedPolicy(kind, name, properties, data.get("pattern", ""))
