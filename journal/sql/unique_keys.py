"""The unique keys of a table: primary key, UNIQUE constraints, unique indexes.

An index over expressions, or over a part of the rows, is held to the same rule by other values:
those of its expressions, and NULL for rows outside of its predicate, for NULL equals nothing. So
whoever enforces a key asks it for values, and need not know what it is. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Index, Table
from journal.sql.sql import expression


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """Values that at most one row may have; a NULL among them makes the row's own.

    ``columns`` are the physical columns they are made of: the values themselves where the key
    ``is_plain``, and otherwise what the terms and the predicate of ``index`` read.
    """

    name: str
    columns: tuple[str, ...]
    index: Index | None = None

    @property
    def is_plain(self) -> bool:
        """True if the values are those of the columns, in their order."""
        index = self.index
        if index is None:
            return True
        texts = tuple(term.text for term in index.terms if term.is_column)
        return index.predicate is None and texts == index.columns and len(texts) == len(index.terms)

    def values(self, value_of: Callable[[str], exp.Expr]) -> list[exp.Expr]:
        """The values of one row, as new nodes; ``value_of`` gives a physical column's."""
        if self.index is None:
            return [value_of(name) for name in self.columns]
        found = [
            value_of(t.text) if t.is_column else expression_over(t.text, value_of)
            for t in self.index.terms
        ]
        if self.index.predicate is not None:
            inside = expression_over(self.index.predicate, value_of)
            found[0] = exp.Case(ifs=[exp.If(this=inside, true=found[0])])
        return found

    def value_names(self, table: Table) -> str:
        """What the values are of, under the names that clients know."""
        names = {c.physical: c.name for c in table.stored}
        if self.is_plain:
            return ", ".join(names[p] for p in self.columns)
        assert self.index is not None
        return ", ".join(term_texts(table, self.index))


def unique_keys(table: Table) -> list[UniqueKey]:
    """The declared primary key, then UNIQUE constraints, then unique indexes."""
    found: list[UniqueKey] = []
    if not table.hidden_key:
        found.append(UniqueKey(table.key_name or f"{table.name.name}_pkey", table.key))
    return found + further_keys(table)


def further_keys(table: Table) -> list[UniqueKey]:
    """Those besides the key by which the journal knows rows."""
    found = [UniqueKey(u.name, u.columns) for u in table.uniques]
    return found + [index_key(index) for index in table.unique_indexes]


def index_key(index: Index) -> UniqueKey:
    """What a unique index holds apart."""
    return UniqueKey(index.name, index.columns, index)


def expression_over(text: str, value_of: Callable[[str], exp.Expr]) -> exp.Expr:
    """A stored expression over other values than those of physical columns."""
    held = exp.Paren(this=expression(text))
    for used in list(held.find_all(exp.Column)):
        used.replace(value_of(used.name))
    return held


def index_parameters(
    index: Index, value_of: Callable[[str], exp.Expr], method: str = ""
) -> exp.IndexParameters:
    """What follows the table in CREATE INDEX; ``value_of`` gives the column of a physical name."""
    terms = [
        exp.Ordered(
            this=value_of(t.text) if t.is_column else expression_over(t.text, value_of),
            desc=t.descending or None,
            nulls_first=t.nulls_first,
        )
        for t in index.terms
    ]
    params = exp.IndexParameters(columns=terms)
    if method:
        params.set("using", exp.var(method))
    params.set("include", [value_of(name) for name in index.included])
    if index.predicate is not None:
        params.set("where", exp.Where(this=expression_over(index.predicate, value_of).unnest()))
    return params


def term_texts(table: Table, index: Index) -> list[str]:
    """The terms as SQL over logical names, without their order."""
    names = {c.physical: c.name for c in table.columns}
    found = []
    for term in index.terms:
        if term.is_column:
            found.append(names[term.text])
        else:
            found.append(logical_text(table, term.text))
    return found


def logical_text(table: Table, text: str) -> str:
    """A stored expression as SQL over the names that clients know."""
    names = {c.physical: c.name for c in table.columns}
    value = expression(text)
    held = exp.Paren(this=value)
    for used in list(held.find_all(exp.Column)):
        name = names.get(used.name, used.name)
        used.replace(exp.column(exp.to_identifier(name, quoted=not name.isidentifier())))
    return str(held.this.sql(dialect="duckdb", normalize_functions="lower"))
