"""The rows of a journal with how often each counts, for aggregates that are linear in the rows.

Builders return fresh AST and do no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.segment import Tier
from journal.sql.relations import CHANGES, Output, Reader, aliased, column, union_all
from journal.sql.sql import any_of, relation, where


class SignedReader(Reader):
    """A reader of rows with a sign: the rows of a key together count what is current once."""

    def signed_changes(self, outputs: Sequence[Output], sign: str) -> exp.Query:
        """What changed since: open rows with ``sign`` 1, closing rows with -1, no tombstones."""
        end = column(self._subsequent)
        is_open = exp.Is(this=end.copy(), expression=exp.Null())
        is_closing = exp.GT(this=end, expression=column(self._version))
        plus, minus = exp.Literal.number(1), exp.Literal.number(-1)
        value = exp.Case(ifs=[exp.If(this=is_open.copy(), true=plus)], default=minus)
        rows = self._select(self._changes(), [*outputs, (value, sign)])
        return where(rows, any_of(is_open, is_closing))

    def all_changes(self, outputs: Sequence[Output]) -> exp.Query:
        """Every row of the changes: open, closing and tombstones alike."""
        return self._select(self._changes(), outputs)

    def not_open(self, outputs: Sequence[Output], sign: str) -> exp.Query:
        """What all rows of the changes hold too much: the rows that are not open, with ``sign``.

        It is -2 for a closing row, which goes with the row that it ends, and -1 for a tombstone.
        """
        rows = self._select(self._changes(), [*outputs, (self._excess(), sign)])
        return where(rows, self._is_given())

    def weighted_rows(self, outputs: Sequence[Output], sign: str) -> exp.Query:
        """Rows with how often each counts as ``sign``: base and changes, or all and ``not_open``.

        The conditions stand above the union: a server's planner makes one relation, into which a
        join hands its keys, only of parts that have none. For the first parts they fold to true.
        """
        one, end = exp.Literal.number(1), column(self._subsequent)
        changes = [tier for tier in CHANGES if tier in self.tiers]
        first, kept, weight = changes, self._is_given(), self._excess()
        if Tier.BASE in self.tiers:
            is_open = exp.Is(this=end.copy(), expression=exp.Null())
            is_closing = exp.GT(this=end, expression=column(self._version))
            first, kept = [Tier.BASE], any_of(is_open, is_closing)
            weight = exp.Case(
                ifs=[exp.If(this=is_open.copy(), true=one)], default=exp.Neg(this=one)
            )
        names = [*(c.physical for c in self.table.stored), self._version, self._subsequent]
        stored: list[Output] = [(column(name), name) for name in names]
        whole = f"{sign}_whole"
        parts = [
            self._select(self._physical(tier), [*stored, (value.copy(), sign), (told, whole)])
            for tiers, value, told in ((first, one, exp.true()), (changes, weight, exp.false()))
            for tier in tiers
        ]
        rows = self._select(relation(union_all(parts), "o"), [*outputs, (column(sign), sign)])
        return where(rows, any_of(column(whole), kept))

    def _is_given(self) -> exp.Expr:
        """That a row is not open: it has an end."""
        return exp.Not(this=exp.Is(this=column(self._subsequent), expression=exp.Null()))

    def _excess(self) -> exp.Case:
        is_closing = exp.GT(this=column(self._subsequent), expression=column(self._version))
        one, two = (exp.Neg(this=exp.Literal.number(n)) for n in (1, 2))
        return exp.Case(ifs=[exp.If(this=is_closing, true=two)], default=one)

    def signed_rows(self, outputs: Sequence[Output], sign: str) -> exp.Query:
        """The base with ``sign`` 1, and what changed since."""
        base = self.base([*outputs, (exp.Literal.number(1), sign)])
        return union_all([base, self.signed_changes(outputs, sign)])

    def _changes(self) -> exp.Expr:
        return aliased(self._union([t for t in CHANGES if t in self.tiers]), "o")
