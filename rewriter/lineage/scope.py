"""What names mean within one query: relations of its FROM, columns of USING, the queries around."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from rewriter.lineage.sources import (
    TRANSFORMATION,
    Cell,
    Relation,
    Untraceable,
    passed,
    united,
)


@dataclass(slots=True)
class Scope:
    """The names of one query, in the order in which it can see them."""

    parent: Scope | None = None
    relations: dict[str, Relation] = field(default_factory=dict)
    full_names: dict[str, str] = field(default_factory=dict)
    """The alias of a relation by its whole name: ``db.t`` for ``FROM db.t AS x``."""
    merged: dict[str, Cell] = field(default_factory=dict)
    """Columns that USING and NATURAL have made one of two."""
    aliases: dict[str, Cell] = field(default_factory=dict)
    """Outputs so far: some dialects let a later expression name an earlier one."""
    bound: set[str] = field(default_factory=set)
    """Parameters of lambdas."""
    windows: dict[str, exp.Window] = field(default_factory=dict)
    """The windows that the query names in its WINDOW clause."""
    guessed: set[str] = field(default_factory=set)
    """Names that were taken for columns of a relation whose columns are not known."""

    def add(self, alias: str, relation: Relation, full_name: str = "") -> None:
        """See a relation under a name; two without a name are seen both."""
        while alias in self.relations:
            alias += "'"
        self.relations[alias] = relation
        if full_name:
            self.full_names.setdefault(full_name, alias)

    def cell(self, node: exp.Column | exp.Dot) -> tuple[Cell, int]:
        """What a column comes from, and how many parts of its name are fields within it."""
        parts = [fold(part) for part in node.parts]
        for place in range(len(parts) - 1, 0, -1):
            relation = self._relation(parts[:place])
            if relation is not None:
                found = relation.find(parts[place])
                if found is not None:
                    return found, len(parts) - 1 - place
        return self.unqualified(parts[0]), len(parts) - 1

    def unqualified(self, name: str) -> Cell:
        """What a bare name means; raises Untraceable for one that nothing has."""
        if name in self.bound:
            return Cell()
        found = self._declared_column(name)
        if found is not None:
            return found
        found = self._open(name) or self._hidden(name)
        if found is not None:
            return found
        row = self.row_of(name)
        if row is not None:
            whole = united(row.cells)
            return Cell(passed(whole.sources, TRANSFORMATION), whole.unknown)
        raise Untraceable(f"there is no column {name} in what the query reads")

    def row_of(self, name: str) -> Relation | None:
        """The relation whose whole rows a name means, where no column is called so."""
        found = self._relation([name])
        return None if found is None or self._declared_column(name) is not None else found

    def relation_named(self, parts: list[str]) -> Relation | None:
        """The relation of ``t.*`` or ``db.t.*``."""
        return self._relation(parts)

    def _relation(self, parts: list[str]) -> Relation | None:
        scope: Scope | None = self
        while scope is not None:
            name = ".".join(parts)
            alias = name if len(parts) == 1 else scope.full_names.get(name, "")
            found = scope.relations.get(alias)
            if found is None and len(parts) == 1:
                found = scope.relations.get(scope.full_names.get(name, ""))
            if found is not None:
                return found
            scope = scope.parent
        return None

    def _declared_column(self, name: str) -> Cell | None:
        """A column that some relation is known to have, here or around."""
        if name in self.merged:
            return self.merged[name]
        for relation in self.relations.values():
            if name in relation.by_name:
                return relation.by_name[name]
        if name in self.aliases and name not in self.guessed:
            return self.aliases[name]
        return self.parent._declared_column(name) if self.parent is not None else None

    def _hidden(self, name: str) -> Cell | None:
        """A column that a table has without showing it, here or around."""
        for relation in self.relations.values():
            found = relation.hidden_column(name)
            if found is not None:
                return found
        return self.parent._hidden(name) if self.parent is not None else None

    def _open(self, name: str) -> Cell | None:
        """A column of the only relation whose columns are not known, here or around."""
        opens = [r for r in self.relations.values() if r.open]
        if len(opens) == 1:
            self.guessed.add(name)
            return opens[0].find(name)
        if opens:
            tables = [table for relation in opens for table in relation.open]
            raise Untraceable(f"column {name} could be of {' or '.join(tables)}")
        makers = [r.other for r in self.relations.values() if r.other is not None]
        if makers:
            return united(makers)
        return self.parent._open(name) if self.parent is not None else None


Environment = Mapping[str, Relation]
"""The relations of the WITH clauses around, by name."""


def fold(node: exp.Expr | str) -> str:
    """A name as it is compared and shown: in lower case."""
    return (node if isinstance(node, str) else node.name).lower()
