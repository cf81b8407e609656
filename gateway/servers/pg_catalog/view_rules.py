"""The rules of views in ``pg_catalog``, and what they depend on. Pure.

Tools find by them which views read a table: they have to go before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.servers.pg_catalog import numbering
from journal.model.schema import CatalogSnapshot, Relation, Table, TableName, fold
from rewriter.access.view_columns import columns_read
from rewriter.definitions.dependent_views import sources, view_text

Row = dict[str, Any]


def add_view_rules(rows: dict[str, list[Row]], catalog: CatalogSnapshot) -> None:
    """Put the rule of each view into the rows by relation, and a row for each thing it reads.

    A source that the catalog does not show is left out.
    """
    for relation in catalog.relations.values():
        if view_text(relation) is None:
            continue
        rule, view = numbering.rule_oid(relation), numbering.relation_oid(relation)
        row = {
            "oid": rule, "rulename": "_RETURN", "ev_class": view, "ev_type": "1",
            "ev_enabled": "O", "is_instead": True, "ev_qual": "<>", "ev_action": "<>",
        }  # fmt: skip
        rows.setdefault("pg_rewrite", []).append(row)
        found = rows.setdefault("pg_depend", [])
        found += [_dependency(rule, view, 0, kind) for kind in "in"]
        for key in sorted(sources(relation, catalog)):
            source = catalog.get(TableName(*key))
            if source is not None:
                oid = numbering.relation_oid(source)
                found += [_dependency(rule, oid, n, "n") for n in _places(relation, source)]


def _places(view: Relation, source: Relation) -> Iterator[int]:
    """The numbers of the columns that a view reads; 0 where it reads none, as ``count(*)``."""
    used = columns_read(view, source)
    shown = [c.name for c in source.columns] if isinstance(source, Table) else source.columns
    yield from [n for n, name in enumerate(shown, 1) if fold(name) in used] or [0]


def _dependency(rule: int, relation: int, place: int, kind: str) -> Row:
    return {
        "classid": numbering.CATALOGS["pg_rewrite"], "objid": rule, "objsubid": 0,
        "refclassid": numbering.CATALOGS["pg_class"], "refobjid": relation, "refobjsubid": place,
        "deptype": kind,
    }  # fmt: skip
