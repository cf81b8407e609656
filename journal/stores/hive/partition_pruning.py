"""Which partitions of journals a query names, and how many rows are listed of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from journal.stores.hive import layout
from journal.stores.hive.tiers import SeenTiers

Needed = Mapping[str, frozenset[str]]
"""By table of the store's own the partitions that must be there."""

_TABLE_ID = re.compile(r"t(\d+)_")


def needed(names: layout.Names, ast: exp.Expr) -> Needed:
    """What a query over the store's own tables reads of them."""
    found: dict[str, frozenset[str]] = {}
    for table in ast.find_all(exp.Table):
        if table.db != names.journal_database:
            continue
        within = table.find_ancestor(exp.Select)
        listed = None if within is None else within.args.get("where")
        if listed is None or not isinstance(listed.this, exp.In):
            continue
        if listed.this.this.name == layout.PARTITION and not table.name.startswith(names.adopted):
            segments = frozenset(e.name for e in listed.this.expressions)
            found[table.name] = found.get(table.name, frozenset()) | segments
    return found


def listed_rows(tiers: SeenTiers, wanted: Needed) -> dict[str, int]:
    """Rows by path, as manifests list them; of lists of keys and staged rows they tell nothing."""
    ids: set[int] = set()
    for name in wanted:
        found = _TABLE_ID.match(name.removeprefix(tiers.names.journals))
        if found is not None:
            ids.add(int(found[1]))
    states = [tiers.committed.tables[i] for i in ids if i in tiers.committed.tables]
    manifests = [s.manifest for s in states] + [m for _, m in tiers.transaction.shown]
    return {s.files[0].path: s.counts.total for m in manifests for s in m.segments}
