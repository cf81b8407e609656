"""Texts of queries over journals, kept on the queries, since plans are reused.

A text names the segments of the manifests it was made for, so it goes for no other: every commit
to a table, and every change of its columns, brings another manifest or another table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.stores.hive.partition_pruning import Needed
from journal.stores.hive.text import Template
from journal.stores.hive.tiers import SeenTiers

_PLACE = "text"


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text, what it was made for (by table's id and layout the manifest and the table), and the
    partitions that it needs.
    """

    template: Template
    needed: Needed
    made_for: tuple[tuple[int, int, Manifest, Table], ...]

    @staticmethod
    def keep(
        query: Query, tiers: SeenTiers, names: Sequence[str], template: Template, needed: Needed
    ) -> KeptText:
        """Keep a text that reads just these tiers on its query."""
        shapes = dict.fromkeys(tiers.table_and_layout(name) for name in names)
        made_for = tuple((i, shape, *tiers.seen(i, shape)) for i, shape in shapes)
        kept = query.memo[_PLACE] = KeptText(template, needed, made_for)
        return kept


def kept_text(query: Query, tiers: SeenTiers) -> KeptText | None:
    """The text of a query that was made for what a statement sees; None if there is none yet."""
    kept: KeptText | None = query.memo.get(_PLACE)
    if kept is None:
        return None
    for table_id, shape, manifest, table in kept.made_for:
        now = tiers.seen(table_id, shape)
        if now[0] is not manifest or now[1] is not table:
            return None
    return kept
