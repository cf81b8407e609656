"""All a rewrite may know: the catalog, what each journal holds, and the session's choices.

A frozen value; with the same context the same AST gives the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from journal.schema import DEFAULT_SCHEMA, CatalogSnapshot
from journal.segment import Tier
from journal.version import Version
from rewriter.limits import DEFAULT_LIMITS, Limits


@dataclass(frozen=True, slots=True)
class Sight:
    """What a statement sees of one journal: tiers with rows, and whether others wrote since."""

    tiers: frozenset[Tier]
    pinned: bool


class Sights(Protocol):
    """Looks up a journal's ``Sight``."""

    def __call__(self, table_id: int) -> Sight:
        """The sight of a table by id."""


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A point in time named in the statement: its version, and the catalog then."""

    version: Version
    catalog: CatalogSnapshot


@dataclass(frozen=True, slots=True)
class RewriteContext:
    """See the module's head. ``times`` are the statement's points in time in order of the text."""

    catalog: CatalogSnapshot
    sights: Sights
    dialect: str = "duckdb"
    default_schema: str = DEFAULT_SCHEMA
    times: tuple[TimePoint, ...] = ()
    as_of: TimePoint | None = None
    new_table_id: int = 0
    batch: bool = False
    limits: Limits = DEFAULT_LIMITS
    sight_cache: Mapping[int, Sight] = field(default_factory=lambda: MappingProxyType({}))
