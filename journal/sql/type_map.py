"""Types of the canonical dialect as a store has them: their own, wider ones, or none. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.sql.sql import data_type

_TEXTS = {exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.TEXT, exp.DType.NCHAR}
"""The canonical dialect has one type of text, which knows no length."""


@dataclass(frozen=True, eq=False, slots=True)
class TypeMap:
    """What a store lacks: types that a wider one, with its arguments, stands for, and refused ones.

    ``store`` is for people, ``dialect`` is sqlglot's name of the store's language.
    """

    store: str
    dialect: str
    wider: Mapping[exp.DType, tuple[exp.DType, tuple[int, ...]]]
    refused: Mapping[exp.DType, str]
    advice: str

    def change(self, node: exp.DataType) -> None:
        """Make a type the store's own, in place; raises NOT_SUPPORTED where it has none."""
        refused = self.refused.get(node.this)
        if str(node.args.get("kind") or "").upper() == "TIMESTAMPTZ_NS":
            refused = self.refused[exp.DType.TIMESTAMP_NS]
        if refused is not None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED, f"a {self.store} store has no {refused}", advice=self.advice
            )
        if node.this is exp.DType.INET and node.expressions and self.dialect == "postgres":
            node.set("this", exp.DType.USERDEFINED)
            node.set("kind", exp.to_identifier("cidr"))
            node.set("expressions", None)
        wider = self.wider.get(node.this)
        if wider is not None:
            kind, arguments = wider
            node.set("this", kind)
            literals = [exp.DataTypeParam(this=exp.Literal.number(a)) for a in arguments]
            node.set("expressions", literals)
        elif node.this in _TEXTS:
            node.set("this", exp.DType.TEXT)
            node.set("expressions", None)

    def text(self, kind: str) -> str:
        """A type, canonical text, as the store writes it."""
        holder = exp.Paren(this=data_type(kind))
        for part in list(holder.find_all(exp.DataType)):
            self.change(part)
        return str(holder.this.sql(dialect=self.dialect))
