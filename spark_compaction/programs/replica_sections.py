"""What the sections of replicas do alike on every store. Pure.

A section is a transaction in which a replica changes, see ``replica_store.ReplicaSection``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from journal.model.plan import CatalogChange, PutRelation
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.model.version import Version
from journal.transactions.state import TableState
from spark_compaction.programs.replica_store import Changes


def tables_defined(changes: Changes) -> list[tuple[Version, Table]]:
    """The tables that changes define, oldest first, with their versions."""
    return [
        (version, change.relation)
        for version, change in changes
        if isinstance(change, PutRelation) and isinstance(change.relation, Table)
    ]


def ending_with(
    changes: Changes, version: Version, table: Table
) -> list[tuple[Version, CatalogChange]]:
    """Changes for a log that ends with the newest one, whoever wrote there meanwhile.

    A last change of an older version than the commit's is repeated, as ``table`` at that version.
    """
    listed = list(changes)
    if listed and listed[-1][0] != version:
        listed.append((version, PutRelation(table)))
    return listed


def with_segments(state: TableState, segments: Sequence[Segment], floor: Version) -> TableState:
    """A journal that consists of segments, known from ``floor`` on; its heads stay."""
    manifest = replace(state.manifest, segments=tuple(segments), floor=floor)
    return replace(state, manifest=manifest)


def not_among(pieces: Sequence[Segment], kept: Sequence[Segment]) -> tuple[Segment, ...]:
    """The pieces that are not among those that are kept, by id."""
    ids = {s.id for s in kept}
    return tuple(s for s in pieces if s.id not in ids)
