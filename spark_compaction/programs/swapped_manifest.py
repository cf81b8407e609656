"""The manifest of a journal once a job's new segments stand for what it replaces. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from journal.model.segment import Head, Manifest, RowCounts, Tier
from journal.transactions.state import TableState
from spark_compaction.backend import Replan
from spark_compaction.contract import Replacement, Staged

_NO_HEADS: Mapping[str, Head] = MappingProxyType({})


def replaced(
    manifest: Manifest, replacement: Replacement, heads: Mapping[str, Head] = _NO_HEADS
) -> Manifest:
    """The manifest after a replacement; raises Replan if what it removes is not listed so any more.

    ``heads`` are those that take no rows any more, by the ids under which they may be removed.
    """
    live = {s.id: s for s in manifest.segments}
    for segment in replacement.removed:
        if segment.id not in heads and live.get(segment.id) != segment:
            raise Replan(f"segment {segment.id} is not listed any more as it was planned on")
    gone = {s.id for s in replacement.removed}
    gone_heads = [head for name, head in heads.items() if name in gone]
    kept = tuple(s for s in manifest.segments if s.id not in gone)
    twice = {s.id for s in kept} & {s.id for s in replacement.added}
    assert not twice, f"listed already: {twice}"
    return replace(manifest, segments=kept).sealed(gone_heads, replacement.added)


def swapped(
    state: TableState,
    staged: Staged,
    heads: Mapping[str, Head] = _NO_HEADS,
    *,
    is_new_epoch: bool,
) -> TableState:
    """A journal that lists what a job has staged; raises Replan as ``replaced`` does."""
    assert staged.replacement is not None
    manifest = replaced(state.manifest, staged.replacement, heads)
    floor, epoch = max(manifest.floor, staged.floor), manifest.epoch + is_new_epoch
    gone = [s.counts for s in staged.replacement.removed if s.tier is Tier.HEAD]
    return replace(
        state,
        manifest=replace(manifest, floor=floor, epoch=epoch),
        head_counts=state.head_counts + sum(gone, RowCounts()).times(-1),
    )
