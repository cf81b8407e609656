"""Journal rows with a sign, +1 or -1, for aggregates that are linear in the rows.

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

    def not_open(self, outputs: Sequence[Output], closing: str) -> exp.Query:
        """What all rows of the changes hold too much: the rows that are not open.

        ``closing`` tells those that count twice, with the row that they end, from tombstones.
        """
        rows = self._select(self._changes(), [*outputs, (self._ends_later(), closing)])
        return where(rows, self._has_end())

    def weighted_rows(self, outputs: Sequence[Output], whole: str, closing: str) -> exp.Query:
        """The base (``whole``) and its changes; without one all rows (``whole``) and ``not_open``.

        Among changes of a base the ``closing`` rows are to be taken away. The conditions stand
        above the union: a server's planner makes one relation, into which a join hands its keys,
        only of parts that have none. For the first parts they fold to true. Of groups by a truth
        value the planner knows that there are two.
        """
        changes = [tier for tier in CHANGES if tier in self.tiers]
        first, kept, is_closing = changes, self._has_end(), self._ends_later()
        if Tier.BASE in self.tiers:
            is_open = exp.Is(this=column(self._subsequent), expression=exp.Null())
            first, kept = [Tier.BASE], any_of(is_open, self._ends_later())
            is_closing = self._has_end()
        names = [*(c.physical for c in self.table.stored), self._version, self._subsequent]
        stored: list[Output] = [(column(name), name) for name in names]
        parts = [
            self._select(self._physical(tier), [*stored, (told, whole), (value, closing)])
            for tiers, told, value in (
                (first, exp.true(), exp.false()),
                (changes, exp.false(), is_closing),
            )
            for tier in tiers
        ]
        signs: list[Output] = [(column(name), name) for name in (whole, closing)]
        rows = self._select(relation(union_all(parts), "o"), [*outputs, *signs])
        return where(rows, any_of(column(whole), kept))

    def _has_end(self) -> exp.Expr:
        return exp.Not(this=exp.Is(this=column(self._subsequent), expression=exp.Null()))

    def _ends_later(self) -> exp.Expr:
        return exp.GT(this=column(self._subsequent), expression=column(self._version))

    def signed_rows(self, outputs: Sequence[Output], sign: str) -> exp.Query:
        """The base with ``sign`` 1, and what changed since."""
        base = self.base([*outputs, (exp.Literal.number(1), sign)])
        return union_all([base, self.signed_changes(outputs, sign)])

    def _changes(self) -> exp.Expr:
        return aliased(self._union([t for t in CHANGES if t in self.tiers]), "o")
