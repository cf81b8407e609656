"""Which names of a tree mean CTEs, for one reference or for many of a tree that stays as it is.

A reference sees the CTEs of every WITH around it. In a chain of UNIONs each branch stands below all
later ones, so a walk up from every reference would cost the square of the statement. Pure.
"""

from __future__ import annotations

from dataclasses import field

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold

_RECURRING = "recurring"
"""``recurring.t`` is all that a recursive CTE t has made so far."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The first CTEs of a WITH, which a node sees, and what it sees of those around it."""

    places: dict[str, int]
    count: int
    outer: _Seen | None

    def holds(self, name: str) -> bool:
        seen: _Seen | None = self
        while seen is not None:
            if seen.places.get(name, seen.count) < seen.count:
                return True
            seen = seen.outer
        return False


@dataclass(slots=True)
class CteScopes:
    """The CTEs that nodes of a tree see; forget it when the tree changes.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("WITH a AS (TABLE b), b AS (SELECT 1 FROM a) SELECT 1 FROM b")
    >>> scopes = CteScopes()
    >>> [(table.name, scopes.holds(table)) for table in tree.find_all(exp.Table)]
    [('b', True), ('b', False), ('a', True)]
    """

    _around: dict[int, _Seen | None] = field(default_factory=dict)
    _places: dict[int, tuple[dict[str, int], dict[int, int]]] = field(default_factory=dict)

    def holds(self, table: exp.Table) -> bool:
        """True when the reference means a CTE in scope rather than a table."""
        if table.db and fold(table.db) != _RECURRING:
            return False
        seen = self._seen_from(table)
        return seen is not None and seen.holds(fold(table.name))

    def _seen_from(self, node: exp.Expr) -> _Seen | None:
        below: list[tuple[exp.Expr, exp.Expr]] = []
        seen: _Seen | None = None
        while node.parent is not None:
            if id(node) in self._around:
                seen = self._around[id(node)]
                break
            below.append((node, node.parent))
            node = node.parent
        for child, parent in reversed(below):
            with_ = parent.args.get("with_")
            if isinstance(with_, exp.With) and with_ is not child:
                seen = _Seen(self._placed(with_)[0], len(with_.expressions), seen)
            if isinstance(parent, exp.With):
                names, nodes = self._placed(parent)
                count = nodes.get(id(child), len(nodes)) + (1 if parent.recursive else 0)
                seen = _Seen(names, count, seen)
            self._around[id(child)] = seen
        return seen

    def _placed(self, with_: exp.With) -> tuple[dict[str, int], dict[int, int]]:
        """The places of the CTEs of a WITH, by their names and by the ids of their nodes."""
        found = self._places.get(id(with_))
        if found is None:
            names: dict[str, int] = {}
            for place, cte in enumerate(with_.expressions):
                names.setdefault(fold(cte.alias), place)
            nodes = {id(cte): place for place, cte in enumerate(with_.expressions)}
            found = self._places[id(with_)] = names, nodes
        return found


def is_cte(table: exp.Table) -> bool:
    """True when one reference means a CTE in scope; ``CteScopes`` answers it for many."""
    return CteScopes().holds(table)
